"""What keeps a table healthy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hudini._arguments import options_text
from hudini._filters import filter_text
from hudini.actions import CommitResult

if TYPE_CHECKING:
    from hudini.table import Table


class Services:
    """The services of one table, run when they are asked for."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def compact(
        self,
        schedule: bool = True,
        execute: bool = True,
        where: str | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> CommitResult:
        """Folds the logs of a merge-on-read table into new base files. No row changes.

        First what is planned already is done, whoever planned it, then every slice with logs is planned and done;
        `where` chooses partitions for the new plan by a condition on their columns. With `schedule=False` nothing is
        planned, with `execute=False` the plan is left to somebody else and the result names its instant. Of several
        compactions the counts are sums. Nothing to compact is a result without an instant.

        >>> table.services.compact()
        CommitResult(compact 20261122103015250: 1 inserted, 3 updated, 0 deleted; 2 files added, 2 removed, 18.9 kB, …)
        """
        core = self._table._core
        return CommitResult.from_core(core.compact(schedule, execute, filter_text(where), options_text(options)))
