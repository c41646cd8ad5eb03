"""However Spark cuts the rows, and whatever is done twice: the answer of one thread on the local engine."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import hudini
import hudini.spark as hs
from hudini.actions import CommitResult
from hudini.spark import frames
from tests.support.answers import Answer, options_for, played
from tests.support.rows import SCHEMA, Row, to_arrow

from .test_upsert import frame_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Prepare = Callable[["DataFrame"], "DataFrame"]
# Table type and index; by the record index rows move between partitions.
Kind = tuple[str, str]
KINDS = [
    ("cow", "BUCKET"),
    ("mor", "BUCKET"),
    ("cow", "RECORD_INDEX"),
    ("mor", "RECORD_INDEX"),
    ("cow", "SIMPLE"),
    ("mor", "BLOOM"),
]
EVERY_KIND = pytest.mark.parametrize("kind", KINDS, ids="-".join)
EVERY_INDEX = pytest.mark.parametrize("kind", [*KINDS[:2], *KINDS[3:]], ids="-".join)


@pytest.fixture(scope="module")
def due(tmp_path_factory: pytest.TempPathFactory) -> dict[Kind, Answer]:
    """What one thread of the local engine makes of it."""
    return {kind: local_answer(tmp_path_factory.mktemp("-".join(kind)) / "local", kind) for kind in KINDS}


def local_answer(path: Path, kind: Kind) -> Answer:
    options = options_for(*kind)
    hudini.create(path, SCHEMA, options=options)

    def write(operation: str, rows: list[Row]) -> CommitResult:
        return getattr(hudini.open(path, options=options, threads=1), operation)(to_arrow(rows))

    return played(path, write, moves=moves(kind))


def moves(kind: Kind) -> bool:
    return kind[1] == "RECORD_INDEX"


def on_spark(
    spark: SparkSession, path: Path, kind: Kind, partitions: int, before_upsert: Prepare | None = None
) -> Answer:
    def write(operation: str, rows: list[Row]) -> CommitResult:
        frame = frame_of(spark, rows, partitions)
        if before_upsert is not None and operation == "upsert":
            frame = before_upsert(frame)
        return getattr(hs, operation)(frame, str(path), options_for(*kind))

    return played(path, write, moves=moves(kind))


@EVERY_KIND
@pytest.mark.parametrize("partitions", [1, 2, 8])
def test_partitions_change_nothing(
    spark: SparkSession, due: dict[Kind, Answer], tmp_path: Path, kind: Kind, partitions: int
) -> None:
    # Eight are more than Spark has slots here: as a barrier stage they would not start.
    answer = on_spark(spark, tmp_path / "t", kind, partitions)
    assert answer.difference(due[kind]) is None, answer.difference(due[kind])


@EVERY_INDEX
def test_tasks_that_fail_at_first_change_nothing(
    spark: SparkSession, due: dict[Kind, Answer], tmp_path: Path, kind: Kind
) -> None:
    failures = tmp_path / "failures"
    failures.mkdir()

    def fails_at_first(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import uuid

        from pyspark import TaskContext

        context = TaskContext.get()
        yield from batches
        # Rows were handed over by then.
        if context.attemptNumber() == 0 and context.partitionId() % 2 == 0:
            (failures / str(uuid.uuid4())).touch()
            raise RuntimeError("the first attempt is lost")

    answer = on_spark(spark, tmp_path / "t", kind, 3, lambda frame: frame.mapInArrow(fails_at_first, frame.schema))
    assert answer.difference(due[kind]) is None, answer.difference(due[kind])
    assert len(list(failures.iterdir())) >= 2


@EVERY_INDEX
def test_a_stage_that_is_run_again_changes_nothing(
    spark: SparkSession,
    due: dict[Kind, Answer],
    tmp_path: Path,
    kind: Kind,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Between counting and writing all that Spark keeps is lost: blocks of located rows, then the outputs of stages."""
    fuse = tmp_path / "fuse"

    def loses_outputs(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches
        try:
            os.unlink(fuse)
        except FileNotFoundError:
            return
        for folder in os.environ["SPARK_LOCAL_DIRS"].split(","):
            for output in Path(folder).rglob("shuffle_*"):
                output.unlink(missing_ok=True)
        raise RuntimeError("the executor is lost")

    run = frames.run

    def run_after_a_loss(*arguments: Any, **named: Any) -> Any:
        for kept in spark.sparkContext._jsc.getPersistentRDDs().values():
            kept.unpersist(True)
        fuse.touch()
        return run(*arguments, **named)

    def before_upsert(frame: DataFrame) -> DataFrame:
        monkeypatch.setattr(frames, "run", run_after_a_loss)
        return frame.repartition(4, "id").mapInArrow(loses_outputs, frame.schema)

    spark.sparkContext.setJobGroup("again", "stages that are run again")
    answer = on_spark(spark, tmp_path / "t", kind, 3, before_upsert)
    assert answer.difference(due[kind]) is None, answer.difference(due[kind])
    assert not fuse.exists()
    assert any(attempt > 0 for attempt in stage_attempts(spark, "again"))


def stage_attempts(spark: SparkSession, group: str) -> list[int]:
    """The number of the last attempt at each stage of a group of jobs; the first is 0."""
    tracker = spark.sparkContext.statusTracker()
    stages = [stage for job in tracker.getJobIdsForGroup(group) for stage in tracker.getJobInfo(job).stageIds]
    return [info.currentAttemptId for stage in stages if (info := tracker.getStageInfo(stage)) is not None]
