"""The demo's story, for any engine: a table's life from its first load to its clean, each step with what it did.

It knows what must come out, and stops where something else does.
"""

from __future__ import annotations

import shlex
import shutil
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

import hudini
from hudini.actions import CommitResult, human_bytes
from hudini.cli.output import table_text
from hudini.cli.trips import DAYS, SCHEMA, ByCity, Expected, Trip, day, deleted, first_trips, watched


class Engine(Protocol):
    """Where the work is done; `calls` shows people how each step is typed there."""

    calls: Mapping[str, str]
    path: str

    def fill(self, count: int) -> CommitResult: ...

    def upsert(self, trips: list[Trip]) -> CommitResult: ...

    def delete(self, trips: list[Trip]) -> CommitResult: ...

    def compact(self) -> CommitResult: ...

    def by_city(self, *, as_of: CommitResult | None = None, since: CommitResult | None = None) -> ByCity: ...

    def rows(self, ids: list[str]) -> list[dict[str, Any]]: ...


class Unexpected(Exception):
    """The table does not hold what it must."""


def tell(engine: Engine, count: int) -> None:
    """Tells the story of a table that begins with `count` trips."""
    story = _Story(engine, count)
    for chapter in (story.fill, story.change, story.delete, story.look, story.compact, story.read, story.clean):
        chapter()
    story.end()


class _Story:
    def __init__(self, engine: Engine, count: int) -> None:
        self.engine = engine
        self.count = count
        self.expected = Expected()
        self.steps = 0

    def fill(self) -> None:
        trips = first_trips(self.count)
        self.expected.upsert(trips)
        self.at_first = self.expected.by_city()
        self.first = self.engine.fill(self.count)
        rows = [_written("day 0", trips, self.first)]
        self.show("Bulk insert: the first events, into a merge-on-read table", "fill", rows)

    def change(self) -> None:
        rows = []
        for number in DAYS:
            trips = day(number, self.count)
            self.expected.upsert(trips)
            result = self.engine.upsert(trips)
            rows.append(_written(f"day {number}", trips, result))
            if number < DAYS[-1]:
                self.day_before_last = result
        self.show("Upserts: updates, late events, events that come twice, new trips", "upsert", rows)

    def delete(self) -> None:
        trips = deleted(self.count)
        self.expected.delete(trips)
        rows = [_written("no-shows", trips, self.engine.delete(trips))]
        self.show("Deletes, by key", "delete", rows)

    def look(self) -> None:
        reasons = watched(self.count)
        found = {row["id"]: row for row in self.engine.rows(list(reasons))}
        _same("rows", found, self.expected.rows(reasons))
        gone = dict.fromkeys(SCHEMA)
        rows = [{**gone, "id": key, **found.get(key, {}), "what became of it": why} for key, why in reasons.items()]
        self.show("What became of some of them", "rows", rows)

    def compact(self) -> None:
        before = self.files("before")
        _same("are there logs to fold:", before["log files"] > 0, True)
        result = self.engine.compact()
        after = self.files("after")
        _same("log files after the compaction:", after["log files"], 0)
        _same("rows after the compaction:", after["rows"], before["rows"])
        rows = [{**before, "seconds": None}, {**after, "seconds": round(result.seconds, 2)}]
        self.show("Compaction: logs are folded into base files, and no row changes", "compact", rows)

    def read(self) -> None:
        now, past, recent = self.engine.by_city, self.at_first, self.expected.by_city(since=10 * DAYS[-1])
        rows = [
            _read("snapshot: now", now, self.expected.by_city()),
            _read("time travel: as of the first commit", lambda: now(as_of=self.first), past),
            _read(f"incremental: written after day {DAYS[-2]}", lambda: now(since=self.day_before_last), recent),
        ]
        self.show("Three ways to read, each summed up by city", "by_city", rows)

    def clean(self) -> None:
        table = hudini.open(self.engine.path)
        cleaned = table.services.clean(policy="versions", retain=1)
        report = table.verify(deep=True)
        _same("what verify finds:", [str(finding) for finding in report.findings], [])
        _same("what is there after the clean:", self.engine.by_city(), self.expected.by_city())
        rows = [
            {"": "deleted by clean", "files": len(cleaned.files), "rows": None, "seconds": round(cleaned.seconds, 2)},
            {
                "": "looked at by verify, which found no damage",
                "files": report.checked["files"],
                "rows": report.checked["rows"],
                "seconds": round(report.seconds, 2),
            },
        ]
        self.show("Clean: only the newest files stay. And is the table whole?", "clean", rows)

    def end(self) -> None:
        names = ("instant", "action", "operation", "files")
        history = [
            {name: row[name] for name in names} | {"size": human_bytes(row["bytes"] or 0)}
            for row in hudini.open(self.engine.path).history()
        ]
        self.show("All of it, newest first", "history", history)
        print("Look around:")
        for command in commands(self.engine.path):
            print(f"  {command}")
        print("Read on: README.md, docs/index.md, and in Python help(hudini.Table).")

    def files(self, name: str) -> dict[str, Any]:
        table = hudini.open(self.engine.path)
        kinds = ("base_files", "base_bytes", "log_files", "log_bytes")
        partitions = list(table.inspect.partitions())
        total = {kind: sum(partition[kind] for partition in partitions) for kind in kinds}
        return {
            "": name,
            "rows": table.read().count(),
            "base files": total["base_files"],
            "their size": human_bytes(total["base_bytes"]),
            "log files": total["log_files"],
            "size of logs": human_bytes(total["log_bytes"]),
        }

    def show(self, title: str, call: str, rows: list[dict[str, Any]]) -> None:
        self.steps += 1
        print(f"{self.steps}. {title}\n   {self.engine.calls[call]}")
        print(table_text(rows, list(rows[0])), flush=True)


def commands(path: str) -> list[str]:
    """What to type next."""
    hudini_, table = _command(), shlex.quote(path)
    return [
        f"{hudini_} describe {table}",
        f"{hudini_} slices {table}",
        f"{hudini_} read {table} --filter \"city = 'lima' and ts > 1\" --limit 5",
        f"{hudini_} verify {table} --deep",
    ]


def _command() -> str:
    """How this environment's command line is called from here."""
    beside = Path(sys.executable).with_name("hudini")
    found = shutil.which("hudini")
    if found is not None and Path(found) == beside:
        return "hudini"
    if beside.exists():
        here = Path.cwd()
        return shlex.quote(str(beside.relative_to(here) if beside.is_relative_to(here) else beside))
    return f"{shlex.quote(sys.executable)} -m hudini"


def _written(name: str, trips: list[Trip], result: CommitResult) -> dict[str, Any]:
    return {
        "": name,
        "events": len(trips),
        "rows written": result.inserted + result.updated + result.deleted,
        "files": result.files_added,
        "size": human_bytes(result.bytes_written),
        "seconds": round(result.seconds, 2),
    }


def _read(name: str, read: Callable[[], ByCity], expected: ByCity) -> dict[str, Any]:
    start = time.perf_counter()
    by_city = read()
    seconds = time.perf_counter() - start
    _same(name, by_city, expected)
    return {
        "": name,
        "rows": sum(count for count, _ in by_city.values()),
        "sum of fares": sum(fare for _, fare in by_city.values()),
        "seconds": round(seconds, 2),
    }


def _same(what: str, found: Any, expected: Any) -> None:
    if found != expected:
        raise Unexpected(f"{what} {found}, where {expected} is due")
