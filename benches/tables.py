"""The tables of `reading.py`, written by Apache Hudi 1.2 and kept in a folder: `python benches/tables.py FOLDER`.

Each is one file group of a million rows, eight data columns and Hudi's five, and what its name says on top; `groups`
has sixteen of 250,000 rows. What is there already is left alone.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.interop.oracle import Oracle

ROWS = 1_000_000
GROUPS, GROUP_ROWS = 16, 250_000
CITIES = np.array([f"city_{n:02d}" for n in range(50)])
NOTES = np.array([f"what a rider says, number {n}" for n in range(1000)])

COMMON = {
    "hoodie.table.name": "trips",
    "hoodie.datasource.write.table.type": "MERGE_ON_READ",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.table.ordering.fields": "ts",
    "hoodie.compact.inline": "false",
    "hoodie.clean.automatic": "false",
    "hoodie.parquet.small.file.limit": "0",
    "hoodie.parquet.max.file.size": str(1 << 30),
    "hoodie.logfile.max.size": str(1 << 30),
    "hoodie.bulkinsert.shuffle.parallelism": "1",
}
ONE_GROUP = COMMON | {"hoodie.index.type": "SIMPLE"}
BUCKETS = COMMON | {
    "hoodie.index.type": "BUCKET",
    "hoodie.bucket.index.num.buckets": str(GROUPS),
    "hoodie.bulkinsert.shuffle.parallelism": str(GROUPS),
}
PARQUET_BLOCKS = {"hoodie.logfile.data.block.format": "parquet"}


def rows(numbers: np.ndarray, version: int) -> pa.Table:
    """The rows with these numbers; all but the key changes with the version."""
    chance = np.random.default_rng([version, len(numbers)])
    return pa.table(
        {
            "id": pa.array(np.char.add("trip-", np.char.zfill(numbers.astype(str), 10))),
            "ts": pa.array(1_700_000_000_000 + numbers * 10 + version),
            "city": pa.array(CITIES[chance.integers(0, len(CITIES), len(numbers))]),
            "rider": pa.array(np.char.add("rider-", chance.integers(0, 50_000, len(numbers)).astype(str))),
            "fare": pa.array(np.round(chance.random(len(numbers)) * 100, 2)),
            "distance": pa.array(np.round(chance.random(len(numbers)) * 10, 3)),
            "note": pa.array(NOTES[chance.integers(0, len(NOTES), len(numbers))]),
            "stops": pa.array(chance.integers(0, 5, len(numbers)).astype(np.int32)),
        }
    )


def updates(count: int, version: int, of: int = ROWS) -> pa.Table:
    return rows(np.random.default_rng(version).choice(of, count, replace=False), version)


class Maker:
    """Tables made one after another in one Spark session, which starts when there is something to do."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._work = Path(tempfile.mkdtemp(prefix="hudini-bench-"))
        self._oracle: Oracle | None = None

    def table(
        self,
        name: str,
        first: Path | pa.Table,
        steps: Iterator[tuple[pa.Table, Mapping[str, str]]],
        layout: Mapping[str, str] = ONE_GROUP,
    ) -> Path:
        """A table that starts as a copy of another, or with these rows."""
        path = self._folder / name
        if path.exists():
            return path
        made = self._work / name
        if isinstance(first, Path):
            shutil.copytree(first, made)
        else:
            self._write(made, first, {**layout, "hoodie.datasource.write.operation": "bulk_insert"}, "overwrite")
        for change, options in steps:
            self._write(made, change, {**options, "hoodie.datasource.write.operation": "upsert"})
        shutil.move(made, path)
        print(f"made {path}", flush=True)
        return path

    def partial(self, name: str, first: Path, changes: pa.Table) -> Path:
        """Updates of one column, as `MERGE INTO` writes them."""
        path = self._folder / name
        if path.exists():
            return path
        made = self._work / name
        shutil.copytree(first, made)
        source = self._work / "changes.parquet"
        pq.write_table(changes.select(["id", "ts", "fare"]), source)
        oracle = self._session()
        oracle.sql(f"CREATE TABLE trips USING hudi LOCATION '{made}'")
        oracle.sql(
            f"MERGE INTO trips t USING (SELECT * FROM parquet.`{source}`) s ON t.id = s.id "
            "WHEN MATCHED THEN UPDATE SET t.ts = s.ts, t.fare = s.fare"
        )
        oracle.sql("DROP TABLE trips")
        shutil.move(made, path)
        print(f"made {path}", flush=True)
        return path

    def close(self) -> None:
        if self._oracle:
            self._oracle.close()
        shutil.rmtree(self._work, ignore_errors=True)

    def _session(self) -> Oracle:
        self._oracle = self._oracle or Oracle.start(self._work)
        return self._oracle

    def _write(self, path: Path, change: pa.Table, options: Mapping[str, str], mode: str = "append") -> None:
        self._session().write(path, change, options, mode)


def make(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    maker = Maker(folder)
    try:
        plain = maker.table("plain", rows(np.arange(ROWS), 1), iter(()))
        for thousands in (100, 500):
            change = updates(thousands * 1000, 2)
            maker.table(f"avro_{thousands}k", plain, iter([(change, ONE_GROUP)]))
            maker.table(f"parquet_{thousands}k", plain, iter([(change, ONE_GROUP | PARQUET_BLOCKS)]))
        maker.table("avro_20x5k", plain, ((updates(5_000, 2 + n), ONE_GROUP) for n in range(20)))
        maker.partial("partial_100k", plain, updates(100_000, 2))
        all_groups = rows(np.arange(GROUPS * GROUP_ROWS), 1)
        change = updates(GROUPS * GROUP_ROWS // 10, 2, of=GROUPS * GROUP_ROWS)
        maker.table("groups", all_groups, iter([(change, BUCKETS)]), BUCKETS)
    finally:
        maker.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    make(parser.parse_args().folder)
