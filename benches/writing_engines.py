"""Who writes: programs, each write in a process of its own, and Apache Hudi in one Spark that stays."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import pyarrow as pa
from figures import Cost
from reading_engines import SMALL_PARENT, Failed, cpu_of_tree
from writing_jobs import Job

from tests.interop.oracle import Oracle, OracleError

Command = Sequence[str | Path]


class Engine(Protocol):
    def does(self, job: Job) -> bool: ...

    def cost(self, job: Job, table: Path, rows: Path | None) -> Cost: ...

    def rows(self, table: Path, scratch: Path) -> pa.Table: ...

    def close(self) -> None: ...


def run(command: Command) -> Cost:
    words = [str(word) for word in command]
    done = subprocess.run([sys.executable, SMALL_PARENT, *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed(f"{' '.join(words)}: {done.stderr.strip()[-300:]}")
    said = json.loads(done.stdout)
    return Cost(said["cpu"], said["wall"], said["mib"])


def read_by(reader: Command, table: Path, scratch: Path) -> pa.Table:
    run([*reader, table, "--operation", "read", "--out", scratch])
    return pa.ipc.open_file(scratch).read_all()


class Program:
    """A program that takes a table, a job's arguments and its rows, and says its own seconds as JSON."""

    def __init__(self, command: Command, reader: Command, does: Callable[[Job], bool] = lambda job: True) -> None:
        self._command, self._reader, self.does = command, reader, does

    def cost(self, job: Job, table: Path, rows: Path | None) -> Cost:
        words = [table, "--operation", job.operation]
        words += ["--rows", rows] if rows else []
        words += ["--create", job.layout.table_type] if job.operation == "bulk_insert" else []
        for key, value in job.layout.options().items():
            words += ["--option", f"{key}={value}"]
        return run([*self._command, *words])

    def rows(self, table: Path, scratch: Path) -> pa.Table:
        return read_by(self._reader, table, scratch)

    def close(self) -> None: ...


class Spark:
    """Apache Hudi 1.2 on a local Spark of two threads. The best round counts: a JVM must warm up."""

    def __init__(self, scratch: Path, reader: Command) -> None:
        self._reader = reader
        self._oracle = Oracle.start(scratch)

    def does(self, job: Job) -> bool:
        return not job.is_plain

    def cost(self, job: Job, table: Path, rows: Path | None) -> Cost:
        change = pa.ipc.open_file(rows).read_all() if rows else None
        started, before = time.perf_counter(), cpu_of_tree(self._oracle.pid)
        try:
            self._do(job, table, change)
        except OracleError as error:
            raise Failed(str(error)[:300]) from error
        return Cost(cpu_of_tree(self._oracle.pid) - before, time.perf_counter() - started)

    def _do(self, job: Job, table: Path, change: pa.Table | None) -> None:
        if change is None:
            self._oracle.compact(table)
            return
        options = {
            **job.layout.options(),
            "hoodie.datasource.write.table.type": job.layout.table_type,
            "hoodie.datasource.write.operation": job.operation,
            "hoodie.bulkinsert.shuffle.parallelism": "4",
        }
        self._oracle.write(table, change, options, "append" if job.before else "overwrite")

    def rows(self, table: Path, scratch: Path) -> pa.Table:
        return read_by(self._reader, table, scratch)

    def close(self) -> None:
        self._oracle.close()
