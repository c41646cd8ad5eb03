"""The distributed compaction: plans on the driver, one task for each file group on the executors."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
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

_INLINE = "hoodie.compact.inline"
_SCHEDULE_INLINE = "hoodie.compact.schedule.inline"
_ASYNC = "hoodie.datasource.compaction.async.enable"


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


def after_write(
    spark: SparkSession, table: _core.Table, options: dict[str, str], result: CommitResult, callers: int
) -> CommitResult:
    """Does what is due after a commit. That stands whatever becomes of this, so what fails is a warning.

    `callers`: how many calls lie between this one and the user's code, which a warning names.
    """
    if not result:
        return result
    try:
        run(spark, table.compactions_after_write(by_default(table, options)))
    except Exception as error:
        text = f"the compaction after the write failed: {error}"
        warnings.warn(text, stacklevel=callers + 2)
        return replace(result, warnings=(*result.warnings, text))
    return result


def by_default(table: _core.Table, options: dict[str, str]) -> dict[str, str]:
    """The options of a write from Spark, by which logs are compacted after it unless they say who else does it.

    So does Apache Hudi's data source, and a job that comes from there relies on it.
    `hoodie.table.services.enabled=false` counts more, as the core sees to.
    """
    told = {key.lower(): value.strip().lower() for key, value in options.items()}
    is_left = _INLINE in told or "true" in (told.get(_SCHEDULE_INLINE), told.get(_ASYNC))
    return options if is_left or table.table_type != "mor" else options | {_INLINE: "true"}


def for_later(options: dict[str, str]) -> dict[str, str]:
    """The options of a write that this process does alone, without the compaction that `after_write` does."""
    asks = {key for key, value in options.items() if value.strip().lower() == "true"}
    return options | {key: "false" for key in asks if key.lower() in (_INLINE, _SCHEDULE_INLINE)}


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
