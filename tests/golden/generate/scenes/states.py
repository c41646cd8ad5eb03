"""Tables in the middle of something: plans not carried out, commits that never came, markers left behind."""

from __future__ import annotations

from ..case import scene
from ..table import Table
from .basics import NO_SMALL_FILES

V6, V8, V9 = "0.15.0", "1.0.2", "1.2.0"


@scene(
    "cow_pending_clustering",
    [V6, V8, V9],
    "cow clustering pending",
    "A clustering planned and not done; afterwards an insert into new file groups.",
)
def cow_pending_clustering(t: Table) -> None:
    t.begin("cow", options=NO_SMALL_FILES)
    t.insert(range(12))
    t.insert(range(12, 24))
    t.schedule("CLUSTER", {"hoodie.clustering.plan.strategy.sort.columns": "name"})
    t.insert(range(24, 30), ts=2)
    t.ask_usual(incremental=False)


@scene(
    "cow_pending_clean",
    [V8, V9],
    "cow clean pending",
    "A clean planned and not done: every slice is still there.",
)
def cow_pending_clean(t: Table) -> None:
    t.begin("cow", options={"hoodie.cleaner.commits.retained": "1", "hoodie.clean.commits.retained": "1"})
    t.insert(range(12))
    for round in range(2, 5):
        t.upsert(range(round, 12, 3), ts=round, tag=f"r{round}-")
    t.schedule("CLEAN")
    t.ask_usual(incremental=False, time_travel=False)


@scene(
    "mor_pending_indexing",
    [V8, V9],
    "mor indexing pending",
    "The column statistics of the metadata table planned as an index and not built.",
)
def mor_pending_indexing(t: Table) -> None:
    t.begin("mor", options={"hoodie.metadata.index.column.stats.enable": "false"})
    t.insert(range(12))
    t.upsert(range(0, 12, 3), ts=2)
    jvm = t.spark._jvm
    kinds = jvm.java.util.ArrayList()
    kinds.add(jvm.org.apache.hudi.metadata.MetadataPartitionType.COLUMN_STATS)
    options = {
        "hoodie.metadata.index.column.stats.enable": "true",
        "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
        "hoodie.cleaner.policy.failed.writes": "LAZY",
        "hoodie.clean.failed.writes.policy": "LAZY",
        "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.InProcessLockProvider",
    }
    with t.client(options) as client:
        assert client.scheduleIndexing(kinds, jvm.java.util.ArrayList()).isPresent()
    t.ask_usual(incremental=False, time_travel=False)


@scene(
    "cow_pending_restore",
    [V8, V9],
    "cow savepoint restore pending",
    "A restore that did its work and lost its completed file: the timeline holds its plan, the data are restored.",
)
def cow_pending_restore(t: Table) -> None:
    t.begin("cow")
    t.insert(range(12))
    kept, _, _ = t.commits()[-1]
    t.savepoint(kept)
    t.upsert(range(0, 12, 3), ts=2)
    t.restore(kept)
    t.remove(t.timeline_file("*.restore"))
    t.ask_usual(incremental=False, time_travel=False, projection=False)


@scene(
    "mor_pending_rollback",
    [V6, V8, V9],
    "mor rollback pending",
    "A rollback that did its work and lost its completed file: the timeline holds its plan.",
)
def mor_pending_rollback(t: Table) -> None:
    t.begin("mor")
    t.insert(range(12))
    t.upsert(range(0, 12, 3), ts=2)
    t.fail(range(0, 12, 2), ts=3)
    with t.client() as client:
        client.rollback(pending(t))
    t.remove(t.timeline_file("*.rollback"))
    t.ask_usual(incremental=False, time_travel=False, projection=False)


def pending(t: Table) -> str:
    """The instant of the write that is under way."""
    instant = t.meta_client().getActiveTimeline().filterInflights().lastInstant().get()
    return instant.getTimestamp() if t.release == V6 else instant.requestedTime()


@scene(
    "cow_markers_left",
    [V8, V9],
    "cow inflight_commit markers direct_markers",
    "A failed commit with its files and direct markers still there: none of its rows may be seen.",
)
def cow_markers_left(t: Table) -> None:
    t.begin("cow", options={"hoodie.write.markers.type": "DIRECT"})
    t.insert(range(12))
    t.upsert(range(0, 12, 3), ts=2)
    t.fail(range(0, 16, 2), ts=3)
    t.ask_usual(incremental=False)


@scene(
    "mor_markers_left",
    [V6, V8, V9],
    "mor inflight_deltacommit markers timeline_server_markers",
    "A failed delta commit with its logs and the timeline server's marker files still there.",
)
def mor_markers_left(t: Table) -> None:
    t.begin(
        "mor", options={"hoodie.write.markers.type": "TIMELINE_SERVER_BASED", "hoodie.embed.timeline.server": "true"}
    )
    t.insert(range(12))
    t.upsert(range(0, 12, 3), ts=2)
    t.fail(range(0, 16, 2), ts=3)
    t.ask_usual(incremental=False)


@scene(
    "mor_two_writers",
    [V9],
    "mor multi_writer markers heartbeats",
    "Two writers under lazy cleaning: one failed and left its logs, markers and heartbeat, the other went on.",
)
def mor_two_writers(t: Table) -> None:
    t.begin(
        "mor",
        options={
            "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
            "hoodie.clean.failed.writes.policy": "LAZY",
            "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.InProcessLockProvider",
        },
    )
    t.insert(range(12))
    t.fail(range(0, 16, 2), ts=3)
    t.upsert(range(0, 12, 3), ts=2, tag="other")
    t.ask_usual(incremental=False)


@scene(
    "cow_empty_commits",
    [V8, V9],
    "cow empty_commit",
    "Writes that changed nothing: an empty insert and a delete of keys that are not there.",
)
def cow_empty_commits(t: Table) -> None:
    t.begin("cow")
    t.insert(range(6))
    t.delete(range(100, 103))
    t.upsert(range(0, 6, 2), ts=2)
    t.ask_usual(projection=False)
