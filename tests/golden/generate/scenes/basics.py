"""Writes, deletes and services of plain tables, on the releases whose versions had them not yet."""

from __future__ import annotations

from ..case import scene
from ..table import WRITE, Table

V6, V8, V9 = "0.15.0", "1.0.2", "1.2.0"
CLUSTER_INLINE = {
    "hoodie.clustering.inline": "true",
    "hoodie.clustering.inline.max.commits": "1",
    "hoodie.clustering.plan.strategy.sort.columns": "name",
}
# So that every insert makes file groups of its own.
NO_SMALL_FILES = {"hoodie.parquet.small.file.limit": "0"}


@scene(
    "cow_nonpartitioned",
    [V8],
    "cow nonpartitioned upsert delete",
    "Nonpartitioned table; the last upsert arrives with a smaller ordering value than stored.",
)
def cow_nonpartitioned(t: Table) -> None:
    t.begin("cow", partitioned=False)
    t.insert(range(60), ts=5)
    t.upsert(range(0, 60, 6), ts=6)
    t.delete(range(0, 60, 12))
    t.upsert(range(1, 60, 10), ts=2, tag="late")
    t.ask_usual()


@scene(
    "mor_nonpartitioned",
    [V8],
    "mor nonpartitioned multiple_logs",
    "Nonpartitioned merge-on-read table with several logs a slice.",
)
def mor_nonpartitioned(t: Table) -> None:
    t.begin("mor", partitioned=False)
    t.insert(range(50), ts=1)
    for round in range(1, 4):
        t.upsert(range(round, 50, 5), ts=1 + round, tag=f"u{round}-")
    t.delete(range(4, 50, 10))
    t.ask_usual()


@scene(
    "cow_insert_overwrite",
    [V6, V8],
    "cow insert_overwrite replacecommit",
    "insert_overwrite of one of three partitions, then an upsert, then insert_overwrite_table.",
)
def cow_insert_overwrite(t: Table) -> None:
    t.begin("cow")
    t.insert(range(30))
    t.write([(f"o{n}", f"over{n}", 1.0 * n, 2, "la") for n in range(6)], "insert_overwrite")
    t.upsert(range(0, 12, 3), ts=3)
    t.write([(f"w{n}", "whole", 1.0 * n, 4, "ny") for n in range(5)], "insert_overwrite_table")
    t.ask_usual()


@scene(
    "cow_clustering",
    [V6, V8],
    "cow clustering replacecommit",
    "Several small file groups per partition, clustered inline with sort columns; then an upsert into clustered files.",
)
def cow_clustering(t: Table) -> None:
    t.begin("cow", options=NO_SMALL_FILES)
    t.insert(range(30))
    t.insert(range(30, 60))
    t.insert(range(60, 90), options=CLUSTER_INLINE)
    t.upsert(range(0, 90, 9), ts=2)
    t.ask_usual()


@scene(
    "mor_clustering",
    [V8],
    "mor clustering replacecommit",
    "Base files and logs rewritten by clustering, then logs over the clustered files.",
)
def mor_clustering(t: Table) -> None:
    t.begin("mor", options=NO_SMALL_FILES)
    t.insert(range(24))
    t.insert(range(24, 48))
    t.upsert(range(0, 48, 4), ts=2)
    t.run("CLUSTER", t.schedule("CLUSTER"))
    t.upsert(range(0, 48, 7), ts=3, tag="after")
    t.ask_usual()


@scene(
    "cow_rolled_back",
    [V6, V8],
    "cow rollback",
    "A failed commit (a pre-commit validator refused it after the files were written), rolled back by the next writer.",
)
def cow_rolled_back(t: Table) -> None:
    t.begin("cow")
    t.insert(range(20))
    t.upsert(range(0, 20, 2), ts=2)
    t.fail(range(0, 20, 4), ts=3)
    t.upsert(range(1, 20, 6), ts=4, tag="good")
    t.ask_usual()


@scene(
    "mor_rolled_back",
    [V8],
    "mor rollback",
    "A failed delta commit whose log files were deleted by the next writer.",
)
def mor_rolled_back(t: Table) -> None:
    t.begin("mor")
    t.insert(range(30))
    t.upsert(range(0, 30, 3), ts=2)
    t.fail(range(0, 30, 2), ts=3)
    t.upsert(range(1, 30, 6), ts=4, tag="good")
    t.ask_usual()


@scene(
    "cow_restored",
    [V8],
    "cow savepoint restore",
    "Savepoint, two more upserts, restore to the savepoint, one more upsert.",
)
def cow_restored(t: Table) -> None:
    t.begin("cow")
    _restore(t)


@scene(
    "mor_restored",
    [V6, V8, V9],
    "mor savepoint restore",
    "Savepoint on a merge-on-read table, two more upserts into logs, restore to the savepoint, one more upsert.",
)
def mor_restored(t: Table) -> None:
    t.begin("mor")
    _restore(t)


def _restore(t: Table) -> None:
    t.insert(range(20))
    t.upsert(range(0, 20, 2), ts=2)
    requested, _, _ = t.commits()[-1]
    t.savepoint(requested)
    t.upsert(range(0, 20, 3), ts=3, tag="lost")
    t.upsert(range(0, 24, 4), ts=4, tag="lost")
    t.restore(requested)
    t.upsert(range(1, 20, 5), ts=5, tag="after")
    t.ask_usual()


@scene(
    "cow_savepoint_cleaned",
    [V6, V8, V9],
    "cow savepoint clean",
    "A savepoint keeps the files of its commit, a clean removes those of the others.",
)
def cow_savepoint_cleaned(t: Table) -> None:
    t.begin("cow")
    t.insert(range(12))
    first, _, _ = t.commits()[-1]
    t.savepoint(first)
    for round in range(2, 7):
        t.upsert(range(round % 2, 12, 2), ts=round, tag=f"r{round}-")
    t.options |= {"hoodie.clean.commits.retained": "2", "hoodie.cleaner.commits.retained": "2"}
    with t.client() as client:
        client.clean()
    t.ask_usual(time_travel=False, incremental=False)
    t.ask("time_travel_savepoint", "time_travel", as_of=first)
    t.ask("time_travel_retained", "time_travel", as_of=t.commits()[-2][0])
    t.ask("time_travel_cleaned", "time_travel", as_of=t.commits()[1][0])


@scene(
    "mor_cleaned",
    [V8, V9],
    "mor clean compaction",
    "Compactions make new slices, KEEP_LATEST_FILE_VERSIONS removes the old ones with their logs.",
)
def mor_cleaned(t: Table) -> None:
    t.begin("mor")
    t.insert(range(12))
    for round in range(2, 5):
        t.upsert(range(round, 12, 3), ts=round, tag=f"r{round}-")
        t.run("COMPACT", t.schedule("COMPACT", {"hoodie.compact.inline.max.delta.commits": "1"}))
    keep = {"hoodie.cleaner.policy": "KEEP_LATEST_FILE_VERSIONS", "hoodie.cleaner.fileversions.retained": "1"}
    with t.client({**keep, "hoodie.clean.policy": "KEEP_LATEST_FILE_VERSIONS"}) as client:
        client.clean()
    t.upsert(range(0, 12, 4), ts=5, tag="last")
    t.ask_usual(time_travel=False)


@scene(
    "cow_complex_key",
    [V6, V8],
    "cow complex_key special_characters",
    "Record key of two fields (string with ':' and ',' and null and empty, int); updates and deletes by it.",
)
def cow_complex_key(t: Table) -> None:
    t.begin(
        "cow",
        options={
            WRITE + "recordkey.field": "k1,k2",
            WRITE + "keygenerator.class": "org.apache.hudi.keygen.ComplexKeyGenerator",
        },
    )
    schema = "k1 string, k2 int, name string, v double, ts bigint, city string"
    words = ["plain", "with:colon", "with,comma", "", None, "k2:1", "naïve 日本"]

    def rows(numbers, ts, tag):
        return [(words[n % 7], n // 7, f"{tag}{n}", 0.5 * n, ts, ("sf", "la")[n % 2]) for n in numbers]

    t.write(rows(range(42), 1, "a"), "insert", schema=schema)
    t.write(rows(range(0, 42, 4), 2, "b"), schema=schema)
    t.write(rows(range(1, 42, 9), 3, "d"), "delete", schema=schema)
    t.ask("snapshot")
    t.ask("by_key", filter="k1 = 'with,comma' and k2 = 2")


@scene(
    "cow_hive_style_url_encoded",
    [V6, V8],
    "cow hive_style_partitioning url_encode special_characters null_partition",
    "Hive-style folders with escaped values: blanks, slashes, percent signs, letters beyond ASCII, null and empty.",
)
def cow_hive_style_url_encoded(t: Table) -> None:
    t.begin("cow", options={WRITE + "hive_style_partitioning": "true", WRITE + "partitionpath.urlencode": "true"})
    cities = ["st louis", "a/b", "50%", "köln", "x=y", "a:b", None, "", "plain", "q?r#s", "tab\there", "back\\slash"]
    t.write([(f"k{n:03d}", f"a{n}", 1.0 * n, 1, cities[n % 12]) for n in range(36)], "insert")
    t.write([(f"k{n:03d}", f"b{n}", 2.0 * n, 2, cities[n % 12]) for n in range(0, 36, 5)])
    t.ask("snapshot")
    t.ask("by_partition", filter="city = 'a/b'")
    t.ask("by_null", filter="city is null")


@scene(
    "timeline_archived",
    [V8],
    "cow archival lsm_timeline clean",
    "20 commits with keep min/max 3/5 and a history batch of 2: several manifests, files of two levels; a savepoint.",
)
def timeline_archived(t: Table) -> None:
    t.begin(
        "cow",
        partitioned=False,
        options={
            "hoodie.keep.min.commits": "3",
            "hoodie.keep.max.commits": "5",
            "hoodie.clean.commits.retained": "2",
            "hoodie.cleaner.commits.retained": "2",
            "hoodie.clean.automatic": "true",
            "hoodie.commits.archival.batch": "2",
            "hoodie.timeline.compaction.batch.size": "3",
        },
    )
    t.insert(range(20))
    oldest = t.commits()[0]
    for round in range(2, 21):
        t.upsert(range(round % 5, 20, 5), ts=round, tag=f"r{round}-")
    t.ask("snapshot")
    t.ask("time_travel_active", "time_travel", as_of=t.commits()[-2][0])
    t.ask("time_travel_archived", "time_travel", as_of=oldest[0])
    t.ask("incremental_all", "incremental", start="000")
    t.ask("incremental_from_archived", "incremental", start=oldest[1])
    t.ask("incremental_active", "incremental", start=t.commits()[-3][1])
