"""The distributed compaction: plans on the driver, one task for each file group on the executors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import hudini
from hudini import _core
from hudini._arguments import options_text
from hudini._filters import filter_text
from hudini.actions import CommitResult
from hudini.errors import HudiniError
from hudini.spark import frames
from hudini.spark.errors import typed_errors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def compact(
    spark: SparkSession,
    path: str,
    options: Mapping[str, Any] | None = None,
    *,
    schedule: bool = True,
    execute: bool = True,
    where: str | None = None,
    storage_options: Mapping[str, str] | None = None,
    **more: Any,
) -> CommitResult:
    """Folds the logs of a merge-on-read table into new base files, as `Table.services.compact` does.

    >>> import hudini.spark as hs
    >>> hs.compact(spark, "/lake/trips")
    """
    table = hudini.open(path, storage_options=storage_options)
    given = options_text(options) | options_text(more)
    return run(spark, table._core.compactions(schedule, execute, filter_text(where), given))


def after_write(spark: SparkSession, table: _core.Table, options: dict[str, str]) -> tuple[str, ...]:
    """Does what is due after a commit. That stands whatever becomes of this, so what fails is a warning."""
    try:
        run(spark, table.compactions_after_write(options))
    except Exception as error:
        return (f"the compaction after the write failed: {error}",)
    return ()


def run(spark: SparkSession, compactions: _core.Compactions) -> CommitResult:
    """Runs all of them."""
    while (tasks := compactions.next()) is not None:
        try:
            with typed_errors():
                statuses = frames.run_compaction(spark, tasks)
        except BaseException as error:
            _abort(compactions, error)
            raise
        compactions.commit(statuses)
    return CommitResult.from_core(compactions.result())


def _abort(compactions: _core.Compactions, error: BaseException) -> None:
    try:
        compactions.abort()
    except HudiniError as failed:
        if hasattr(error, "add_note"):
            error.add_note(f"taking the compaction back failed as well: {failed}")
