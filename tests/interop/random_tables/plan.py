"""What a table is to be and what is to happen to it: plain values, which a failing test prints and a person edits."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from typing import Any

SCHEMA_ON_READ = "hoodie.schema.on.read.enable"
# Tables without meta columns: only ever set to be so.
VIRTUAL = {"hoodie.populate.meta.fields": "false"}


@dataclass(frozen=True)
class Step:
    """One thing that happens to the table."""

    verb: str  # a method of `Player`
    numbers: tuple[int, ...] = ()  # whose rows, in their order; twice means a doubled record
    seed: int = 0  # of the rows' values
    options: dict[str, str] = field(default_factory=dict)  # of this step alone
    words: tuple[str, ...] = ()  # what else the verb wants to know


@dataclass(frozen=True)
class Plan:
    """A table. Kinds of columns are those of `data.KINDS`."""

    writer: str  # release of Apache Hudi
    version: int  # of the table
    table_type: str  # cow, mor
    merge_mode: str  # EVENT_TIME_ORDERING, COMMIT_TIME_ORDERING
    key: tuple[str, ...]
    ordering: tuple[str, ...]
    partition: tuple[str, ...]
    columns: tuple[str, ...]
    options: dict[str, str]  # of all writes
    steps: tuple[Step, ...]
    earlier: tuple[str, ...] = ()  # releases, of a table that has moved on to `writer`

    @property
    def writers(self) -> set[str]:
        """Every release that writes to the table."""
        return {*self.earlier, self.writer, *(step.words[0] for step in self.steps if step.verb == "move_on")}

    def has(self, options: dict[str, str]) -> bool:
        return options.items() <= self.options.items()

    def moved_on(self, step: Step) -> Plan:
        """As if the table had been begun by the release, and in the version, that it is in from this step on."""
        release, version = step.words
        return replace(self, writer=release, version=int(version), earlier=(*self.earlier, self.writer))

    def to_json(self) -> str:
        """One line a step."""
        facts = asdict(self)
        steps = ",\n  ".join(json.dumps(_without_defaults(step)) for step in facts.pop("steps"))
        if not self.earlier:
            del facts["earlier"]
        lines = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in facts.items()]
        return "{" + ",\n ".join([*lines, f'"steps": [\n  {steps}\n ]']) + "}"

    @classmethod
    def from_json(cls, text: str) -> Plan:
        facts = json.loads(text)
        steps = tuple(Step(**_with_tuples(step)) for step in facts.pop("steps"))
        return cls(**_with_tuples(facts), steps=steps)

    def smaller(self) -> list[Plan]:
        """The plans that lack one thing of this one."""
        without = [replace(self, steps=_left_out(self.steps, at)) for at in range(len(self.steps) - 1, 0, -1)]
        without += [replace(self, columns=_left_out(self.columns, at)) for at in range(len(self.columns))]
        without += [
            replace(self, options={k: v for k, v in self.options.items() if k != key}) for key in list(self.options)
        ]
        for at, step in enumerate(self.steps):
            half = len(step.numbers) // 2
            if half:
                halves = (step.numbers[:half], step.numbers[half:])
                shorter = [replace(step, numbers=numbers) for numbers in halves]
                without += [replace(self, steps=(*self.steps[:at], each, *self.steps[at + 1 :])) for each in shorter]
        return without


def _left_out(items: tuple[Any, ...], at: int) -> tuple[Any, ...]:
    return items[:at] + items[at + 1 :]


def _without_defaults(step: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in step.items() if name == "verb" or value}


def _with_tuples(facts: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in facts.items()}
