"""The verb demo: the story of a table, with nothing but this machine."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

import hudini
from hudini.actions import CommitResult
from hudini.cli import story
from hudini.cli.trips import OPTIONS, SCHEMA, ByCity, Trip, first_trips

TRIPS = 20_000


def demo(
    path: Annotated[
        Path | None, typer.Option("--path", help="Where to make the table; else a temporary folder.")
    ] = None,
) -> None:
    """A table's life: load, upserts, deletes, compaction, reads of now and then, clean."""
    where = path if path is not None else Path(tempfile.mkdtemp(prefix="hudini-demo-")) / "trips"
    print(f"hudini {hudini.__version__}. The table will be {where}\n")
    story.tell(LocalEngine(where), TRIPS)


class LocalEngine:
    """The threads of this process."""

    calls: Mapping[str, str] = {
        "fill": "table = hudini.create(path, schema, options=options); table.bulk_insert(rows)",
        "upsert": "table.upsert(rows)",
        "delete": "table.delete(keys)",
        "rows": "table.read(columns=['id', 'ts', 'city', 'fare'], filter=\"id in ('trip-1', …)\")",
        "compact": "table.services.compact()",
        "by_city": "table.read()   table.read(as_of=first)   table.incremental(start=day_2)",
        "clean": "table.services.clean(policy='versions', retain=1)   table.verify(deep=True)",
        "history": "table.history()",
    }

    def __init__(self, path: Path) -> None:
        self.table = hudini.create(path, SCHEMA, options=OPTIONS)
        self.path = self.table.path

    def fill(self, count: int) -> CommitResult:
        return self.table.bulk_insert([trip.row for trip in first_trips(count)])

    def upsert(self, trips: list[Trip]) -> CommitResult:
        return self.table.upsert([trip.row for trip in trips])

    def delete(self, trips: list[Trip]) -> CommitResult:
        return self.table.delete([{"id": trip.row["id"], "city": trip.row["city"]} for trip in trips])

    def compact(self) -> CommitResult:
        return self.table.services.compact()

    def by_city(self, *, as_of: CommitResult | None = None, since: CommitResult | None = None) -> ByCity:
        columns = ["city", "fare"]
        scan = self.table.incremental(since, columns=columns) if since else self.table.read(columns, as_of=as_of)
        found = scan.to_arrow().group_by("city").aggregate([([], "count_all"), ("fare", "sum")])
        return {row["city"]: (row["count_all"], row["fare_sum"]) for row in found.sort_by("city").to_pylist()}

    def rows(self, ids: list[str]) -> list[dict[str, Any]]:
        wanted = ", ".join(f"'{key}'" for key in ids)
        return self.table.read(list(SCHEMA), filter=f"id in ({wanted})", meta=False).to_arrow().to_pylist()
