"""A writer as a process of its own, and the rows that it writes.

    python -m tests.concurrency.writing <table> <writer> <first> <commits>

says `{"ready": true}`, waits for a line on its standard input, then commits, and says after each commit that has come
back: `{"acknowledged": <number of the commit>}`. No ordering value is ever used twice, so what a table must hold does
not depend on who came first.
"""

from __future__ import annotations

import json
import queue
import sys
from pathlib import Path

import hudini
from tests.support.rows import SCHEMA, Row, Rows, to_arrow

from .processes import Inbox, Process, Said

BUCKETS = 2
MOST_WRITERS = 100


def create(path: Path, table_type: str) -> None:
    """A table with few file groups, so that writers meet in them."""
    hudini.create(
        str(path),
        SCHEMA,
        record_key="id",
        ordering="ts",
        table_type=table_type,
        options={"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": str(BUCKETS)},
    )


def batches(writer: int, commits: int, first: int = 0) -> list[list[Row]]:
    """What a writer commits: all writers move over the same keys, from `first` on, and insert the same new ones."""
    rows = Rows(seed=writer)
    window = 12
    return [
        rows.batch(range(number, number + window), ts=number * MOST_WRITERS + writer)
        for number in range(first, first + commits)
    ]


class Writer(Process):
    """The parent's handle on a writer process."""

    def __init__(self, path: Path, number: int, commits: int, first: int = 0) -> None:
        self._inbox: Inbox = queue.Queue()
        super().__init__(self._inbox, f"writer {number}", "tests.concurrency.writing", path, number, first, commits)
        self._expect({"ready": True})

    def first_acknowledgement(self) -> None:
        """Waits until its first commit has come back."""
        self._expect({"acknowledged": 0})

    def acknowledged(self) -> int:
        """How many commits came back before it ended, by itself or killed."""
        return sum(1 for _ in iter(self._inbox.get, (self, None)))

    def _expect(self, message: Said) -> None:
        _, said = self._inbox.get()
        assert said == message, f"{said} where {message} was due\n{self.complaint()}"


def main() -> None:
    path, (writer, first, commits) = sys.argv[1], map(int, sys.argv[2:])
    planned = [to_arrow(rows) for rows in batches(writer, commits, first)]
    print(json.dumps({"ready": True}), flush=True)
    sys.stdin.readline()
    for number, rows in enumerate(planned):
        hudini.open(path).upsert(rows)
        print(json.dumps({"acknowledged": number}), flush=True)


if __name__ == "__main__":
    main()
