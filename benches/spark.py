"""hudini on Spark beside Apache Hudi 1.2 on Spark, and beside Spark's own Parquet.

    python benches/spark.py [--rounds 3]

Each engine has one Spark of two threads, with the same settings: hudini the newest PySpark, Apache Hudi the one that
its bundle is for, as the interop tests fetch it. Jobs take turns, reads some times in each; after some rounds that only
warm up, the best one counts, in seconds and in seconds of the CPU that Spark and all its Python processes take. A write
starts from a copy of the table that its engine has made. What is read is hashed, value by value, and must come to the
same in both.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from figures import Cost, Costs, Figure, Gate, judge, table
from reading_engines import Failed, cpu_of_tree
from writing_jobs import ALL, COW, MOR, Layout, written

from tests.interop.oracle.client import environment
from tests.interop.oracle.install import ensure

WORKER = Path(__file__).with_name("spark_session.py")
OURS, APACHE, PARQUET = "hudini", "Apache Hudi", "Spark's Parquet"
READ_COW = "read of 1 M, COW"
COMPACTION = "compaction of 1 M + 100 k"
READ_MOR = "read of 1 M + 100 k, MOR"
TWICE_AS_FAST = 0.5
WARM_UPS = 3
# In one turn.
READS = 3


@dataclass(frozen=True)
class Job:
    name: str
    layout: Layout
    verb: str
    # The rows that it writes, and those that were written before it.
    rows: str | None = None
    before: tuple[str, ...] = (ALL,)


def upsert(rows: str) -> Job:
    return Job(f"upsert of {rows.removesuffix('k')} k, MOR", MOR, "write", rows)


JOBS = [
    *map(upsert, ("1k", "10k", "100k")),
    Job(COMPACTION, MOR, "compact", before=(ALL, "100k")),
    Job(READ_MOR, MOR, "digest", before=(ALL, "100k")),
    Job(READ_COW, COW, "digest"),
]
BESIDE_PARQUET = Job(READ_COW, COW, "digest_parquet")


class Spark:
    """One process that does what it is asked for."""

    def __init__(self, python: str | Path, engine: str, *jar: Path) -> None:
        answers, theirs = os.pipe()
        variables = os.environ | {"PYSPARK_PYTHON": str(python)}
        if jar:
            variables = environment(ensure("1.2.0"))
        self._process = subprocess.Popen(
            [python, WORKER, engine, str(theirs), *jar],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[theirs],
            env=variables,
            text=True,
        )
        os.close(theirs)
        self._answers = os.fdopen(answers, encoding="utf-8")

    def ask(self, verb: str, **arguments: Any) -> tuple[Any, Cost]:
        started, before = time.perf_counter(), cpu_of_tree(self._process.pid)
        self._process.stdin.write(json.dumps({"verb": verb, "arguments": arguments}) + "\n")
        self._process.stdin.flush()
        line = self._answers.readline()
        cost = Cost(cpu_of_tree(self._process.pid) - before, time.perf_counter() - started)
        answer = json.loads(line) if line else {"error": "Spark ended"}
        if "error" in answer:
            raise Failed(answer["error"])
        return answer["result"], cost

    def close(self) -> None:
        self._process.stdin.close()
        self._process.wait()


class Bench:
    """Tables of one engine, below a folder that has the rows as Parquet files."""

    def __init__(self, spark: Spark, folder: Path, name: str, columns: list[str]) -> None:
        self._spark, self._rows, self._folder, self._columns = spark, folder, folder / name, columns

    def do(self, job: Job) -> tuple[Any, Cost]:
        place = self._prepared(job)
        if job.verb == "write":
            return self._write(place, job.layout, job.rows, "upsert")
        if job.verb == "compact":
            return self._spark.ask("compact", path=str(place))
        return self._spark.ask(job.verb, path=str(place), columns=self._columns)

    def _prepared(self, job: Job) -> Path:
        """A read takes the table as it is; a change gets a copy."""
        saved = self._folder / str(job.layout) / "+".join(job.before)
        if not saved.exists():
            for number, rows in enumerate(job.before):
                self._write(saved, job.layout, rows, "upsert" if number else "bulk_insert")
        if job.verb.startswith("digest"):
            return saved
        place = saved.with_name("changed")
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(saved, place)
        return place

    def _write(self, place: Path, layout: Layout, rows: str, operation: str) -> tuple[Any, Cost]:
        file = str(self._rows / f"{rows}.parquet")
        told = {"table_type": layout.table_type, "options": layout.options()}
        return self._spark.ask("write", path=str(place), rows=file, operation=operation, **told)


def measured(benches: dict[str, Bench], jobs: list[Job], rounds: int) -> Costs:
    costs: Costs = {}
    for number in range(WARM_UPS + rounds):
        for job in jobs:
            answers = set()
            # Who comes second finds the other's files and code at hand.
            for turn in turns(job, benches)[:: 1 if number % 2 else -1]:
                # A Spark that waited for the other one is slow at first: more so than reads differ.
                for _ in range(READS if job.verb == "digest" else 1):
                    for name, bench, task in turn:
                        answer, cost = bench.do(task)
                        answers.add(answer)
                        keep(costs, (name, job.name), cost, is_warm=number >= WARM_UPS)
                    turn.reverse()
            if len(answers) > 1:
                raise SystemExit(f"{job.name}: not all read the same rows")
    return costs


def turns(job: Job, benches: dict[str, Bench]) -> list[list[tuple[str, Bench, Job]]]:
    """Who does it, by the Spark that it takes; those of one Spark do it one after the other."""
    turns = [[(name, bench, job)] for name, bench in benches.items()]
    if job.name == READ_COW:
        turns[0].append((PARQUET, benches[OURS], BESIDE_PARQUET))
    return turns


def keep(costs: Costs, key: tuple[str, str], cost: Cost, is_warm: bool) -> None:
    print(f"{key[1]}, {key[0]}: {cost}{'' if is_warm else ', cold'}", file=sys.stderr, flush=True)
    if is_warm:
        costs[key] = cost.least(costs.get(key, cost))


def gates() -> list[Gate]:
    twice = [job.name for job in JOBS if job.name != READ_COW]
    gates = [
        Gate(f"{job}, {what}, over Apache Hudi", TWICE_AS_FAST, Figure(OURS, job, what), Figure(APACHE, job, what))
        for job in twice
        for what in ("wall", "cpu")
    ]
    parquet = Figure(OURS, READ_COW, "wall"), Figure(PARQUET, READ_COW, "wall")
    return [*gates, Gate(f"{READ_COW}, wall, over Spark's Parquet", 1.2, *parquet)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=sys.executable, help="a Python that has hudini and PySpark (default: this)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="the jobs with this in their names")
    chosen = parser.parse_args()
    jobs = [job for job in JOBS if chosen.only in job.name]
    apache = ensure("1.2.0")
    with tempfile.TemporaryDirectory(prefix="hudini-bench-") as scratch:
        folder = Path(scratch)
        columns: list[str] = []
        for name, rows in written():
            columns = rows.column_names
            pq.write_table(rows, folder / f"{name}.parquet")
        sparks = {OURS: Spark(chosen.python, "hudini"), APACHE: Spark(apache.python, "hudi", apache.jar)}
        try:
            benches = {name: Bench(spark, folder, name, columns) for name, spark in sparks.items()}
            costs = measured(benches, jobs, chosen.rounds)
        finally:
            for spark in sparks.values():
                spark.close()
    print("\n".join(table(costs, [OURS, APACHE, PARQUET], [job.name for job in jobs])))
    return judge(gates(), costs)


if __name__ == "__main__":
    sys.exit(main())
