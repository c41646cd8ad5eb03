"""How rows of base files and logs meet: merge modes, deletes, log block kinds, compactions, change data."""

from __future__ import annotations

from ..case import scene
from ..rows import SCHEMA, people
from ..table import WRITE, Table
from .keys import VIRTUAL, generator

V6, V8, V9 = "0.15.0", "1.0.2", "1.2.0"
DELETED = SCHEMA + ", _hoodie_is_deleted boolean"


def flagged(numbers, ts: int, deleted: bool, tag: str = "f") -> list[tuple]:
    """Rows with the column that marks a delete."""
    return [(*row, deleted) for row in people(numbers, ts, tag)]


@scene(
    "mor_commit_time",
    [V8],
    "mor commit_time",
    "COMMIT_TIME_ORDERING: the later write wins whatever its ordering value; deletes and re-inserts.",
)
def mor_commit_time(t: Table) -> None:
    latest = {WRITE + "payload.class": "org.apache.hudi.common.model.OverwriteWithLatestAvroPayload"}
    t.begin("mor", options={"hoodie.record.merge.mode": "COMMIT_TIME_ORDERING", **latest})
    t.insert(range(24), ts=5)
    t.upsert(range(0, 24, 3), ts=2, tag="older")
    t.upsert(range(0, 24, 4), ts=9, tag="newer")
    t.delete(range(0, 24, 6), ts=1)
    t.upsert(range(0, 24, 12), ts=0, tag="back")
    t.ask_usual()


@scene(
    "mor_event_time_ties",
    [V6, V8],
    "mor event_time ties",
    "Equal, smaller and greater ordering values between base and logs, among logs, and within one batch.",
)
def mor_event_time_ties(t: Table) -> None:
    t.begin("mor")
    _event_time(t)
    t.insert(range(24), ts=5)
    for ts, tag in ((5, "tie"), (4, "less"), (6, "more")):
        t.upsert(range(ts % 3, 24, 3), ts=ts, tag=tag)
    t.upsert(range(0, 24, 2), ts=5, tag="tie2-")
    both = [
        row
        for pair in zip(people(range(0, 24, 5), 7, "one"), people(range(0, 24, 5), 7, "two"), strict=True)
        for row in pair
    ]
    t.write(both)
    t.ask_usual()


def _event_time(t: Table) -> None:
    """0.15 orders by arrival unless its payload class says otherwise."""
    if t.release == V6:
        t.options[WRITE + "payload.class"] = "org.apache.hudi.common.model.DefaultHoodieRecordPayload"


@scene(
    "mor_event_time_late_deletes",
    [V8],
    "mor event_time late_deletes _hoodie_is_deleted",
    "Deletes by a marker column with smaller, equal and greater ordering values, and rows that come back after them.",
)
def mor_event_time_late_deletes(t: Table) -> None:
    t.begin("mor")
    t.write(flagged(range(30), 5, False), "insert", schema=DELETED)
    for ts in (4, 5, 6):
        t.write(flagged(range(ts - 4, 30, 3), ts, True, "del"), schema=DELETED)
    t.write(flagged(range(0, 30, 5), 5, False, "back"), schema=DELETED)
    t.write(flagged(range(1, 30, 5), 7, False, "late"), schema=DELETED)
    t.ask_usual()


@scene(
    "cow_soft_delete",
    [V8],
    "cow _hoodie_is_deleted",
    "Deletes by a marker column on a copy-on-write table: by smaller, equal and greater ordering values.",
)
def cow_soft_delete(t: Table) -> None:
    t.begin("cow")
    _event_time(t)
    t.write(flagged(range(24), 5, False), "insert", schema=DELETED)
    t.write(flagged(range(0, 24, 4), 6, True), schema=DELETED)
    t.write(flagged(range(1, 24, 4), 4, True), schema=DELETED)
    t.write(flagged(range(0, 24, 8), 7, False, "back"), schema=DELETED)
    t.ask_usual(incremental=False)


@scene(
    "mor_record_positions",
    [V8],
    "mor record_positions",
    "Updates and deletes carry position bitmaps over a base file of 1 500 rows; read with and without positions.",
)
def mor_record_positions(t: Table) -> None:
    t.begin("mor", partitioned=False, options={"hoodie.write.record.positions": "true"})
    t.insert(range(1500))
    t.upsert(range(0, 1500, 29), ts=2)
    t.delete(range(7, 1500, 101))
    t.upsert(range(3, 1500, 31), ts=3, tag="c")
    for positions, id in (("true", "snapshot"), ("false", "snapshot_by_key")):
        t.ask(id, options={"hoodie.merge.use.record.positions": positions})


@scene(
    "mor_partial_update_merge_into",
    [V8],
    "mor partial_update merge_into",
    "SQL MERGE INTO with some columns: partial update blocks; several rounds, one with a smaller ordering value.",
)
def mor_partial_update_merge_into(t: Table) -> None:
    t.options["hoodie.table.name"] = name = f"t_{t.name}"
    t.options[WRITE + "table.type"] = "MERGE_ON_READ"
    t.state["read_conf"] = {"hoodie.spark.sql.merge.into.partial.updates": "true"}
    t.sql(
        f"create table {name} (id int, name string, price double, qty int, ts bigint) using hudi tblproperties "
        "(primaryKey = 'id', preCombineField = 'ts', type = 'mor') location '{path}'"
    )
    with t.settings({**t.state["read_conf"], "hoodie.compact.inline": "false"}):
        t.sql(f"insert into {name} select id, concat('n', id), id * 1.0, id * 10, 5L from range(0, 20)")
        for modulus, ts, change in (
            (2, 6, "price = s.price, ts = s.ts"),
            (3, 4, "qty = s.qty, ts = s.ts"),
            (5, 7, "name = s.name, ts = s.ts"),
        ):
            t.sql(
                f"merge into {name} t using (select cast(id as int) id, concat('m', id) name, id + 0.5D price, "
                f"cast(id as int) + 1000 qty, {ts}L ts from range(0, 20) where id % {modulus} = 0) s "
                f"on t.id = s.id when matched then update set {change}"
            )
    t.ask("snapshot")
    t.ask("read_optimized", "read_optimized")
    t.ask("projection", columns=["id", "price"])
    t.ask("projection_untouched_column", columns=["id", "qty"])


COMPACT_NOW = {"hoodie.compact.inline.max.delta.commits": "1"}


@scene(
    "mor_compaction_then_logs",
    [V6, V8],
    "mor compaction",
    "Logs, a compaction, and further logs over the compacted base files.",
)
def mor_compaction_then_logs(t: Table) -> None:
    t.begin("mor")
    t.insert(range(30))
    t.upsert(range(0, 30, 3), ts=2)
    t.delete(range(1, 30, 10))
    t.run("COMPACT", t.schedule("COMPACT", COMPACT_NOW))
    t.upsert(range(0, 36, 4), ts=3, tag="after")
    t.ask_usual()


@scene(
    "mor_pending_compaction",
    [V6, V9],
    "mor pending_compaction",
    "Compaction scheduled, not executed, with log files before and after it.",
)
def mor_pending_compaction(t: Table) -> None:
    t.begin("mor")
    t.insert(range(30))
    t.upsert(range(0, 30, 3), ts=2)
    t.schedule("COMPACT", COMPACT_NOW)
    t.upsert(range(0, 36, 4), ts=3, tag="after")
    t.delete(range(1, 30, 10))
    t.ask_usual()


LOG_COMPACT = {"hoodie.log.compaction.blocks.threshold": "2", "hoodie.log.compaction.enable": "true"}


@scene(
    "mor_log_compaction",
    [V8],
    "mor log_compaction",
    "Log blocks of several delta commits written together by a log compaction, then another log.",
)
def mor_log_compaction(t: Table) -> None:
    t.begin("mor", options=LOG_COMPACT)
    _logs(t)
    t.run("LOG_COMPACT", t.schedule("LOG_COMPACT"))
    t.upsert(range(0, 18, 4), ts=6, tag="after")
    t.ask_usual(incremental=False)


@scene(
    "mor_pending_log_compaction",
    [V8, V9],
    "mor log_compaction pending",
    "A log compaction planned and not done, with a log after the plan.",
)
def mor_pending_log_compaction(t: Table) -> None:
    t.begin("mor", options=LOG_COMPACT)
    _logs(t)
    t.schedule("LOG_COMPACT")
    t.upsert(range(0, 18, 4), ts=6, tag="after")
    t.ask_usual(incremental=False)


def _logs(t: Table) -> None:
    t.insert(range(18))
    for round in range(2, 5):
        t.upsert(range(round, 18, 3), ts=round, tag=f"r{round}-")
    t.delete(range(0, 18, 5), ts=5)


@scene(
    "mor_parquet_log",
    [V6, V8],
    "mor parquet_log",
    "Log files with Parquet data blocks and a delete block.",
)
def mor_parquet_log(t: Table) -> None:
    t.begin("mor", options={"hoodie.logfile.data.block.format": "parquet"})
    t.insert(range(24))
    t.upsert(range(0, 24, 3), ts=2)
    t.delete(range(1, 24, 6))
    t.upsert(range(2, 30, 5), ts=3, tag="c")
    t.ask_usual(incremental=False)


@scene(
    "mor_hfile_log",
    [V6, V8, V9],
    "mor hfile_log",
    "Log files with HFile data blocks. 1.0.2 and 1.2.0 write them and cannot read them through Spark; 0.15 can.",
)
def mor_hfile_log(t: Table) -> None:
    t.begin("mor", partitioned=False, options={"hoodie.logfile.data.block.format": "hfile"})
    t.insert(range(20))
    t.upsert(range(0, 20, 3), ts=2)
    t.upsert(range(1, 24, 4), ts=3, tag="c")
    live = {row[0]: row for row in people(range(20), 1)}
    for numbers, ts, tag in ((range(0, 20, 3), 2, "b"), (range(1, 24, 4), 3, "c")):
        live |= {row[0]: row for row in people(numbers, ts, tag)}
    t.give("as_written", live.values(), SCHEMA)


@scene(
    "cdc_mor",
    [V8],
    "cdc DATA_BEFORE_AFTER mor",
    "CDC with images before and after: insert, upsert, delete, upsert with a re-insert, insert_overwrite.",
)
def cdc_mor(t: Table) -> None:
    t.begin("mor")
    _change_data(t, "data_before_after")


@scene(
    "cdc_cow",
    [V6, V8],
    "cdc DATA_BEFORE cow",
    "CDC with images before: insert, upsert, delete, upsert with a re-insert, insert_overwrite.",
)
def cdc_cow(t: Table) -> None:
    t.begin("cow")
    _change_data(t, "data_before")


@scene(
    "cow_virtual_keys_cdc",
    [V6, V8, V9],
    "cdc OP_KEY_ONLY DATA_BEFORE DATA_BEFORE_AFTER cow virtual_keys complex_key populate_meta_fields_false",
    "CDC of a table without meta columns, whose keys are made of two fields; each release with another mode.",
)
def cow_virtual_keys_cdc(t: Table) -> None:
    t.begin("cow", options=generator("ComplexKeyGenerator", "id,city", "city") | VIRTUAL)
    _change_data(t, {V6: "data_before", V8: "data_before_after", V9: "op_key_only"}[t.release])


def _change_data(t: Table, logging: str) -> None:
    t.options |= {
        "hoodie.table.cdc.enabled": "true",
        "hoodie.table.cdc.supplemental.logging.mode": logging,
    }
    t.insert(range(18))
    t.upsert(range(0, 18, 2), ts=2)
    t.delete(range(0, 18, 6))
    t.upsert(range(0, 21, 4), ts=3, tag="back")
    t.write(people(range(30, 36), 4, "over"), "insert_overwrite")
    t.ask("snapshot")
    t.ask_ranges("cdc")
