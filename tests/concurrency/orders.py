"""Orders of steps: writers that begin, write and commit when chance says so, services in between, all in one process.

A seed brings the same order back. Beside the real processes of a crowd this reaches what takes turns that no scheduler
gives: a writer that sleeps while many others begin, commit, are compacted, cleaned and archived.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

import hudini

from .stepping import LEFT_ALONE, SCHEMA, Row, SteppingWriter, row

# So many that a writer may sleep and meet none of those who commit meanwhile, but some who had begun before it.
BUCKETS = 8
KEYS = 24
MOST_AT_ONCE = 7
RUSH = 5
# One of so many writers sleeps, for one of so many steps.
SLEEPERS = 5
SLEEPS = (10, 20, 50)


@dataclass
class Open:
    """A writer that has not come to its end."""

    writer: SteppingWriter
    until: int
    has_run: bool = False


class Orders:
    """Plays steps in one order, and looks at the table after each."""

    def __init__(self, path: Path, seed: int, table_type: str, metadata: bool) -> None:
        self.chance = random.Random(f"{seed} {table_type} {metadata}")
        self.path = str(path)
        self.options = {
            "hoodie.metadata.enable": str(metadata).lower(),
            "hoodie.metadata.compact.max.delta.commits": "3",
            "hoodie.clean.commits.retained": str(self.chance.choice([1, 2, 3])),
            "hoodie.keep.min.commits": "2",
            "hoodie.keep.max.commits": "3",
            "hoodie.timeline.compaction.batch.size": "3",
        }
        buckets = {"hoodie.bucket.index.num.buckets": str(BUCKETS)}
        hudini.create(path, SCHEMA, "id", "ts", table_type=table_type, options=buckets)
        self.is_mor = table_type == "mor"
        self.now = self.writes = 0
        self.open: list[Open] = []
        self.due: dict[str, Row] = {}
        self.trace: list[str] = []
        self.commits = self.conflicts = 0

    def play(self, steps: int) -> None:
        for self.now in range(1, steps + 1):
            self.step(self.chance.choice(self.possible()))
        while self.open:
            entry = self.open[-1]
            self.step(self.commit if entry.has_run else self.run, entry)
        self.step(self.whole)
        report = self.table().verify(deep=True)
        assert report.ok and not report.findings, f"{report}\n{self.told()}"

    def possible(self) -> list[Callable[..., str]]:
        awake = [entry for entry in self.open if entry.until <= self.now]
        steps: list[Callable[..., str]] = [*[self.whole] * 4, self.clean, self.archive]
        steps += [self.begin] * 3 + [self.rush] if len(self.open) < MOST_AT_ONCE else []
        steps += [self.run] * 3 + [self.die] if any(not entry.has_run for entry in awake) else []
        steps += [self.commit] * 3 if any(entry.has_run for entry in awake) else []
        steps += [self.compact, self.plan, self.carry_out] if self.is_mor else []
        return steps

    def step(self, step: Callable[..., str], *arguments: Any) -> None:
        try:
            told = step(*arguments)
        except hudini.CommitConflict as error:
            self.conflicts += 1
            told = f"lost: {str(error).splitlines()[0]}"
        self.trace.append(f"{self.now} {step.__name__} {told}")
        rows = self.table().read(columns=SCHEMA.names, meta=False).to_arrow().to_pylist()
        found = {row["id"]: row for row in rows}
        assert len(found) == len(rows), f"keys are there twice\n{self.told()}"
        wrong = {key for key in found.keys() | self.due.keys() if found.get(key) != self.due.get(key)}
        assert not wrong, "\n".join(
            [*(f"{key}: {found.get(key)}, due is {self.due.get(key)}" for key in sorted(wrong)), self.told()]
        )

    def told(self) -> str:
        return "\n".join(self.trace)

    # ---- the steps ----

    def begin(self) -> str:
        writer = SteppingWriter(self.path, self.rows(), self.options | LEFT_ALONE)
        until = self.now + self.chance.choice(SLEEPS) if self.chance.randrange(SLEEPERS) == 0 else 0
        self.open.append(Open(writer, until))
        return f"{writer.instant} {[row['id'] for row in writer.rows]}" + (f", sleeps until {until}" if until else "")

    def rush(self) -> str:
        """Several begin, one after the other, and the last one sleeps."""
        told = []
        for number in range(RUSH):
            writer = SteppingWriter(self.path, self.rows()[:1], self.options | LEFT_ALONE)
            self.open.append(Open(writer, self.now + self.chance.choice(SLEEPS) if number == RUSH - 1 else 0))
            told.append(f"{writer.instant} {writer.rows[0]['id']}")
        return ", ".join(told)

    def run(self, entry: Open | None = None) -> str:
        entry = entry or self.one(has_run=False)
        try:
            entry.writer.run()
        except hudini.CommitConflict:
            self.open.remove(entry)
            entry.writer.abort()
            raise
        entry.has_run = True
        return entry.writer.instant

    def commit(self, entry: Open | None = None) -> str:
        entry = entry or self.one(has_run=True)
        self.open.remove(entry)
        entry.writer.commit()
        self.take(entry.writer.rows)
        return entry.writer.instant

    def die(self) -> str:
        entry = self.one(has_run=False)
        self.open.remove(entry)
        if self.chance.random() < 0.5:
            entry.writer.run()
        return entry.writer.instant

    def whole(self) -> str:
        """A write from its begin to its end, every other one with the services that are due after it."""
        rows, alone = self.rows(), LEFT_ALONE if self.chance.random() < 0.5 else {}
        result = hudini.open(self.path, options=self.options | alone).upsert(pa.Table.from_pylist(rows, schema=SCHEMA))
        assert result.warnings == ()
        self.take(rows)
        return f"{result.instant} {[row['id'] for row in rows]}"

    def clean(self) -> str:
        return f"{len(self.table().services.clean().files)} files"

    def archive(self) -> str:
        return f"{self.table().services.archive().instants}"

    def compact(self) -> str:
        return f"{self.table().services.compact().instant}"

    def plan(self) -> str:
        return f"{self.table().services.compact(execute=False).instant}"

    def carry_out(self) -> str:
        return f"{self.table().services.compact(schedule=False).instant}"

    # ---- what they need ----

    def table(self) -> hudini.Table:
        return hudini.open(self.path, options=self.options)

    def one(self, *, has_run: bool) -> Open:
        awake = [entry for entry in self.open if entry.has_run == has_run and entry.until <= self.now]
        return self.chance.choice(awake)

    def rows(self) -> list[Row]:
        """No two writes share an ordering value, so the order of commits does not matter."""
        keys = [f"shared-{number}" for number in self.chance.sample(range(KEYS), self.chance.choice([1, 1, 2, 3]))]
        self.writes += 1
        keys += [f"own-{self.writes}"] if self.chance.random() < 0.3 else []
        return [row(key, self.writes, f"step {self.now}") for key in keys]

    def take(self, rows: list[Row]) -> None:
        self.commits += 1
        for each in rows:
            stored = self.due.get(each["id"])
            if stored is None or stored["ts"] <= each["ts"]:
                self.due[each["id"]] = each
