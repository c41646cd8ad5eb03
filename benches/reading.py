"""Reads of tables that Apache Hudi wrote, beside the bare decoding of their Parquet files, hudi-rs and Apache Hudi.

    python benches/tables.py FOLDER       makes the tables, once
    cargo build --release -p hudini-table --example read
    cargo build --release --manifest-path benches/peers/hudi-rs/Cargo.toml      builds the peer, once
    python -m venv ELSEWHERE; ELSEWHERE/bin/pip install hudi==0.5.0 pyarrow      its last released wheel, once
    python benches/reading.py FOLDER --read target/release/examples/read
        [--peer …/hudi-rs-peer] [--hudi-wheel ELSEWHERE/bin/python] [--spark]

Each read of a program is a process of its own, and the best of some rounds counts, in seconds of the CPU; Spark's are
those of its whole tree of processes, warmed up. Jobs take turns, so that a busy machine is busy for all of them. Rows
are compared once: by a digest that does not depend on their order.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from figures import Costs, judge, table
from reading_engines import Engine, Failed, Program, Spark
from reading_jobs import FACE, HUDI_RS, JOBS, OURS, SPARK, WHEEL, Job, gates

IN_PYTHON = Path(__file__).with_name("reading_python.py")


def digest(rows: pa.Table) -> str:
    """Of all values, whatever the order of rows and columns."""
    rows = rows.select(sorted(rows.column_names))
    rows = rows.cast(pa.schema([pa.field(f.name, plain_type(f.type)) for f in rows.schema]))
    rows = rows.take(pc.sort_indices(rows, [(name, "ascending") for name in rows.column_names])).combine_chunks()
    told = hashlib.sha256()
    for column in rows.columns:
        for text in (pc.cast(chunk, pa.string()) for chunk in column.chunks):
            told.update(pc.cast(pc.is_valid(text), pa.uint8()).buffers()[1])
            told.update(text.buffers()[1])
            told.update(text.buffers()[2])
    return told.hexdigest()[:12]


def plain_type(kind: pa.DataType) -> pa.DataType:
    return pa.string() if pa.types.is_large_string(kind) or pa.types.is_string_view(kind) else kind


def wrong_answers(engines: dict[str, Engine], jobs: list[Job]) -> set[tuple[str, str]]:
    """Where an engine has other rows than hudini, or none: its seconds say nothing."""
    wrong = set()
    right: dict[tuple[str, tuple[str, ...]], str] = {}
    for job in (job for job in jobs if job.mode == "rows"):
        for name, engine in engines.items():
            if engine.does(job):
                told = answer_of(engine, job)
                expected = right.setdefault((job.table, job.columns), told)
                print(f"{job.name}, {name}: {told}{'' if told == expected else f', not {expected}'}", flush=True)
                wrong |= {(name, job.name)} if told != expected else set()
    return wrong


def answer_of(engine: Engine, job: Job) -> str:
    try:
        return digest(engine.rows(job))
    except Failed as failure:
        return f"fails: {failure}"


def measured(engines: dict[str, Engine], jobs: list[Job], rounds: int) -> Costs:
    """The least cost of each job; none where an engine fails."""
    costs: Costs = {}
    failed: set[tuple[str, str]] = set()
    for _ in range(rounds):
        for job in jobs:
            for name, engine in engines.items():
                place = name, job.name
                if not engine.does(job) or place in failed:
                    continue
                try:
                    cost = engine.cost(job)
                except Failed as failure:
                    failed.add(place)
                    print(f"{name} fails at {job.name}: {failure}", file=sys.stderr)
                    continue
                costs[place] = cost.least(costs.get(place, cost))
    return costs


@contextmanager
def chosen_engines(chosen: argparse.Namespace) -> Iterator[dict[str, Engine]]:
    folder = chosen.folder.resolve()
    every = ("rows", "plain", "count", "streamed")
    engines: dict[str, Engine] = {
        OURS: Program([chosen.read], folder, every, plain_jobs=False),
        FACE: Program([chosen.python, IN_PYTHON, "hudini"], folder, every[:1] + every[2:], plain_jobs=False),
    }
    if chosen.peer:
        engines[HUDI_RS] = Program([chosen.peer], folder, ("rows",), plain_jobs=True)
    if chosen.hudi_wheel:
        engines[WHEEL] = Program([chosen.hudi_wheel, IN_PYTHON, "hudi"], folder, ("rows",), plain_jobs=True)
    with tempfile.TemporaryDirectory(prefix="hudini-bench-") as scratch:
        spark = Spark(folder, Path(scratch)) if chosen.spark else None
        try:
            yield engines | ({SPARK: spark} if spark else {})
        finally:
            if spark:
                spark.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--read", type=Path, required=True, help="the built example `read`")
    parser.add_argument("--python", default=sys.executable, help="a Python that has hudini and pyarrow (default: this)")
    parser.add_argument("--peer", type=Path, help="the built hudi-rs-peer")
    parser.add_argument("--hudi-wheel", help="a Python that has the wheel `hudi` and pyarrow")
    parser.add_argument("--spark", action="store_true", help="Apache Hudi too, as the interop tests have it")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="the jobs with this in their names")
    chosen = parser.parse_args()
    jobs = [job for job in JOBS if chosen.only in job.name]
    with chosen_engines(chosen) as engines:
        wrong = wrong_answers(engines, jobs)
        costs = measured(engines, jobs, chosen.rounds)
        print("\n".join(table(costs, list(engines), [job.name for job in jobs], wrong)))
        return judge(gates(), costs) or int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
