"""What `Table.verify` found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from hudini import _html
from hudini.streams import ArrowRows, Rows

_FINDINGS = {
    "level": "string not null",
    "check": "string not null",
    "path": "string",
    "instant": "string",
    "message": "string not null",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong with a table, or worth knowing."""

    level: Literal["damage", "warning", "note"]
    """`damage`: rows are lost, wrong or doubled, or a reader fails. `warning`: not as it should be, though it may be
    meant. `note`: what crashed writers left, what was not checked."""
    check: str
    """Which check found it: a name that stays the same, for programs."""
    path: str | None
    instant: str | None
    message: str

    def __str__(self) -> str:
        place = ", ".join(part for part in (self.path, self.instant) if part)
        return f"{self.level}: {self.check}: {self.message}" + (f" ({place})" if place else "")


class Report(ArrowRows):
    """What `Table.verify` found. It is an Arrow stream of its findings.

    >>> report = table.verify()
    >>> report.ok
    True
    """

    def __init__(self, values: Mapping[str, Any], path: str) -> None:
        self.path: str = path
        """Of the table."""
        self.ok: bool = values["ok"]
        """Whether nothing is damaged. There may be warnings and notes."""
        self.findings: tuple[Finding, ...] = tuple(Finding(**finding) for finding in values["findings"])
        """What was found, the worst first. Of one check at most a hundred are told, and how many more there are."""
        self.checked: dict[str, int] = dict(values["checked"])
        """How much was looked at: files, slices, blocks, rows and more, by name."""
        self.seconds: float = values["seconds"]

    def to_dict(self) -> dict[str, Any]:
        """All of it as a dict, such as for JSON."""
        findings = [asdict(finding) for finding in self.findings]
        return {"ok": self.ok, "findings": findings, "checked": self.checked, "seconds": self.seconds}

    @property
    def rows(self) -> Rows:
        """The findings as dicts."""
        return Rows([asdict(finding) for finding in self.findings], _FINDINGS)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.rows.__arrow_c_stream__(requested_schema)

    def summary(self) -> str:
        """One line: how it stands, what was found, what was looked at."""
        levels = Counter(finding.level for finding in self.findings)
        counts = [f"{levels[level]} {level}{'s' * (levels[level] != 1)}" for level in levels]
        looked_at = ", ".join(f"{count} {what.replace('_', ' ')}" for what, count in self.checked.items() if count)
        verdict = "no damage" if self.ok else "DAMAGED"
        return f"{verdict}; {', '.join(counts) or 'nothing found'}; looked at {looked_at}; {self.seconds:.2f} s"

    def __str__(self) -> str:
        return "\n".join([self.summary(), *map(str, self.findings)])

    def __repr__(self) -> str:
        return f"Report({self.path}: {self.summary()})"

    def _repr_html_(self) -> str:
        table = _html.table(self.rows, _FINDINGS) if self.findings else ""
        return _html.titled(f"{self.path}: {self.summary()}", table)
