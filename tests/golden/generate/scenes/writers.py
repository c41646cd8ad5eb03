"""Several writers at a time: none waits for another, and what was asked for first may complete last."""

from __future__ import annotations

from ..case import scene
from ..table import Table
from .basics import NO_SMALL_FILES

V8, V9 = "1.0.2", "1.2.0"
NON_BLOCKING = {
    **NO_SMALL_FILES,
    "hoodie.table.type": "MERGE_ON_READ",
    "hoodie.index.type": "BUCKET",
    "hoodie.index.bucket.engine": "SIMPLE",
    "hoodie.bucket.index.num.buckets": "1",
    "hoodie.write.concurrency.mode": "NON_BLOCKING_CONCURRENCY_CONTROL",
    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.InProcessLockProvider",
    "hoodie.cleaner.policy.failed.writes": "LAZY",
    "hoodie.clean.failed.writes.policy": "LAZY",
    "hoodie.compact.inline.max.delta.commits": "1",
}


@scene(
    "mor_non_blocking",
    [V8, V9],
    "mor non_blocking compaction time_travel",
    "Slow writes that were asked for before a compaction and complete after it, done or planned: where their logs lie.",
)
def mor_non_blocking(t: Table) -> None:
    t.begin("mor", options=NON_BLOCKING)
    t.upsert(range(12), ts=1)
    with t.slow_upsert(range(0, 12, 2), ts=3, tag="slow-"):
        t.upsert(range(0, 12, 3), ts=4)
        t.run("COMPACT", t.schedule("COMPACT"))
        t.upsert(range(1, 12, 3), ts=2)
    t.upsert(range(2, 12, 4), ts=5)
    with t.slow_upsert(range(4, 14), ts=6, tag="slower-"):
        t.upsert(range(0, 12, 5), ts=7)
        t.schedule("COMPACT")
        t.upsert(range(3, 12, 3), ts=5, tag="late-")
    t.ask("snapshot")
    t.ask("read_optimized", "read_optimized")
    for number, (requested, _, _) in enumerate(t.commits()):
        t.ask(f"time_travel_{number}", "time_travel", as_of=requested)
    for number, (_, completed, _) in enumerate(sorted(t.commits(), key=lambda commit: commit[1])[:-1]):
        t.ask(f"incremental_{number}", "incremental", start=completed)
