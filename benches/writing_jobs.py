"""What `writing.py` measures, and the gates that hudini keeps to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
from figures import Figure, Gate
from tables import ROWS, rows, updates

OURS, FACE, ALONE = "hudini", "hudini in Python", "hudini, one thread"
PYARROW, DELTA, ICEBERG, SPARK = "pyarrow", "delta-rs", "PyIceberg", "Apache Hudi"
HUDI_RS, HUDI_RS_RECORDS = "hudi-rs", "hudi-rs, record index"

THOUSANDS = (1, 10, 100)
ALL = "all"
ZSTD, GZIP = "zstd", "gzip"
CODEC = "hoodie.parquet.compression.codec"
TABLE = {
    "hoodie.table.name": "trips",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.table.ordering.fields": "ts",
}
BUCKETS = {"hoodie.index.bucket.engine": "SIMPLE", "hoodie.bucket.index.num.buckets": "4"}
WORDS = {"BUCKET": "buckets", "SIMPLE": "no buckets", "RECORD_INDEX": "record index"}


@dataclass(frozen=True)
class Layout:
    """A kind of table. Names of layouts are names of folders."""

    table_type: Literal["COPY_ON_WRITE", "MERGE_ON_READ"]
    index: Literal["BUCKET", "SIMPLE", "RECORD_INDEX"] = "BUCKET"
    codec: str = ZSTD

    def __str__(self) -> str:
        return f"{'COW' if self.table_type == 'COPY_ON_WRITE' else 'MOR'}, {WORDS[self.index]}"

    def options(self) -> dict[str, str]:
        buckets = BUCKETS if self.index == "BUCKET" else {}
        return TABLE | buckets | {"hoodie.index.type": self.index, CODEC: self.codec}


@dataclass(frozen=True)
class Job:
    """One write, of a table that the jobs before it have made."""

    name: str
    operation: Literal["bulk_insert", "upsert", "compact", "plain", "plain_in_four"]
    layout: Layout
    rows: str | None = None
    before: tuple[Job, ...] = ()

    @property
    def is_plain(self) -> bool:
        """Files, no table."""
        return self.operation.startswith("plain")


COW, MOR = Layout("COPY_ON_WRITE"), Layout("MERGE_ON_READ")
COW_FREE, MOR_FREE = Layout("COPY_ON_WRITE", "SIMPLE"), Layout("MERGE_ON_READ", "SIMPLE")
MOR_RECORDS = Layout("MERGE_ON_READ", "RECORD_INDEX")
COW_GZIP = Layout("COPY_ON_WRITE", codec=GZIP)


def load(layout: Layout) -> Job:
    codec = "" if layout.codec == ZSTD else f", {layout.codec}"
    return Job(f"load, {layout}{codec}", "bulk_insert", layout, ALL)


def upsert(layout: Layout, thousands: int) -> Job:
    return Job(f"upsert of {thousands} k, {layout}", "upsert", layout, f"{thousands}k", (load(layout),))


PLAIN, PLAIN_GZIP = (Job(f"Parquet, no table, {layout.codec}", "plain", layout, ALL) for layout in (COW, COW_GZIP))
# What it takes to bring the same rows into as many files as buckets do. No gate: they ask for one file.
PLAIN_IN_FOUR = Job(f"Parquet, no table, {ZSTD}, four files", "plain_in_four", COW, ALL)
COMPACTION = Job("compaction of 1 M + 100 k", "compact", MOR, None, (load(MOR), upsert(MOR, 100)))
JOBS = [
    PLAIN,
    PLAIN_GZIP,
    PLAIN_IN_FOUR,
    *map(load, (COW, MOR, COW_FREE, MOR_FREE, MOR_RECORDS, COW_GZIP)),
    *(upsert(layout, thousands) for layout in (MOR, COW, COW_FREE, MOR_RECORDS) for thousands in THOUSANDS),
    COMPACTION,
]


def written() -> Iterator[tuple[str, pa.Table]]:
    """The rows that jobs write, by name."""
    yield ALL, rows(np.arange(ROWS), 1)
    for thousands in THOUSANDS:
        yield f"{thousands}k", updates(thousands * 1000, 2)


# Loads without buckets have the index of the peer's load.
OVER_PLAIN = {load(layout): PLAIN for layout in (COW, MOR, COW_FREE, MOR_FREE)} | {load(COW_GZIP): PLAIN_GZIP}
OVER_HUDI_RS = {
    load(COW): 0.6,
    load(MOR): 0.6,
    upsert(MOR, 1): 0.4,
    upsert(MOR, 100): 0.5,
    upsert(MOR_RECORDS, 1): 1.0,
    upsert(COW, 1): 0.6,
    upsert(COW, 100): 0.6,
    COMPACTION: 0.4,
}


def gates() -> Iterator[Gate]:
    for job, plain in OVER_PLAIN.items():
        for writer, says in (PYARROW, "pyarrow's Parquet"), (OURS, "Parquet by the same crate"):
            # Plain files are written by one thread, and two that share a core take longer for the same work.
            for engine in ALONE, OURS:
                what = f"{job.name}, {engine}, over {says}"
                yield Gate(what, 1.6, Figure(engine, job.name), Figure(writer, plain.name))
    for job, limit in OVER_HUDI_RS.items():
        # The peer has no table with buckets, so it does each job once an index, under the name of that with buckets.
        by_records = job.layout == MOR_RECORDS
        theirs = upsert(MOR, 1) if by_records else job
        for peer in (HUDI_RS_RECORDS,) if by_records else (HUDI_RS, HUDI_RS_RECORDS):
            yield Gate(f"{job.name}, over {peer}", limit, Figure(OURS, job.name), Figure(peer, theirs.name))
    for thousands in THOUSANDS:
        job = upsert(MOR, thousands).name
        yield Gate(f"{job}, over delta-rs", 1, Figure(OURS, job), Figure(DELTA, upsert(COW, thousands).name))
