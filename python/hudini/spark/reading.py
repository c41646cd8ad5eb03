"""Tables as DataFrames."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hudini._arguments import completion_text, instant_text, name_list, options_text
from hudini._filters import filter_text
from hudini.spark.batches import spark_schema
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
    DefaultSource,
    rows_of,
)

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


def read(
    spark: SparkSession,
    path: str,
    *,
    columns: Sequence[str] | None = None,
    filter: str | Sequence[Any] | None = None,
    as_of: Any = None,
    mode: str | None = None,
    meta: bool = True,
    options: Mapping[str, Any] | None = None,
) -> DataFrame:
    """The table's rows as a DataFrame, pinned to one snapshot; only `columns` are read from the files.

    `filter` is that of `Table.read`: unlike `DataFrame.filter`, it leaves out partitions, files and row groups. Without
    one, Spark's own Parquet reader takes the file slices that have no log and whose files hold plain columns; then it
    prunes columns and pushes filters down as for any Parquet file, and columns may be null as far as it knows.
    """
    given = options_text(options) | {META: "true" if meta else "false"}
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
    scan = DefaultSource(given | {PATH: path}).scan()
    files, splits = scan._core.plain()
    # With large types Spark's batches are others, which the source alone knows how to make.
    if not files or spark.conf.get("spark.sql.execution.arrow.useLargeVarTypes", "false") == "true":
        return spark.read.format("hudini").options(**given).load(path)
    schema = spark_schema(scan.schema.to_arrow())
    rows = _of_files(spark, files, schema)
    return rows.unionAll(_of_splits(spark, splits, schema)) if splits else rows


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

    def rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for split in batch.column(0):
                yield from rows_of(split.as_py(), schema)

    numbered = [(number, bytearray(split)) for number, split in enumerate(splits)]
    spread = spark.createDataFrame(numbered, "number int, split binary").repartitionByRange(len(splits), "number")
    return spread.select("split").mapInArrow(rows, schema)


def incremental(
    spark: SparkSession,
    path: str,
    start: Any = None,
    end: Any = None,
    *,
    columns: Sequence[str] | None = None,
    filter: str | Sequence[Any] | None = None,
    options: Mapping[str, Any] | None = None,
) -> DataFrame:
    """The rows that were written after `start` and up to `end`, as `Table.incremental` has them, as a DataFrame."""
    given = options_text(options) | _range(start, end)
    where = filter_text(filter)
    if where is not None:
        given[FILTER] = where
    if columns is not None:
        given[COLUMNS] = json.dumps(name_list(columns, "columns"))
    return spark.read.format("hudini").options(**given).load(path)


def changes(
    spark: SparkSession,
    path: str,
    start: Any = None,
    end: Any = None,
    *,
    images: str = "struct",
    options: Mapping[str, Any] | None = None,
) -> DataFrame:
    """What happened to rows after `start` and up to `end`, as `Table.changes` has it, as a DataFrame."""
    given = options_text(options) | _range(start, end) | {INCREMENTAL_FORMAT: "cdc", IMAGES: images}
    return spark.read.format("hudini").options(**given).load(path)


def _range(start: Any, end: Any) -> dict[str, str]:
    until = completion_text(end)
    given = {QUERY_TYPE: "incremental", BEGIN: completion_text(start) or "earliest"}
    return given if until is None else given | {END: until}
