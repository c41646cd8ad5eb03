"""Compaction on Spark: the same as on threads, whatever becomes of its tasks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import hudini
import hudini.spark as hs
from hudini import _core
from hudini.spark import frames
from hudini.spark.compaction import by_default

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


def actions(path: str) -> list[str]:
    """What the timeline shows, oldest first."""
    return [row["action"] for row in hudini.open(path).inspect.timeline()]


def test_a_write_may_be_followed_by_a_compaction(spark, path: str) -> None:
    frame = spark.createDataFrame(batch(("sf", "la"), 7))
    options = {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "4"}
    result = hs.upsert(frame, path, options)
    assert result.warnings == ()
    assert actions(path) == ["deltacommit"] * 4 + ["commit"]
    assert {row["id"] for row in rows_of(path) if row["ts"] == 7} == set(batch(("sf", "la"), 7)["id"].to_pylist())


def by_helper(frame: Any, path: str, options: dict[str, str]) -> None:
    assert hs.upsert(frame, path, options).warnings == ()


def by_format(frame: Any, path: str, options: dict[str, str]) -> None:
    frame.write.format("hudini").options(**options).mode("append").save(path)


def by_stream(frame: Any, path: str, options: dict[str, str]) -> None:
    hs.stream_upsert(path, options, query_id="q")(frame, 0)


EVERY_WAY = pytest.mark.parametrize("write", [by_helper, by_format, by_stream])


@EVERY_WAY
def test_logs_are_compacted_after_every_fifth_write(
    spark, path: str, write: Callable[[Any, str, dict[str, str]], None]
) -> None:
    hudini.open(path).upsert(batch(("sf",), 6))
    write(spark.createDataFrame(batch(("sf", "la"), 7)), path, {})
    assert actions(path) == ["deltacommit"] * 5 + ["commit"]
    assert not any(row["log_files"] for row in hudini.open(path).inspect.slices())
    assert {row["id"] for row in rows_of(path) if row["ts"] == 7} == set(batch(("sf", "la"), 7)["id"].to_pylist())


@pytest.mark.parametrize("write", [by_helper, by_format])
@pytest.mark.parametrize(
    ("options", "after"),
    [
        pytest.param({"Hoodie.Compact.Inline": "false"}, [], id="not wanted"),
        pytest.param({"hoodie.datasource.compaction.async.enable": "true"}, [], id="somebody else does it"),
        pytest.param({"hoodie.datasource.compaction.async.enable": "false"}, ["commit"], id="nobody else does it"),
        pytest.param({"hoodie.table.services.enabled": "false"}, [], id="no services"),
        pytest.param({"hoodie.compact.schedule.inline": "true"}, ["compaction"], id="planned only"),
    ],
)
def test_a_job_says_what_becomes_of_logs(
    spark, path: str, write: Callable[[Any, str, dict[str, str]], None], options: dict[str, str], after: list[str]
) -> None:
    frame = spark.createDataFrame(batch(("sf", "la"), 7))
    write(frame, path, options | {"hoodie.compact.inline.max.delta.commits": "4"})
    assert actions(path) == ["deltacommit"] * 4 + after


def test_copy_on_write_tables_are_left_alone(tmp_path: Path) -> None:
    table = hudini.create(tmp_path / "t", SCHEMA, record_key="id")
    assert by_default(table._core, {}) == {}


def test_partitions_that_go_are_followed_by_tasks(spark, path: str, monkeypatch) -> None:
    """The driver, which takes them away alone, does not compact alone."""
    run, seen = frames.run_compaction, []

    def seen_to_run(spark, tasks):
        seen.extend(tasks)
        return run(spark, tasks)

    monkeypatch.setattr(frames, "run_compaction", seen_to_run)
    options = {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "3"}
    assert hs.delete_partitions(spark, path, ["ny"], options).action == "replacecommit"
    assert actions(path) == ["deltacommit"] * 3 + ["replacecommit", "commit"]
    assert seen
    assert {row["city"] for row in rows_of(path)} == {"sf", "la"}


def test_a_compaction_that_fails_after_a_write_is_a_warning(spark, path: str, monkeypatch) -> None:
    def fails(spark, tasks):
        raise RuntimeError("lost")

    monkeypatch.setattr(frames, "run_compaction", fails)
    options, text = {"hoodie.compact.inline.max.delta.commits": "3"}, "the compaction after the write failed: lost"
    with pytest.warns(UserWarning, match=text) as warned:
        removed = hs.delete_partitions(spark, path, ["ny"], options)
    with pytest.warns(UserWarning, match=text) as also:
        upserted = hs.upsert(spark.createDataFrame(batch(("sf",), 7)), path, options)
    assert removed.warnings == upserted.warnings == (text,)
    # It names the caller's line.
    assert {warning.filename for warning in (*warned, *also) if text in str(warning.message)} == {__file__}
    assert {row["ts"] for row in rows_of(path)} >= {7}
