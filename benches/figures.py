"""What jobs cost, the table of it, and the gates that hudini keeps to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple


class Cost(NamedTuple):
    """What a job took: seconds of the CPU, seconds, peak memory. Infinite is unknown."""

    cpu: float
    wall: float = float("inf")
    mib: float = float("inf")

    def least(self, other: Cost) -> Cost:
        return Cost(*map(min, self, other))

    def __str__(self) -> str:
        known = zip(self, ("{:.3f}", "{:.3f}", "{:.0f}"), strict=True)
        return " / ".join(shape.format(value) for value, shape in known if value != float("inf"))


# By engine and job.
Costs = dict[tuple[str, str], Cost]


class Figure(NamedTuple):
    """One number of the results."""

    engine: str
    job: str
    what: Literal["cpu", "wall", "mib"] = "cpu"

    def of(self, costs: Costs) -> float | None:
        cost = costs.get((self.engine, self.job))
        return None if cost is None else getattr(cost, self.what)


@dataclass(frozen=True)
class Gate:
    """A figure, or what one is over another, must be at most (or at least) so much."""

    says: str
    limit: float
    figure: Figure
    over: Figure | None = None
    at_least: bool = False

    def value(self, costs: Costs) -> float | None:
        """None if it was not measured."""
        value, over = self.figure.of(costs), self.over.of(costs) if self.over else 1.0
        return None if value is None or over is None else value / over

    def is_kept(self, costs: Costs) -> bool | None:
        """None if it was not measured."""
        value = self.value(costs)
        if value is None:
            return None
        return value >= self.limit if self.at_least else value <= self.limit

    def line(self, costs: Costs) -> str:
        value, kept, sign = self.value(costs), self.is_kept(costs), ">=" if self.at_least else "<="
        if value is None:
            return f"not run {'':7} {sign} {self.limit:g}  {self.says}"
        return f"{'kept' if kept else 'MISSED':7} {value:7.3f} {sign} {self.limit:g}  {self.says}"


def judge(gates: Iterable[Gate], costs: Costs) -> int:
    """Says what became of each; 1 if one was missed, for the shell."""
    gates = list(gates)
    print("\n".join(["", *(gate.line(costs) for gate in gates)]))
    return int(any(gate.is_kept(costs) is False for gate in gates))


def table(
    costs: Costs, engines: Sequence[str], jobs: Sequence[str], wrong: set[tuple[str, str]] = frozenset()
) -> Iterator[str]:
    """A column for each engine; the first is the one that the others are compared with."""
    yield f"CPU s / wall s / peak MiB; in brackets, {engines[0]}'s CPU over it; * other rows than {engines[0]}'s"
    yield f"| job | {' | '.join(engines)} |"
    yield f"|---|{'---:|' * len(engines)}"
    for job in jobs:
        ours = costs.get((engines[0], job))
        cells = [cell(costs.get((name, job)), ours, (name, job) in wrong) for name in engines]
        yield f"| {job} | {' | '.join(cells)} |"


def cell(cost: Cost | None, ours: Cost | None, wrong: bool) -> str:
    if cost is None:
        return ""
    ratio = "" if cost is ours or ours is None else f" ({ours.cpu / cost.cpu:.2f})"
    return f"{cost}{ratio}{'*' if wrong else ''}"
