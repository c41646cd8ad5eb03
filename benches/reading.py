"""Reads of tables that Apache Hudi wrote, beside the bare decoding of their Parquet files and beside hudi-rs.

    python benches/tables.py FOLDER       makes the tables, once
    cargo build --release --manifest-path benches/peers/hudi-rs/Cargo.toml      builds the peer, once
    python benches/reading.py FOLDER --read target/release/examples/read [--peer …/hudi-rs-peer]

Each read is a process of its own, and the best of some rounds counts, in seconds of the CPU. Jobs take turns, so that a
busy machine is busy for all of them. Rows are compared once: by a digest that does not depend on their order.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

BY_KEY = ["--option", "hoodie.merge.use.record.positions=false"]
TWO = ["--columns", "city,fare"]


@dataclass(frozen=True)
class Job:
    name: str
    table: str
    arguments: list[str] = field(default_factory=list)
    peer: bool = True  # hudi-rs can do it


PLAIN = Job("Parquet decoded, no table", "plain", ["--plain"], peer=False)
JOBS = [
    PLAIN,
    Job("no log", "plain"),
    Job("100 k updates, Avro", "avro_100k"),
    Job("500 k updates, Avro", "avro_500k"),
    Job("500 k updates, Avro, by key", "avro_500k", BY_KEY, peer=False),
    Job("20 x 5 k updates, Avro", "avro_20x5k"),
    Job("100 k updates, Parquet", "parquet_100k"),
    Job("500 k updates, Parquet", "parquet_500k"),
    Job("100 k partial updates", "partial_100k"),
    Job("100 k Avro, two columns", "avro_100k", TWO),
    Job("100 k Avro, two columns, by key", "avro_100k", TWO + BY_KEY, peer=False),
    Job("500 k Avro, two columns", "avro_500k", TWO),
    Job("500 k Avro, two columns, by key", "avro_500k", TWO + BY_KEY, peer=False),
    Job("100 k Avro, count", "avro_100k", ["--count"], peer=False),
    Job("16 groups, one thread", "groups", ["--threads", "1"]),
    Job("16 groups, two threads", "groups", ["--threads", "2"], peer=False),
]


@dataclass
class Best:
    """The least of each over some rounds."""

    cpu: float = float("inf")
    wall: float = float("inf")
    mib: float = float("inf")

    def take(self, cpu: float, wall: float, mib: float) -> None:
        self.cpu, self.wall, self.mib = min(self.cpu, cpu), min(self.wall, wall), min(self.mib, mib)


def run(program: Path, folder: Path, job: Job, arguments: list[str]) -> tuple[float, float, float]:
    command = [str(program), str(folder / job.table), *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    answer = json.loads(process.stdout.readline())
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(command)} failed")
    return answer["cpu"], answer["wall"], usage.ru_maxrss / 1024


def peer_arguments(job: Job) -> list[str]:
    return TWO if job.arguments == TWO else []


def digest(program: Path, folder: Path, job: Job, arguments: list[str]) -> str:
    """Of all values, whatever the order of rows and columns."""
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "rows.arrow"
        run(program, folder, job, [*arguments, "--out", str(out)])
        rows = pa.ipc.open_file(out).read_all()
    rows = rows.select(sorted(rows.column_names))
    rows = rows.cast(pa.schema([pa.field(f.name, plain_type(f.type)) for f in rows.schema]))
    rows = rows.take(pc.sort_indices(rows, [(name, "ascending") for name in rows.column_names])).combine_chunks()
    told = hashlib.sha256()
    for column in rows.columns:
        for text in (pc.cast(chunk, pa.string()) for chunk in column.chunks):
            told.update(text.buffers()[1])
            told.update(text.buffers()[2])
    return told.hexdigest()[:12]


def plain_type(kind: pa.DataType) -> pa.DataType:
    return pa.string() if pa.types.is_large_string(kind) or pa.types.is_string_view(kind) else kind


def check_answers(read: Path, peer: Path, folder: Path) -> None:
    for job in JOBS:
        if job.peer:
            ours, theirs = digest(read, folder, job, job.arguments), digest(peer, folder, job, peer_arguments(job))
            print(f"{job.name}: {ours} {'as hudi-rs' if ours == theirs else f'but hudi-rs has {theirs}'}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--read", type=Path, required=True, help="the built example `read`")
    parser.add_argument("--peer", type=Path, help="the built hudi-rs-peer")
    parser.add_argument("--rounds", type=int, default=5)
    chosen = parser.parse_args()
    if chosen.peer:
        check_answers(chosen.read, chosen.peer, chosen.folder)
    ours = {job.name: Best() for job in JOBS}
    theirs = {job.name: Best() for job in JOBS if job.peer and chosen.peer}
    for _ in range(chosen.rounds):
        for job in JOBS:
            ours[job.name].take(*run(chosen.read, chosen.folder, job, job.arguments))
            if job.name in theirs:
                theirs[job.name].take(*run(chosen.peer, chosen.folder, job, peer_arguments(job)))
    print("| job | CPU s | wall s | peak MiB | hudi-rs CPU s | ratio |")
    print("|---|---:|---:|---:|---:|---:|")
    for name, best in ours.items():
        peer = theirs.get(name)
        beside = f"{peer.cpu:.2f} | {best.cpu / peer.cpu:.2f}" if peer else " | "
        print(f"| {name} | {best.cpu:.3f} | {best.wall:.3f} | {best.mib:.0f} | {beside} |")
    print(f"no log, against plain decoding: {ours['no log'].cpu / ours[PLAIN.name].cpu:.2f}")


if __name__ == "__main__":
    main()
