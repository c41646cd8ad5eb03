"""Tables that chance drew: Apache Hudi writes them, then it and hudini answer alike, whatever they are asked.

`HUDINI_RANDOM_TABLES` says how many (`make interop-nightly` wants 200), `HUDINI_RANDOM_SEED` which ones. A plan that
failed is printed; put into a file, `python -m tests.interop.random_tables FILE` plays it again, and with `--reduce`
takes out of it what the failure does not need.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from .oracle import Oracle
from .random_tables import Plan, hunt

pytestmark = pytest.mark.interop

TABLES = int(os.environ.get("HUDINI_RANDOM_TABLES", 12))
SEED = int(os.environ.get("HUDINI_RANDOM_SEED", 1))
# Each release of Apache Hudi is a Spark of its own: more of them than the usual for nights only.
WIDELY = TABLES >= 100
# As many as `make` runs tests side by side: a test is what one of them takes.
HALVES = 2
FOUND = sorted((Path(__file__).parent / "random_tables" / "found").glob("*.json"))


@pytest.fixture(scope="module")
def ground(
    request: pytest.FixtureRequest, oracle: Oracle, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[hunt.Ground]:
    spark = functools.partial(request.getfixturevalue, "spark")
    found = hunt.Ground(tmp_path_factory.mktemp("random"), spark, {hunt.JUDGE: oracle})
    yield found
    found.close()


def play(half: int, ground: hunt.Ground) -> None:
    outcomes = [ground.play(plan) for plan in hunt.drawn(TABLES, SEED, widely=WIDELY)[half::HALVES]]
    wrong = [outcome for outcome in outcomes if outcome.verdict.problems]
    assert not wrong, "\n\n".join(map(str, wrong))
    # Too many steps that Apache Hudi refuses, or questions, would be a test of little.
    steps, refused = sum(len(each.plan.steps) for each in outcomes), sum(len(each.refused) for each in outcomes)
    assert refused <= steps / 5, "\n\n".join(str(each) for each in outcomes if each.refused)
    unanswered = [each for each in outcomes if each.verdict.unanswered]
    assert len(unanswered) <= len(outcomes) / 4, "\n\n".join(map(str, unanswered))


def test_random_tables(ground: hunt.Ground) -> None:
    play(0, ground)


@pytest.mark.parametrize("file", FOUND, ids=lambda file: file.stem)
def test_what_random_tables_found(file: Path, ground: hunt.Ground) -> None:
    outcome = ground.play(Plan.from_json(file.read_text()))
    assert not (outcome.verdict.problems or outcome.refused or outcome.verdict.unanswered), str(outcome)


# With the others between them two workers have one half each: an idle one takes from the end of the list of another.
def test_more_random_tables(ground: hunt.Ground) -> None:
    play(1, ground)
