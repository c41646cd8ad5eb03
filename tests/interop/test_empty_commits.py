"""Commits without rows, which tell something all the same: of a job that keeps its place in them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import hudini
from tests.support.compare import difference

from .oracle import Oracle
from .scenes import alike, instants, validated

pytestmark = pytest.mark.interop

SCHEMA = pa.schema([("id", pa.string()), ("p", pa.string()), ("ts", pa.int64())])


def rows(ids: str, ts: int) -> pa.Table:
    return pa.table({"id": list(ids), "p": ["x"] * len(ids), "ts": [ts] * len(ids)}, schema=SCHEMA)


@pytest.mark.parametrize("table_type", ["cow", "mor"])
@pytest.mark.parametrize("version", [8, 9])
def test_apache_hudi_goes_on_behind_one(oracle: Oracle, tmp_path: Path, table_type: str, version: int) -> None:
    path = tmp_path / "table"
    table = hudini.create(
        path, SCHEMA, record_key="id", partition_by="p", ordering="ts", table_type=table_type, table_version=version
    )
    for turn in range(3):
        table.upsert(rows("abc", turn))
        empty = table.upsert(SCHEMA.empty_table(), metadata={"place": str(turn)})
        assert (empty.inserted, empty.files_added) == (0, 0)
    assert [row["metadata"] for row in table.history(limit=1)] == [{"place": "2"}]
    alike(oracle, path, instants(oracle, path))
    oracle.write(
        path,
        rows("cd", 5),
        {
            "hoodie.table.name": "table",
            "hoodie.datasource.write.operation": "upsert",
            "hoodie.datasource.write.recordkey.field": "id",
            "hoodie.datasource.write.partitionpath.field": "p",
            "hoodie.table.ordering.fields": "ts",
            "hoodie.write.table.version": str(version),
        },
    )
    if table_type == "mor":
        oracle.compact(path)
    validated(oracle, path)
    expected = pa.concat_tables([rows("ab", 2), rows("cd", 5)])
    assert difference(table.read(columns=SCHEMA.names).to_arrow(), expected) is None
    alike(oracle, path, instants(oracle, path))
    assert table.verify(deep=True).ok
