"""Has Apache Hudi carry out a plan. What it refuses is told, and the plan goes on."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

import hudini
import hudini.spark as hs
from tests.interop.oracle import Oracle, OracleError, SlowWrite
from tests.interop.oracle.services import NEWEST, UNPASSABLE
from tests.support.compare import difference

from . import data, faults
from .plan import SCHEMA_ON_READ, Plan, Step

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WRITE = "hoodie.datasource.write."
PAYLOADS = {
    "EVENT_TIME_ORDERING": "org.apache.hudi.common.model.DefaultHoodieRecordPayload",
    "COMMIT_TIME_ORDERING": "org.apache.hudi.common.model.OverwriteWithLatestAvroPayload",
}
COMPACT_NOW = {"hoodie.compact.inline.max.delta.commits": "1"}
LOG_COMPACT = {"hoodie.log.compaction.blocks.threshold": "2", "hoodie.log.compaction.enable": "true"}
CLEAN_NOW = {"hoodie.clean.commits.retained": "1", "hoodie.cleaner.commits.retained": "1"}
ARCHIVE_NOW = {"hoodie.keep.min.commits": "2", "hoodie.keep.max.commits": "3"}
WIDER = {"int": "long", "float": "double"}
# Indexes by SQL: what stands behind the table's name, and of which kinds of columns.
INDEXES_OF = {
    "secondary": ("({})", ("int", "long", "text")),
    "stats": ("using column_stats({})", ("int", "long", "text", "date", "decimal")),
    "blooms": ("using bloom_filters({})", ("text",)),
    "lower": ("using column_stats({}) options(expr='lower')", ("text",)),
    "year": ("using column_stats({}) options(expr='year')", ("date",)),
}
# Of a step of hudini's: "delete" is there what rows may say of themselves.
OPERATIONS = {"remove": "delete"}
ON_SPARK = "spark"
OUR_NAMES = {"insert_overwrite_table": "overwrite_table"}
VERSION_NAMES = {6: "SIX", 8: "EIGHT"}
# Tables without partition columns in their files: only ever set to be so.
DROPPED = {WRITE + "drop.partition.columns": "true"}
# Writers that do not wait for each other.
NON_BLOCKING = {
    "hoodie.table.type": "MERGE_ON_READ",
    "hoodie.metadata.record.index.enable": "false",  # which 1.0.2 cannot keep for new keys in logs
    "hoodie.index.type": "BUCKET",
    "hoodie.index.bucket.engine": "SIMPLE",
    "hoodie.bucket.index.num.buckets": "2",
    "hoodie.write.concurrency.mode": "NON_BLOCKING_CONCURRENCY_CONTROL",
    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.InProcessLockProvider",
    "hoodie.cleaner.policy.failed.writes": "LAZY",
    "hoodie.clean.failed.writes.policy": "LAZY",
}
EVOLUTION = {SCHEMA_ON_READ: "true", WRITE + "schema.allow.auto.evolution.column.drop": "true"}


class Player:
    """One plan on the releases of Apache Hudi that it names. `plan` is that of the release that writes now."""

    def __init__(
        self, oracles: Callable[[str], Oracle], spark: Callable[[], SparkSession], path: Path, plan: Plan
    ) -> None:
        self.oracles, self.spark, self.path, self.plan = oracles, spark, path, plan
        self.oracle = oracles(plan.writer)
        self.columns = data.columns_of(plan.columns)
        self.options = options(plan, path.parent.name)
        self.refused: list[str] = []
        self.declined: list[str] = []
        self.problems: list[str] = []
        # By the number of the step before which they complete.
        self.under_way: dict[int, list[SlowWrite]] = {}
        self.number = 0

    def play(self) -> None:
        for step in self.plan.steps:
            self._end_writes(lambda at: at <= self.number)
            self._try(step.verb, getattr(self, step.verb), step)
            self.number += 1
        self._end_writes(lambda _: True)

    def _try(self, what: str, act: Callable[..., None], *arguments: Step) -> None:
        try:
            act(*arguments)
        except OracleError as error:
            self.refused.append(f"step {self.number}, {what}: {cause(error)}")

    def _end_writes(self, is_due: Callable[[int], bool]) -> None:
        for at in sorted(filter(is_due, self.under_way)):
            for write in self.under_way.pop(at):
                self._try("slow write", write.end)

    def move_on(self, step: Step) -> None:
        """To another release, whose next write takes the table to its version, if that is a higher one."""
        before, self.plan = self.plan, self.plan.moved_on(step)
        if self.plan.version < before.version:
            to = VERSION_NAMES[self.plan.version]
            self._sql(f"call downgrade_table(table => '{self._name}', to_version => '{to}')", {})
        self.oracle = self.oracles(self.plan.writer)
        self.options = options(self.plan, self._name)

    # ---- writes ----

    def insert(self, step: Step) -> None:
        self._write("insert", step)

    def bulk_insert(self, step: Step) -> None:
        self._write("bulk_insert", step)

    def upsert(self, step: Step) -> None:
        self._write("upsert", step)

    def slow_upsert(self, step: Step) -> None:
        """That completes so many steps later."""
        rows, chosen = data.rows(self.plan, step, self.columns), {**self.options, WRITE + "operation": "upsert"}
        write = self.oracle.begin_write(self.path, rows, chosen)
        self.under_way.setdefault(self.number + 1 + int(step.words[0]), []).append(write)

    def delete(self, step: Step) -> None:
        self._write("delete", step)

    def insert_overwrite(self, step: Step) -> None:
        self._write("insert_overwrite", step)

    def insert_overwrite_table(self, step: Step) -> None:
        self._write("insert_overwrite_table", step)

    def delete_partition(self, step: Step) -> None:
        for chosen in self._partition_of(step):
            self._write("delete_partition", step, {WRITE + "partitions.to.delete": chosen})

    def _partition_of(self, step: Step) -> list[str]:
        """One that has rows, if there are any."""
        paths = set(self.oracle.read(self.path, columns=["_hoodie_partition_path"]).column(0).to_pylist())
        return [sorted(paths)[step.seed % len(paths)]] if paths else []

    def fail(self, step: Step) -> None:
        """A write whose files are written and whose commit is refused."""
        try:
            self._write("upsert", step, UNPASSABLE)
        except OracleError:
            return
        raise AssertionError("the write that should fail went through")

    def merge_into(self, step: Step) -> None:
        """Some columns of some records, as a partial update.

        Only of those that are there: release 1.0.2 writes parts of others too, and in columns that these lack all
        releases show what happens to be in memory.
        """
        first = step.seed % max(len(self.columns), 1)
        changed = list(self.columns)[first : first + 2]
        orders, keys = data.names("o", self.plan.ordering), data.names("k", self.plan.key)
        homes = data.names("p", self.plan.partition)
        source = self.path.parent / f"source-{step.seed}.parquet"
        pq.write_table(data.rows(self.plan, step, self.columns).select([*keys, *orders, *homes, *changed]), source)
        on = " and ".join(f"t.{name} = s.{name}" for name in [*keys, *homes])
        to = ", ".join(f"{name} = s.{name}" for name in [*keys, *changed, *orders])
        there = f"select s.* from parquet.`{source}` s left semi join {self._name} t on {on}"
        merge = f"merge into {self._name} t using ({there}) s on {on}"
        self._sql(f"{merge} when matched then update set {to}", {"hoodie.spark.sql.merge.into.partial.updates": "true"})

    def update_sql(self, step: Step) -> None:
        """One column of some rows becomes null."""
        if self.columns:
            column = list(self.columns)[step.seed % len(self.columns)]
            self._sql(f"update {self._name} set {column} = null where {self._some_keys(step)}", {})

    def delete_sql(self, step: Step) -> None:
        self._sql(f"delete from {self._name} where {self._some_keys(step)}", {})

    def _some_keys(self, step: Step) -> str:
        return f"pmod(hash({', '.join(data.names('k', self.plan.key))}), 4) = {step.seed % 4}"

    def _write(self, operation: str, step: Step, more: dict[str, str] | None = None) -> None:
        chosen = {**self.options, **step.options, **(more or {}), WRITE + "operation": operation}
        self.oracle.write(self.path, data.rows(self.plan, step, self.columns), chosen)

    def _leave_to_apache(self, copy: Path, why: str) -> None:
        """Goes on with what Apache Hudi made of the table."""
        self.declined.append(why)
        shutil.rmtree(self.path, ignore_errors=True)
        shutil.move(copy, self.path)

    def ours(self, step: Step) -> None:
        """Does what Apache Hudi does to a copy of the table, or leaves it to Apache Hudi."""
        operation, kept = OPERATIONS.get(step.words[0], step.words[0]), self.path
        copy = self.path.parent / f"copy-{self.number}"
        if kept.exists():
            shutil.copytree(kept, copy)
        try:
            self.path = copy
            getattr(self, operation)(step)
        finally:
            self.path = kept
        try:
            (self._write_on_spark if ON_SPARK in step.words else self._write_on_threads)(operation, step)
        except (hudini.UnsupportedFeature, hudini.SchemaMismatch) as error:
            widens = any(step.verb == "widen" for step in self.plan.steps[: self.number])
            if isinstance(error, hudini.SchemaMismatch) and not widens:
                self.problems.append(f"{operation} by hudini: {error}")
            self._leave_to_apache(copy, f"{operation}: {error}")
            return
        except hudini.HudiniError as error:
            # A table that was to be upgraded: writes of Apache Hudi do that. Or one in which it would write keys twice.
            is_upgraded = "hoodie.write.table.version" in str(error)
            is_elsewhere = isinstance(error, hudini.InvalidOption) and "belongs to bucket" in str(error)
            if is_upgraded or (is_elsewhere and faults.hashes_keys_in_two_ways(self.plan)):
                self._leave_to_apache(copy, f"{operation}: {error}")
            else:
                self.problems.append(f"{operation} by hudini: {type(error).__name__}: {error}")
            return
        self._compare(operation, self._rows_by_both(kept), self._rows_by_both(copy), merges=True)

    def _write_on_threads(self, operation: str, step: Step) -> None:
        rows = data.rows(self.plan, step, self.columns)
        if hudini.is_table(self.path):
            table = hudini.open(self.path, options=self.options)
        else:
            table = hudini.create(self.path, rows.schema, options=self.options)
        if operation == "delete_partition":
            table.delete_partitions(self._partition_of(step))
        else:
            getattr(table, OUR_NAMES.get(operation, operation))(rows)

    def _write_on_spark(self, operation: str, step: Step) -> None:
        spark, path = self.spark(), str(self.path)
        if operation == "delete_partition":
            hs.delete_partitions(spark, path, self._partition_of(step), self.options)
            return
        # One partition, for the order of the rows counts.
        frame = spark.createDataFrame(data.rows(self.plan, step, self.columns)).coalesce(1)
        getattr(hs, OUR_NAMES.get(operation, operation))(frame, path, self.options)

    def our_service(self, step: Step) -> None:
        """Which changes no row."""
        before = self._rows_by_both(self.path)
        if before["Apache Hudi"].num_columns == 0:
            return  # the table's first write was refused
        services = hudini.open(self.path).services
        try:
            if step.words == ("compact",):
                services.compact()
            else:
                services.clean(retain=1)
            if step.words == ("archive",):
                services.archive(options=CLEAN_NOW | ARCHIVE_NOW)
        except hudini.UnsupportedFeature as error:
            self.declined.append(f"{step.words[0]}: {error}")
        except hudini.HudiniError as error:
            self.problems.append(f"{step.words[0]} by hudini: {type(error).__name__}: {error}")
        self._compare(step.words[0], self._rows_by_both(self.path), before, merges=step.words == ("compact",))

    def _compare(self, what: str, ours: dict[str, pa.Table], due: dict[str, pa.Table], *, merges: bool) -> None:
        """By both readers, unless what Apache Hudi merges wrong in logs it reads right where hudini merged it."""
        for reader in ["hudini"] if merges and faults.compares_texts_of_other_rows(self.plan) else list(due):
            problem = difference(ours[reader], due[reader])
            if problem is not None:
                self.problems.append(f"{what} by hudini, read by {reader}: {problem}")

    def _rows_by_both(self, path: Path) -> dict[str, pa.Table]:
        """Without what tells when, and into which file, each was written."""
        theirs = self.oracles(NEWEST).read(path)
        ours = hudini.open(path).read().to_arrow() if theirs.num_columns else theirs
        return {"Apache Hudi": _without_when(theirs), "hudini": _without_when(ours)}

    # ---- services ----

    def compact(self, step: Step) -> None:
        self._service("COMPACT", COMPACT_NOW)

    def schedule_compaction(self, step: Step) -> None:
        self._call("plan", "COMPACT", COMPACT_NOW)

    def log_compact(self, step: Step) -> None:
        self._service("LOG_COMPACT", LOG_COMPACT)

    def cluster(self, step: Step) -> None:
        self._service("CLUSTER", {})

    def schedule_clustering(self, step: Step) -> None:
        self._call("plan", "CLUSTER", {})

    def clean(self, step: Step) -> None:
        self._call("clean", CLEAN_NOW)

    def schedule_clean(self, step: Step) -> None:
        self._call("plan", "CLEAN", CLEAN_NOW)

    def archive(self, step: Step) -> None:
        self._call("clean", CLEAN_NOW)
        self._call("archive", CLEAN_NOW | ARCHIVE_NOW)

    def rollback(self, step: Step) -> None:
        """Of the last write, unless a savepoint holds it."""
        commits = self._commits()
        if len(commits) > 1 and commits[-1] not in self._savepoints():
            self._call("rollback", commits[-1])

    def savepoint(self, step: Step) -> None:
        for last in self._commits()[-1:]:
            self._call("savepoint", last)

    def restore(self, step: Step) -> None:
        """To the last savepoint, if there is one."""
        points = self._savepoints()
        if points:
            self._call("restore", points[-1])

    def _savepoints(self) -> list[str]:
        return [row["requested"] for row in self.oracle.timeline(self.path) if row["action"] == "savepoint"]

    def _service(self, service: str, options: dict[str, str]) -> None:
        planned = self._call("plan", service, options)
        if planned is not None:
            self._call("run", service, planned, options)

    def _call(self, verb: str, *arguments: object) -> str | None:
        return self.oracle.service(self.path, verb, *arguments, options=self.options)

    def _commits(self) -> list[str]:
        kinds = ("commit", "deltacommit", "replacecommit")
        timeline = self.oracle.timeline(self.path)
        return [row["requested"] for row in timeline if row["action"] in kinds and row["state"] == "completed"]

    # ---- schemas ----

    def add_column(self, step: Step) -> None:
        """Rows have it from the next write on."""
        [kind] = step.words
        self.columns[f"n_{kind}"] = kind

    def widen(self, step: Step) -> None:
        self.columns = {name: WIDER.get(kind, kind) for name, kind in self.columns.items()}

    def rename_column(self, step: Step) -> None:
        if not self.columns:
            return
        old = list(self.columns)[step.seed % len(self.columns)]
        new = f"{data.RENAMED}{old}"
        self._alter(f"rename column {old} to {new}")
        self.columns = {new if name == old else name: kind for name, kind in self.columns.items()}

    def drop_column(self, step: Step) -> None:
        if len(self.columns) < 2:
            return
        name = list(self.columns)[step.seed % len(self.columns)]
        self._alter(f"drop column {name}")
        del self.columns[name]

    def create_index(self, step: Step) -> None:
        """Of a column, if there is one for it."""
        form, kinds = INDEXES_OF[step.words[0]]
        names = [name for name, kind in self.columns.items() if kind in kinds]
        if names:
            what = form.format(names[step.seed % len(names)])
            self._sql(f"create index i{step.seed} on {self._name} {what}", {})

    def _alter(self, change: str) -> None:
        self._sql(f"alter table {self._name} {change}", {})

    def _sql(self, statement: str, settings: dict[str, str]) -> None:
        """A statement about the table by its name, with the options of all writes."""
        self.oracle.sql(f"create table if not exists {self._name} using hudi location '{self.path}'")
        chosen = {**self.options, **settings}
        try:
            for key, value in chosen.items():
                self.oracle.sql(f"set {key}={value}")
            self.oracle.sql(statement)
        finally:
            for key in chosen:
                self.oracle.sql(f"reset {key}")

    @property
    def _name(self) -> str:
        return self.options["hoodie.table.name"]


def options(plan: Plan, name: str) -> dict[str, str]:
    """Of all writes to the table."""
    ordering = "hoodie.table.ordering.fields" if plan.writer >= "1.1" else WRITE + "precombine.field"
    chosen = {
        "hoodie.table.name": name,
        WRITE + "table.type": {"cow": "COPY_ON_WRITE", "mor": "MERGE_ON_READ"}[plan.table_type],
        WRITE + "recordkey.field": ",".join(data.names("k", plan.key)),
        WRITE + "partitionpath.field": ",".join(data.names("p", plan.partition)),
        "hoodie.write.table.version": str(plan.version),
        "hoodie.write.auto.upgrade": str(any(step.verb == "move_on" for step in plan.steps)).lower(),
        "hoodie.write.complex.keygen.validation.enable": "false",  # of one record key and two partition columns
        "hoodie.compact.inline": "false",
        "hoodie.clean.automatic": "false",
        "hoodie.parquet.small.file.limit": "0",
        **{f"hoodie.{kind}.shuffle.parallelism": "2" for kind in ("insert", "upsert", "bulkinsert", "delete")},
    }
    if plan.ordering:
        chosen[ordering] = ",".join(data.names("o", plan.ordering))
    if plan.version < 9:
        chosen[WRITE + "payload.class"] = PAYLOADS[plan.merge_mode]
    if plan.version > 6:
        chosen["hoodie.write.record.merge.mode"] = chosen["hoodie.record.merge.mode"] = plan.merge_mode
    return {**chosen, **plan.options}


def _without_when(rows: pa.Table) -> pa.Table:
    """Rows without what tells when, and into which file, each was written."""
    when = {"_hoodie_commit_time", "_hoodie_commit_seqno", "_hoodie_file_name"}
    return rows.select([name for name in rows.column_names if name not in when])


def cause(error: OracleError) -> str:
    """What Apache Hudi said first and last."""
    lines = "\n".join(error.chain).splitlines()
    causes = [line for line in lines if line.startswith("Caused by")] or lines[-1:]
    return f"{lines[0]} <- {causes[-1]}"
