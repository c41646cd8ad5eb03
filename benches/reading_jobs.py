"""What `reading.py` measures, and the gates that hudini keeps to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from figures import Figure, Gate

OURS, FACE = "hudini", "hudini in Python"
HUDI_RS, WHEEL, SPARK = "hudi-rs", "hudi wheel", "Spark"

BY_POSITION = "hoodie.merge.use.record.positions"
MERGE_MEMORY = "hoodie.memory.merge.max.size"
LITTLE = 64_000_000


@dataclass(frozen=True)
class Job:
    """One read of one table."""

    name: str
    table: str
    columns: tuple[str, ...] = ()
    by_key: bool = False
    memory: int | None = None
    threads: int | None = None
    mode: Literal["rows", "plain", "count", "streamed"] = "rows"

    def arguments(self) -> list[str]:
        """As all programs take them."""
        words = ["--columns", ",".join(self.columns)] if self.columns else []
        words += ["--option", f"{BY_POSITION}=false"] if self.by_key else []
        words += ["--option", f"{MERGE_MEMORY}={self.memory}"] if self.memory else []
        words += ["--threads", str(self.threads)] if self.threads else []
        return words if self.mode == "rows" else [*words, f"--{self.mode}"]


TWO = ("city", "fare")
PLAIN, NO_LOG = "Parquet decoded, no table", "no log"
BY_KEY = ", by key"
FULL = "500 k updates, Avro"
IN_LITTLE = ", 64 MB of memory"
STREAMED, COUNT = "500 k updates, Avro, streamed", "100 k Avro, count"
ONE_THREAD, TWO_THREADS = "16 groups, one thread", "16 groups, two threads"
JOBS = [
    Job(PLAIN, "plain", mode="plain"),
    Job(NO_LOG, "plain"),
    Job("100 k updates, Avro", "avro_100k"),
    Job(FULL, "avro_500k"),
    Job(FULL + BY_KEY, "avro_500k", by_key=True),
    Job(FULL + IN_LITTLE, "avro_500k", memory=LITTLE),
    Job(FULL + BY_KEY + IN_LITTLE, "avro_500k", by_key=True, memory=LITTLE),
    Job(STREAMED, "avro_500k", mode="streamed"),
    Job("20 x 5 k updates, Avro", "avro_20x5k"),
    Job("100 k updates, Parquet", "parquet_100k"),
    Job("500 k updates, Parquet", "parquet_500k"),
    Job("100 k partial updates", "partial_100k"),
    Job("100 k Avro, two columns", "avro_100k", TWO),
    Job("100 k Avro, two columns" + BY_KEY, "avro_100k", TWO, by_key=True),
    Job("500 k Avro, two columns", "avro_500k", TWO),
    Job("500 k Avro, two columns" + BY_KEY, "avro_500k", TWO, by_key=True),
    Job(COUNT, "avro_100k", mode="count"),
    Job(ONE_THREAD, "groups", threads=1),
    Job(TWO_THREADS, "groups", threads=2),
]


OVER_HUDI_RS = {
    "100 k updates, Avro": 0.5,
    "500 k updates, Avro": 0.3,
    "20 x 5 k updates, Avro": 0.5,
    "100 k updates, Parquet": 0.6,
    "500 k updates, Parquet": 0.35,
    "100 k partial updates": 0.5,
    "100 k Avro, two columns": 0.3,
    ONE_THREAD: 0.5,
}
# By position too, and without the key, which only merging by key has to read.
BOTH_WAYS = [job.name for job in JOBS if job.columns and job.name + BY_KEY in {other.name for other in JOBS}]


def gates() -> Iterator[Gate]:
    yield Gate(f"{NO_LOG}, over bare decoding", 1.1, Figure(OURS, NO_LOG), Figure(OURS, PLAIN))
    for job, limit in OVER_HUDI_RS.items():
        yield Gate(f"{job}, over hudi-rs", limit, Figure(OURS, job), Figure(HUDI_RS, job))
    yield Gate(f"{COUNT}, seconds of the CPU", 0.15, Figure(OURS, COUNT))
    for job in BOTH_WAYS:
        yield Gate(f"{job}, by position over by key", 0.8, Figure(OURS, job), Figure(OURS, job + BY_KEY))
    for job in (FULL, FULL + BY_KEY):
        yield Gate(f"{job + IN_LITTLE}, over no limit", 3, Figure(OURS, job + IN_LITTLE), Figure(OURS, job))
    yield Gate(f"{STREAMED}, MiB of a Python that imports hudini alone", 250, Figure(FACE, STREAMED, "mib"))
    faster = Figure(OURS, ONE_THREAD, "wall"), Figure(OURS, TWO_THREADS, "wall")
    yield Gate("16 groups, seconds with one thread over seconds with two", 1.8, *faster, at_least=True)
