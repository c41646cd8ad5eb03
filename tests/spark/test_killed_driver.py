"""A driver that is killed within an upsert: what it acknowledged stays, and the next writer waits for nobody."""

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


def files_below(folder: Path) -> set[str]:
    return {os.path.join(parent, name) for parent, _, names in os.walk(folder) for name in names}


# Files that were seen since a commit place the kill in every stage of the next one, without a clock.
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
    schema = {"id": "string not null", "ts": "long not null", "part": "string not null"}
    options = {"hoodie.index.type": index} | ({"hoodie.bucket.index.num.buckets": 2} if index == "BUCKET" else {})
    hudini.create(
        path, schema, record_key="id", ordering="ts", partition_by="part", table_type=table_type, options=options
    )
    driver = subprocess.Popen(
        [sys.executable, "-m", "tests.spark.test_killed_driver", str(path)],
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
        last = max([1, *map(int, driver.stdout)])
    began = time.monotonic()
    hudini.open(path).upsert([{"id": "other", "ts": 1, "part": "p0"}])
    assert time.monotonic() - began < AT_ONCE
    rows = {row["id"]: row["ts"] for row in hudini.open(path).read().to_arrow().to_pylist()}
    assert rows.pop("other") == 1
    # The write in doubt is there as a whole, or not at all.
    assert set(rows) == {f"k{n}" for n in range(KEYS)} and set(rows.values()) in ({last}, {last + 1})
    report = hudini.open(path).verify(deep=True)
    assert report.ok, str(report)
    assert [row for row in hudini.open(path).inspect.timeline() if row["state"] != "completed"] == []


def write_on_and_on(path: str) -> None:
    """The driver: says the number of each write that has come back."""
    from pyspark.sql import SparkSession

    import hudini.spark as hs

    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    for number in range(1, 1000):
        rows = spark.range(KEYS).selectExpr("concat('k', id) id", f"{number}L ts", "concat('p', id % 3) part")
        hs.upsert(rows, path)
        print(number, flush=True)


if __name__ == "__main__":
    write_on_and_on(sys.argv[1])
