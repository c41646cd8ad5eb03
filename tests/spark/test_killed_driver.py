"""A driver that is killed within an upsert or a compaction: what was acknowledged stays, and nobody waits for it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import hudini
from tests.spark.conftest import CHECKOUT

KEYS = 40
# Far less than a heartbeat may be old.
AT_ONCE = 30
SCHEMA = {"id": "string not null", "ts": "long not null", "part": "string not null"}


def files_below(folder: Path) -> set[str]:
    return {os.path.join(parent, name) for parent, _, names in os.walk(folder) for name in names}


def killed(job: str, path: Path, new_files: int) -> int:
    """The last write that it acknowledged. Files that were seen since the first one place the kill, without a clock."""
    driver = subprocess.Popen(
        [sys.executable, "-m", "tests.spark.test_killed_driver", job, str(path)],
        cwd=CHECKOUT,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert driver.stdout is not None
    with driver, driver.stdout:
        assert driver.stdout.readline() == "1\n"
        before, seen = files_below(path), set[str]()
        while len(seen) < new_files and driver.poll() is None:
            seen |= files_below(path) - before
        # Its executors live on for a while.
        driver.kill()
        return max([1, *map(int, driver.stdout)])


def rows_of(path: Path) -> dict[str, int]:
    return {row["id"]: row["ts"] for row in hudini.open(path).read(["id", "ts"]).to_arrow().to_pylist()}


def write_at_once(path: Path, last: int) -> None:
    """A write that begins after the kill. The driver's write in doubt is there as a whole, or not at all."""
    began = time.monotonic()
    hudini.open(path).upsert([{"id": "other", "ts": 1, "part": "p0"}])
    assert time.monotonic() - began < AT_ONCE
    rows = rows_of(path)
    assert rows.pop("other") == 1
    assert set(rows) == {f"k{n}" for n in range(KEYS)} and set(rows.values()) in ({last}, {last + 1})


def assert_settled(path: Path) -> None:
    report = hudini.open(path).verify(deep=True)
    assert report.ok, str(report)
    assert [row for row in hudini.open(path).inspect.timeline() if row["state"] != "completed"] == []


@pytest.mark.parametrize(
    ("table_type", "index", "new_files"),
    [
        ("cow", "BUCKET", 4),
        ("mor", "BUCKET", 9),
        ("cow", "BUCKET", 13),
        ("cow", "BLOOM", 7),
        ("mor", "RECORD_INDEX", 11),
    ],
)
def test_a_killed_driver(java: None, table_type: str, index: str, new_files: int, tmp_path: Path) -> None:
    path = tmp_path / "table"
    options = {"hoodie.index.type": index} | ({"hoodie.bucket.index.num.buckets": 2} if index == "BUCKET" else {})
    hudini.create(
        path, SCHEMA, record_key="id", ordering="ts", partition_by="part", table_type=table_type, options=options
    )
    write_at_once(path, killed("write", path, new_files))
    assert_settled(path)


@pytest.mark.parametrize(("new_files", "version"), [(1, 9), (3, 8), (6, 9), (10, 8)])
def test_a_driver_killed_within_a_compaction(java: None, new_files: int, version: int, tmp_path: Path) -> None:
    path = tmp_path / "table"
    table = hudini.create(
        path, SCHEMA, record_key="id", ordering="ts", partition_by="part", table_type="mor", table_version=version
    )
    table.upsert([{"id": f"k{n}", "ts": 0, "part": f"p{n % 3}"} for n in range(KEYS)])
    write_at_once(path, killed("compact", path, new_files))
    # What was begun is taken up again, and comes to an end.
    before = rows_of(path)
    hudini.open(path).services.compact()
    assert rows_of(path) == before
    assert not any(row["log_files"] for row in hudini.open(path).inspect.slices())
    assert_settled(path)


def run_a_driver(job: str, path: str) -> None:
    """The driver: says the number of each write that has come back."""
    from pyspark.sql import SparkSession

    import hudini.spark as hs

    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    for number in range(1, 1000):
        rows = spark.range(KEYS).selectExpr("concat('k', id) id", f"{number}L ts", "concat('p', id % 3) part")
        hs.upsert(rows, path)
        print(number, flush=True)
        if job == "compact":
            hs.compact(spark, path)


if __name__ == "__main__":
    run_a_driver(*sys.argv[1:])
