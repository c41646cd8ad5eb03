"""Writes by the record index, which is one for all partitions: its file groups are asked by tasks, and rows go where it
has their keys. That the answer is that of the local engine, however rows are cut, is in `test_same_answer`."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import hudini
import hudini.spark as hs
from hudini.spark import frames
from tests.spark.test_upsert import frame_of, holds, writes
from tests.support.answers import elsewhere
from tests.support.rows import Model, Row, Rows, to_arrow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LARGE = "spark.sql.execution.arrow.useLargeVarTypes"


def job(table_type: str) -> dict[str, str]:
    return {
        "hoodie.table.name": "trips",
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.precombine.field": "ts",
        "hoodie.datasource.write.partitionpath.field": "city",
        "hoodie.datasource.write.table.type": table_type,
        "hoodie.index.type": "RECORD_INDEX",
    }


@pytest.fixture(params=["COPY_ON_WRITE", "MERGE_ON_READ"])
def table_type(request: pytest.FixtureRequest) -> str:
    return request.param


def is_sound(path: Path) -> bool:
    report = hudini.open(path).verify(deep=True)
    return report.ok and not report.findings and report.checked["record_locations"] > 0


def test_rows_go_to_the_partitions_of_their_keys(spark: SparkSession, tmp_path: Path, table_type: str) -> None:
    rows, model, path = Rows(seed=21), Model(partitioned=True), tmp_path / "t"
    hs.upsert(frame_of(spark, first := rows.batch(range(60), ts=1), 2), str(path), job(table_type))
    model.upsert(first)
    assert "record_index" in hudini.open(path).properties["hoodie.table.metadata.partitions"]

    # Nobody says again which index it is. Rows of two partitions alone, whose keys are in others.
    here = [row for row in rows.batch(range(60), ts=2) if row["city"] == "sf"]
    result = hs.upsert(frame_of(spark, [elsewhere(row) for row in here], 3), str(path))
    model.upsert(here)
    assert (result.inserted, result.updated) == (0, len(here))
    assert holds(path, model) is None

    # New keys, and keys that come twice, under their own partition and under another.
    twice = rows.batch(range(50, 80), ts=3)
    again = rows.batch(range(50, 60), ts=4)
    mixed = rows.shuffled([*twice, *(elsewhere(row) for row in again)])
    spark.conf.set(LARGE, "true")
    try:
        result = hs.upsert(frame_of(spark, mixed, 2), str(path))
    finally:
        spark.conf.unset(LARGE)
    model.upsert([*twice, *again])
    assert result.inserted == 20
    assert holds(path, model) is None

    # Some are there, none where it is said, and of a delete it is nothing that a key is said to be in two places.
    gone = [elsewhere(row) for row in rows.batch(range(70, 100), ts=0)]
    gone += rows.batch(range(90, 100), ts=0)
    result = hs.delete(frame_of(spark, gone, 2), str(path))
    model.delete(row["id"] for row in gone)
    assert result.deleted == 10
    assert holds(path, model) is None
    assert is_sound(path)
    assert spark._jsparkSession.sharedState().cacheManager().isEmpty()


def test_inserts_are_told_to_the_index(spark: SparkSession, tmp_path: Path, table_type: str) -> None:
    rows, model, path = Rows(seed=22), Model(partitioned=True), tmp_path / "t"
    for operation, numbers in (("bulk_insert", range(30)), ("insert", range(30, 50)), ("insert_overwrite", [51])):
        batch = rows.batch(numbers, ts=1)
        getattr(hs, operation)(frame_of(spark, batch, 2), str(path), job(table_type))
        if operation == "insert_overwrite":
            model.delete([key for key, row in model.rows.items() if row["city"] == batch[0]["city"]])
        model.upsert(batch)
    newer = rows.batch(range(60), ts=2)
    known = set(model.rows)
    result = hs.upsert(frame_of(spark, [elsewhere(r) if r["id"] in known else r for r in newer], 2), str(path))
    assert (result.updated, result.inserted) == (len(known), 60 - len(known))
    model.upsert(newer)
    assert holds(path, model) is None
    assert is_sound(path)


def test_a_table_that_was_written_without_gets_an_index(spark: SparkSession, tmp_path: Path, table_type: str) -> None:
    rows, model, path = Rows(seed=23), Model(partitioned=True), tmp_path / "t"
    batches = [rows.batch(range(40), ts=1), rows.batch(range(20, 60), ts=2), rows.batch(range(50, 70), ts=3)]
    for batch, index in zip(batches, ("SIMPLE", "RECORD_INDEX", "SIMPLE"), strict=True):
        hs.upsert(frame_of(spark, batch, 2), str(path), job(table_type) | {"hoodie.index.type": index})
        model.upsert(batch)
        assert holds(path, model) is None
    assert is_sound(path)


def test_rows_of_a_new_key_under_several_partitions_go_where_the_winner_goes(
    spark: SparkSession, tmp_path: Path, table_type: str
) -> None:
    rows, path = Rows(seed=24), tmp_path / "t"
    hs.upsert(frame_of(spark, old := rows.batch(range(20), ts=1)), str(path), job(table_type))
    # The first is newer, the second is; of two that are as new the second wins.
    first = [row for ts, number in enumerate(range(20, 50)) for row in rows.batch([number], ts=2 + ts % 3)]
    second = [elsewhere(row) for row in rows.batch(range(20, 50), ts=3)]
    known = rows.batch(range(15, 20), ts=5)
    batch = [*first, *(elsewhere(row) for row in known), *second]
    one_a_key = {"hoodie.combine.before.insert": "true"}
    ways: dict[str, tuple[Callable[[str], Any], bool]] = {
        "hs.upsert": (lambda at: hs.upsert(frame_of(spark, batch, 2), at), False),
        "upsert": (lambda at: hudini.open(at).upsert(to_arrow(batch)), False),
        "hs.overwrite_table": (lambda at: hs.overwrite_table(frame_of(spark, batch, 2), at, one_a_key), True),
        "overwrite_table": (lambda at: hudini.open(at).overwrite_table(to_arrow(batch), options=one_a_key), True),
        "format": (lambda at: frame_of(spark, batch).write.format("hudini").mode("append").save(at), False),
    }
    for name, (write, replaces) in ways.items():
        place, model = tmp_path / name, Model(partitioned=True)
        shutil.copytree(path, place)
        write(str(place))
        for some in ([], first, [elsewhere(row) for row in known], second) if replaces else (old, first, known, second):
            model.upsert(some)
        assert holds(place, model) is None, name
        assert is_sound(place), name


def test_another_writer_of_a_new_key_is_noticed(
    spark: SparkSession, tmp_path: Path, table_type: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It brings the key into another partition and touches none of our files; the second attempt follows it there."""
    rows, model, path = Rows(seed=25), Model(partitioned=True), tmp_path / "t"
    first, ours = rows.batch(range(20), ts=1), rows.batch(range(10, 30), ts=3)
    hs.upsert(frame_of(spark, first), str(path), job(table_type))
    theirs = [elsewhere(row) for row in rows.batch([24], ts=2)]
    monkeypatch.setattr(frames, "run", interfering_once(path, theirs))
    result = hs.upsert(frame_of(spark, ours, 2), str(path))
    assert (result.retries, result.inserted, result.updated) == (1, 9, 11)
    ours = [elsewhere(row) if row["id"] == theirs[0]["id"] else row for row in ours]
    for batch in (first, theirs, ours):
        model.upsert(batch)
    assert holds(path, model) is None
    assert is_sound(path)
    assert writes(str(path)) == ["upsert"] * 3


def interfering_once(path: Path, rows: list[Row]) -> Any:
    run, left = frames.run, [rows]

    def run_while_another_writes(frame: DataFrame, tasks: frames.Tasks) -> Any:
        if left:
            hudini.open(path).upsert(to_arrow(left.pop()))
        return run(frame, tasks)

    return run_while_another_writes
