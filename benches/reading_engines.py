"""Who reads: programs, each read in a process of its own, and Apache Hudi in one Spark that stays."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import pyarrow as pa
import pyarrow.parquet as pq
from figures import Cost
from reading_jobs import BY_POSITION, Job

from tests.interop.oracle import Oracle, OracleError

WARM_UPS = 2
SMALL_PARENT = Path(__file__).with_name("small_parent.py")


class Failed(Exception):
    """The engine cannot do the job."""


class Engine(Protocol):
    def does(self, job: Job) -> bool: ...

    def cost(self, job: Job) -> Cost: ...

    def rows(self, job: Job) -> pa.Table: ...


class Program:
    """A program that takes a table and a job's arguments, and says its own seconds as JSON."""

    def __init__(self, command: Collection[str | Path], folder: Path, modes: Collection[str], plain_jobs: bool) -> None:
        """`plain_jobs`: it can be told neither the way of merging, nor its memory, nor the number of threads."""
        self._command, self._folder = [str(word) for word in command], folder
        self._modes, self._plain_jobs = modes, plain_jobs

    def does(self, job: Job) -> bool:
        simple = not job.by_key and not job.memory and job.threads in (None, 1)
        return job.mode in self._modes and (simple or not self._plain_jobs)

    def cost(self, job: Job) -> Cost:
        return self._run(job, [])

    def rows(self, job: Job) -> pa.Table:
        with tempfile.TemporaryDirectory() as scratch:
            out = Path(scratch) / "rows.arrow"
            self._run(job, ["--out", str(out)])
            return pa.ipc.open_file(out).read_all()

    def _run(self, job: Job, more: list[str]) -> Cost:
        asked = replace(job, threads=None) if self._plain_jobs else job
        command = [*self._command, str(self._folder / job.table), *asked.arguments(), *more]
        done = subprocess.run([sys.executable, SMALL_PARENT, *command], capture_output=True, text=True, check=False)
        if done.returncode:
            raise Failed(f"{' '.join(command)}: {done.stderr.strip()[-300:]}")
        said = json.loads(done.stdout)
        return Cost(said["cpu"], said["wall"], said["mib"])


class Spark:
    """Apache Hudi 1.2 on a local Spark of two threads. A job is done some times before one counts: a JVM must warm up.

    Every value is hashed, so that no column is left out and no row is only counted.
    """

    def __init__(self, folder: Path, scratch: Path) -> None:
        self._folder, self._scratch = folder, scratch
        self._oracle = Oracle.start(scratch)
        self._warm: set[Job] = set()

    def does(self, job: Job) -> bool:
        return job.mode in ("rows", "count") and job.threads in (None, 2) and not job.memory

    def cost(self, job: Job) -> Cost:
        for _ in range(0 if job in self._warm else WARM_UPS):
            self._digest(job)
        self._warm.add(job)
        started, before = time.perf_counter(), cpu_of_tree(self._oracle.pid)
        self._digest(job)
        return Cost(cpu_of_tree(self._oracle.pid) - before, time.perf_counter() - started)

    def rows(self, job: Job) -> pa.Table:
        self._view(job)
        with tempfile.TemporaryDirectory(dir=self._scratch) as out:
            columns = ", ".join(job.columns) or "*"
            self._sql(f"INSERT OVERWRITE DIRECTORY '{out}' USING parquet SELECT {columns} FROM trips")
            return pq.read_table(out)

    def close(self) -> None:
        self._oracle.close()

    def _digest(self, job: Job) -> None:
        self._view(job)
        self._sql(f"SELECT {'count(*)' if job.mode == 'count' else self._hash(job)} FROM trips")

    def _view(self, job: Job) -> None:
        """A view sees the files as they were when it was made, so each job makes it anew."""
        options = {"path": str(self._folder / job.table)} | ({BY_POSITION: "false"} if job.by_key else {})
        listed = ", ".join(f"`{key}` '{value}'" for key, value in options.items())
        self._sql(f"CREATE OR REPLACE TEMPORARY VIEW trips USING hudi OPTIONS ({listed})")

    @staticmethod
    def _hash(job: Job) -> str:
        return f"sum(hash({', '.join(job.columns) or '*'}))"

    def _sql(self, statement: str) -> None:
        try:
            self._oracle.sql(statement)
        except OracleError as error:
            raise Failed(str(error)[:300]) from error


def cpu_of_tree(root: int) -> float:
    """Seconds of the CPU that a process and all below it have taken, those that ended too, by Linux's `/proc`."""
    spent: dict[int, tuple[int, float]] = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = file.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has just ended
        spent[int(file.parent.name)] = int(fields[1]), sum(map(int, fields[11:15]))
    tree = {root}
    while below := {pid for pid, (parent, _) in spent.items() if parent in tree} - tree:
        tree |= below
    return sum(spent[pid][1] for pid in tree if pid in spent) / os.sysconf("SC_CLK_TCK")
