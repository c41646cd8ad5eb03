"""Writes that complete behind ones that were asked for later."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import hudini

from .oracle import Oracle

pytestmark = pytest.mark.interop

TWO_WRITERS = {
    "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.InProcessLockProvider",
    "hoodie.cleaner.policy.failed.writes": "LAZY",
    "hoodie.clean.failed.writes.policy": "LAZY",
}
STATISTICS = {
    "hoodie.metadata.enable": "true",
    "hoodie.metadata.index.column.stats.enable": "true",
    "hoodie.metadata.index.partition.stats.enable": "true",
}


def rows(numbers: range, value: int) -> pa.Table:
    count = len(numbers)
    ids, parts = [str(number) for number in numbers], ["a" if number < 10 else "b" for number in numbers]
    return pa.table({"id": ids, "p": parts, "ts": pa.array([1] * count), "v": pa.array([value] * count)})


@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_statistics_of_a_partition_that_lack_the_slower_write(oracle: Oracle, tmp_path: Path, table_type: str) -> None:
    path = tmp_path / "table"
    options = {
        "hoodie.table.name": "overtaken",
        "hoodie.datasource.write.operation": "upsert",
        "hoodie.datasource.write.table.type": table_type,
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.partitionpath.field": "p",
        "hoodie.table.ordering.fields": "ts",
        "hoodie.index.type": "SIMPLE",
        "hoodie.parquet.small.file.limit": "0",
        "hoodie.compact.inline": "false",
        **TWO_WRITERS,
        **STATISTICS,
    }
    oracle.write(path, rows(range(5), 10), options)
    oracle.write(path, rows(range(5, 15), 20), options)
    in_order = hudini.open(path).read(filter="v = 10")
    assert (in_order.to_arrow().num_rows, in_order.explain()["pruned"]["by"]["partition_stats"]) == (5, 1)

    slow = oracle.begin_write(path, rows(range(3), 99), options)
    oracle.write(path, rows(range(6, 8), 30), options)
    slow.end()
    overtaken = hudini.open(path).read(filter="v = 99")
    assert overtaken.to_arrow().num_rows == 3
    assert "partition_stats" not in overtaken.explain()["pruned"]["by"]
    theirs = oracle.read(path, {**STATISTICS, "hoodie.enable.data.skipping": "true"}, filter="v = 99")
    assert theirs.num_rows == 0, "Apache Hudi finds them: docs/apache-hudi-notes.md says that it does not"


def test_a_key_that_came_behind_a_later_write_that_took_it_away(oracle: Oracle, tmp_path: Path) -> None:
    path = tmp_path / "table"
    options = {
        "hoodie.table.name": "overtaken",
        "hoodie.datasource.write.operation": "upsert",
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.partitionpath.field": "p",
        "hoodie.record.merge.mode": "COMMIT_TIME_ORDERING",
        "hoodie.index.type": "RECORD_INDEX",
        "hoodie.metadata.record.index.enable": "true",
        "hoodie.parquet.small.file.limit": "0",
        **TWO_WRITERS,
        **STATISTICS,
    }
    oracle.write(path, rows(range(5), 10), options)
    gone = hudini.open(path).read(filter="id = '7'")
    assert (gone.count(), gone.explain()["pruned"]["by"]["record_index"]) == (0, 1)

    slow = oracle.begin_write(path, rows(range(7, 8), 99), options)
    oracle.write(path, rows(range(7, 8), 20), options)
    oracle.write(path, rows(range(7, 8), 20), {**options, "hoodie.datasource.write.operation": "delete"})
    slow.end()
    table = hudini.open(path)
    assert [row["v"] for row in table.read(columns=["id", "v"]).to_arrow().to_pylist() if row["id"] == "7"] == [99]
    assert table.read(filter="id = '7'").count() == 1
