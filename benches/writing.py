"""Writes of a million rows and of changes to them, beside plain Parquet, delta-rs, PyIceberg and Apache Hudi.

    cargo build --release -p hudini-table --example write
    python -m venv ELSEWHERE; ELSEWHERE/bin/pip install deltalake 'pyiceberg[pyarrow,sql-sqlite]'      once
    python benches/writing.py --write target/release/examples/write [--peers ELSEWHERE/bin/python] \
        [--hudi-rs PEER] [--spark]

Each write of a program is a process of its own, on a table that is put back as it was before; the best of some
rounds counts, in seconds of the CPU. Making the rows and the empty table are not in it. Jobs take turns, so that a busy
machine is busy for all of them. Once a job the table is read and held against the rows that it must have.
The rows are those of `tables.py`. hudi-rs is built apart, from `peers/hudi-rs`: its wheel (0.5.0) only reads.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from figures import Cost, Costs, judge, table
from writing_engines import Engine, Failed, Program, Spark
from writing_jobs import (
    ALL,
    ALONE,
    COW,
    COW_GZIP,
    DELTA,
    FACE,
    HUDI_RS,
    HUDI_RS_RECORDS,
    ICEBERG,
    JOBS,
    MOR,
    OURS,
    OVER_PLAIN,
    PYARROW,
    SPARK,
    Job,
    gates,
    written,
)

IN_PYTHON = Path(__file__).with_name("writing_python.py")


class Bench:
    """Tables of jobs and engines, below one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._rows: dict[str, pa.Table] = {}
        for name, rows in written():
            self._rows[name] = rows
            with pa.ipc.new_file(self._rows_file(name), rows.schema) as file:
                file.write_table(rows)

    def cost(self, name: str, engine: Engine, job: Job, check: bool) -> Cost:
        place = self._folder / name / str(job.layout) / "table"
        self._put_in_place(place, engine, job)
        cost = self._do(engine, job, place)
        if check:
            self._check(engine, job, place)
        return cost

    def _do(self, engine: Engine, job: Job, place: Path) -> Cost:
        return engine.cost(job, place, self._rows_file(job.rows) if job.rows else None)

    def _put_in_place(self, place: Path, engine: Engine, job: Job) -> None:
        """What the jobs before have made, from a copy: a table may know its own path, so it is always there."""
        empty(place)
        place.parent.mkdir(parents=True, exist_ok=True)
        if not job.before:
            return
        saved = place.with_name(f"after {job.before[-1].name}")
        if saved.exists():
            shutil.copytree(saved, place)
            return
        for earlier in job.before:
            self._do(engine, earlier, place)
        shutil.copytree(place, saved)

    def _check(self, engine: Engine, job: Job, place: Path) -> None:
        """A wrong answer is never fast."""
        told = pq.read_table(place) if job.is_plain else engine.rows(place, self._folder / "read.arrow")
        told = told.select(self._rows[ALL].column_names)
        told = told.cast(self._rows[ALL].schema).sort_by("id").combine_chunks()
        if not told.equals(self._expected(job)):
            raise SystemExit(f"{job.name}: {told.num_rows} rows, and not those that were written")

    def _expected(self, job: Job) -> pa.Table:
        changes = [self._rows[step.rows] for step in (*job.before, job) if step.rows not in (None, ALL)]
        rows = self._rows[ALL]
        for change in changes:
            kept = pc.invert(pc.is_in(rows["id"], value_set=change["id"]))
            rows = pa.concat_tables([rows.filter(kept), change])
        return rows.sort_by("id").combine_chunks()

    def _rows_file(self, name: str) -> Path:
        return self._folder / f"{name}.arrow"


def empty(place: Path) -> None:
    if place.is_file():
        place.unlink()
    shutil.rmtree(place, ignore_errors=True)


def measured(bench: Bench, engines: dict[str, Engine], jobs: list[Job], rounds: int) -> Costs:
    """The least cost of each job; none where an engine fails."""
    costs: Costs = {}
    failed: set[tuple[str, str]] = set()
    for number in range(rounds):
        for job in jobs:
            for name, engine in engines.items():
                key = name, job.name
                if not engine.does(job) or key in failed:
                    continue
                try:
                    cost = bench.cost(name, engine, job, check=number == 0)
                except Failed as failure:
                    failed.add(key)
                    print(f"{name} fails at {job.name}: {failure}", file=sys.stderr)
                    continue
                costs[key] = cost.least(costs.get(key, cost))
                print(f"{job.name}, {name}: {cost}", file=sys.stderr, flush=True)
    return costs


def chosen_engines(chosen: argparse.Namespace, folder: Path) -> Iterator[tuple[str, Engine]]:
    in_python = [chosen.python, IN_PYTHON]
    reader = [*in_python, "hudini"]
    yield OURS, Program([chosen.write], reader, lambda job: job.operation != "plain_in_four")
    yield FACE, Program(reader, reader, lambda job: not job.is_plain)
    yield ALONE, Program([chosen.write, "--threads", "1"], reader, lambda job: job in OVER_PLAIN)
    yield PYARROW, Program([*in_python, "pyarrow"], [], lambda job: job.is_plain)
    if chosen.peers:
        for name, library, does in (DELTA, "deltalake", is_of_all), (ICEBERG, "pyiceberg", is_small_too):
            command = [chosen.peers, IN_PYTHON, library]
            yield name, Program(command, command, does)
    if chosen.hudi_rs:
        peer = [chosen.hudi_rs]
        yield HUDI_RS, Program([*peer, "--option", "hoodie.index.type=SIMPLE"], peer, is_for_hudi_rs)
        yield HUDI_RS_RECORDS, Program([*peer, "--option", "hoodie.index.type=RECORD_INDEX"], peer, is_for_hudi_rs)
    if chosen.spark:
        yield SPARK, Spark(folder, reader)


def is_of_all(job: Job) -> bool:
    """Other formats have one kind of table, which stands beside copy-on-write with buckets."""
    return job.operation in ("bulk_insert", "upsert") and job.layout == COW


def is_for_hudi_rs(job: Job) -> bool:
    """Once for each of its indexes, beside hudini with buckets."""
    return not job.is_plain and job.layout in (COW, MOR, COW_GZIP)


def is_small_too(job: Job) -> bool:
    """PyIceberg makes a condition of all keys, and takes minutes for 100 k of them."""
    return is_of_all(job) and job.rows != "100k"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", type=Path, required=True, help="the built example `write`")
    parser.add_argument("--python", default=sys.executable, help="a Python that has hudini and pyarrow (default: this)")
    parser.add_argument("--peers", help="a Python that has deltalake, pyiceberg and pyarrow")
    parser.add_argument("--hudi-rs", type=Path, help="the built `benches/peers/hudi-rs`")
    parser.add_argument("--spark", action="store_true", help="Apache Hudi too, as the interop tests have it")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="the jobs with this in their names")
    chosen = parser.parse_args()
    jobs = [job for job in JOBS if chosen.only in job.name]
    with tempfile.TemporaryDirectory(prefix="hudini-bench-") as folder:
        engines = dict(chosen_engines(chosen, Path(folder)))
        try:
            costs = measured(Bench(Path(folder)), engines, jobs, chosen.rounds)
        finally:
            for engine in engines.values():
                engine.close()
    print("\n".join(table(costs, [*engines], [job.name for job in jobs])))
    return judge(gates(), costs)


if __name__ == "__main__":
    sys.exit(main())
