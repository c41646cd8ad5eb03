"""A table in the hands of a scene: it writes, asks for services, and names the questions to be answered."""

from __future__ import annotations

import concurrent.futures
import contextlib
import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from py4j.protocol import Py4JJavaError
from pyspark.sql.functions import udf

from tests.interop.oracle.services import UNPASSABLE, Services
from tests.interop.oracle.worker import collect

from .rows import SCHEMA, people

Options = dict[str, str] | None

WRITE = "hoodie.datasource.write."
OPTIONS = {
    WRITE + "recordkey.field": "id",
    WRITE + "precombine.field": "ts",
    "hoodie.compact.inline": "false",
    "hoodie.clean.automatic": "false",
    "hoodie.metadata.index.column.stats.enable": "false",  # on where a scene is about the metadata table: it is costly
    "hoodie.embed.timeline.server": "false",
    "hoodie.insert.shuffle.parallelism": "2",
    "hoodie.upsert.shuffle.parallelism": "2",
    "hoodie.bulkinsert.shuffle.parallelism": "2",
    "hoodie.delete.shuffle.parallelism": "2",
}
PARTITIONED = {WRITE + "partitionpath.field": "city"}


class Table(Services):
    """One table of one case, on the release that has its turn."""

    def __init__(self, spark: Any, release: str, name: str, folder: Path, state: dict[str, Any]) -> None:
        super().__init__(spark, release, folder / "table", state.setdefault("options", dict(OPTIONS)))
        self.name, self.folder = name, folder
        self.state = state  # travels from release to release: questions, options, and remarks for case.json

    # ---- writing ----

    def begin(self, kind: str, partitioned: bool = True, options: Options = None) -> None:
        """Chooses the type of the table, `cow` or `mor`, and the options of all its writes."""
        self.options[WRITE + "table.type"] = {"cow": "COPY_ON_WRITE", "mor": "MERGE_ON_READ"}[kind]
        self.options["hoodie.table.name"] = f"t_{self.name}"
        if partitioned:
            self.options.update(PARTITIONED)
        else:
            self.options[WRITE + "keygenerator.class"] = "org.apache.hudi.keygen.NonpartitionedKeyGenerator"
        self.options.update(options or {})

    def write(
        self,
        rows: Iterable[tuple[Any, ...]],
        operation: str = "upsert",
        options: Options = None,
        schema: str = SCHEMA,
        mode: str = "append",
    ) -> None:
        """One write through the data source, all rows in one task and in their order."""
        frame = self.spark.createDataFrame(list(rows), schema).coalesce(1)
        chosen = {**self.options, **(options or {}), WRITE + "operation": operation}
        frame.write.format("hudi").options(**chosen).mode(mode).save(str(self.path))

    def insert(self, numbers: Iterable[int], ts: int | None = 1, tag: str = "a", **write: Any) -> None:
        self.write(people(numbers, ts, tag), "insert", **write)

    def upsert(self, numbers: Iterable[int], ts: int | None, tag: str = "b", **write: Any) -> None:
        self.write(people(numbers, ts, tag), "upsert", **write)

    @contextlib.contextmanager
    def slow_upsert(self, numbers: Iterable[int], ts: int, tag: str) -> Iterator[None]:
        """An upsert that is under way while the block runs, and then completes."""
        gate = str(self.folder / "gate")

        def waited(name: str) -> str:
            while not os.path.exists(gate):
                time.sleep(0.1)
            return name

        frame = self.spark.createDataFrame(list(people(numbers, ts, tag)), SCHEMA).coalesce(1)
        frame = frame.withColumn("name", udf(waited, "string")("name"))
        write = frame.write.format("hudi").options(**{**self.options, WRITE + "operation": "upsert"}).mode("append")
        before = self._requests()
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            done = pool.submit(write.save, str(self.path))
            try:
                while self._requests() == before and not done.done():
                    time.sleep(0.1)
                yield
            finally:
                Path(gate).touch()
            done.result()
        Path(gate).unlink()

    def _requests(self) -> int:
        return sum(1 for _ in (self.path / ".hoodie" / "timeline").glob("*.deltacommit.requested"))

    def delete(self, numbers: Iterable[int], ts: int | None = 9, **write: Any) -> None:
        self.write(people(numbers, ts, "d"), "delete", **write)

    def fail(self, numbers: Iterable[int], ts: int, tag: str = "x") -> None:
        """An upsert whose files are written and whose commit is refused; it stays pending."""
        try:
            self.upsert(numbers, ts, tag, options=UNPASSABLE)
        except Py4JJavaError as error:
            self.state["failed_write"] = error.java_exception.toString().splitlines()[0]
        else:
            raise AssertionError("the write that should fail went through")

    # ---- SQL ----

    def sql(self, statement: str) -> list[Any]:
        """A statement; `{path}` is the table's folder."""
        return self.spark.sql(statement.format(path=self.path)).collect()

    def register(self) -> str:
        """The table under its name in the session's catalogue, for statements that take no path."""
        name = f"t_{self.name}"
        self.spark.sql(f"create table if not exists {name} using hudi location '{self.path}'")
        return name

    @contextlib.contextmanager
    def settings(self, settings: dict[str, str]) -> Iterator[None]:
        """Session settings while the block runs."""
        for key, value in settings.items():
            self.spark.conf.set(key, value)
        try:
            yield
        finally:
            for key in settings:
                self.spark.conf.unset(key)

    # ---- looking ----

    def commits(self) -> list[tuple[str, str, str]]:
        """Completed commits of any kind, oldest first: requested, completed, action."""
        timeline = self.meta_client().getActiveTimeline().getCommitsTimeline().filterCompletedInstants().getInstants()
        old = self.release.startswith("0.")
        return [
            (i.getTimestamp(), i.getTimestamp(), i.getAction())
            if old
            else (i.requestedTime(), i.getCompletionTime(), i.getAction())
            for i in (timeline.get(n) for n in range(timeline.size()))
        ]

    def files(self, pattern: str) -> list[Path]:
        """Files of the table by a glob, oldest instant first as their names have it; never those of `.hoodie`."""
        found = [f for f in self.path.rglob(pattern) if ".hoodie" not in f.relative_to(self.path).parts]
        return sorted(f for f in found if f.is_file() and not f.name.endswith(".crc"))

    def timeline_file(self, pattern: str) -> Path:
        """The newest file of the active timeline that fits the pattern."""
        folder = self.path / ".hoodie"
        layout2 = folder / "timeline"
        return sorted((layout2 if layout2.exists() else folder).glob(pattern))[-1]

    def remove(self, file: Path) -> None:
        """Removes a file and the checksum that Hadoop keeps beside it."""
        file.unlink()
        file.with_name(f".{file.name}.crc").unlink(missing_ok=True)

    def rewrite(self, file: Path, content: bytes) -> None:
        """Gives a file other bytes, and takes away the checksum that Hadoop keeps beside it."""
        file.write_bytes(content)
        file.with_name(f".{file.name}.crc").unlink(missing_ok=True)

    # ---- questions ----

    def ask(self, id: str, query: str = "snapshot", **question: Any) -> None:
        """One question: `as_of`, `start`, `end`, `options`, `columns`, `filter`, `note`."""
        params = {k: question.pop(k) for k in ("as_of", "start", "end", "options") if question.get(k) is not None}
        read = {"id": id, "query": query, "params": params, "columns": question.pop("columns", None), **question}
        self.state.setdefault("reads", []).append({k: v for k, v in read.items() if k == "columns" or v is not None})

    def give(self, id: str, rows: Iterable[tuple[Any, ...]], schema: str) -> None:
        """A question with the answer that follows from what was written, where Apache Hudi has none."""
        answer = collect(self.spark.createDataFrame(sorted(rows), schema))
        (self.folder / "expected").mkdir(exist_ok=True)
        pq.write_table(answer, self.folder / "expected" / f"{id}.parquet")
        read = {"id": id, "query": "snapshot", "params": {}, "columns": answer.column_names, "read_by": None}
        given = {
            "expected": f"expected/{id}.parquet",
            "row_count": answer.num_rows,
            "note": "the rows as they were written",
        }
        self.state.setdefault("reads", []).append(read | given)

    def ask_usual(self, projection: bool = True, incremental: bool = True, time_travel: bool = True) -> None:
        """What every table is asked: now, then, what changed, and some columns of some rows."""
        commits = self.commits()
        self.ask("snapshot")
        if self.options[WRITE + "table.type"] == "MERGE_ON_READ":
            self.ask("read_optimized", "read_optimized")
        if time_travel:
            for number in sorted({0, len(commits) // 2} - {len(commits) - 1}):
                requested, _, _ = commits[number]
                self.ask(f"time_travel_{number}", "time_travel", as_of=requested)
        if incremental and len(commits) > 1:
            self.ask_ranges(everything=False)
        if projection:
            self.ask("projection", columns=["id", "v"], filter="ts >= 2")

    def ask_ranges(self, query: str = "incremental", everything: bool = True) -> None:
        """The whole timeline, its middle, and its tail."""
        completed = [completed for _, completed, _ in self.commits()]
        if everything:
            self.ask(f"{query}_all", query, start="000")
        if len(completed) > 2:
            self.ask(f"{query}_mid", query, start=completed[0], end=completed[-2])
        self.ask(f"{query}_tail", query, start=completed[-2])
