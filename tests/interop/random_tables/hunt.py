"""Plays plans and keeps what came of them; the search for disagreements, and the reduction of what it found."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded

from tests.interop.engines import pyspark
from tests.interop.oracle import Oracle

from .draw import plans
from .judge import Verdict, disagreements
from .plan import Plan
from .player import Player

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JUDGE = "1.2.0"
# The plainest, which hypothesis tries first, and one more.
ONE_BY_CHANCE = settings(
    max_examples=2, database=None, deadline=None, phases=[Phase.generate], suppress_health_check=[*HealthCheck]
)


@dataclass(frozen=True)
class Outcome:
    """A plan and what came of it."""

    plan: Plan
    refused: list[str]
    verdict: Verdict
    declined: list[str] = field(default_factory=list)  # by hudini

    def __str__(self) -> str:
        lines = [*(f"WRONG: {each}" for each in self.verdict.problems), *(f"refused: {each}" for each in self.refused)]
        lines += [f"declined: {each}" for each in self.declined]
        lines += [f"unanswered: {each}" for each in self.verdict.unanswered]
        return "\n".join([*(line[:1500] for line in lines), self.plan.to_json()])


class Ground:
    """The releases of Apache Hudi that are at work, each begun when the first plan wants it."""

    def __init__(
        self, folder: Path, spark: Callable[[], SparkSession], oracles: dict[str, Oracle] | None = None
    ) -> None:
        self._folder, self._oracles, self._stack, self._tables = folder, dict(oracles or {}), ExitStack(), 0
        self._spark = spark

    def oracle(self, release: str) -> Oracle:
        if release not in self._oracles:
            folder = self._folder / f"oracle-{release}"
            folder.mkdir(parents=True)
            self._oracles[release] = self._stack.enter_context(Oracle.start(folder, release))
        return self._oracles[release]

    def play(self, plan: Plan) -> Outcome:
        """The table stays where it is, for whoever wants to look at it."""
        self._tables += 1
        folder = self._folder / f"t{self._tables}"
        folder.mkdir(parents=True)
        player = Player(self.oracle, self._spark, folder / "table", plan)
        player.play()
        verdict = disagreements(self.oracle(JUDGE), folder / "table", player.plan, player.refused)
        verdict.problems += player.problems
        return Outcome(plan, player.refused, verdict, player.declined)

    def close(self) -> None:
        self._stack.close()


@contextmanager
def ground(work: Path | None) -> Iterator[Ground]:
    """In this folder, or else in one that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="random-tables-") as temporary:
        found = Ground(work or Path(temporary), pyspark)
        try:
            yield found
        finally:
            found.close()


def drawn(tables: int, seed: int, *, widely: bool = False) -> list[Plan]:
    """So many plans, the same for the same seed; widely of more releases than the usual, some of them in turn.

    Left to itself hypothesis begins with the plainest plan and goes on with neighbours of what it had; tables are too
    dear for that. So each plan is the first that one run draws by chance.
    """
    return [_drawn(seed * 1_000_000 + number, widely) for number in range(tables)]


def _drawn(seed: int, widely: bool) -> Plan:
    found: list[Plan] = []

    @seeded(seed)
    @ONE_BY_CHANCE
    @given(plans(widely))
    def draw(plan: Plan) -> None:
        found.append(plan)

    draw()
    return found[-1]


def reduce(plan: Plan, is_bad: Callable[[Plan], bool]) -> Plan:
    """A plan that is bad, of which no part can be left out."""
    smaller = True
    while smaller:
        smaller = False
        for candidate in plan.smaller():
            if is_bad(candidate):
                plan, smaller = candidate, True
                break
    return plan
