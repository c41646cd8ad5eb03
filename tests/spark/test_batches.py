"""Types on their way between Arrow and Spark."""

from __future__ import annotations

import datetime as dt
import decimal

import pyarrow as pa
import pytest
from pyspark.sql import types as st

from hudini import UnsupportedFeature
from hudini.spark.batches import arrow_schema, conform, spark_schema, with_large_texts

SAME = [
    (pa.bool_(), st.BooleanType()),
    (pa.int8(), st.ByteType()),
    (pa.int16(), st.ShortType()),
    (pa.int32(), st.IntegerType()),
    (pa.int64(), st.LongType()),
    (pa.float32(), st.FloatType()),
    (pa.float64(), st.DoubleType()),
    (pa.string(), st.StringType()),
    (pa.binary(), st.BinaryType()),
    (pa.date32(), st.DateType()),
    (pa.decimal128(10, 2), st.DecimalType(10, 2)),
    (pa.timestamp("us", tz="UTC"), st.TimestampType()),
    (pa.timestamp("us"), st.TimestampNTZType()),
    (pa.list_(pa.field("element", pa.int32(), nullable=False)), st.ArrayType(st.IntegerType(), False)),
    (pa.map_(pa.string(), pa.field("value", pa.int64())), st.MapType(st.StringType(), st.LongType(), True)),
    (
        pa.struct(
            [pa.field("a", pa.int32(), nullable=False), pa.field("b", pa.list_(pa.field("element", pa.string())))]
        ),
        st.StructType(
            [st.StructField("a", st.IntegerType(), False), st.StructField("b", st.ArrayType(st.StringType(), True))]
        ),
    ),
]
WIDER = [
    (pa.large_string(), st.StringType(), "x"),
    (pa.string_view(), st.StringType(), "x"),
    (pa.large_binary(), st.BinaryType(), b"x"),
    (pa.binary(2), st.BinaryType(), b"xy"),
    (pa.timestamp("ms", tz="UTC"), st.TimestampType(), dt.datetime(2026, 11, 21, tzinfo=dt.timezone.utc)),
    (pa.timestamp("us", tz="Asia/Tokyo"), st.TimestampType(), dt.datetime(2026, 11, 21, tzinfo=dt.timezone.utc)),
    (pa.timestamp("ms"), st.TimestampNTZType(), dt.datetime(2026, 11, 21)),
    (pa.dictionary(pa.int32(), pa.string()), st.StringType(), "x"),
    (pa.list_(pa.field("item", pa.string())), st.ArrayType(st.StringType(), True), ["x", None]),
    (pa.large_list(pa.field("item", pa.int64())), st.ArrayType(st.LongType(), True), [1]),
    (pa.list_(pa.field("item", pa.float32(), False), 2), st.ArrayType(st.FloatType(), False), [0.5, -2.0]),
]


@pytest.mark.parametrize(("arrow", "spark"), SAME, ids=lambda kind: str(kind))
@pytest.mark.parametrize("nullable", [True, False])
def test_a_type_and_its_nullability_go_both_ways(arrow: pa.DataType, spark: st.DataType, nullable: bool) -> None:
    schema = pa.schema([pa.field("c", arrow, nullable)])
    assert spark_schema(schema) == st.StructType([st.StructField("c", spark, nullable)])
    assert arrow_schema(spark_schema(schema)).equals(schema)


@pytest.mark.parametrize(("arrow", "spark", "value"), WIDER, ids=lambda kind: str(kind))
def test_a_type_that_spark_lacks_is_cast_to_the_one_it_has(
    arrow: pa.DataType, spark: st.DataType, value: object
) -> None:
    batch = pa.RecordBatch.from_arrays([pa.array([value, None], arrow)], names=["c"])
    declared = spark_schema(batch.schema)
    assert declared["c"].dataType == spark
    got = conform(batch, arrow_schema(declared))
    assert got.schema.equals(arrow_schema(declared))
    assert got.column("c").to_pylist() == [value, None]


def test_texts_and_bytes_may_be_large_wherever_they_are() -> None:
    row = {"a": "x", "b": [b"y", None], "c": [("k", {"d": "z"})], "e": 1}
    plain = pa.schema(
        [
            pa.field("a", pa.string(), nullable=False),
            ("b", pa.list_(pa.field("element", pa.binary()))),
            ("c", pa.map_(pa.string(), pa.field("value", pa.struct([("d", pa.string())])))),
            ("e", pa.int64()),
        ]
    )
    large = with_large_texts(plain)
    assert spark_schema(large) == spark_schema(plain)
    assert [str(kind) for kind in large.types[:2]] == ["large_string", "list<element: large_binary>"]
    batch = conform(pa.RecordBatch.from_pylist([row], schema=plain), large)
    assert batch.schema.equals(large)
    assert batch.to_pylist() == [row]


@pytest.mark.parametrize(
    ("arrow", "spark"),
    [(pa.time32("ms"), st.IntegerType()), (pa.time64("us"), st.LongType())],
)
def test_a_time_of_day_is_the_bare_number(arrow: pa.DataType, spark: st.DataType) -> None:
    batch = pa.RecordBatch.from_arrays([pa.array([12_345, None], arrow)], names=["c"])
    declared = spark_schema(batch.schema)
    assert declared["c"].dataType == spark
    assert conform(batch, arrow_schema(declared)).column("c").to_pylist() == [12_345, None]


def test_columns_are_picked_by_name() -> None:
    batch = pa.record_batch({"a": [1], "b": ["x"]})
    schema = pa.schema([("b", pa.string()), ("a", pa.int64())])
    assert conform(batch, schema).to_pydict() == {"b": ["x"], "a": [1]}


def test_a_batch_that_fits_is_handed_on() -> None:
    batch = pa.record_batch({"a": [1]})
    assert conform(batch, batch.schema) is batch


def test_a_value_that_would_change_is_an_error() -> None:
    batch = pa.record_batch({"a": [decimal.Decimal("1.25")]})
    with pytest.raises(pa.ArrowInvalid):
        conform(batch, pa.schema([("a", pa.decimal128(10, 1))]))


@pytest.mark.parametrize("kind", [pa.uint32(), pa.duration("us"), pa.decimal256(60, 2)])
def test_what_spark_has_no_type_for(kind: pa.DataType) -> None:
    with pytest.raises(UnsupportedFeature, match="the column c has the type"):
        spark_schema(pa.schema([("c", kind)]))


@pytest.mark.parametrize("kind", [st.DayTimeIntervalType(), st.VariantType()])
def test_what_a_table_has_no_type_for(kind: st.DataType) -> None:
    with pytest.raises(UnsupportedFeature, match="the column c has the type"):
        arrow_schema(st.StructType([st.StructField("c", kind)]))
