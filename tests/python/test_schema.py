"""Schemas as people write them."""

from __future__ import annotations

import pyarrow as pa
import pytest

from hudini import Schema, SchemaMismatch
from hudini.schema import as_schema

TYPES = {
    "boolean": pa.bool_(),
    "bool": pa.bool_(),
    "int": pa.int32(),
    "INTEGER": pa.int32(),
    "long": pa.int64(),
    "bigint": pa.int64(),
    "int64": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "timestamp_ms": pa.timestamp("ms", tz="UTC"),
    "decimal(10, 2)": pa.decimal128(10, 2),
    "fixed(16)": pa.binary(16),
    "array<int>": pa.list_(pa.field("element", pa.int32())),
    "array<long not null>": pa.list_(pa.field("element", pa.int64(), nullable=False)),
    "map<string,double>": pa.map_(pa.string(), pa.float64()),
    "struct<a: int not null, `odd name`: array<string>>": pa.struct(
        [
            pa.field("a", pa.int32(), nullable=False),
            pa.field("odd name", pa.list_(pa.field("element", pa.string()))),
        ]
    ),
}


@pytest.mark.parametrize(("text", "kind"), TYPES.items())
def test_a_type_as_text(text: str, kind: pa.DataType) -> None:
    assert pa.schema(as_schema({"c": text})).field("c").equals(pa.field("c", kind))
    assert pa.schema(as_schema([("c", f"{text} not null")])).field("c").equals(pa.field("c", kind, nullable=False))


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("integr", "unknown type 'integr'"),
        ("array<int", "ends too early"),
        ("decimal(10)", "where ',' was expected"),
        ("decimal(a,2)", "'a' is no number"),
        ("int int", "unexpected 'int'"),
        ("int;", "unexpected ';'"),
        ("", "ends too early"),
        ("struct<a int>", "where ':' was expected"),
    ],
)
def test_a_type_that_is_none(text: str, what: str) -> None:
    with pytest.raises(SchemaMismatch, match="of column c") as caught:
        as_schema({"c": text})
    assert what in caught.value.message


def test_what_has_a_schema_is_taken_as_it_is() -> None:
    schema = pa.schema([("a", pa.int64())])
    assert as_schema(schema) is schema
    assert as_schema(schema.empty_table()).equals(schema)
    assert pa.schema(as_schema({"a": pa.int64()})) == schema


def test_a_pandas_frame_gives_its_columns_without_index_and_nanoseconds() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1], "t": pandas.to_datetime(["2026-01-01"])}, index=["x"])
    assert as_schema(frame).field("t").type == pa.timestamp("us")
    assert as_schema(frame).names == ["a", "t"]


@pytest.mark.parametrize("nonsense", [None, 3, "a int", [], ["a", "b"], [("a", "int", True)]])
def test_what_is_no_schema(nonsense: object) -> None:
    with pytest.raises(TypeError, match="a schema is"):
        as_schema(nonsense)


@pytest.mark.parametrize("pairs", [{1: "int"}, {"a": int}])
def test_names_and_types_of_the_wrong_kind(pairs: object) -> None:
    with pytest.raises(TypeError):
        as_schema(pairs)


def test_a_schema_shows_itself() -> None:
    schema = Schema(as_schema({"id": "string not null", "n": "long"}))
    assert repr(schema) == "Schema(\n  id: string not null\n  n: int64\n)"
    assert schema.names == ["id", "n"]
    assert len(schema) == 2
    assert "n" in schema
    assert "x" not in schema
    assert schema["id"] == schema[0] == pa.field("id", pa.string(), nullable=False)
    assert schema == schema.to_arrow()
    assert schema != pa.schema([("id", pa.string())])
    assert schema != "a string"
    assert pa.schema(schema) == schema.to_arrow()
