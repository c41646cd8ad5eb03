"""Jobs as people have them for Apache Hudi: options and rows, in the order in which they are written.

The options are those of Apache Hudi's documents and of guides to it, with what such jobs carry along.
"""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

WRITE = "hoodie.datasource.write."
PAYLOADS = "org.apache.hudi.common.model."
KEYGENS = "org.apache.hudi.keygen."


@dataclass(frozen=True)
class Step:
    """One write."""

    rows: pa.Table
    options: Mapping[str, str] = field(default_factory=dict)
    mode: str = "append"


@dataclass(frozen=True)
class Job:
    """Writes into one table, with options that all of them have."""

    name: str
    options: Mapping[str, str]
    steps: Sequence[Step]
    reads: Sequence[Mapping[str, str]] = ()

    def told(self, step: Step) -> dict[str, str]:
        return {"hoodie.table.name": "trips", **self.options, **step.options}


RIDES = pa.schema(
    [
        ("id", pa.string()),
        ("ts", pa.int64()),
        ("city", pa.string()),
        ("driver", pa.string()),
        ("fare", pa.float64()),
        ("day", pa.date32()),
        ("seen", pa.timestamp("us", tz="UTC")),
        ("amount", pa.decimal128(10, 2)),
    ]
)
CITIES = ("oslo", "lima", "rome")


def ride(number: int, ts: int, **others: Any) -> dict[str, Any]:
    row = {
        "id": f"k{number}",
        "ts": ts,
        "city": CITIES[number % 3],
        "driver": f"d{number}-{ts}",
        "fare": number + ts / 100,
        "day": dt.date(2024, 1, 1 + number % 3),
        "seen": dt.datetime(2024, 1, 1, 10, number % 60, 5, 250000, tzinfo=dt.timezone.utc),
        "amount": decimal.Decimal(number * 125).scaleb(-2),
    }
    return row | others


def rides(*rows: dict[str, Any]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema=RIDES)


def some(numbers: range, ts: int) -> pa.Table:
    return rides(*(ride(n, ts) for n in numbers))


FIRST = some(range(8), 10)
# New and old keys, one of them late, and one key twice in the batch, the older row last.
SECOND = rides(ride(1, 20), ride(2, 5, fare=-1.0), ride(9, 20), ride(10, 30), ride(10, 25, fare=-2.0))
KEYS = {WRITE + "recordkey.field": "id"}
PRECOMBINE = {WRITE + "precombine.field": "ts"}
CITY = {WRITE + "partitionpath.field": "city"}
MOR = {WRITE + "table.type": "MERGE_ON_READ"}
USUAL = KEYS | PRECOMBINE | CITY


def op(name: str) -> dict[str, str]:
    return {WRITE + "operation": name}


def upserts(**more: Any) -> list[Step]:
    del more
    return [Step(FIRST, op("upsert"), "overwrite"), Step(SECOND, op("upsert"))]


def keys_of(table: pa.Table, *columns: str) -> pa.Table:
    return table.select(list(columns))
