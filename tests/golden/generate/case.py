"""What a case is: steps on releases of Apache Hudi, and the words that the catalogue needs."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

JUDGE = "1.2.0"
TABLE_VERSIONS = {"0.15.0": 6, "1.0.2": 8, "1.2.0": 9}

Step = Callable[[Any], None]


@dataclass(frozen=True)
class Case:
    """A table to be made: each step plays on one release; the last one's release answers first."""

    name: str
    steps: tuple[tuple[str, Step], ...]
    features: tuple[str, ...]
    note: str

    @property
    def releases(self) -> list[str]:
        """The releases in the order of their turns; the judge is always the last."""
        turns = [release for release, _ in self.steps]
        return turns if turns[-1] == JUDGE else [*turns, JUDGE]


CASES: dict[str, Case] = {}


def scene(name: str, releases: Sequence[str], features: str, note: str) -> Callable[[Step], Step]:
    """Declares the cases of a scene: one a release, named `<name>_v<table version>`."""

    def declare(play: Step) -> Step:
        for release in releases:
            _add(Case(f"{name}_v{TABLE_VERSIONS[release]}", ((release, play),), tuple(features.split()), note))
        return play

    return declare


def journey(name: str, steps: Sequence[tuple[str, Step]], features: str, note: str) -> None:
    """Declares a case that goes through several releases."""
    _add(Case(name, tuple(steps), tuple(features.split()), note))


def _add(case: Case) -> None:
    if case.name in CASES:
        raise ValueError(f"two scenes tell {case.name}")
    CASES[case.name] = case


def load() -> dict[str, Case]:
    """All cases of all scenes."""
    from . import scenes

    for module in pkgutil.iter_modules(scenes.__path__):
        importlib.import_module(f"{scenes.__name__}.{module.name}")
    return CASES
