"""Whole jobs beside plain Parquet: create and bulk_insert, upsert, read, as COW and as MOR.

Each job runs in a process of its own, so that its peak memory is its own; making the rows is in the memory, not in the
time. "x parquet" is this job's time over that of the plain Parquet job which comes nearest: one file of the same rows
written (for bulk_insert), read and written again with the changes (for upsert), read (for read). The same run measures
both, so the ratio holds where the seconds don't.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

CITIES = np.array([f"city_{n:02d}" for n in range(8)])
BUCKETS = 4
OPTIONS = {
    "hoodie.index.type": "BUCKET",
    "hoodie.index.bucket.engine": "SIMPLE",
    "hoodie.bucket.index.num.buckets": str(BUCKETS),
}


def keyed(numbers: np.ndarray, version: int) -> pa.Table:
    """The rows of these keys. A key has one city for ever; all else changes with the version."""
    chance = np.random.default_rng([version, len(numbers)])
    return pa.table(
        {
            "id": pa.array(np.char.add("trip-", np.char.zfill(numbers.astype(str), 10))),
            "ts": pa.array(np.full(len(numbers), version, dtype=np.int64)),
            "city": pa.array(CITIES[numbers % len(CITIES)]),
            "rider": pa.array(chance.integers(0, 50_000, len(numbers))),
            "fare": pa.array(np.round(chance.random(len(numbers)) * 100, 2)),
            "distance": pa.array(chance.random(len(numbers))),
        }
    )


def first_rows(count: int) -> pa.Table:
    return keyed(np.arange(count), version=1)


def changed_rows(count: int) -> pa.Table:
    """A tenth of the table: nine of ten rows are updates, the rest new."""
    chance = np.random.default_rng(count)
    tenth = max(count // 10, 10)
    updates = chance.choice(count, tenth * 9 // 10, replace=False)
    return keyed(np.concatenate([updates, np.arange(count, count + tenth // 10)]), version=2)


# ---- the jobs: each makes its rows, then returns the timed part, which returns how many rows it moved ----

Job = Callable[[], int]


def hudi_insert(folder: Path, count: int, table_type: str) -> Job:
    import hudini

    rows = first_rows(count)

    def job() -> int:
        table = hudini.create(
            folder / table_type,
            rows.schema,
            record_key="id",
            ordering="ts",
            partition_by=["city"],
            table_type=table_type,
            options=OPTIONS,
        )
        return table.bulk_insert(rows).inserted

    return job


def hudi_upsert(folder: Path, count: int, table_type: str) -> Job:
    import hudini

    rows = changed_rows(count)

    def job() -> int:
        result = hudini.open(folder / table_type).upsert(rows)
        return result.inserted + result.updated

    return job


def hudi_read(folder: Path, count: int, table_type: str) -> Job:
    import hudini

    return lambda: hudini.open(folder / table_type).read().to_arrow().num_rows


def parquet_insert(folder: Path, count: int, _: str) -> Job:
    rows = first_rows(count)

    def job() -> int:
        pq.write_table(rows, folder / "plain.parquet", compression="zstd")
        return rows.num_rows

    return job


def parquet_upsert(folder: Path, count: int, _: str) -> Job:
    rows = changed_rows(count)

    def job() -> int:
        stored = pq.read_table(folder / "plain.parquet")
        known = pc.is_in(stored["id"], value_set=rows["id"])
        kept = stored.filter(pc.invert(known))
        pq.write_table(pa.concat_tables([kept, rows]), folder / "plain.parquet", compression="zstd")
        return rows.num_rows

    return job


def parquet_read(folder: Path, count: int, _: str) -> Job:
    return lambda: pq.read_table(folder / "plain.parquet").num_rows


JOBS = {
    "parquet": {"insert": parquet_insert, "upsert": parquet_upsert, "read": parquet_read},
    "cow": {"insert": hudi_insert, "upsert": hudi_upsert, "read": hudi_read},
    "mor": {"insert": hudi_insert, "upsert": hudi_upsert, "read": hudi_read},
}


# ---- measuring ----


def measure(kind: str, verb: str, folder: Path, count: int) -> dict:
    """Runs one job in this very process."""
    job = JOBS[kind][verb](folder, count, kind)
    began = time.perf_counter()
    rows = job()
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if sys.platform != "darwin":
        peak *= 1024  # Linux counts kilobytes
    return {"kind": kind, "verb": verb, "rows": rows, "seconds": seconds, "peak_rss": peak}


def expected(verb: str, count: int) -> int:
    """How many rows the job must have moved: a wrong answer is never fast."""
    change = changed_rows(count).num_rows
    new = change - max(count // 10, 10) * 9 // 10
    return {"insert": count, "upsert": change, "read": count + new}[verb]


def run(count: int) -> list[dict]:
    spawn = multiprocessing.get_context("spawn")  # a forked child would start with its parent's memory
    results = []
    with tempfile.TemporaryDirectory(prefix="hudini-bench-") as folder:
        for kind, jobs in JOBS.items():
            for verb in jobs:
                with spawn.Pool(1) as child:
                    result = child.apply(measure, (kind, verb, Path(folder), count))
                if result["rows"] != expected(verb, count):
                    raise SystemExit(f"{kind} {verb}: {result['rows']} rows, expected {expected(verb, count)}")
                results.append(result)
    return results


def table(results: list[dict]) -> str:
    plain = {r["verb"]: r["seconds"] for r in results if r["kind"] == "parquet"}
    lines = [
        "| table | job | rows | seconds | rows/s | peak MiB | x parquet |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    for r in results:
        cells = [
            r["kind"],
            r["verb"],
            f"{r['rows']:,}",
            f"{r['seconds']:.2f}",
            f"{r['rows'] / r['seconds']:,.0f}",
            f"{r['peak_rss'] / 2**20:,.0f}",
            f"{r['seconds'] / plain[r['verb']]:.1f}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of the first insert (default: one million)")
    parser.add_argument("--json", type=Path, help="also write the raw figures to this file")
    arguments = parser.parse_args()
    results = run(arguments.rows)
    print(table(results))
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
