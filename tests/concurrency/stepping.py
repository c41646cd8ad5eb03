"""Writers step by step in one process, so that the order of things is the same each time.

    python -m tests.concurrency.stepping <table> <rows> <options>

is one in a process of its own: it writes its files, says `{"written": <instant>}`, waits for a line on its standard
input, and says what became of its commit: `{"ended": "committed"}`, or the name of the error.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import pyarrow as pa

import hudini
from hudini import _core

SCHEMA = pa.schema(
    [pa.field("id", pa.string(), nullable=False), pa.field("ts", pa.int64(), nullable=False), ("by", pa.string())]
)
LEFT_ALONE = {"hoodie.clean.automatic": "false", "hoodie.archive.automatic": "false"}
Row = dict[str, Any]


def row(key: str, ts: int, by: str) -> Row:
    return {"id": key, "ts": ts, "by": by}


class SteppingWriter:
    """An upsert into a table with buckets. It has begun once it was made, and is dead once it was dropped."""

    def __init__(self, path: str, rows: list[Row], options: dict[str, str] | None = None) -> None:
        self.rows = rows
        [self._batch] = pa.Table.from_pylist(rows, schema=SCHEMA).to_batches()
        self._action = hudini.open(path)._core.begin(
            "upsert", SCHEMA, LEFT_ALONE | (options or {}), {}, None, "evolve", None
        )
        self._statuses: list[bytes] = []

    @property
    def instant(self) -> str:
        return self._action.instant

    def run(self) -> None:
        """Writes the files."""
        located = pa.RecordBatchReader.from_stream(_core.locate(self._action.locator(), self._batch)).read_all()
        places: dict[tuple[str, int], list[int]] = {}
        for number, place in enumerate(
            zip(located["_hudini_partition"].to_pylist(), located["_hudini_slot"].to_pylist(), strict=True)
        ):
            places.setdefault(place, []).append(number)
        profile = [(*place, len(numbers), 1000 * len(numbers)) for place, numbers in sorted(places.items())]
        for partition, slot, _, task in self._action.place(profile):
            rows = self._batch.take(pa.array(places[partition, slot]))
            self._statuses.append(_core.run_task(task, pa.RecordBatchReader.from_batches(SCHEMA, [rows])))

    def commit(self) -> None:
        self._action.commit(self._statuses)

    def abort(self) -> None:
        self._action.abort()


def main() -> None:
    path, rows, options = sys.argv[1], *map(json.loads, sys.argv[2:])
    writer = SteppingWriter(path, rows, options)
    writer.run()
    print(json.dumps({"written": writer.instant}), flush=True)
    sys.stdin.readline()
    try:
        writer.commit()
        ended = "committed"
    except hudini.HudiniError as error:
        ended = type(error).__name__
    print(json.dumps({"ended": ended}), flush=True)


if __name__ == "__main__":
    main()
