"""One thread or several: the same rows, homes of keys, counts and statistics. tests/spark asks Spark the same."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import hudini
from hudini.actions import CommitResult
from tests.support.answers import Answer, options_for, played
from tests.support.rows import SCHEMA, Row, to_arrow


def local(path: Path, options: dict[str, str], threads: int, batch_rows: int) -> Answer:
    hudini.create(path, SCHEMA, options=options)

    def write(operation: str, rows: list[Row]) -> CommitResult:
        table = hudini.open(path, options=options, threads=threads)
        batches = to_arrow(rows).to_batches(max_chunksize=batch_rows)
        return getattr(table, operation)(pa.RecordBatchReader.from_batches(SCHEMA, batches))

    return played(path, write, moves=options["hoodie.index.type"] == "RECORD_INDEX")


@pytest.mark.parametrize("index", ["BUCKET", "SIMPLE", "BLOOM", "RECORD_INDEX"])
@pytest.mark.parametrize("table_type", ["cow", "mor"])
def test_threads_and_batches_change_nothing(table_type: str, index: str, tmp_path: Path) -> None:
    options = options_for(table_type, index)
    one = local(tmp_path / "one", options, threads=1, batch_rows=10_000)
    for threads, batch_rows in [(2, 10_000), (2, 7), (1, 1)]:
        other = local(tmp_path / f"{threads}-{batch_rows}", options, threads, batch_rows)
        assert other.difference(one) is None, other.difference(one)
    assert sum(one.rows.values()) == len(one.homes) > 200
    assert len(set(one.homes.values())) >= 4
    assert sum(one.statistics.values()) > 100
