"""Bucket indexes and the partitions of the metadata table."""

from __future__ import annotations

import datetime
import decimal

from ..case import scene
from ..table import Table

V6, V8, V9 = "0.15.0", "1.0.2", "1.2.0"
CONSISTENT = {
    "hoodie.index.type": "BUCKET",
    "hoodie.index.bucket.engine": "CONSISTENT_HASHING",
    "hoodie.bucket.index.num.buckets": "4",
    "hoodie.bucket.index.min.num.buckets": "1",
    "hoodie.bucket.index.max.num.buckets": "16",
}
CLUSTERING = "org.apache.hudi.client.clustering."
RESIZE = {
    "hoodie.clustering.plan.strategy.class": CLUSTERING + "plan.strategy.SparkConsistentBucketClusteringPlanStrategy",
    "hoodie.clustering.execution.strategy.class": (
        CLUSTERING + "run.strategy.SparkConsistentBucketClusteringExecutionStrategy"
    ),
    "hoodie.clustering.updates.strategy": CLUSTERING + "update.strategy.SparkConsistentBucketDuplicateUpdateStrategy",
}


@scene("mor_bucket_simple", [V6, V8], "mor bucket_index", "Simple bucket index, 4 buckets, two partitions.")
def mor_bucket_simple(t: Table) -> None:
    t.begin("mor", options={"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "4"})
    two_rounds(t)
    t.ask_usual()


@scene(
    "mor_bucket_consistent",
    [V8],
    "mor consistent_hashing log_only_file_groups",
    "Consistent-hashing bucket index, 4 initial buckets, upserts and a delete.",
)
def mor_bucket_consistent(t: Table) -> None:
    t.begin("mor", options=CONSISTENT)
    two_rounds(t)
    t.ask_usual()


def two_rounds(t: Table) -> None:
    t.upsert(range(40), ts=1, tag="a")
    t.upsert(range(0, 48, 3), ts=2)
    t.delete(range(1, 40, 8))


@scene(
    "mor_bucket_consistent_split",
    [V8, V9],
    "mor consistent_hashing bucket_resizing split clustering replacecommit",
    "Buckets over the size limit are split by a clustering; afterwards upserts find the new buckets.",
)
def mor_bucket_consistent_split(t: Table) -> None:
    t.begin("mor", partitioned=False, options=CONSISTENT)
    resize(t, {"hoodie.parquet.max.file.size": "1024", "hoodie.bucket.index.split.threshold": "0.5"})


@scene(
    "mor_bucket_consistent_merge",
    [V9],
    "mor consistent_hashing bucket_resizing merge clustering replacecommit",
    "Buckets below the size limit are merged by a clustering; afterwards upserts find the merged buckets.",
)
def mor_bucket_consistent_merge(t: Table) -> None:
    t.begin("mor", partitioned=False, options=CONSISTENT)
    resize(t, {"hoodie.bucket.index.merge.threshold": "0.9"})


def resize(t: Table, limits: dict[str, str]) -> None:
    t.upsert(range(60), ts=1, tag="a")
    t.upsert(range(0, 60, 3), ts=2)
    t.run("COMPACT", t.schedule("COMPACT", {"hoodie.compact.inline.max.delta.commits": "1"}))
    t.run("CLUSTER", t.schedule("CLUSTER", RESIZE | limits), RESIZE | limits)
    t.upsert(range(0, 72, 5), ts=3, tag="after")
    t.ask_usual()


@scene(
    "mor_bucket_consistent_pending_resize",
    [V9],
    "mor consistent_hashing bucket_resizing clustering pending",
    "A resizing planned and not done; upserts under it go to the old and the new buckets.",
)
def mor_bucket_consistent_pending_resize(t: Table) -> None:
    limits = {"hoodie.parquet.max.file.size": "1024", "hoodie.bucket.index.split.threshold": "0.5"}
    t.begin("mor", partitioned=False, options=CONSISTENT)
    t.upsert(range(60), ts=1, tag="a")
    t.run("COMPACT", t.schedule("COMPACT", {"hoodie.compact.inline.max.delta.commits": "1"}))
    t.schedule("CLUSTER", RESIZE | limits)
    t.upsert(range(0, 60, 5), ts=3, tag="twice", options=RESIZE)
    t.ask_usual()


# Without the timeline server, 1.2.0 fails on tables with these.
INDEXES = {
    "hoodie.embed.timeline.server": "true",
    "hoodie.metadata.enable": "true",
    "hoodie.metadata.index.column.stats.enable": "true",
    "hoodie.metadata.index.partition.stats.enable": "true",
    "hoodie.metadata.index.bloom.filter.enable": "true",
    "hoodie.metadata.record.index.enable": "true",
}


@scene(
    "mor_metadata_all_indexes",
    [V6, V8],
    "mor metadata_table column_stats partition_stats bloom_filters record_index",
    "The metadata table with every index that the release builds by options; the metadata table itself is read too.",
)
def mor_metadata_all_indexes(t: Table) -> None:
    t.begin("mor", options=INDEXES)
    two_rounds(t)
    t.ask_usual(time_travel=False, incremental=False)
    t.ask("metadata", "metadata")


@scene(
    "mor_record_index",
    [V8],
    "mor record_index metadata_table",
    "Record index with inserts, updates, a delete, a move to another partition and a compaction.",
)
def mor_record_index(t: Table) -> None:
    t.begin(
        "mor",
        options={
            "hoodie.embed.timeline.server": "true",
            "hoodie.metadata.record.index.enable": "true",
            "hoodie.index.type": "RECORD_INDEX",
            "hoodie.record.index.update.partition.path": "true",
            "hoodie.metadata.record.index.min.filegroup.count": "2",
            "hoodie.metadata.record.index.max.filegroup.count": "2",
        },
    )
    two_rounds(t)
    t.write([(f"k{n:05d}", f"moved{n}", 1.0, 4, "oslo") for n in range(0, 40, 9)])
    t.run("COMPACT", t.schedule("COMPACT", {"hoodie.compact.inline.max.delta.commits": "1"}))
    t.ask_usual(time_travel=False, incremental=False)
    t.ask("by_key", filter="_hoodie_record_key in ('k00011', 'k00009', 'nope')")
    t.ask("metadata", "metadata")


@scene(
    "mor_secondary_index",
    [V8],
    "mor record_index secondary_index metadata_table",
    "Secondary index on name (several rows per value, null values), with updates that move values and deletes.",
)
def mor_secondary_index(t: Table) -> None:
    sql_indexed(t, "create index idx_name on {name} (name)")
    t.ask("by_name", filter="name = 'b3'")
    t.ask("metadata", "metadata")


@scene(
    "mor_expression_index",
    [V8, V9],
    "mor expression_index metadata_table",
    "Expression index: column statistics of a function of a column, by the day of a time in seconds.",
)
def mor_expression_index(t: Table) -> None:
    sql_indexed(
        t,
        "create index idx_day on {name} using column_stats(ts) options(expr = 'from_unixtime', format = 'yyyy-MM-dd')",
    )
    t.ask("metadata", "metadata")


MISLEADING = "id string, name string, n int, v double, day date, m decimal(10,2), at timestamp, ts bigint, city string"
MARKED = MISLEADING + ", _hoodie_is_deleted boolean"
# Row groups of a hundred rows: fewer are never written.
SMALL_GROUPS = {"hoodie.parquet.block.size": "1024", "hoodie.parquet.page.size": "512"}


@scene(
    "mor_misleading_indexes",
    [V9],
    "mor metadata_table column_stats partition_stats bloom_filters record_index secondary_index row_groups nan",
    "Statistics and indexes that are not what they seem: row groups with NaN, with texts too long for footers, with "
    "nulls alone; texts in another order in Java; a delete that comes too late; rows that move.",
)
def mor_misleading_indexes(t: Table) -> None:
    options = {
        "hoodie.index.type": "RECORD_INDEX",
        "hoodie.record.index.update.partition.path": "true",
        "hoodie.metadata.record.index.min.filegroup.count": "2",
        "hoodie.metadata.record.index.max.filegroup.count": "2",
    }
    t.begin("mor", options=INDEXES | SMALL_GROUPS | options)
    t.write([(*misleading(n, 5), False) for n in range(360)], schema=MARKED)
    create_index(t, "create index idx_name on {name} (name)")
    t.write([(*misleading(n, 6, "new"), False) for n in range(0, 360, 24)], schema=MARKED)
    # Too late: the rows stay.
    t.write([(*misleading(n, 1), True) for n in range(1, 360, 60)], schema=MARKED)
    t.write([misleading(n, 7) for n in range(2, 360, 60)], "delete", schema=MISLEADING)
    t.write([(*misleading(n, 8)[:-1], "oslo", False) for n in range(3, 360, 40)], schema=MARKED)
    t.ask_usual(time_travel=False, incremental=False)
    t.ask("beside_nan", filter="v < -1000")


def misleading(n: int, ts: int, tag: str = "s") -> tuple:
    """A third of the rows in each city, by number; in the first, what is odd comes in the first hundred rows alone."""
    city, at = ("odd", "text", "plain")[n // 120], n % 120
    name: str | None = f"{tag}{n % 12}"
    if city == "odd" and at < 100:
        name = "z" * 5000 if at == 7 else "a0" if at == 8 else name
    if city == "text":
        name = ("\ufffd", "\U0001f600", "\u00e9", f"{tag}{n}")[n % 4]
    number = None if (city == "odd" and at < 100) or n % 50 == 9 else n
    double = float("nan") if city == "odd" and at == 20 else -1000.0 - n if city == "odd" and at == 21 else n / 8
    day = datetime.date(2024, 1, 1) + datetime.timedelta(n)
    moment = datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc) + datetime.timedelta(hours=n)
    return f"k{n:05d}", name, number, double, day, decimal.Decimal(n) / 4 - 20, moment, ts, city


def sql_indexed(t: Table, create: str) -> None:
    """A table of SQL with an index that only SQL makes, and writes before and after it."""
    t.begin("mor", options=INDEXES)
    t.upsert(range(40), ts=1, tag="a")
    create_index(t, create)
    t.upsert(range(0, 48, 3), ts=2)
    t.delete(range(1, 40, 8))
    t.ask_usual(time_travel=False, incremental=False)


def create_index(t: Table, create: str) -> None:
    """An index that only SQL makes; it asks for a lock."""
    locks = {"hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.InProcessLockProvider"}
    t.options |= locks
    t.state["read_conf"] = locks
    with t.settings(locks):
        t.sql(create.replace("{name}", t.register()))
