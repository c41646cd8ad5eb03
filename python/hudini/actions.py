"""What a write did."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any


@dataclass(frozen=True, slots=True, repr=False)
class CommitResult:
    """One atomic commit. Nothing to write commits nothing: then `instant` is None and every count 0.

    >>> result = table.upsert(rows)
    >>> result
    CommitResult(upsert 20261121084838673: 2 inserted, 1 updated, 0 deleted; 2 files added, 18.4 kB, 0.03 s)
    """

    instant: str | None
    """The requested time of the commit, which names it in the timeline and in `as_of=`."""
    completed: str | None
    """The completion time of the commit."""
    action: str | None
    """`commit`, `deltacommit` or `replacecommit`."""
    operation: str | None
    """`upsert`, `insert`, `bulk_insert`, `delete`, …"""
    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    files_added: int = 0
    files_removed: int = 0
    bytes_written: int = 0
    seconds: float = 0.0
    retries: int = 0
    """How often the write was planned anew because another writer came first."""
    warnings: tuple[str, ...] = ()
    """What is to be known of the options, such as those that `hudini.unsupported=warn` let pass; and what went wrong
    after the commit, which stands all the same: a clean or an archiving that was due. The next write tries again."""
    _explained: dict[str, Any] = field(default_factory=dict, compare=False)

    @classmethod
    def from_core(cls, values: Mapping[str, Any], callers: int = 2) -> CommitResult:
        """From the compiled module's dict, which may hold more than is shown here.

        `callers`: how many calls lie between this one and the user's code, which a warning names.
        """
        known = {field.name: values[field.name] for field in fields(cls) if field.name in values}
        explained = {name: values[name] for name in ("files", "options_without_effect") if name in values}
        for text in known.get("warnings", ()):
            warnings.warn(text, stacklevel=callers + 2)
        return cls(**known | {"warnings": tuple(known.get("warnings", ())), "_explained": explained})

    def to_dict(self) -> dict[str, Any]:
        """The fields as a dict, such as for JSON."""
        shown = (field.name for field in fields(self) if not field.name.startswith("_"))
        return {name: getattr(self, name) for name in shown}

    def explain(self) -> dict[str, Any]:
        """What `to_dict` says, the files that were added, and which of the given options have no effect on a write.

        Of each file: its partition, file group and name, the file that it `replaces` if any, how many rows it holds (a
        log: changes) and how many it deletes, and its bytes.
        """
        return self.to_dict() | {"files": [], "options_without_effect": []} | self._explained

    def __bool__(self) -> bool:
        """Whether anything was committed."""
        return self.instant is not None

    def __repr__(self) -> str:
        if self.instant is None:
            return "CommitResult(nothing to commit)"
        rows = f"{self.inserted} inserted, {self.updated} updated, {self.deleted} deleted"
        files = f"{self.files_added} {'file' if self.files_added == 1 else 'files'} added"
        if self.files_removed:
            files += f", {self.files_removed} removed"
        size = human_bytes(self.bytes_written)
        return f"CommitResult({self.operation} {self.instant}: {rows}; {files}, {size}, {self.seconds:.2f} s)"

    def _repr_html_(self) -> str:
        from hudini import _html

        return _html.titled(repr(self), _html.record({k: v for k, v in self.to_dict().items() if v is not None}))


def human_bytes(count: int) -> str:
    """A number of bytes for people: `18.4 kB`."""
    if count < 1000:
        return f"{count} B"
    size, units = count / 1000, iter(("kB", "MB", "GB"))
    unit = next(units)
    while size >= 999.95 and unit != "TB":
        size, unit = size / 1000, next(units, "TB")
    return f"{size:.1f} {unit}"
