"""What many writers do to one table, and what must be in it afterwards.

All writers move over the same keys and bring the same new ones. No ordering value is used twice, so what must be in the
table does not depend on who came first. Beside them each commit brings rows of its own, into several file groups, which
nobody touches but a later delete of the same writer: they tell whether a commit is there, and whether all of it is.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa

SCHEMA = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("ts", pa.int64(), nullable=False),
        pa.field("part", pa.string(), nullable=False),
        pa.field("note", pa.string()),
    ]
)
PARTS = ("north", "south")
Row = dict[str, Any]

# Writers may come after each other; their ordering values must not meet.
MOST_WRITERS = 1000
OWN_ROWS = 4
SHARED_ROWS = 6
WINDOW = 12


@dataclass(frozen=True)
class Commit:
    """One commit of one writer."""

    writer: int
    number: int
    operation: Literal["upsert", "insert", "delete"]
    rows: list[Row]

    @property
    def arrow(self) -> pa.Table:
        """What the call is given."""
        names = ["id", "part"] if self.operation == "delete" else SCHEMA.names
        return pa.Table.from_pylist(self.rows, schema=pa.schema([SCHEMA.field(name) for name in names]))


def commits(seed: int, writer: int, first: int, count: int) -> Iterator[Commit]:
    """What a writer does: mostly upserts; every fifth commit inserts new keys, the one after it deletes one."""
    for number in range(first, first + count):
        own = [_row(f"own-{writer}-{number}-{n}", number, writer) for n in range(OWN_ROWS)]
        if number % 5 == 4 and number - 2 >= first:
            yield Commit(writer, number, "delete", [_row(f"own-{writer}-{number - 2}-0", number, writer)])
        elif number % 5 == 3:
            yield Commit(writer, number, "insert", own)
        else:
            keys = random.Random(f"{seed}-{writer}-{number}").sample(range(number, number + WINDOW), SHARED_ROWS)
            shared = [_row(f"shared-{key:04d}", number, writer) for key in sorted(keys)]
            yield Commit(writer, number, "upsert", shared + own)


def _row(key: str, number: int, writer: int) -> Row:
    ts = number * MOST_WRITERS + writer
    # A key has one home.
    return {"id": key, "ts": ts, "part": PARTS[sum(key.encode()) % len(PARTS)], "note": f"{writer}: {number}"}


class Expected:
    """The rows that must be there after the commits that were taken."""

    def __init__(self) -> None:
        self.rows: dict[str, Row] = {}

    def take(self, commit: Commit) -> None:
        """Commits of one writer in their order; those of several in any."""
        for row in commit.rows:
            if commit.operation == "delete":
                del self.rows[row["id"]]
            elif row["id"] not in self.rows or self.rows[row["id"]]["ts"] < row["ts"]:
                self.rows[row["id"]] = row

    def arrow(self) -> pa.Table:
        return pa.Table.from_pylist(list(self.rows.values()), schema=SCHEMA)


def is_done(commit: Commit, keys: set[str]) -> bool:
    """Whether a commit that nobody acknowledged is in a table that holds these keys, by its own rows."""
    own = [row["id"] for row in commit.rows if row["id"].startswith("own-")]
    return any(key in keys for key in own) != (commit.operation == "delete")
