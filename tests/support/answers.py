"""One story of writes, and all that must come out of it alike on every engine: rows, homes of keys, counts, statistics.

File ids are made of a seed that each write draws. So homes are told by numbers that follow from the keys living there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

import hudini
from hudini.actions import CommitResult

from .compare import multiset
from .rows import CITIES, SCHEMA, Row, Rows

Write = Callable[[str, list[Row]], CommitResult]


def options_for(table_type: str, index: str = "BUCKET") -> dict[str, str]:
    """What a job says, of a table that is there and of one that is not."""
    return {
        "hoodie.index.type": index,
        "hoodie.table.name": "trips",
        "hoodie.datasource.write.table.type": table_type,
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.precombine.field": "ts",
        "hoodie.datasource.write.partitionpath.field": "city",
        "hoodie.bucket.index.num.buckets": "3",
        # It holds counts, least and greatest values of every file.
        "hoodie.metadata.enable": "true",
    }


def story(*, moves: bool) -> list[tuple[str, list[Row]]]:
    """Operations and their rows: new keys, deletes, late rows, keys that come twice and that come back. No two rows
    are alike in key and time, so the order of the input does not matter. `moves`: rows of keys that are there name
    other partitions."""
    rows = Rows(seed=6)
    first = rows.batch(range(200), ts=5)
    gone = first[10:200:7]
    late, newer, twice = rows.batch(range(60), ts=4), rows.batch(range(0, 260, 3), ts=6), rows.batch(range(40), ts=7)
    if moves:
        there = {row["id"] for row in first} - {row["id"] for row in gone}
        newer = [elsewhere(row) if row["id"] in there else row for row in newer]
        gone = [elsewhere(row) for row in gone]
    return [
        ("bulk_insert", first),
        ("delete", gone),
        ("upsert", rows.shuffled([*late, *newer, *twice])),
    ]


def elsewhere(row: Row) -> Row:
    """The row, as if it belonged to another partition."""
    return row | {"city": CITIES[(CITIES.index(row["city"]) + 1) % len(CITIES)]}


@dataclass
class Answer:
    """What came out of the story."""

    rows: Counter[tuple[Any, ...]]
    homes: dict[str, tuple[str, int]]
    counts: list[tuple[Any, ...]]
    statistics: Counter[tuple[Any, ...]]

    def difference(self, other: Answer) -> str | None:
        """The first of them that is not the same."""
        for name in ("counts", "homes", "rows", "statistics"):
            mine, theirs = getattr(self, name), getattr(other, name)
            if mine != theirs:
                return f"{name}\n{mine}\nwhere due is\n{theirs}"
        return None


def played(path: Path, write: Write, *, moves: bool = False) -> Answer:
    """Plays the story."""
    results = [write(operation, rows) for operation, rows in story(moves=moves)]
    counts = [
        (done.operation, done.action, done.inserted, done.updated, done.deleted, done.files_added, done.files_removed)
        for done in results
    ]
    report = hudini.open(path).verify(deep=True)
    assert report.ok and not report.findings, str(report)
    table = hudini.open(path).read().to_arrow()
    groups = _numbered_groups(table)
    columns = [*SCHEMA.names, "_hoodie_record_key", "_hoodie_partition_path"]
    homes = {
        row["id"]: (row["_hoodie_partition_path"], groups[_file_id(row["_hoodie_file_name"])])
        for row in table.to_pylist()
    }
    return Answer(multiset(table.select(columns), columns), homes, counts, _statistics(path, groups))


def _numbered_groups(table: pa.Table) -> dict[str, int]:
    """File id → number, in the order of the least keys that live there."""
    first: dict[str, str] = {}
    for row in sorted(table.select(["id", "_hoodie_file_name"]).to_pylist(), key=lambda row: row["id"]):
        first.setdefault(_file_id(row["_hoodie_file_name"]), row["id"])
    return {file_id: number for number, file_id in enumerate(first)}


def _file_id(file_name: str) -> str:
    return file_name.lstrip(".").partition("_")[0]


def _statistics(path: Path, groups: dict[str, int]) -> Counter[tuple[Any, ...]]:
    """Of every file, older ones too: where it belongs, whether it is a log, and what is in each column."""
    found: Counter[tuple[Any, ...]] = Counter()
    for record in pa.table(hudini.open(path).inspect.metadata("column_stats")).to_pylist():
        told = record["ColumnStatsMetadata"]
        if told["columnName"].startswith("_hoodie_") and told["columnName"] != "_hoodie_record_key":
            continue  # of the commit, not of the rows
        place = groups[_file_id(told["fileName"])], told["fileName"].startswith(".")
        bounds = repr((told["minValue"], told["maxValue"]))
        found[(*place, told["columnName"], bounds, told["valueCount"], told["nullCount"])] += 1
    return found
