"""A writer that takes long, while others that began before it commit after it began, and services run.

The other way of many writers: step by step, so that the order of things is the same each time.
"""

from __future__ import annotations

import json
import queue
import time
from pathlib import Path

import pytest

import hudini

from .processes import Inbox, Process
from .stepping import LEFT_ALONE, SCHEMA, SteppingWriter, row

BUCKETS = 4
# As little is kept as can be.
LITTLE = {"hoodie.clean.commits.retained": "1", "hoodie.keep.min.commits": "2", "hoodie.keep.max.commits": "3"}


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "table")


@pytest.fixture
def buckets(path: str) -> list[list[str]]:
    """A table with rows in all buckets: their keys, bucket by bucket."""
    table = hudini.create(path, SCHEMA, "id", "ts", options={"hoodie.bucket.index.num.buckets": BUCKETS})
    table.upsert([row(f"k{number}", 1, "first") for number in range(40)], options=LEFT_ALONE)
    found: dict[str, list[str]] = {}
    for kept in table.read(columns=["id", "_hoodie_file_name"]).to_arrow().to_pylist():
        found.setdefault(kept["_hoodie_file_name"][:8], []).append(kept["id"])
    return list(found.values())


@pytest.mark.parametrize("ran_before", [True, False], ids=["files-written", "only-begun"])
@pytest.mark.parametrize(
    "services",
    [("clean",), ("archive",), ("clean", "archive")],
    ids="-".join,
)
def test_what_completed_after_a_slow_writer_began_is_not_overwritten(
    path: str, buckets: list[list[str]], services: tuple[str, ...], ran_before: bool
) -> None:
    others = [SteppingWriter(path, [row(keys[0], 5, "other")]) for keys in buckets]
    slow = SteppingWriter(path, [row(buckets[0][1], 5, "slow")])
    if ran_before:
        slow.run()
    for other in others:
        other.run()
        other.commit()
    # Later ones, elsewhere, so that services have reason to run.
    for ts in range(10, 18):
        hudini.open(path).upsert([row(buckets[-1][2], ts, "later")], options=LEFT_ALONE)
    for name in services:
        getattr(hudini.open(path).services, name)(options=LITTLE)
    with pytest.raises(hudini.CommitConflict):
        if not ran_before:
            slow.run()
        slow.commit()
    by = {kept["id"]: kept["by"] for kept in hudini.open(path).read().to_arrow().to_pylist()}
    assert [by[keys[0]] for keys in buckets] == ["other"] * BUCKETS
    assert hudini.open(path).verify(deep=True).ok


@pytest.mark.parametrize("table_type", ["cow", "mor"])
def test_a_stopped_writer_is_taken_over_and_commits_nothing_when_it_goes_on(path: str, table_type: str) -> None:
    hudini.create(path, SCHEMA, "id", "ts", table_type=table_type, options={"hoodie.bucket.index.num.buckets": 1})
    hudini.open(path).upsert([row("a", 1, "first"), row("b", 1, "first")])
    beats = {"hoodie.client.heartbeat.interval_in_ms": 1000, "hoodie.client.heartbeat.tolerable.misses": 3}
    inbox: Inbox = queue.Queue()
    arguments = path, json.dumps([row("a", 2, "stopped")]), json.dumps({k: str(v) for k, v in beats.items()})
    stopped = Process(inbox, "stopped", "tests.concurrency.stepping", *arguments)
    try:
        _, said = inbox.get()
        assert said is not None, stopped.complaint()
        stopped.pause()
        time.sleep(3.5)
        hudini.open(path).upsert([row("b", 2, "other")])
        assert said["written"] not in {each["requested"] for each in hudini.open(path).inspect.timeline()}
        stopped.go_on()
        stopped.go()
        assert inbox.get()[1] == {"ended": "CommitConflict"}
    finally:
        stopped.close()
    assert {each["id"]: each["by"] for each in hudini.open(path).read().to_arrow().to_pylist()} == {
        "a": "first",
        "b": "other",
    }
    report = hudini.open(path).verify(deep=True)
    assert report.ok and not report.findings, report
