"""Rows for tests, the same for the same seed, and the thirty lines that say what a table must hold.

A key has one home: its city and its number follow from the key, everything else changes from version to version.
"""

from __future__ import annotations

import datetime as dt
import decimal
import random
from collections.abc import Iterable
from typing import Any

import pyarrow as pa

Row = dict[str, Any]

CITIES = ("sf", "ny", "la", "st louis")
SCHEMA = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("ts", pa.int64(), nullable=False),
        pa.field("city", pa.string(), nullable=False),
        pa.field("small", pa.int32()),
        pa.field("big", pa.int64()),
        pa.field("ratio", pa.float64()),
        pa.field("amount", pa.decimal128(10, 2)),
        pa.field("day", pa.date32()),
        pa.field("seen", pa.timestamp("us", tz="UTC")),
        pa.field("flag", pa.bool_()),
        pa.field("note", pa.string()),
    ]
)
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)


class Rows:
    """Makes rows; `ts` is the ordering column and is chosen by the caller."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def row(self, number: int, ts: int) -> Row:
        """A fresh version of the key of this number."""
        draw = self._random
        row = {
            "id": f"key-{number:05d}",
            "ts": ts,
            "city": CITIES[number % len(CITIES)],
            "small": draw.choice([0, -1, 2**31 - 1, -(2**31), draw.randrange(1000)]),
            "big": draw.choice([0, -1, 2**63 - 1, -(2**63), draw.randrange(10**12)]),
            "ratio": draw.choice([0.0, -0.0, 0.1, float("inf"), float("nan"), 5e-324, draw.uniform(-1e6, 1e6)]),
            "amount": decimal.Decimal(draw.choice([0, -1, 9999999999, -9999999999, draw.randrange(10**8)])).scaleb(-2),
            "day": dt.date(1970, 1, 1) + dt.timedelta(days=draw.choice([0, -1, -20_000, draw.randrange(30_000)])),
            "seen": EPOCH + dt.timedelta(microseconds=draw.choice([0, -1, draw.randrange(-(10**15), 4 * 10**15)])),
            "flag": draw.choice([True, False]),
            "note": draw.choice(
                ["", "plain", "naïve 日本 🛶", 'a "quoted"\nline, and more', f"n{draw.randrange(10**3)}"]
            ),
        }
        for column in SCHEMA.names[3:]:
            if draw.random() < 0.15:
                row[column] = None
        return row

    def batch(self, numbers: Iterable[int], ts: int) -> list[Row]:
        """A fresh version of each key, all with the same ordering value."""
        return [self.row(number, ts) for number in numbers]

    def shuffled(self, rows: Iterable[Row]) -> list[Row]:
        """The rows in another order."""
        rows = list(rows)
        self._random.shuffle(rows)
        return rows


def to_arrow(rows: Iterable[Row]) -> pa.Table:
    """The rows in their order, as Arrow."""
    return pa.Table.from_pylist(list(rows), schema=SCHEMA)


class Model:
    """What a table with event-time ordering holds: per key the row with the greatest `ts`; on a tie, the later one."""

    def __init__(self, *, partitioned: bool) -> None:
        self._partitioned = partitioned
        self.rows: dict[str, Row] = {}

    def upsert(self, rows: Iterable[Row]) -> None:
        """Takes the rows one by one: a batch means the same as its rows in their order."""
        for row in rows:
            stored = self.rows.get(row["id"])
            if stored is None or row["ts"] >= stored["ts"]:
                self.rows[row["id"]] = row

    def delete(self, keys: Iterable[str]) -> None:
        """A delete by key asks for no ordering value."""
        for key in keys:
            self.rows.pop(key, None)

    def expected(self) -> pa.Table:
        """The rows with the two meta columns that follow from the row alone."""
        rows = list(self.rows.values())
        homes = [row["city"] if self._partitioned else "" for row in rows]
        table = to_arrow(rows)
        table = table.append_column("_hoodie_record_key", pa.array([row["id"] for row in rows], pa.string()))
        return table.append_column("_hoodie_partition_path", pa.array(homes, pa.string()))
