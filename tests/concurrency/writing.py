"""A writer as a process of its own, and the rows that it writes.

    python -m tests.concurrency.writing <table> <writer> <first> <commits>

says `{"ready": true}`, waits for a line on its standard input, then commits, and says after each commit that has come
back: `{"acknowledged": <number of the commit>}`. No ordering value is ever used twice, so what a table must hold does
not depend on who came first.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import hudini
from tests.support.rows import SCHEMA, Row, Rows, to_arrow

CHECKOUT = Path(__file__).resolve().parents[2]
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


class Writer:
    """The parent's handle on a writer process."""

    def __init__(self, path: Path, number: int, commits: int, first: int = 0) -> None:
        self.number = number
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.concurrency.writing", str(path), str(number), str(first), str(commits)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=CHECKOUT,
        )
        self._expect({"ready": True})

    def go(self) -> None:
        """Lets it commit."""
        self._process.stdin.write("go\n")
        self._process.stdin.flush()

    def first_acknowledgement(self) -> None:
        """Waits until its first commit has come back."""
        self._expect({"acknowledged": 0})

    def acknowledged(self) -> int:
        """How many commits came back before it ended, by itself or killed."""
        said = self._process.stdout.read().splitlines()
        self._process.wait()
        return sum(1 for line in said if line.endswith("}"))  # a killed process may leave half a line

    def kill(self) -> None:
        """SIGKILL: nothing in the process can tidy up."""
        self.assert_alive()
        self._process.kill()

    def assert_alive(self) -> None:
        """A writer that stops by itself is a failure, and says why."""
        assert self._process.poll() is None, self.complaint()

    def complaint(self) -> str:
        """What it wrote to standard error, once it has ended."""
        return self._process.stderr.read()

    @property
    def exit_code(self) -> int:
        return self._process.wait()

    def close(self) -> None:
        """Leaves no process and no pipe behind."""
        self._process.kill()
        self._process.communicate()

    def _expect(self, message: dict[str, Any]) -> None:
        line = self._process.stdout.readline()
        assert line and json.loads(line) == message, f"{line!r} where {message} was due\n{self.complaint()}"


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
