"""What `hudini.spark` does beside upserts: replacing, cleaning, doing things once, streams."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import hudini
import hudini.spark as hs
from hudini import _core
from hudini.spark import frames

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMA = pa.schema([("id", pa.string()), ("city", pa.string()), ("ts", pa.int64())])


def frame(spark: SparkSession, ids: str, ts: int = 1) -> DataFrame:
    """A row for each letter pair of key and city, as in `"a1 b2"`."""
    return spark.createDataFrame([(pair[0], pair[1], ts) for pair in ids.split()], "id string, city string, ts long")


@pytest.fixture(params=["BUCKET", "SIMPLE"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    path = str(tmp_path / "t")
    options = {"hoodie.index.type": request.param}
    if request.param == "BUCKET":
        options["hoodie.bucket.index.num.buckets"] = "2"
    hudini.create(path, SCHEMA, record_key="id", ordering="ts", partition_by="city", options=options)
    return path


def held(path: str) -> str:
    rows = hudini.open(path).read(meta=False).to_arrow().to_pylist()
    return " ".join(sorted(row["id"] + row["city"] for row in rows))


def test_partitions_and_tables_are_replaced(spark: SparkSession, path: str) -> None:
    hs.insert(frame(spark, "a1 b1 c2 d3"), path)
    result = hs.insert_overwrite(frame(spark, "e1 f4"), path)
    assert (result.operation, result.action) == ("insert_overwrite", "replacecommit")
    assert held(path) == "c2 d3 e1 f4"
    assert hs.delete_partitions(spark, path, ["3", "4"], metadata={"job": "night"})
    assert hudini.open(path).history()[0]["metadata"]["job"] == "night"
    assert held(path) == "c2 e1"
    hs.overwrite_table(frame(spark, "z9"), path)
    assert held(path) == "z9"
    assert hs.overwrite_table(frame(spark, "z9").limit(0), path)
    assert held(path) == ""
    assert hudini.open(path).verify(deep=True).ok


def test_a_delete_of_what_is_not_there_is_no_error(spark: SparkSession, path: str) -> None:
    hs.insert(frame(spark, "a1 b1"), path)
    result = hs.delete(frame(spark, "a1 x1 y7 z8").select("id", "city"), path)
    assert (result.deleted, held(path)) == (1, "b1")
    hs.delete(frame(spark, "y7 z8").select("id", "city"), path)
    assert held(path) == "b1"


def test_a_key_that_lies_in_two_groups_is_changed_and_deleted_in_both(spark: SparkSession, tmp_path: Path) -> None:
    path, unfilled = str(tmp_path / "t"), {"hoodie.parquet.small.file.limit": "0"}
    hudini.create(path, SCHEMA, record_key="id", ordering="ts", options={"hoodie.index.type": "BLOOM"})
    for _ in range(2):
        hs.insert(frame(spark, "a1 b1"), path, unfilled)
    result = hs.upsert(frame(spark, "a1", ts=5), path, unfilled)
    assert (result.inserted, result.updated) == (0, 2)
    assert hudini.open(path).read(filter="id = 'a' and ts = 5").count() == 2
    assert hs.delete(frame(spark, "a1"), path).deleted == 2
    assert held(path) == "b1 b1"


def test_a_clean(spark: SparkSession, path: str) -> None:
    for ts in range(3):
        hs.upsert(frame(spark, "a1", ts), path)
    would = hs.clean(spark, path, dry_run=True, retain=1)
    assert would.instant is None and would.files
    assert hs.clean(spark, path, {"hoodie.clean.policy": "KEEP_LATEST_COMMITS"}, retain=1).files == would.files
    assert held(path) == "a1"


def test_a_write_under_a_key_is_done_once(spark: SparkSession, path: str) -> None:
    first = hs.insert(frame(spark, "a1 b2"), path, idempotency_key="load")
    again = hs.insert(frame(spark, "c1 d2"), path, idempotency_key="load")
    assert again.instant == first.instant
    assert (
        hudini.open(path).insert([{"id": "e", "city": "1", "ts": 1}], idempotency_key="load").instant == first.instant
    )
    assert held(path) == "a1 b2"


def test_a_write_that_was_done_while_it_began_is_not_done_again(
    spark: SparkSession, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first look finds nothing, and then another attempt at the same write is faster."""
    rows = [{"id": "a", "city": "1", "ts": 1}]
    hudini.open(path).insert(rows, idempotency_key="load")
    monkeypatch.setattr("hudini.spark.distributed.Write.committed", lambda self: None)
    hs.insert(frame(spark, "c1 d2"), path, idempotency_key="load")
    assert held(path) == "a1"
    assert all(row["state"] == "completed" for row in hudini.open(path).inspect.timeline())


def test_new_columns(spark: SparkSession, path: str) -> None:
    hs.insert(frame(spark, "a1"), path)
    wider = frame(spark, "b1").selectExpr("*", "'new' as note")
    with pytest.raises(hudini.SchemaMismatch, match="note"):
        hs.upsert(wider, path, schema_mode="strict")
    hs.upsert(wider, path)
    assert hudini.open(path).read(columns=["note"], filter="id = 'b'").to_arrow().to_pylist() == [{"note": "new"}]
    hs.upsert(frame(spark, "c1"), path)
    assert hudini.open(path).read(filter="note is null").count() == 2


def test_stages_that_run_again_and_zombies_leave_nothing(
    spark: SparkSession, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark runs a stage twice when its output is lost; an attempt that was given up may end after the commit."""
    run, tried = frames.run, []

    def twice(rows: DataFrame, tasks: frames.Placed) -> list[frames.Done]:
        tried.extend(task for task in tasks.values() if task is not None)
        assert run(rows, tasks)
        return run(rows, tasks)

    monkeypatch.setattr(frames, "run", twice)
    hs.upsert(frame(spark, "a1 b1 c2"), path)
    before = [row["name"] for row in hudini.open(path).inspect.files()]
    report = hudini.open(path).verify(deep=True)
    assert report.ok and not report.findings, str(report)
    late = pa.RecordBatchReader.from_batches(SCHEMA, [])
    with pytest.raises(hudini.CommitConflict, match="committed while this attempt"):
        _core.run_task(tried[0], late)
    assert [row["name"] for row in hudini.open(path).inspect.files()] == before
    assert held(path) == "a1 b1 c2"


@pytest.mark.parametrize("verb", ["upsert", "insert", "bulk_insert", "delete", "insert_overwrite"])
@pytest.mark.parametrize("key", ["null", "''"])
def test_rows_without_a_key_are_refused_and_leave_nothing(spark: SparkSession, path: str, verb: str, key: str) -> None:
    hs.upsert(frame(spark, "a1 b2"), path)
    before = files_of(path)
    rows = frame(spark, "c1 d2").selectExpr(f"if(id = 'd', {key}, id) as id", "city", "ts")
    with pytest.raises(hudini.SchemaMismatch, match="record key"):
        getattr(hs, verb)(rows, path)
    assert files_of(path) == before
    assert held(path) == "a1 b2"


def files_of(path: str) -> list[Path]:
    return sorted(file for file in Path(path).rglob("*") if file.is_file() and file.parent.name != ".locks")


def test_each_batch_of_a_stream_is_written_once(spark: SparkSession, path: str, tmp_path: Path) -> None:
    source, checkpoint = tmp_path / "source", str(tmp_path / "checkpoint")
    write = hs.stream_upsert(path)
    seen: list[tuple[int, hudini.CommitResult]] = []

    def each(batch: DataFrame, number: int) -> None:
        seen.append((number, write(batch, number)))
        # As if Spark had not learnt of it, and handed it over again.
        seen.append((number, write(batch.limit(0), number)))

    for ids in ("a1 b2", "c1"):
        frame(spark, ids).coalesce(1).write.mode("append").parquet(str(source))
        stream = spark.readStream.schema("id string, city string, ts long").parquet(str(source))
        query = stream.writeStream.option("checkpointLocation", checkpoint).trigger(availableNow=True)
        assert query.foreachBatch(each).start().awaitTermination(300)
    assert [number for number, _ in seen] == [0, 0, 1, 1]
    instants = [result.instant for _, result in seen]
    assert instants[0] == instants[1] != instants[2] == instants[3]
    assert held(path) == "a1 b2 c1"
    # It was killed between its write and its note of it: the batch comes again.
    for note in ("1", ".1.crc"):
        (tmp_path / "checkpoint" / "commits" / note).unlink()
    stream = spark.readStream.schema("id string, city string, ts long").parquet(str(source))
    query = stream.writeStream.option("checkpointLocation", checkpoint).trigger(availableNow=True)
    before = hudini.open(path).history()
    assert query.foreachBatch(each).start().awaitTermination(300)
    assert [(number, result.instant) for number, result in seen[4:]] == [(1, instants[2])] * 2
    assert hudini.open(path).history() == before
    with pytest.raises(hudini.InvalidOption, match="query_id="):
        write(frame(spark, "x1"), 7)
    named = hs.stream_upsert(path, query_id="q")
    assert named(frame(spark, "y1"), 0).instant == named(frame(spark, "z1"), 0).instant
