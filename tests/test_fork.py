"""hudini in a process forked from one that has used it already: PySpark's worker daemon and `multiprocessing` do that.

A lost lock or a thread pool without threads shows as a hang, so the whole scene runs in a process of its own, with a
deadline that is never reached when things go well.
"""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[1]
DEADLINE = 120


@pytest.mark.parametrize("table_type", ["cow", "mor"])
@pytest.mark.parametrize("way", ["os_fork", "pool"])
def test_a_forked_process_reads_and_writes(way: str, table_type: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.test_fork", way, table_type, str(tmp_path / "table")],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def scene(way: str, table_type: str, path: str) -> None:
    """The parent writes and reads, its child does, then the parent again."""
    import hudini

    schema = {"id": "string not null", "ts": "long not null"}
    options = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "4"}
    table = hudini.create(path, schema, record_key="id", ordering="ts", table_type=table_type, options=options)
    table.bulk_insert(rows(100, ts=1))
    assert ordering_values(path) == {1: 100}
    {"os_fork": in_fork, "pool": in_pool}[way](path)
    assert ordering_values(path) == {1: 50, 2: 50}
    table.upsert(rows(20, ts=3))
    assert ordering_values(path) == {1: 50, 2: 30, 3: 20}


def rows(count: int, ts: int) -> list[dict[str, object]]:
    return [{"id": f"key-{number}", "ts": ts} for number in range(count)]


def ordering_values(path: str) -> dict[int, int]:
    """How many rows have which `ts`."""
    import hudini

    values = hudini.open(path).read(columns=["ts"], meta=False).to_arrow()["ts"].to_pylist()
    return {value: values.count(value) for value in values}


def upsert_half(path: str) -> None:
    import hudini

    assert ordering_values(path) == {1: 100}
    hudini.open(path).upsert(rows(50, ts=2))


def in_fork(path: str) -> None:
    child = os.fork()
    if child == 0:
        code = 1
        try:
            upsert_half(path)
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0


def in_pool(path: str) -> None:
    with multiprocessing.get_context("fork").Pool(2) as pool:
        pool.apply(upsert_half, (path,))


if __name__ == "__main__":
    scene(*sys.argv[1:])
