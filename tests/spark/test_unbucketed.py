"""Tables without buckets, written on Spark: keys are looked up by tasks, and lie where threads would have put them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import hudini
import hudini.spark as hs
from hudini.spark import frames
from tests.spark.test_upsert import frame_of, holds, interfering
from tests.support.rows import Model, Row, Rows, to_arrow

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Files so small that some hundred rows make several of them.
SMALL_FILES = {
    "hoodie.parquet.max.file.size": "20000",
    "hoodie.parquet.small.file.limit": "12000",
    "hoodie.copyonwrite.record.size.estimate": "200",
    "hoodie.record.size.estimation.threshold": "1000000",
}


def job(table_type: str, index: str) -> dict[str, str]:
    return {
        "hoodie.table.name": "trips",
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.precombine.field": "ts",
        "hoodie.datasource.write.partitionpath.field": "city",
        "hoodie.datasource.write.table.type": table_type,
        "hoodie.index.type": index,
        **SMALL_FILES,
    }


@pytest.fixture(params=["COPY_ON_WRITE", "MERGE_ON_READ"])
def table_type(request: pytest.FixtureRequest) -> str:
    return request.param


def history() -> list[tuple[str, list[Row]]]:
    """Keys that come again, that are there twice, that lie in logs, and that are not there at all."""
    rows = Rows(seed=5)
    return [
        ("upsert", rows.batch(range(300), ts=1)),
        ("insert", rows.batch(range(290, 310), ts=3)),
        ("upsert", rows.shuffled([*rows.batch(range(250, 400), ts=5), *rows.batch(range(100), ts=0)])),
        ("delete", rows.batch([*range(295, 350), *range(900, 950)], ts=0)),
        ("upsert", rows.batch([*range(0, 30), *range(295, 300)], ts=7)),
    ]


def counts(result: hudini.CommitResult) -> tuple[int, ...]:
    return result.inserted, result.updated, result.deleted


def homes(path: Path) -> list[tuple[str, ...]]:
    """The keys of each file group; their ids are chance."""
    read = hudini.open(path).read(columns=["_hoodie_record_key", "_hoodie_file_name"]).to_arrow().to_pylist()
    groups: dict[str, list[str]] = {}
    for row in read:
        groups.setdefault(row["_hoodie_file_name"].removeprefix(".").split("_")[0], []).append(
            row["_hoodie_record_key"]
        )
    return sorted(tuple(sorted(keys)) for keys in groups.values())


@pytest.mark.parametrize(("index", "partitions"), [("SIMPLE", 1), ("BLOOM", 4)])
def test_the_same_rows_as_the_local_write(
    spark: SparkSession, tmp_path: Path, table_type: str, index: str, partitions: int
) -> None:
    cluster, local, options = tmp_path / "cluster", tmp_path / "local", job(table_type, index)
    for operation, batch in history():
        frame = frame_of(spark, batch, partitions)
        there = getattr(hs, operation)(frame, str(cluster), options)
        if not hudini.is_table(local):
            hudini.create(local, to_arrow(batch).schema, options=options)
        here = getattr(hudini.open(local), operation)(to_arrow(batch), options=SMALL_FILES)
        assert counts(there) == counts(here), operation
        if operation == "upsert" and len(hudini.open(local).history()) == 1:
            # Later which small file is filled first depends on the ids of the files.
            assert homes(cluster) == homes(local)
        assert sorted(map(str, data_rows(cluster))) == sorted(map(str, data_rows(local))), operation
    assert hudini.open(cluster).verify(deep=True).ok
    assert spark._jsparkSession.sharedState().cacheManager().isEmpty()


def test_rows_are_measured_as_by_the_local_write(spark: SparkSession, tmp_path: Path) -> None:
    """As long as no commit says what a row takes, its values do."""
    rows = [{"id": f"k{n}", "ts": n, "city": "ab"[n % 2], "text": "v" * (200 if n % 2 else n % 9)} for n in range(80)]
    options = {"hoodie.parquet.max.file.size": "1000", "hoodie.datasource.write.partitionpath.field": "city"}
    given = job("COPY_ON_WRITE", "SIMPLE") | options
    del given["hoodie.copyonwrite.record.size.estimate"]
    cluster, local = tmp_path / "cluster", tmp_path / "local"
    hs.bulk_insert(spark.createDataFrame(rows).repartition(3), str(cluster), given)
    data = pa.Table.from_pylist(rows)
    hudini.create(local, data.schema, options=given)
    hudini.open(local).bulk_insert(data, options=options)
    assert homes(cluster) == homes(local)
    assert 3 < len(homes(local)) < 10


def data_rows(path: Path) -> list[dict[str, Any]]:
    return hudini.open(path).read(meta=False).to_arrow().to_pylist()


@pytest.mark.parametrize("index", ["BLOOM", "RECORD_INDEX"])
def test_a_table_without_partitions(spark: SparkSession, tmp_path: Path, table_type: str, index: str) -> None:
    options = job(table_type, index)
    del options["hoodie.datasource.write.partitionpath.field"]
    rows, model, path = Rows(seed=2), Model(partitioned=False), tmp_path / "t"
    for batch in (rows.batch(range(200), ts=1), rows.batch(range(100, 300), ts=2)):
        hs.upsert(frame_of(spark, batch, 2), str(path), options)
        model.upsert(batch)
    assert holds(path, model) is None


@pytest.mark.parametrize("index", ["SIMPLE", "RECORD_INDEX"])
def test_a_conflict_is_planned_anew_and_looked_up_again(
    spark: SparkSession, tmp_path: Path, table_type: str, index: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, model, path = Rows(seed=1), Model(partitioned=True), str(tmp_path / "t")
    first, theirs, ours = rows.batch(range(40), ts=1), rows.batch(range(80), ts=2), rows.batch(range(60, 100), ts=3)
    hs.upsert(frame_of(spark, first), path, job(table_type, index))
    monkeypatch.setattr(frames, "run", interfering(path, theirs, times=1))
    result = hs.upsert(frame_of(spark, ours), path)
    assert result.retries == 1
    assert result.inserted == 20, "the other writer brought the first twenty of the forty"
    for batch in (first, theirs, ours):
        model.upsert(batch)
    assert holds(Path(path), model) is None


def test_tasks_to_which_no_key_comes_are_run_all_the_same(spark: SparkSession, tmp_path: Path, table_type: str) -> None:
    rows, path = Rows(seed=4), tmp_path / "t"
    options = job(table_type, "SIMPLE") | {
        "hoodie.copyonwrite.insert.auto.split": "false",
        "hoodie.copyonwrite.insert.split.size": "1",
    }
    batch = rows.batch(range(40), ts=1)
    result = hs.insert(frame_of(spark, batch), str(path), options)
    model = Model(partitioned=True)
    model.upsert(batch)
    assert (result.inserted, result.files_added) == (40, 40)
    assert len(homes(path)) < 40, "some file got several keys, and some none"
    assert holds(path, model) is None
