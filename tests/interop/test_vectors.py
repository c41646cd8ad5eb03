"""Columns of type VECTOR: Apache Hudi 1.2 writes them, hudini reads them as lists of a fixed size."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import hudini
from tests.support.compare import difference

from .oracle import Oracle
from .oracle.queries import query_options

pytestmark = pytest.mark.interop

TYPES = {
    "e": pa.list_(pa.field("element", pa.float32(), nullable=False), 3),
    "d": pa.list_(pa.field("element", pa.float64(), nullable=False), 2),
    "i": pa.list_(pa.field("element", pa.int8(), nullable=False), 4),
}


def numbers(kind: str, *values: float) -> str:
    return f"array({', '.join(f'cast({value} as {kind})' for value in values)})"


def written(oracle: Oracle, path: Path, name: str, table_type: str, blocks: str) -> None:
    """Two rows of numbers, one of nulls; one of them changed, one deleted, one added."""
    properties = {
        "type": table_type,
        "primaryKey": "id",
        "preCombineField": "ts",
        "hoodie.logfile.data.block.format": blocks,
        "hoodie.compact.inline": "false",
        "hoodie.parquet.small.file.limit": "0",
    }
    stated = ", ".join(f"'{key}'='{value}'" for key, value in properties.items())
    first = ", ".join(
        (numbers("float", 0.1, -2, 3), numbers("double", 1.5, -1e300), numbers("tinyint", 1, -1, 127, -128))
    )
    second = ", ".join((numbers("float", 4, 5, 6), numbers("double", 0, 1), numbers("tinyint", 0, 0, 0, 0)))
    columns = "id int, ts bigint, e vector(3), d vector(2, double), i vector(4, int8)"
    for statement in (
        f"create table {name} ({columns}) using hudi tblproperties ({stated}) location '{path}'",
        f"insert into {name} values (1, 1, {first}), (2, 1, {second}), (3, 1, null, null, null)",
        f"update {name} set ts = 2, e = {numbers('float', 9, 8, 7)} where id = 2",
        f"insert into {name} values (4, 1, {numbers('float', 7, 8, 9)}, null, {numbers('tinyint', 1, 2, 3, 4)})",
        f"delete from {name} where id = 1",
    ):
        oracle.sql(statement)


def files(path: Path) -> list[Path]:
    """All but those of locks, which are taken before anything is refused."""
    return sorted(file for file in path.rglob("*") if file.is_file() and ".locks" not in file.parts)


def as_lists(rows: pa.Table) -> pa.Table:
    plain = [
        field.with_type(pa.list_(field.type.value_type)) if field.name in TYPES else field for field in rows.schema
    ]
    return rows.cast(pa.schema(plain))


@pytest.mark.parametrize(("table_type", "blocks"), [("cow", "avro"), ("mor", "avro"), ("mor", "parquet")])
def test_vectors_are_lists_of_numbers(oracle: Oracle, tmp_path: Path, table_type: str, blocks: str) -> None:
    path = tmp_path / "t"
    written(oracle, path, f"vectors_{table_type}_{blocks}", table_type, blocks)
    table = hudini.open(path)
    for query, found in {
        "snapshot": table.read(),
        "read_optimized": table.read(mode="read_optimized"),
        "incremental": table.incremental(),
    }.items():
        rows = found.to_arrow()
        assert {name: rows.schema.field(name).type for name in TYPES} == TYPES
        start = {"start": "000"} if query == "incremental" else {}
        assert difference(as_lists(rows), as_lists(oracle.read(path, query_options(query, **start)))) is None, query
    assert table.read(["e"], filter="id = 2").to_arrow().to_pylist() == [{"e": [9.0, 8.0, 7.0]}]

    before = files(path)
    with pytest.raises(hudini.UnsupportedFeature, match="VECTOR"):
        table.delete(pa.table({"id": pa.array([2], pa.int32())}))
    if table_type == "mor":
        with pytest.raises(hudini.UnsupportedFeature, match="VECTOR"):
            table.services.compact()
    assert files(path) == before
