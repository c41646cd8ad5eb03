"""Tables as DataFrames."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hudini._arguments import completion_text, instant_text, name_list, options_text, path_text, storage_text
from hudini._filters import filter_text
from hudini.spark.batches import arrow_schema, spark_schema, with_large_texts
from hudini.spark.errors import typed_errors
from hudini.spark.sessions import is_connect
from hudini.spark.source import (
    AS_OF,
    BEGIN,
    COLUMNS,
    END,
    FILTER,
    IMAGES,
    INCREMENTAL_FORMAT,
    META,
    PATH,
    QUERY_TYPE,
    STORAGE,
    DefaultSource,
    rows_of,
)
from hudini.table import Options, Path

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


def read(
    spark: SparkSession,
    path: Path,
    *,
    columns: Sequence[str] | None = None,
    filter: str | Sequence[Any] | None = None,
    as_of: Any = None,
    mode: str | None = None,
    meta: bool = True,
    options: Options | None = None,
    storage_options: Options | None = None,
) -> DataFrame:
    """The table's rows as a DataFrame, pinned to one snapshot; only `columns` are read from the files.

    `filter` is that of `Table.read`: unlike `DataFrame.filter`, it leaves out partitions, files and row groups. Without
    one, Spark's own Parquet reader takes the file slices that have no log and whose files hold plain columns; then it
    prunes columns and pushes filters down as for any Parquet file, and columns may be null as far as it knows.
    `storage_options` are those of `hudini.open`.
    """
    given = _options(options, storage_options) | {META: "true" if meta else "false"}
    if mode is not None:
        given[QUERY_TYPE] = mode
    if columns is not None:
        given[COLUMNS] = json.dumps(name_list(columns, "columns"))
    where = filter_text(filter)
    if where is not None:
        given[FILTER] = where
    when = instant_text(as_of)
    if when is not None:
        given[AS_OF] = when
    place = path_text(path)
    scan = DefaultSource(given | {PATH: place}).scan()
    files, splits = scan._core.plain()
    if not files and not is_connect(spark):
        return _of_source(spark, place, given)
    schema = spark_schema(scan.schema.to_arrow())
    if not files:
        return _of_splits(spark, splits, schema)
    rows = _of_files(spark, files, schema)
    return rows.unionAll(_of_splits(spark, splits, schema)) if splits else rows


def _options(options: Options | None, storage_options: Options | None) -> dict[str, str]:
    """All of them as the source takes them."""
    storage = {STORAGE + key: value for key, value in storage_text(storage_options).items()}
    return options_text(options) | storage


def _pinned(spark: SparkSession, path: Path, given: dict[str, str]) -> DataFrame:
    """What the source gives for these options, of the state of now in all queries."""
    place = path_text(path)
    if not is_connect(spark):
        return _of_source(spark, place, given)
    scan = DefaultSource(given | {PATH: place}).scan()
    splits = [split.to_bytes() for split in scan.splits()]
    return _of_splits(spark, splits, spark_schema(scan.schema.to_arrow()))


def _of_source(spark: SparkSession, path: str, given: dict[str, str]) -> DataFrame:
    with typed_errors():
        return spark.read.format("hudini").options(**given).load(path)


# What may be set for a session to take other files or other values for those of the table.
_AS_THEY_ARE = {
    "datetimeRebaseMode": "CORRECTED",
    "ignoreCorruptFiles": "false",
    "ignoreMissingFiles": "false",
    "mergeSchema": "false",
}


def _of_files(spark: SparkSession, files: list[str], schema: StructType) -> DataFrame:
    """The rows of whole files, read by Spark."""
    return spark.read.schema(schema).options(**_AS_THEY_ARE).parquet(*(f"file:{file}" for file in files))


def _of_splits(spark: SparkSession, splits: list[bytes], schema: StructType) -> DataFrame:
    """The rows of splits, each in a Spark partition of its own as far as may be."""
    plain = arrow_schema(schema)

    def rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            column = batch.column(0)
            # As wide as what Spark sends is what it takes.
            promised = with_large_texts(plain) if pa.types.is_large_binary(column.type) else plain
            for split in column:
                yield from rows_of(split.as_py(), promised)

    numbered = [(number, bytearray(split)) for number, split in enumerate(splits)]
    listed = spark.createDataFrame(numbered, "number int, split binary")
    spread = listed.repartitionByRange(max(len(splits), 1), "number")
    return spread.select("split").mapInArrow(rows, schema)


def incremental(
    spark: SparkSession,
    path: Path,
    start: Any = None,
    end: Any = None,
    *,
    columns: Sequence[str] | None = None,
    filter: str | Sequence[Any] | None = None,
    options: Options | None = None,
    storage_options: Options | None = None,
) -> DataFrame:
    """The rows that were written after `start` and up to `end`, as `Table.incremental` has them, as a DataFrame.

    Without an `end` the range ends now: all queries over the frame see the same rows.
    """
    given = _options(options, storage_options) | _range(start, end)
    where = filter_text(filter)
    if where is not None:
        given[FILTER] = where
    if columns is not None:
        given[COLUMNS] = json.dumps(name_list(columns, "columns"))
    return _pinned(spark, path, given)


def changes(
    spark: SparkSession,
    path: Path,
    start: Any = None,
    end: Any = None,
    *,
    images: str = "struct",
    options: Options | None = None,
    storage_options: Options | None = None,
) -> DataFrame:
    """What happened to rows after `start` and up to `end`, as `Table.changes` has it, as a DataFrame.

    Without an `end` the range ends now: all queries over the frame see the same changes.
    """
    given = _options(options, storage_options) | _range(start, end) | {INCREMENTAL_FORMAT: "cdc", IMAGES: images}
    return _pinned(spark, path, given)


def _range(start: Any, end: Any) -> dict[str, str]:
    until = completion_text(end)
    given = {QUERY_TYPE: "incremental", BEGIN: completion_text(start) or "earliest"}
    return given if until is None else given | {END: until}
