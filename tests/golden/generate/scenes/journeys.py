"""Tables that went from release to release: upgraded, downgraded, or written by a new release in an old version."""

from __future__ import annotations

from ..case import journey, scene
from ..table import WRITE, Table
from .basics import V6, V8, V9


def begin_cow(t: Table) -> None:
    t.begin("cow")
    first_writes(t)


def begin_mor(t: Table) -> None:
    t.begin("mor")
    first_writes(t)


def first_writes(t: Table) -> None:
    t.insert(range(24))
    t.upsert(range(0, 24, 3), ts=2)
    t.delete(range(1, 24, 8))


def go_on(t: Table) -> None:
    """The release's own table version is taken on by the first write."""
    t.upsert(range(0, 30, 4), ts=3, tag="next")


def end(t: Table) -> None:
    t.upsert(range(0, 30, 5), ts=5, tag="end")
    t.ask_usual(incremental=False, time_travel=False)
    # The compaction of an upgrade is planned beside the write that takes the version on.
    for number, (requested, _, _) in enumerate(t.commits()):
        t.ask(f"time_travel_{number}", "time_travel", as_of=requested)


journey(
    "cow_upgraded_v6_to_v9",
    [(V6, begin_cow), (V9, end)],
    "cow upgrade",
    "Written by 0.15 as version 6, taken to version 9 by the next write of 1.2.",
)
journey(
    "mor_upgraded_v6_to_v9",
    [(V6, begin_mor), (V9, end)],
    "mor upgrade compaction",
    "Merge-on-read of version 6 with logs, taken to version 9: the upgrade compacts, then a log follows.",
)
journey(
    "mor_upgraded_v6_to_v8_to_v9",
    [(V6, begin_mor), (V8, go_on), (V9, end)],
    "mor upgrade compaction",
    "Version 6 by 0.15, then 8 by 1.0.2, then 9 by 1.2, with a write on each.",
)
journey(
    "mor_upgraded_v8_to_v9",
    [(V8, begin_mor), (V9, end)],
    "mor upgrade",
    "Merge-on-read of version 8 with logs, taken to version 9 by the next write of 1.2.",
)
journey(
    "mor_upgraded_v6_to_v8",
    [(V6, begin_mor), (V8, end)],
    "mor upgrade",
    "Merge-on-read of version 6 with logs, taken to version 8 by 1.0.2.",
)


def downgrade(to: str):
    def step(t: Table) -> None:
        name = t.register()
        t.sql(f"call downgrade_table(table => '{name}', to_version => '{to}')")

    return step


def begin_mor_and_downgrade(to: str):
    def step(t: Table) -> None:
        begin_mor(t)
        downgrade(to)(t)

    return step


journey(
    "mor_downgraded_v9_to_v8",
    [(V9, begin_mor_and_downgrade("EIGHT")), (V8, end)],
    "mor downgrade",
    "Written by 1.2 as version 9, taken back to version 8, then written by 1.0.2.",
)
journey(
    "mor_downgraded_v9_to_v6",
    [(V9, begin_mor_and_downgrade("SIX")), (V6, end)],
    "mor downgrade compaction",
    "Written by 1.2 as version 9, taken back to version 6, then written by 0.15.",
)


def old_version(t: Table, version: str) -> None:
    t.begin("mor", options={"hoodie.write.table.version": version, "hoodie.write.auto.upgrade": "false"})
    first_writes(t)
    t.fail(range(0, 24, 2), ts=4)
    t.upsert(range(0, 30, 5), ts=5, tag="end")
    t.ask_usual(incremental=False, time_travel=False)
    # The compaction of an upgrade is planned beside the write that takes the version on.
    for number, (requested, _, _) in enumerate(t.commits()):
        t.ask(f"time_travel_{number}", "time_travel", as_of=requested)


journey(
    "mor_by_1_2_v6",
    [(V9, lambda t: old_version(t, "6"))],
    "mor write_table_version rollback command_block",
    "Version 6 written by 1.2 itself, with a failed delta commit that was rolled back.",
)
journey(
    "mor_by_1_2_v8",
    [(V9, lambda t: old_version(t, "8"))],
    "mor write_table_version rollback",
    "Version 8 written by 1.2 itself, with a failed delta commit that was rolled back.",
)


@scene(
    "cow_bootstrap_full",
    [V6, V9],
    "cow bootstrap full_record",
    "A FULL_RECORD bootstrap of hive-style Parquet folders, then an upsert.",
)
def cow_bootstrap_full(t: Table) -> None:
    from ..rows import SCHEMA, people

    source = t.folder / "bootstrap_origin"
    t.spark.createDataFrame(people(range(24)), SCHEMA).coalesce(1).write.partitionBy("city").parquet(str(source))
    t.begin("cow", options={WRITE + "hive_style_partitioning": "true"})
    selector = "org.apache.hudi.client.bootstrap.selector."
    bootstrap = {
        "hoodie.bootstrap.base.path": str(source),
        "hoodie.bootstrap.keygen.class": "org.apache.hudi.keygen.SimpleKeyGenerator",
        "hoodie.bootstrap.mode.selector": selector + "FullRecordBootstrapModeSelector",
        "hoodie.bootstrap.full.input.provider": "org.apache.hudi.bootstrap.SparkParquetBootstrapDataProvider",
        "hoodie.bootstrap.parallelism": "2",
    }
    t.write([], "bootstrap", options=bootstrap, mode="overwrite")
    t.upsert(range(0, 30, 4), ts=2)
    t.ask("snapshot")
