"""Long writes: Ctrl-C ends them soon, and nothing of them stays."""

from __future__ import annotations

import itertools
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import hudini

from .test_long_reads import BUCKETS, SCHEMA, interrupt, threads_of_hudini

CALLS = ["stream", "upsert", "compact"]


def rows(ts: int, count: int) -> pa.Table:
    ids = range(count)
    return pa.table({"id": [f"k{n:06}" for n in ids], "ts": [ts] * count, "text": [f"text {n}" for n in ids]})


@pytest.mark.parametrize("call", CALLS)
def test_ctrl_c_ends_a_write(call: str, tmp_path: Path) -> None:
    """The child writes again and again, so that the signal comes in the middle of a write whatever the machine."""
    kind = "mor" if call == "compact" else "cow"
    table = hudini.create(tmp_path / "t", SCHEMA, record_key="id", ordering="ts", table_type=kind, options=BUCKETS)
    table.upsert(rows(1, 60_000))
    interrupt("tests.python.test_long_writes", call, table.path)
    pending = [row for row in table.inspect.timeline() if not row["completed"] and row["action"] != "compaction"]
    assert pending == []
    assert not table.verify(deep=True).findings
    assert table.read().count() == 60_000
    table.upsert(rows(10_000, 10))
    assert table.read(filter="ts = 10000").count() == 10


def scene(call: str, path: str) -> None:
    """Writes until it is interrupted, and then looks whether a thread of hudini is left."""
    table = hudini.open(path)
    numbers = itertools.count(2)

    def endless() -> Iterator[pa.RecordBatch]:
        for ts in numbers:
            yield from rows(ts, 100).to_batches()

    def compact() -> None:
        table.upsert(rows(next(numbers), 10_000))
        table.services.compact()

    calls = {
        "stream": lambda: table.upsert(pa.RecordBatchReader.from_batches(rows(1, 1).schema, endless())),
        "upsert": lambda: table.upsert(rows(next(numbers), 60_000)),
        "compact": compact,
    }
    try:
        print("at work", flush=True)
        while True:
            calls[call]()
    except KeyboardInterrupt:
        assert threads_of_hudini() == []
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        print("interrupted", flush=True)


if __name__ == "__main__":
    # Whoever runs the tests in the background may have it ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    scene(*sys.argv[1:])
