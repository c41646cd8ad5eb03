"""Table services whose work is small: the driver does them alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import hudini
from hudini._arguments import options_text
from hudini.services import CleanResult, Policy

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def clean(
    spark: SparkSession,
    path: str,
    options: Mapping[str, Any] | None = None,
    *,
    schedule: bool = True,
    execute: bool = True,
    dry_run: bool = False,
    policy: Policy | None = None,
    retain: int | None = None,
    storage_options: Mapping[str, str] | None = None,
    **more: Any,
) -> CleanResult:
    """Deletes files that no state to be kept needs any more, as `Table.services.clean` does.

    >>> import hudini.spark as hs
    >>> hs.clean(spark, "/lake/trips", retain=5)
    """
    del spark
    services, told = hudini.open(path, storage_options=storage_options).services, options_text(options)
    return services.clean(schedule, execute, dry_run, policy, retain, options=told | options_text(more))
