"""What keeps a table healthy, done by hand; writes do it by themselves when it is due."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from hudini import _core
from hudini._arguments import SMALL, instant_text, not_yet, options_text, whole_number
from hudini._filters import filter_text
from hudini.actions import CommitResult

Policy = Literal["commits", "hours", "versions"]


@dataclass(frozen=True, slots=True)
class CleanResult:
    """What a clean deleted, or would delete."""

    instant: str | None
    """The requested time of the clean. None: there was nothing to do, or it was a dry run."""
    completed: str | None
    """None: it is planned, and not carried out."""
    policy: str
    """Apache Hudi's word for what is kept."""
    retained: str | None
    """The earliest commit whose state is kept; None where versions are counted."""
    files: list[str]
    """The files, by their paths within the table."""
    finished: list[str]
    """Cleans that were planned before and left, and that were finished first."""
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """The fields as a dict, such as for JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class ArchiveResult:
    """What left the active timeline, or would leave it."""

    instants: list[str]
    """Requested times of the instants, oldest first."""
    merged: int
    """How many levels of the history were merged."""
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """The fields as a dict, such as for JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class RollbackResult:
    """What was taken back, or would be."""

    instant: str
    """The write that is no more."""
    action: str
    files: list[str]
    """The files that it had begun, by their paths within the table."""

    def to_dict(self) -> dict[str, Any]:
        """The fields as a dict, such as for JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Due:
    """A service that should run."""

    service: str
    """The name of the method that runs it."""
    why: str


class Services:
    """The table services: `table.services`.

    >>> table.services.clean(dry_run=True).files
    """

    def __init__(self, core: _core.Table) -> None:
        self._core = core

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
        core = self._core
        return CommitResult.from_core(
            core.compact(schedule, execute, filter_text(where), options_text(options)), callers=1
        )

    def clean(
        self,
        schedule: bool = True,
        execute: bool = True,
        dry_run: bool = False,
        policy: Policy | None = None,
        retain: int | None = None,
        *,
        options: Mapping[str, Any] | None = None,
    ) -> CleanResult:
        """Deletes files that no state to be kept needs any more; reads of older states raise `InstantCleaned` then.

        A clean that was planned before and not finished, by whomever, is finished first.

        Args:
            schedule: make a plan.
            execute: carry out what is planned.
            dry_run: only tell which files would go.
            policy: `"commits"`, `"hours"` or `"versions"` (of each file group); Apache Hudi's words will do.
                Without it, the option `hoodie.clean.policy` says it.
            retain: how many of them are kept.

        >>> table.services.clean(retain=5)
        """
        told = whole_number(retain, "retain", SMALL), options_text(options)
        return CleanResult(**_core.clean(self._core, schedule, execute, dry_run, policy, *told))

    def archive(self, dry_run: bool = False, *, options: Mapping[str, Any] | None = None) -> ArchiveResult:
        """Moves old instants from the active timeline into its history, so that the table opens quickly.

        With more than `hoodie.keep.max.commits` commits on the timeline, all but `hoodie.keep.min.commits` go; more
        stay where a clean, a pending write, a savepoint or the metadata table has need of them.
        """
        return ArchiveResult(**_core.archive(self._core, dry_run, options_text(options)))

    def rollback(
        self, instant: Any, dry_run: bool = False, *, options: Mapping[str, Any] | None = None
    ) -> RollbackResult:
        """Takes back a write that did not complete, once its writer is dead. The next write does so by itself."""
        when = instant_text(instant)
        if when is None:
            raise TypeError("rollback() needs the instant of a write")
        return RollbackResult(**_core.rollback(self._core, when, dry_run, options_text(options)))

    compact_logs = not_yet("services.compact_logs")
    cluster = not_yet("services.cluster")
    savepoint = not_yet("services.savepoint")
    drop_savepoint = not_yet("services.drop_savepoint")
    restore = not_yet("services.restore")
    create_index = not_yet("services.create_index")
    drop_index = not_yet("services.drop_index")
    expire_partitions = not_yet("services.expire_partitions")
    upgrade = not_yet("services.upgrade")

    def due(self, *, options: Mapping[str, Any] | None = None) -> list[Due]:
        """Which services should run now, and why, in the order in which they should run."""
        return [Due(service, why) for service, why in _core.due(self._core, options_text(options))]
