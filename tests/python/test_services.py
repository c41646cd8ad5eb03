"""Cleaning, archiving and rolling back, from Python and at the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import hudini

SCHEMA = {"id": "string not null", "ts": "long not null"}
SMALL = {
    "hoodie.clean.commits.retained": 2,
    "hoodie.keep.min.commits": 4,
    "hoodie.keep.max.commits": 6,
    "hoodie.timeline.compaction.batch.size": 2,
}
# The metadata table lets nothing be archived before its own compaction.
BY_HAND = {"hoodie.clean.automatic": False, "hoodie.archive.automatic": False, "hoodie.metadata.enable": False}


def made(path: Path, options: dict[str, object], commits: int) -> tuple[hudini.Table, list[hudini.CommitResult]]:
    table = hudini.create(path, SCHEMA, record_key="id", ordering="ts", options={"hoodie.bucket.index.num.buckets": 1})
    return table, [table.upsert([{"id": "a", "ts": ts}], options=options) for ts in range(commits)]


def base_files(path: Path) -> list[str]:
    return sorted(file.name for file in path.glob("*.parquet"))


def run(*arguments: str, code: int = 0, answer: str = "") -> tuple[str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "hudini", *arguments],
        input=answer,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "COLUMNS": "200", "NO_COLOR": "1"},
    )
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout, done.stderr


def test_a_clean_keeps_what_it_is_told_to(tmp_path: Path) -> None:
    table, commits = made(tmp_path / "t", BY_HAND, 7)
    would = table.services.clean(dry_run=True, retain=3)
    assert would.instant is None
    assert len(would.files) == 3
    assert len(base_files(tmp_path / "t")) == 7
    done = table.services.clean(retain=3)
    assert (done.files, done.retained) == (would.files, commits[4].instant)
    assert len(base_files(tmp_path / "t")) == 4
    assert table.read(as_of=commits[4]).count() == 1
    with pytest.raises(hudini.InstantCleaned) as raised:
        table.read(as_of=commits[3]).count()
    assert commits[4].instant in raised.value.hint
    assert table.services.clean(policy="versions", retain=2).files
    assert len(base_files(tmp_path / "t")) == 2


def test_planning_and_doing_can_be_apart(tmp_path: Path) -> None:
    table, _ = made(tmp_path / "t", BY_HAND, 5)
    planned = table.services.clean(execute=False, retain=1)
    assert planned.instant
    assert planned.completed is None
    assert len(base_files(tmp_path / "t")) == 5
    done = table.services.clean(schedule=False)
    assert (done.instant, done.finished) == (planned.instant, [planned.instant])
    assert len(base_files(tmp_path / "t")) == 2


def test_writes_keep_the_table_small(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table, commits = made(tmp_path / "t", SMALL, 20)
    assert len(base_files(tmp_path / "t")) == 3
    active = [row for row in table.inspect.timeline() if row["action"] == "commit"]
    assert len(active) <= 7
    every = [row["requested"] for row in table.inspect.timeline(archived=True) if row["action"] == "commit"]
    assert every == [commit.instant for commit in commits]
    assert table.verify(deep=True).ok
    assert table.services.due(options=SMALL) == []


def test_history_goes_on_where_it_was_archived(tmp_path: Path) -> None:
    table, commits = made(tmp_path / "t", SMALL, 20)
    told = [row for row in table.history() if row["action"] == "commit"]
    assert [row["instant"] for row in told] == [commit.instant for commit in reversed(commits)]
    assert [row["completed"] for row in told] == [commit.completed for commit in reversed(commits)]
    assert {row["operation"] for row in told} == {"upsert"}
    assert sum(row["inserted"] + row["updated"] for row in told) == sum(
        commit.inserted + commit.updated for commit in commits
    )
    for limit in (1, 8, 19):
        assert list(table.history(limit)) == list(table.history())[:limit]


def test_what_is_due_says_why(tmp_path: Path) -> None:
    table, _ = made(tmp_path / "t", BY_HAND, 8)
    assert table.services.due() == []
    clean, archive = table.services.due(options=SMALL)
    assert (clean.service, clean.why) == ("clean", "8 commits, and no clean yet")
    assert (archive.service, archive.why) == ("archive", "8 commits on the active timeline, more than 6")
    would = table.services.archive(dry_run=True, options=SMALL)
    assert len(would.instants) == 4
    assert table.services.archive(options=SMALL).instants == would.instants


def test_a_service_that_fails_after_the_commit_is_a_warning(tmp_path: Path) -> None:
    table, _ = made(tmp_path / "t", BY_HAND, 7)
    (tmp_path / "t/.hoodie/timeline/history").mkdir(exist_ok=True)
    (tmp_path / "t/.hoodie/timeline/history/_version_").write_text("77")
    with pytest.warns(UserWarning, match="the archiving after it failed"):
        done = table.upsert([{"id": "b", "ts": 1}], options=SMALL)
    assert done.instant
    assert len(done.warnings) == 1
    assert table.read().count() == 2


def test_only_a_dead_writers_pending_write_is_rolled_back(tmp_path: Path) -> None:
    table, [first] = made(tmp_path / "t", {}, 1)
    timeline = tmp_path / "t/.hoodie/timeline"
    (timeline / "20260101000000000.commit.requested").touch()
    with pytest.raises(hudini.UnsupportedFeature, match="has completed"):
        table.services.rollback(first)
    with pytest.raises(hudini.InstantNotFound):
        table.services.rollback("20250101000000000")
    heartbeat = tmp_path / "t/.hoodie/.heartbeat/20260101000000000"
    heartbeat.parent.mkdir(exist_ok=True)
    heartbeat.touch()
    with pytest.raises(hudini.CommitConflict, match="alive"):
        table.services.rollback("20260101000000000")
    heartbeat.unlink()
    assert table.services.rollback("20260101000000000", dry_run=True).action == "commit"
    assert table.services.rollback("20260101000000000").files == []
    assert not list(timeline.glob("20260101000000000*"))


def test_verbs_ask_before_they_delete(tmp_path: Path) -> None:
    path = tmp_path / "t"
    made(path, BY_HAND, 5)
    out, err = run("clean", str(path), "--retain", "2", "--dry-run")
    assert len(out.splitlines()) == 2
    assert "2 files would be deleted" in err
    run("clean", str(path), "--retain", "2", answer="n\n", code=1)
    assert len(base_files(path)) == 5
    done = json.loads(run("clean", str(path), "--retain", "2", "--yes", "--json")[0])
    assert len(done["files"]) == 2
    assert len(base_files(path)) == 3
    assert "nothing to archive" in run("archive", str(path), "--yes")[1]
    (path / ".hoodie/timeline/20260101000000000.commit.requested").touch()
    assert "would be rolled back" in run("rollback", str(path), "20260101000000000", "--dry-run")[1]
    assert "rolled back" in run("rollback", str(path), "20260101000000000", "--yes")[1]


def test_verbs_take_options_of_apache_hudi(tmp_path: Path) -> None:
    path = tmp_path / "t"
    made(path, BY_HAND, 8)
    doomed = run("clean", str(path), "--retain", "2", "--dry-run")[0]
    assert doomed
    assert run("clean", str(path), "-o", "hoodie.clean.commits.retained=2", "--dry-run")[0] == doomed
    keep = ["-o", "hoodie.keep.min.commits=4", "--option", "hoodie.keep.max.commits=6"]
    assert "4 instants would be archived" in run("archive", str(path), *keep, "--dry-run")[1]
    assert "4 instants archived" in run("archive", str(path), *keep, "--yes")[1]


@pytest.mark.parametrize("verb", [["clean"], ["archive"], ["rollback", "20260101000000000"]])
def test_verbs_ask_for_the_lock_file_of_apache_hudi(tmp_path: Path, verb: list[str]) -> None:
    path = tmp_path / "t"
    made(path, BY_HAND, 2)
    (path / ".hoodie/timeline/20260101000000000.commit.requested").touch()
    provider = "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider"
    options = ["-o", f"hoodie.write.lock.provider={provider}", "-o", "hoodie.write.lock.wait_time_ms=1"]
    name, *rest = verb
    lock = path / ".hoodie/lock"
    lock.touch()
    assert "lock file that Apache Hudi asks for" in run(name, str(path), *rest, *options, "--yes", code=1)[1]
    lock.unlink()
    run(name, str(path), *rest, *options, "--yes")
    assert not lock.exists()


def test_a_clean_that_completes_late_stays_until_the_metadata_table_has_compacted_it(tmp_path: Path) -> None:
    """Apache Hudi reads the blocks of a metadata table only while one of the two timelines has their instant."""
    table, _ = made(tmp_path / "t", {"hoodie.clean.automatic": False}, 14)
    timelines = [tmp_path / "t/.hoodie" / folder / "timeline" for folder in ("", "metadata/.hoodie")]

    def write(commits: int) -> None:
        for ts in range(commits):
            table.upsert([{"id": "a", "ts": ts}], options={"hoodie.clean.automatic": False})

    late = table.services.clean(execute=False).instant
    write(70)
    assert table.services.clean(schedule=False).instant == late
    write(2)
    logs = list((tmp_path / "t/.hoodie/metadata/files").glob(f".files-0000-0_{late}.log.*"))
    assert logs, "not compacted"
    assert all(list(timeline.glob(f"{late}*")) for timeline in timelines)
    write(60)
    assert not list(timelines[0].glob(f"{late}*")), "it does not stay for ever"
    assert hudini.open(tmp_path / "t").verify(deep=True).ok
