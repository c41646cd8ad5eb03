"""The distributed write: the same rows as the local one, however Spark cuts them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import hudini
import hudini.spark as hs
from hudini.spark import frames
from hudini.spark.batches import spark_schema
from tests.support.compare import difference
from tests.support.rows import SCHEMA, Model, Row, Rows, to_arrow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TINY_BATCHES = "spark.sql.execution.arrow.maxRecordsPerBatch"


def options(table_type: str = "COPY_ON_WRITE") -> dict[str, str]:
    """What a job for Apache Hudi says."""
    return {
        "hoodie.table.name": "trips",
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.precombine.field": "ts",
        "hoodie.datasource.write.partitionpath.field": "city",
        "hoodie.datasource.write.table.type": table_type,
        "hoodie.bucket.index.num.buckets": "3",
    }


@pytest.fixture(params=["COPY_ON_WRITE", "MERGE_ON_READ"])
def job(request: pytest.FixtureRequest) -> dict[str, str]:
    return options(request.param)


def frame_of(spark: SparkSession, rows: list[Row], partitions: int = 1) -> DataFrame:
    """A frame whose partitions hold the rows in their order. A literal frame would be folded into one partition."""
    table = to_arrow(rows)

    def rows_of(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield from table.take(batch.column(0)).combine_chunks().to_batches()

    return spark.range(0, table.num_rows, numPartitions=partitions).mapInArrow(rows_of, spark_schema(table.schema))


def holds(path: Path, model: Model) -> str | None:
    expected = model.expected()
    return difference(hudini.open(path).read().to_arrow().select(expected.column_names), expected)


@pytest.mark.parametrize("partitions", [1, 8])
def test_the_same_rows_as_the_local_write(
    spark: SparkSession, tmp_path: Path, job: dict[str, str], partitions: int
) -> None:
    rows, model = Rows(seed=partitions), Model(partitioned=True)
    first = rows.batch(range(300), ts=5)
    second = rows.shuffled(
        [*rows.batch(range(0, 400, 3), ts=6), *rows.batch(range(100), ts=4), *rows.batch(range(50), ts=7)]
    )
    cluster, local = tmp_path / "cluster", tmp_path / "local"
    schema = to_arrow(first).schema
    hudini.create(
        local, schema, "id", "ts", "city",
        table_type="cow" if job["hoodie.datasource.write.table.type"].startswith("COPY") else "mor",
        options={"hoodie.bucket.index.num.buckets": 3},
    )  # fmt: skip
    for batch in (first, second):
        model.upsert(batch)
        there = hs.upsert(frame_of(spark, batch, partitions), str(cluster), job)
        here = hudini.open(local).upsert(to_arrow(batch))
        assert (there.operation, there.inserted, there.updated) == ("upsert", here.inserted, here.updated)
        assert there.files_added == here.files_added
    assert holds(cluster, model) is None
    assert holds(local, model) is None
    names = [name for name in hudini.open(local).read().schema.names if not name.startswith("_hoodie_")]
    assert difference(
        hs.read(spark, str(cluster), columns=names, meta=False).drop("seen").toArrow(),
        hudini.open(local).read(columns=names, meta=False).to_arrow().drop_columns(["seen"]),
    ) is None  # fmt: skip


def test_a_file_group_need_not_fit_into_memory(spark: SparkSession, tmp_path: Path, job: dict[str, str]) -> None:
    """What a task has no room for goes to disk, and the same comes of it."""
    rows, model, path = Rows(seed=3), Model(partitioned=True), str(tmp_path / "t")
    job["hoodie.memory.merge.max.size"] = "2000"
    for ids, ts in ((range(300), 5), (range(0, 400, 3), 6), (range(100), 4)):
        batch = rows.shuffled([*rows.batch(ids, ts=ts), *rows.batch(list(ids)[:40], ts=ts + 3)])
        model.upsert(batch)
        hs.upsert(frame_of(spark, batch, 2), path, job)
        assert holds(tmp_path / "t", model) is None
    job["hoodie.memory.spillable.map.path"] = "/nowhere/at/all"
    with pytest.raises(hudini.StorageFailure, match="/nowhere/at/all"):
        hs.upsert(frame_of(spark, rows.batch(range(300), ts=9), 2), path, job)
    assert holds(tmp_path / "t", model) is None
    assert hudini.open(path).verify(deep=True).ok


@pytest.mark.parametrize("tasks_fail", [False, True])
def test_a_driver_that_others_took_for_dead_begins_again(
    spark: SparkSession, tmp_path: Path, job: dict[str, str], tasks_fail: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its heart was not felt for too long, so its write was rolled back while its tasks were at work."""
    rows, model, path = Rows(seed=8), Model(partitioned=True), tmp_path / "t"
    first, theirs, ours = rows.batch(range(60), ts=1), rows.batch(range(20), ts=2), rows.batch(range(10, 80), ts=3)
    hs.upsert(frame_of(spark, first), str(path), job)
    run, left = frames.run, [theirs]

    def run_after_a_long_silence(frame: DataFrame, tasks: frames.Tasks) -> Any:
        if left:
            [heartbeat] = (path / ".hoodie" / ".heartbeat").iterdir()
            os.utime(heartbeat, (0, 0))
            hudini.open(path).upsert(to_arrow(left.pop()))
            assert not heartbeat.exists()
            if tasks_fail:
                raise hudini.StorageFailure("the file that was begun is gone")
        return run(frame, tasks)

    monkeypatch.setattr(frames, "run", run_after_a_long_silence)
    assert hs.upsert(frame_of(spark, ours, 2), str(path), job).retries == 1
    for batch in (first, theirs, ours):
        model.upsert(batch)
    assert holds(path, model) is None
    report = hudini.open(path).verify(deep=True)
    assert report.ok and not report.findings, str(report)
    assert {line["state"] for line in hudini.open(path).inspect.timeline()} == {"completed"}


@pytest.mark.parametrize("partitions", [1, 5])
def test_on_a_tie_the_later_row_of_the_input_wins(
    spark: SparkSession, tmp_path: Path, job: dict[str, str], partitions: int
) -> None:
    rows, model = Rows(seed=3), Model(partitioned=True)
    batch = rows.shuffled([row for _ in range(20) for row in rows.batch(range(7), ts=1)])
    spark.conf.set(TINY_BATCHES, 3)
    try:
        hs.upsert(frame_of(spark, batch, partitions), str(tmp_path / "t"), job)
    finally:
        spark.conf.unset(TINY_BATCHES)
    model.upsert(batch)
    assert holds(tmp_path / "t", model) is None


def test_bulk_insert_makes_the_table_from_the_jobs_options(
    spark: SparkSession, tmp_path: Path, job: dict[str, str]
) -> None:
    batch = Rows(seed=1).batch(range(100), ts=1)
    result = hs.bulk_insert(frame_of(spark, batch, 4), str(tmp_path / "t"), job, metadata={"job": "night"})
    assert (result.operation, result.inserted) == ("bulk_insert", 100)
    table = hudini.open(tmp_path / "t")
    assert table.name == "trips"
    assert (table.record_key, table.ordering, table.partition_by) == (["id"], ["ts"], ["city"])
    assert table.table_type == ("cow" if job["hoodie.datasource.write.table.type"].startswith("COPY") else "mor")
    assert table.history()[0]["metadata"]["job"] == "night"
    assert table.read().count() == 100


def test_keywords_name_a_new_table_too(spark: SparkSession, tmp_path: Path) -> None:
    frame = frame_of(spark, Rows(seed=1).batch(range(5), ts=1))
    path = str(tmp_path / "t")
    hs.upsert(frame, path, record_key="id", ordering="ts", **{"hoodie.bucket.index.num.buckets": 1})
    assert hudini.open(path).record_key == ["id"]
    assert hudini.open(path).partition_by == []


@pytest.mark.parametrize(
    ("wish", "what"),
    [
        ({"record_key": "city"}, "record_key is 'city', and 'id' in the table"),
        ({"record_key": ["id", "city"]}, "record_key is 'id,city', and 'id' in the table"),
        ({"ordering": ["id"]}, "ordering is 'id', and 'ts' in the table"),
        ({"partition_by": "id"}, "partition_by is 'id', and 'city' in the table"),
        ({"name": "rides"}, "name is 'rides', and 'trips' in the table"),
        ({"table_type": "MERGE_ON_READ"}, "table_type is 'MERGE_ON_READ', and 'cow' in the table"),
        ({"table_type": "nothing"}, "table_type is 'nothing', and 'cow' in the table"),
        ({"merge_mode": "commit_time_ordering"}, "merge_mode is 'commit_time_ordering', and 'EVENT_TIME_ORDERING'"),
        ({"key_generator": "COMPLEX"}, "key_generator is 'COMPLEX', and 'SIMPLE' in the table"),
        ({"table_version": 8}, "table_version is '8', and '9' in the table"),
    ],
    ids=str,
)
def test_keywords_must_say_what_a_table_is(
    spark: SparkSession, tmp_path: Path, wish: dict[str, Any], what: str
) -> None:
    frame, path = frame_of(spark, Rows(seed=1).batch(range(5), ts=1)), str(tmp_path / "t")
    hs.upsert(frame, path, options())
    for write in (hs.upsert, hs.bulk_insert, hs.delete, hs.overwrite_table):
        with pytest.raises(hudini.InvalidOption) as refused:
            write(frame, path, **wish)
        assert what in refused.value.message
    assert writes(path) == ["upsert"]


def test_keywords_may_say_what_a_table_is_in_other_words(spark: SparkSession, tmp_path: Path) -> None:
    frame, path = frame_of(spark, Rows(seed=1).batch(range(5), ts=1)), str(tmp_path / "t")
    same: list[dict[str, Any]] = [
        {"record_key": ["id"], "ordering": "ts", "partition_by": ("city",), "name": "t", "table_version": 9},
        {"record_key": None, "partition_by": (), "table_type": None, "merge_mode": None, "storage_options": {}},
        {"table_type": "COPY_ON_WRITE", "key_generator": "org.apache.hudi.keygen.SimpleKeyGenerator"},
        {"table_type": "cow", "key_generator": "simple"},
        {"merge_mode": "org.apache.hudi.common.model.DefaultHoodieRecordPayload"},
        {"merge_mode": "event_time_ordering"},
    ]
    for wishes in same:
        hs.upsert(frame, path, **wishes)
    # The words that make a table are held against it at once.
    made: dict[str, Any] = {key: value for wishes in same[2:5] for key, value in wishes.items()}
    hs.upsert(frame, path + "-made", record_key="id", ordering="ts", partition_by="city", **made)
    assert hudini.open(path + "-made").table_type == "cow"
    assert len(writes(path)) == len(same)


def test_delete(spark: SparkSession, tmp_path: Path, job: dict[str, str]) -> None:
    path, model = tmp_path / "t", Model(partitioned=True)
    batch = Rows(seed=1).batch(range(60), ts=9)
    hs.upsert(frame_of(spark, batch), str(path), job)
    model.upsert(batch)
    gone = batch[:20]
    result = hs.delete(frame_of(spark, gone, 3).select("id", "city"), str(path))
    model.delete([row["id"] for row in gone])
    assert result.deleted == 20
    assert holds(path, model) is None


def test_no_rows_commit_nothing(spark: SparkSession, tmp_path: Path, job: dict[str, str]) -> None:
    result = hs.upsert(frame_of(spark, []), str(tmp_path / "t"), job)
    assert not result
    assert hudini.open(tmp_path / "t").history() == []


def test_spark_computes_the_rows_once(spark: SparkSession, tmp_path: Path, job: dict[str, str]) -> None:
    calls = tmp_path / "calls"
    calls.mkdir()

    def noisy(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import uuid

        (calls / str(uuid.uuid4())).touch()
        yield from batches

    frame = frame_of(spark, Rows(seed=1).batch(range(30), ts=1), 3)
    hs.upsert(frame.mapInArrow(noisy, frame.schema), str(tmp_path / "t"), job)
    assert len(list(calls.iterdir())) == 3


def test_nothing_stays_cached(spark: SparkSession, tmp_path: Path, job: dict[str, str]) -> None:
    hs.upsert(frame_of(spark, Rows(seed=1).batch(range(30), ts=1)), str(tmp_path / "t"), job)
    assert spark._jsparkSession.sharedState().cacheManager().isEmpty()


def test_a_workers_error_keeps_its_class(spark: SparkSession, tmp_path: Path, job: dict[str, str]) -> None:
    path = str(tmp_path / "t")
    frame = frame_of(spark, Rows(seed=1).batch(range(30), ts=1))
    hs.upsert(frame, path, job)
    before = hudini.open(path).read().to_arrow()
    with pytest.raises(hudini.SchemaMismatch, match="id"):
        hs.upsert(frame.drop("id"), path)
    assert writes(path) == ["upsert"]
    assert difference(hudini.open(path).read().to_arrow(), before) is None


def test_a_failed_task_leaves_no_trace_in_the_rows(
    spark: SparkSession, tmp_path: Path, job: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, batch = str(tmp_path / "t"), Rows(seed=1).batch(range(30), ts=1)
    hs.upsert(frame_of(spark, batch), path, job)
    run = frames.run

    def run_and_fail(rows: DataFrame, tasks: frames.Tasks) -> Any:
        run(rows, tasks)
        raise hudini.StorageFailure("the disk is full")

    monkeypatch.setattr(frames, "run", run_and_fail)
    with pytest.raises(hudini.StorageFailure, match="the disk is full"):
        hs.upsert(frame_of(spark, Rows(seed=2).batch(range(60), ts=2)), path)
    monkeypatch.undo()
    model = Model(partitioned=True)
    model.upsert(batch)
    assert holds(Path(path), model) is None
    more = Rows(seed=3).batch(range(40), ts=3)
    hs.upsert(frame_of(spark, more), path)
    model.upsert(more)
    assert holds(Path(path), model) is None


def writes(path: str) -> list[str]:
    """The operations that stand, newest first: a rollback is history as well."""
    return [row["operation"] for row in hudini.open(path).history() if row["action"] != "rollback"]


def interfering(path: str, rows: list[Row], times: int) -> Callable[..., Any]:
    """`frames.run` with another writer that commits to the same files in between, `times` times."""
    run, left = frames.run, [times]

    def run_while_another_writes(frame: DataFrame, tasks: frames.Tasks) -> Any:
        if left[0]:
            left[0] -= 1
            hudini.open(path).upsert(to_arrow(rows))
        return run(frame, tasks)

    return run_while_another_writes


def test_a_conflict_is_planned_anew(
    spark: SparkSession, tmp_path: Path, job: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, model, path = Rows(seed=1), Model(partitioned=True), str(tmp_path / "t")
    first, theirs, ours = rows.batch(range(40), ts=1), rows.batch(range(40), ts=2), rows.batch(range(20, 60), ts=3)
    hs.upsert(frame_of(spark, first), path, job)
    monkeypatch.setattr(frames, "run", interfering(path, theirs, times=1))
    result = hs.upsert(frame_of(spark, ours), path)
    assert result.retries == 1
    for batch in (first, theirs, ours):
        model.upsert(batch)
    assert holds(Path(path), model) is None


def test_a_conflict_without_retries_is_an_error(
    spark: SparkSession, tmp_path: Path, job: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, path = Rows(seed=1), str(tmp_path / "t")
    hs.upsert(frame_of(spark, rows.batch(range(40), ts=1)), path, job)
    monkeypatch.setattr(frames, "run", interfering(path, rows.batch(range(40), ts=2), times=1))
    with pytest.raises(hudini.CommitConflict):
        retries = {"hoodie.write.num.retries.on.conflict.failures": 0}
        hs.upsert(frame_of(spark, rows.batch(range(40), ts=3)), path, retries)
    assert writes(path) == ["upsert", "upsert"]


def test_rows_that_change_between_two_looks_are_not_committed(
    spark: SparkSession, tmp_path: Path, job: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(tmp_path / "t")
    run = frames.run
    monkeypatch.setattr(frames, "run", lambda rows, tasks: run(rows, tasks)[1:])
    with pytest.raises(hudini.HudiniError, match="were counted"):
        hs.upsert(frame_of(spark, Rows(seed=1).batch(range(40), ts=1)), path, job)
    assert writes(path) == []


def test_a_column_with_one_of_our_names_is_refused(spark: SparkSession, tmp_path: Path, job: dict[str, str]) -> None:
    frame = frame_of(spark, Rows(seed=1).batch(range(3), ts=1)).selectExpr("*", "1 as _hudini_slot")
    with pytest.raises(hudini.SchemaMismatch, match="_hudini_slot"):
        hs.upsert(frame, str(tmp_path / "t"), job)


def test_a_table_that_is_not_there_cannot_lose_rows(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(hudini.TableNotFound):
        hs.delete(frame_of(spark, Rows(seed=1).batch(range(3), ts=1)), str(tmp_path / "t"))


def test_apache_hudis_schema_of_types_survives_the_way(
    spark: SparkSession, tmp_path: Path, job: dict[str, str]
) -> None:
    batch = Rows(seed=11).batch(range(40), ts=1)
    hs.upsert(frame_of(spark, batch, 2), str(tmp_path / "t"), job)
    stored = pa.schema(hudini.open(tmp_path / "t").schema)
    assert [field.type for field in stored] == [field.type for field in SCHEMA]
