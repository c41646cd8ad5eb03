"""The writes of `hudini.spark`, verb by verb."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import hudini
from hudini import _core
from hudini._arguments import metadata_text, options_text
from hudini._wishes import check_same
from hudini.actions import CommitResult
from hudini.spark.batches import arrow_schema
from hudini.spark.compaction import after_write, for_later
from hudini.spark.distributed import Wish, Write

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Options = Mapping[str, Any]

_CREATE_ARGUMENTS = set(inspect.signature(hudini.create).parameters) - {
    "path",
    "schema",
    "options",
    "exist_ok",
    "threads",
}


def upsert(df: DataFrame, path: str, options: Options | None = None, **more: Any) -> CommitResult:
    """Inserts the rows with new keys and merges the others into the rows that are there.

    `options` are Apache Hudi's own; a table that is not there yet is created from them. Keyword arguments are
    `metadata={...}`, `idempotency_key=` and `schema_mode=` as for `Table.upsert`, those of `hudini.create`
    (`record_key="id"`, …), or options. What says another thing of a table than it is, is an `InvalidOption` error.

    As with Apache Hudi, a write to a merge-on-read table is followed by a compaction if one is due, unless the options
    say `hoodie.compact.inline=false` or leave it to somebody else (docs/compaction.md).

    >>> import hudini.spark as hs
    >>> hs.upsert(df, "/lake/trips", {
    ...     "hoodie.table.name": "trips",
    ...     "hoodie.datasource.write.recordkey.field": "id",
    ...     "hoodie.datasource.write.precombine.field": "ts",
    ... })
    """
    return _write("upsert", df, path, options, more)


def insert(df: DataFrame, path: str, options: Options | None = None, **more: Any) -> CommitResult:
    """Adds the rows as they are: keys that are there already are not looked for. Arguments as for `upsert`."""
    return _write("insert", df, path, options, more)


def bulk_insert(df: DataFrame, path: str, options: Options | None = None, **more: Any) -> CommitResult:
    """Adds the rows as they are, into new files: the quickest way to fill a table. Arguments as for `upsert`."""
    return _write("bulk_insert", df, path, options, more)


def delete(df: DataFrame, path: str, options: Options | None = None, **more: Any) -> CommitResult:
    """Deletes the rows with the keys in `df`, which holds the key columns and any partition columns."""
    return _write("delete", df, path, options, more)


def insert_overwrite(df: DataFrame, path: str, options: Options | None = None, **more: Any) -> CommitResult:
    """Replaces the partitions that the rows belong to: of each only the rows in `df` remain. Arguments as above."""
    return _write("insert_overwrite", df, path, options, more)


def overwrite_table(df: DataFrame, path: str, options: Options | None = None, **more: Any) -> CommitResult:
    """Replaces all rows of the table by those in `df`, which may be none. Arguments as for `upsert`."""
    return _write("insert_overwrite_table", df, path, options, more)


def delete_partitions(
    spark: SparkSession,
    path: str,
    partitions: Sequence[str],
    options: Options | None = None,
    *,
    metadata: Mapping[str, str] | None = None,
    idempotency_key: str | None = None,
    storage_options: Mapping[str, str] | None = None,
    **more: Any,
) -> CommitResult:
    """Deletes all rows of these partitions, named by their paths. Nothing is read for it, so the driver does it alone.

    >>> hs.delete_partitions(spark, "/lake/trips", ["city=sf"])
    """
    table, told = hudini.open(path, storage_options=storage_options), options_text(options) | options_text(more)
    alone = for_later(told)
    done = table.delete_partitions(partitions, options=alone, metadata=metadata, idempotency_key=idempotency_key)
    return after_write(spark, table._core, told, done, callers=1)


def _write(operation: str, df: DataFrame, path: str, options: Options | None, more: dict[str, Any]) -> CommitResult:
    metadata = metadata_text(more.pop("metadata", None))
    told = {name: more.pop(name) for name in ("schema_mode", "idempotency_key") if name in more}
    create = {name: more.pop(name) for name in _CREATE_ARGUMENTS & more.keys()}
    write_options = options_text(options) | options_text(more)
    storage_options = create.get("storage_options")
    wish = Wish(operation, write_options, metadata, **told)
    if operation == "delete" or hudini.is_table(path, storage_options=storage_options):
        table = hudini.open(path, storage_options=storage_options)
    else:
        schema = arrow_schema(df.schema)
        # No table is made for a write that would be refused.
        _core.check_write(None, operation, schema, write_options, metadata, wish.schema_mode)
        table = hudini.create(path, schema, options=write_options, exist_ok=True, **create)
    # One that was just created too: somebody else may have been faster.
    check_same(table, create)
    return Write(df, table._core, wish).execute()
