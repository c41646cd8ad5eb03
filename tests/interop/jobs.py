"""Jobs as people have them for Apache Hudi: options, and rows in the order in which they are written.

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
    operation: str | None = None
    mode: str = "append"
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Job:
    """Writes into one table, with options that all of them have."""

    name: str
    options: Mapping[str, str]
    steps: Sequence[Step]

    def told(self, step: Step) -> dict[str, str]:
        operation = {} if step.operation is None else {WRITE + "operation": step.operation}
        return {"hoodie.table.name": "rides", **self.options, **operation, **step.options}


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
MARKED = RIDES.append(pa.field("_hoodie_is_deleted", pa.bool_()))
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


def rides(*rows: dict[str, Any], schema: pa.Schema = RIDES) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema=schema)


FIRST = rides(*(ride(n, 10) for n in range(8)))
# New and old keys, one of them late, and one key twice, the older row last.
SECOND = rides(ride(1, 20), ride(2, 5, fare=-1.0), ride(9, 20), ride(10, 30), ride(10, 25, fare=-2.0))
# New keys under several partitions; the newest row is first, last, or between the others.
SCATTERED = rides(
    *(ride(12, ts, city=city) for ts, city in zip((30, 20, 10), CITIES, strict=True)),
    *(ride(13, ts, city=city) for ts, city in zip((10, 20, 30), CITIES, strict=True)),
    *(ride(14, ts, city=city) for ts, city in zip((20, 30, 10), CITIES, strict=True)),
)
ONE = rides(ride(21, 1, city="oslo"))
GONE = rides(*(ride(n, 1) for n in range(3)))


def upserts(*later: Step) -> list[Step]:
    return [Step(FIRST, "upsert", "overwrite"), Step(SECOND, "upsert"), *later]


def then(rows: pa.Table) -> list[Step]:
    return [Step(FIRST, "upsert", "overwrite"), Step(rows, "upsert")]


KEY = {WRITE + "recordkey.field": "id"}
PRECOMBINE = {WRITE + "precombine.field": "ts"}
CITY = {WRITE + "partitionpath.field": "city"}
HIVE_STYLE = {WRITE + "hive_style_partitioning": "true"}
MOR = {WRITE + "table.type": "MERGE_ON_READ"}
USUAL = KEY | PRECOMBINE | CITY
# What jobs carry along, and means speed, scheduling, or a service that is off.
LUGGAGE = {
    WRITE + "table.name": "rides",
    WRITE + "row.writer.enable": "true",
    "hoodie.upsert.shuffle.parallelism": "2",
    "hoodie.insert.shuffle.parallelism": "2",
    "hoodie.bulkinsert.shuffle.parallelism": "2",
    "hoodie.bulkinsert.sort.mode": "GLOBAL_SORT",
    "hoodie.delete.shuffle.parallelism": "2",
    "hoodie.embed.timeline.server": "false",
    "hoodie.write.markers.type": "direct",
    "hoodie.consistency.check.enabled": "true",
    "hoodie.database.name": "lake",
    "hoodie.datasource.hive_sync.enable": "false",
    "hoodie.datasource.hive_sync.database": "lake",
    "hoodie.datasource.hive_sync.table": "rides",
    "hoodie.datasource.hive_sync.use_jdbc": "false",
    "hoodie.datasource.hive_sync.mode": "hms",
    "hoodie.datasource.hive_sync.partition_fields": "city",
    "hoodie.datasource.hive_sync.partition_extractor_class": "org.apache.hudi.hive.MultiPartKeysValueExtractor",
}
SERVICES = {
    "hoodie.clean.automatic": "true",
    "hoodie.clean.async": "true",
    "hoodie.cleaner.policy": "KEEP_LATEST_COMMITS",
    "hoodie.cleaner.commits.retained": "3",
    "hoodie.cleaner.policy.failed.writes": "LAZY",
    "hoodie.keep.min.commits": "4",
    "hoodie.keep.max.commits": "6",
    "hoodie.archive.async": "true",
    "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.InProcessLockProvider",
}
MERGER = {WRITE + "record.merger.impls": "org.apache.hudi.DefaultSparkRecordMerger"}
METADATA = {
    "hoodie.metadata.enable": "true",
    "hoodie.metadata.index.column.stats.enable": "true",
    "hoodie.metadata.index.partition.stats.enable": "true",
}
SOFT_DELETES = [
    Step(rides(*(ride(n, 10, _hoodie_is_deleted=False) for n in range(8)), schema=MARKED), "upsert", "overwrite"),
    Step(
        rides(
            ride(1, 20, _hoodie_is_deleted=True),
            ride(2, 5, _hoodie_is_deleted=True),
            ride(3, 20, _hoodie_is_deleted=None),
            ride(11, 20, _hoodie_is_deleted=True),
            schema=MARKED,
        ),
        "upsert",
    ),
]
TIP = SECOND.append_column("tip", pa.array([1.0] * SECOND.num_rows))
OVERWRITE = Step(ONE, "insert_overwrite", "overwrite")
NAMED = {WRITE + "partitions.to.delete": "city=oslo,city=rome"}


def payload(name: str) -> dict[str, str]:
    return {WRITE + "payload.class": PAYLOADS + name}


def generator(name: str) -> dict[str, str]:
    return {WRITE + "keygenerator.class": KEYGENS + name}


# Of each five neighbours the first runs every day.
JOBS = [
    Job("overwrites partitions in the mode overwrite", USUAL, upserts(OVERWRITE)),
    Job("the old quick start", USUAL | LUGGAGE, upserts(Step(GONE.select(["id", "city", "ts"]), "delete"))),
    Job("the same, merge on read", USUAL | LUGGAGE | MOR, upserts(Step(GONE.select(["id", "city"]), "delete"))),
    Job("one key, complex", USUAL | HIVE_STYLE | generator("ComplexKeyGenerator"), upserts(Step(GONE, "delete"))),
    Job("no partitions", KEY | PRECOMBINE | generator("NonpartitionedKeyGenerator"), upserts()),
    Job(
        "composite keys and two partition columns",
        {WRITE + "recordkey.field": "id,driver", WRITE + "partitionpath.field": "city,day"} | PRECOMBINE | HIVE_STYLE,
        upserts(),
    ),
    Job("columns that rows lack", USUAL | {WRITE + "reconcile.schema": "true"}, then(SECOND.drop_columns(["driver"]))),
    Job("a new column", USUAL | MOR | {"hoodie.schema.on.read.enable": "true"}, then(TIP)),
    Job(
        "columns that rows lack are null",
        USUAL | MOR | {"hoodie.write.set.null.for.missing.columns": "true"},
        then(TIP.drop_columns(["driver"])),
    ),
    Job(
        "partitions are deleted",
        USUAL | HIVE_STYLE,
        upserts(Step(FIRST.slice(0, 0), "delete_partition", options=NAMED)),
    ),
    Job("partitions are overwritten", USUAL | MOR, upserts(Step(ONE, "insert_overwrite"))),
    Job("the table is overwritten", USUAL, upserts(Step(ONE, "insert_overwrite_table", "overwrite"))),
    Job("the last one wins", USUAL | payload("OverwriteWithLatestAvroPayload"), upserts()),
    Job("the greatest one wins", USUAL | MOR | payload("DefaultHoodieRecordPayload"), upserts()),
    Job("two ordering columns", KEY | CITY | MOR | {"hoodie.table.ordering.fields": "ts,fare"}, upserts()),
    Job("soft deletes", USUAL | MOR, SOFT_DELETES),
    Job("soft deletes without an order", KEY | CITY, SOFT_DELETES),
    Job("all services and one lock", USUAL | MOR | SERVICES | METADATA, upserts()),
    Job("a bloom index", USUAL | {"hoodie.index.type": "BLOOM"}, upserts()),
    Job("a record index", USUAL | {"hoodie.index.type": "RECORD_INDEX"}, upserts(Step(SCATTERED, "upsert"))),
    Job("no operation", KEY | CITY, [Step(FIRST, None, "overwrite"), Step(SECOND)]),
    Job("bulk inserts", USUAL, [Step(FIRST, "bulk_insert", "overwrite"), Step(SECOND, "bulk_insert")]),
    Job("inserts", USUAL, [Step(FIRST, "insert", "overwrite"), Step(SECOND, "insert")]),
    Job("days", KEY | PRECOMBINE | {WRITE + "partitionpath.field": "day"}, upserts()),
    Job("Spark's merger", USUAL | MOR | MERGER | {"hoodie.logfile.data.block.format": "parquet"}, upserts()),
    Job("Spark's merger, copy on write", USUAL | MERGER, upserts()),
    Job(
        "Spark's merger beside a mode that says otherwise",
        USUAL
        | MOR
        | MERGER
        | payload("OverwriteWithLatestAvroPayload")
        | {"hoodie.logfile.data.block.format": "parquet"},
        upserts(),
    ),
    Job("partition fields left over from another job", USUAL | generator("NonpartitionedKeyGenerator"), upserts()),
    # Apache Hudi 1.2 orders by the table's columns whatever the payload is told.
    Job(
        "a payload that is told another order",
        USUAL
        | payload("DefaultHoodieRecordPayload")
        | {"hoodie.payload.ordering.field": "fare", "hoodie.payload.event.time.field": "ts"},
        upserts(),
    ),
]
