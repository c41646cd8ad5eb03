"""The distributed write: control steps here, tasks on Spark's executors.

    begin   ─ driver ─  Action
    locate  ─ tasks  ─  rows + where they go            (kept: Spark would compute them twice)
    profile ─ tasks  ─  how many rows go where
    place   ─ driver ─  one task for each place
    run     ─ tasks  ─  one file for each task
    commit  ─ driver ─  all files become visible at once

Nothing on the driver grows with the number of rows. The storage must be reachable from the driver and the executors.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import hudini
from hudini import _core
from hudini._arguments import metadata_text, options_text, refuse
from hudini.actions import CommitResult
from hudini.errors import CommitConflict, HudiniError
from hudini.spark import frames
from hudini.spark.batches import arrow_schema
from hudini.spark.compaction import after_write
from hudini.spark.errors import typed_errors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

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
    `metadata={...}`, those of `hudini.create` (`record_key="id"`, …), or options.

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


def _write(operation: str, df: DataFrame, path: str, options: Options | None, more: dict[str, Any]) -> CommitResult:
    metadata = metadata_text(more.pop("metadata", None))
    refuse(f"hudini.spark.{operation}", "idempotency_key=", given=more.pop("idempotency_key", None) is not None)
    create = {name: more.pop(name) for name in _CREATE_ARGUMENTS & more.keys()}
    write_options = options_text(options) | options_text(more)
    storage_options = create.get("storage_options")
    if operation == "delete" or hudini.is_table(path, storage_options=storage_options):
        table = hudini.open(path, storage_options=storage_options)
    else:
        table = hudini.create(path, arrow_schema(df.schema), options=write_options, exist_ok=True, **create)
    return _Write(operation, df, table._core, write_options, metadata).execute()


class _Write:
    """One write, planned again when another writer was quicker."""

    def __init__(
        self, operation: str, df: DataFrame, table: _core.Table, options: dict[str, str], metadata: dict[str, str]
    ) -> None:
        self.operation = operation
        self.df = df
        self.table = table
        self.options = options
        self.metadata = metadata
        self.locator: bytes | None = None
        self.rows: DataFrame | None = None
        self.retries = 0

    def execute(self) -> CommitResult:
        try:
            for attempt in itertools.count():
                try:
                    return self.followed_up(CommitResult.from_core(self.attempt() | {"retries": attempt}))
                except CommitConflict:
                    if attempt >= self.retries:
                        raise
            raise AssertionError("the last attempt returns or raises")
        finally:
            if self.rows is not None:
                self.rows.unpersist()

    def followed_up(self, result: CommitResult) -> CommitResult:
        if not result:
            return result
        return replace(result, warnings=after_write(self.df.sparkSession, self.table, self.options))

    def attempt(self) -> dict[str, Any]:
        schema = arrow_schema(self.df.schema)
        action = self.table.begin(self.operation, schema, self.options, self.metadata, None)
        self.retries = action.conflict_retries
        try:
            with typed_errors():
                rows = self.locate(action.locator())
                profile = frames.profile(rows)
                tasks = {(partition, slot): task for partition, slot, task in action.place(profile)}
                done = frames.run(rows, tasks) if tasks else []
            _check_complete(profile, done)
            return action.commit([status for _, _, _, status in sorted(done)])
        except BaseException as error:
            _abort(action, error)
            raise

    def locate(self, locator: bytes) -> DataFrame:
        """The located rows, kept; a second attempt finds them where the first left them if they would not move."""
        if self.rows is not None and locator == self.locator:
            return self.rows
        source = self.df if self.rows is None else self.rows.drop(frames.PARTITION, frames.SLOT, frames.SEQUENCE)
        rows = frames.located(source, locator).persist()
        stale, self.rows, self.locator = self.rows, rows, locator
        if stale is not None:
            rows.count()
            stale.unpersist()
        return rows


def _check_complete(profile: list[tuple[str, int, int]], done: list[tuple[str, int, int, bytes]]) -> None:
    """Each place that was counted is written once, with as many rows: else Spark's two looks at the rows differ."""
    if sorted((partition, slot, rows) for partition, slot, rows, _ in done) != profile:
        raise HudiniError(
            f"{sum(rows for _, _, rows in profile)} rows in {len(profile)} groups were counted, "
            f"{sum(rows for _, _, rows, _ in done)} rows in {len(done)} groups were written",
            hint="Spark read its source twice and got different rows: write the DataFrame to files first",
        )


def _abort(action: _core.Action, error: BaseException) -> None:
    try:
        action.abort()
    except HudiniError as failed:
        if hasattr(error, "add_note"):
            error.add_note(f"taking back instant {action.instant} failed as well: {failed}")
