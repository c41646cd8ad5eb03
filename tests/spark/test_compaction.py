"""Compaction on Spark: the same as on threads, whatever becomes of its tasks."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import hudini
import hudini.spark as hs
from hudini import _core
from hudini.spark import frames

SCHEMA = pa.schema([("id", pa.string()), ("city", pa.string()), ("ts", pa.int64())])


def batch(cities: tuple[str, ...], ts: int) -> pa.Table:
    rows = [{"id": f"{city}{n}", "city": city, "ts": ts} for city in cities for n in range(ts, ts + 20)]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


@pytest.fixture
def path(tmp_path: Path) -> str:
    path = str(tmp_path / "t")
    table = hudini.create(path, SCHEMA, record_key="id", ordering="ts", partition_by="city", table_type="mor")
    for ts in range(3):
        table.upsert(batch(("sf", "la", "ny"), ts))
    return path


def rows_of(path: str) -> list[dict]:
    rows = hudini.open(path).read().to_arrow().drop_columns(["_hoodie_file_name"]).to_pylist()
    return sorted(rows, key=lambda row: row["_hoodie_record_key"])


def test_no_row_changes(spark, path: str) -> None:
    before = rows_of(path)
    result = hs.compact(spark, path)
    assert (result.operation, result.action) == ("compact", "commit")
    assert rows_of(path) == before
    assert not any(row["log_files"] for row in hudini.open(path).inspect.slices())
    assert not hs.compact(spark, path)
    assert hudini.open(path).verify().ok


def test_planned_here_and_done_there(spark, path: str) -> None:
    before = rows_of(path)
    planned = hs.compact(spark, path, execute=False, where="city <> 'ny'")
    assert hudini.open(path).services.compact(schedule=False).instant == planned.instant
    planned = hudini.open(path).services.compact(execute=False)
    assert hs.compact(spark, path, schedule=False).instant == planned.instant
    assert rows_of(path) == before


def test_attempts_that_are_lost_or_doubled_leave_nothing(spark, path: str, monkeypatch) -> None:
    before, run = rows_of(path), frames.run_compaction

    def twice(spark, tasks):
        lost = [_core.run_compaction_task(task) for task in tasks]
        assert lost
        return run(spark, tasks)

    monkeypatch.setattr(frames, "run_compaction", twice)
    assert hs.compact(spark, path)
    assert rows_of(path) == before
    report = hudini.open(path).verify()
    assert report.ok and not report.findings, str(report)


def test_a_failed_attempt_leaves_the_plan(spark, path: str, monkeypatch) -> None:
    before = rows_of(path)

    def fails(spark, tasks):
        _core.run_compaction_task(tasks[0])
        raise RuntimeError("lost")

    with monkeypatch.context() as patch:
        patch.setattr(frames, "run_compaction", fails)
        with pytest.raises(RuntimeError, match="lost"):
            hs.compact(spark, path)
    pending = [row for row in hudini.open(path).inspect.timeline() if row["state"] != "completed"]
    assert [(row["action"], row["state"]) for row in pending] == [("compaction", "requested")]
    assert rows_of(path) == before
    assert hs.compact(spark, path).instant == pending[0]["requested"]
    assert rows_of(path) == before


def test_a_write_may_be_followed_by_a_compaction(spark, path: str) -> None:
    frame = spark.createDataFrame(batch(("sf", "la"), 7))
    options = {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "4"}
    result = hs.upsert(frame, path, options)
    assert result.warnings == ()
    actions = [row["action"] for row in hudini.open(path).inspect.timeline()]
    assert actions == ["deltacommit"] * 4 + ["commit"]
    assert {row["id"] for row in rows_of(path) if row["ts"] == 7} == set(batch(("sf", "la"), 7)["id"].to_pylist())
