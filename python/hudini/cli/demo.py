"""The verb demo: a table is made, filled, changed and read back, with nothing but this machine."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

import hudini
from hudini.actions import human_bytes
from hudini.cli.output import table_text

CITIES = ("amsterdam", "lima", "nairobi", "seoul")
TRIPS = 10_000
SCHEMA = {"id": "string not null", "ts": "long not null", "city": "string not null", "fare": "double"}


def demo(
    path: Annotated[
        Path | None, typer.Option("--path", help="Where to make the table; else a temporary folder.")
    ] = None,
) -> None:
    """A short story on a fresh table: bulk insert, upsert with late and duplicate rows, read, history."""
    where = str(path) if path is not None else str(Path(tempfile.mkdtemp(prefix="hudini-demo-")) / "trips")
    table = hudini.create(
        where,
        SCHEMA,
        record_key="id",
        ordering="ts",
        partition_by="city",
        options={"hoodie.bucket.index.num.buckets": 2},
    )
    print(f"A copy-on-write table at {table.path}: key id, the newer ts wins, one folder a city.\n")

    filled = table.bulk_insert([trip(number, ts=1) for number in range(TRIPS)])
    _step("1. bulk insert", [_result(filled)])

    changed = table.upsert(changes())
    _step("2. upsert: a new trip, an update, a late row, and a key that comes twice", [_result(changed)])

    watched = {row["id"]: row["because"] for row in EXPLAINED}
    columns = ["id", "ts", "city", "fare"]
    rows = [
        row for batch in table.read(columns=columns, meta=False) for row in batch.to_pylist() if row["id"] in watched
    ]
    _step(
        f"3. read: {table.read().count()} rows, among them",
        [row | {"because": watched[row["id"]]} for row in sorted(rows, key=lambda row: row["id"])],
    )

    history = [
        {
            "instant": row["instant"],
            "operation": row["operation"],
            "inserted": row["inserted"],
            "updated": row["updated"],
        }
        for row in table.history()
    ]
    _step("4. history, newest first", history)
    before = table.read(as_of=filled).count()
    print(f"As of the first commit there were {before} rows.\n")
    print(
        f"Look around: hudini describe {table.path}\n             hudini head {table.path}\n             hudini --help"
    )


EXPLAINED = [
    {"id": "trip-00001", "because": "the update is newer"},
    {"id": "trip-00002", "because": "the row came late: the table keeps its newer one"},
    {"id": "trip-00003", "because": "came twice: the newer of the two"},
    {"id": f"trip-{TRIPS:05d}", "because": "new"},
]


def trip(number: int, ts: int, fare: float | None = None) -> dict[str, Any]:
    """One event; its city follows from its number."""
    price = 5.0 + number % 40 if fare is None else fare
    return {"id": f"trip-{number:05d}", "ts": ts, "city": CITIES[number % len(CITIES)], "fare": price}


def changes() -> list[dict[str, Any]]:
    """An update, a late row, a key that comes twice in the wrong order, and a new key."""
    return [
        trip(1, ts=2, fare=50.0),
        trip(2, ts=0, fare=-1.0),
        trip(3, ts=3, fare=30.0),
        trip(3, ts=2, fare=20.0),
        trip(TRIPS, ts=1),
    ]


def _result(result: hudini.CommitResult) -> dict[str, Any]:
    return {
        "operation": result.operation,
        "inserted": result.inserted,
        "updated": result.updated,
        "files": result.files_added,
        "size": human_bytes(result.bytes_written),
        "seconds": f"{result.seconds:.2f}",
    }


def _step(title: str, rows: list[Mapping[str, Any]] | list[dict[str, Any]]) -> None:
    print(f"{title}\n{table_text(rows, list(rows[0]))}", flush=True)
