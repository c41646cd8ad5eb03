"""Which rows a range of time has: Apache Hudi and hudini on the same tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import hudini

from .oracle import Oracle
from .oracle.queries import query_options

pytestmark = pytest.mark.interop

SCHEMA = pa.schema([("id", pa.string()), ("ts", pa.int64())])


@pytest.mark.parametrize("version", ["9", "8", "6"])
def test_late_rows_behind_a_compaction_are_in_every_range(oracle: Oracle, tmp_path: Path, version: str) -> None:
    path = tmp_path / "t"
    options = {
        "hoodie.table.name": "t",
        "hoodie.datasource.write.table.type": "MERGE_ON_READ",
        "hoodie.write.table.version": version,
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.precombine.field": "ts",
        "hoodie.record.merge.mode": "EVENT_TIME_ORDERING",
        "hoodie.index.type": "SIMPLE",
        "hoodie.metadata.enable": "false",
        "hoodie.compact.inline": "false",
        "hoodie.parquet.small.file.limit": "0",
    }

    def write(rows: list[dict[str, Any]], operation: str = "upsert", mode: str = "append") -> None:
        told = {**options, "hoodie.datasource.write.operation": operation}
        oracle.write(path, pa.Table.from_pylist(rows, schema=SCHEMA), told, mode)

    def read(start: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        theirs = oracle.read(path, query_options("incremental", start=start, end=None))
        ours = hudini.open(path).incremental(start=start).to_arrow()
        both = (each.select(["id", "ts"]).sort_by("id").to_pylist() for each in (theirs, ours))
        return next(both), next(both)

    write([{"id": "a", "ts": 10}, {"id": "b", "ts": 10}], "bulk_insert", "overwrite")
    write([{"id": "b", "ts": 20}])
    oracle.compact(path)
    write([{"id": "a", "ts": 5}])
    done = [row for row in oracle.timeline(path) if row["state"] == "completed"]
    starts = [row["requested" if version == "6" else "completed"] for row in done]
    late, changed = {"id": "a", "ts": 5}, {"id": "b", "ts": 20}
    # Behind the first write, behind the second, behind the compaction, whose file has rows of both.
    for start, expected in zip(starts[:3], [[late, changed], [late], [late]], strict=True):
        assert read(start) == (expected, expected), start
