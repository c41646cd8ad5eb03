"""Arrow and Spark: which type is which, and batches in exactly the types that Spark was promised.

| Arrow                                   | Spark                | back to Arrow        |
|-----------------------------------------|----------------------|----------------------|
| bool, int8 … int64, float32, float64    | the same             | the same             |
| utf8, large and view                    | StringType           | utf8                 |
| binary, large, view and fixed           | BinaryType           | binary               |
| decimal32 … decimal128(p, s)            | DecimalType(p, s)    | decimal128(p, s)     |
| date32                                  | DateType             | date32               |
| timestamp with a zone, any unit to µs   | TimestampType        | timestamp[us, UTC]   |
| timestamp without                       | TimestampNTZType     | timestamp[us]        |
| time32, time64                          | as Spark reads Avro's: IntegerType, LongType (the bare number)            |
| list, map, struct, dictionary           | ArrayType, MapType, StructType, the values' type                          |
| list of fixed size (VECTOR)             | ArrayType            | list                 |

Spark 4.2 and later refuse a batch whose schema differs from the declared one in a child's name or a nullability.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyspark.sql import types as st

from hudini.errors import UnsupportedFeature

_PLAIN: list[tuple[pa.DataType, st.DataType]] = [
    (pa.null(), st.NullType()),
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
    (pa.timestamp("us", tz="UTC"), st.TimestampType()),
    (pa.timestamp("us"), st.TimestampNTZType()),
]
_TO_SPARK = dict(_PLAIN)
_TO_ARROW = {type(spark): arrow for arrow, spark in _PLAIN}


def spark_schema(schema: pa.Schema) -> st.StructType:
    """The Spark schema of Arrow columns, nullability kept."""
    return st.StructType([st.StructField(f.name, _to_spark(f.type, f.name), f.nullable) for f in schema])


def arrow_schema(schema: st.StructType) -> pa.Schema:
    """The Arrow schema that Spark expects of batches for its columns."""
    return pa.schema([pa.field(f.name, _to_arrow(f.dataType, f.name), f.nullable) for f in schema.fields])


def with_large_texts(schema: pa.Schema) -> pa.Schema:
    """The same columns as Spark wants them under `spark.sql.execution.arrow.useLargeVarTypes`."""
    return pa.schema([field.with_type(_large(field.type)) for field in schema])


def conform(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The batch's columns named by `schema`, in its order and in its very types."""
    if batch.schema.equals(schema):
        return batch
    columns = []
    for field in schema:
        column = batch.column(field.name)
        columns.append(column if column.type.equals(field.type) else _cast(column, field))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _cast(column: pa.Array, field: pa.Field) -> pa.Array:
    if pa.types.is_time32(column.type) or pa.types.is_time64(column.type):
        # Arrow casts a time only to the integer of its own width.
        column = column.cast(pa.int32() if pa.types.is_time32(column.type) else pa.int64())
    return column.cast(field.type)


def _to_spark(kind: pa.DataType, name: str) -> st.DataType:
    is_a = pa.types
    found = _TO_SPARK.get(kind)
    if found is not None:
        return found
    if is_a.is_large_string(kind) or is_a.is_string_view(kind):
        return st.StringType()
    if is_a.is_large_binary(kind) or is_a.is_fixed_size_binary(kind) or is_a.is_binary_view(kind):
        return st.BinaryType()
    if is_a.is_decimal(kind) and kind.precision <= 38:
        return st.DecimalType(kind.precision, kind.scale)
    if is_a.is_timestamp(kind):
        return st.TimestampNTZType() if kind.tz is None else st.TimestampType()
    if is_a.is_time32(kind):
        return st.IntegerType()
    if is_a.is_time64(kind):
        return st.LongType()
    if is_a.is_dictionary(kind):
        return _to_spark(kind.value_type, name)
    if is_a.is_list(kind) or is_a.is_large_list(kind) or is_a.is_fixed_size_list(kind):
        return st.ArrayType(_to_spark(kind.value_type, name), kind.value_field.nullable)
    if is_a.is_map(kind):
        return st.MapType(_to_spark(kind.key_type, name), _to_spark(kind.item_type, name), kind.item_field.nullable)
    if is_a.is_struct(kind):
        return spark_schema(pa.schema(list(kind)))
    raise UnsupportedFeature(f"the column {name} has the type {kind}, which Spark does not have")


def _to_arrow(kind: st.DataType, name: str) -> pa.DataType:
    found = _TO_ARROW.get(type(kind))
    if found is not None:
        return found
    if isinstance(kind, (st.StringType, st.CharType, st.VarcharType)):
        return pa.string()
    if isinstance(kind, st.DecimalType):
        return pa.decimal128(kind.precision, kind.scale)
    if isinstance(kind, st.ArrayType):
        return pa.list_(pa.field("element", _to_arrow(kind.elementType, name), kind.containsNull))
    if isinstance(kind, st.MapType):
        value: Any = pa.field("value", _to_arrow(kind.valueType, name), kind.valueContainsNull)
        return pa.map_(_to_arrow(kind.keyType, name), value)
    if isinstance(kind, st.StructType):
        return pa.struct(list(arrow_schema(kind)))
    raise UnsupportedFeature(f"the column {name} has the type {kind.simpleString()}, which a Hudi table can't hold")


def _large(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_string(kind):
        return pa.large_string()
    if pa.types.is_binary(kind):
        return pa.large_binary()
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_large(kind.value_type)))
    if pa.types.is_map(kind):
        return pa.map_(_large(kind.key_type), kind.item_field.with_type(_large(kind.item_type)))
    if pa.types.is_struct(kind):
        return pa.struct(list(with_large_texts(pa.schema(list(kind)))))
    return kind
