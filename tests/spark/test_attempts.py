"""Tasks that fail at first: in a Spark of its own that tries again, which a session says when it begins."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.spark.conftest import CHECKOUT

if TYPE_CHECKING:
    import pyarrow as pa

    import hudini


def test_every_task_fails_on_its_first_attempt(java: None, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.spark.test_attempts", str(tmp_path)],
        cwd=CHECKOUT,
        env={key: value for key, value in os.environ.items() if key != "SPARK_REMOTE"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout.splitlines()[-1] == "done"


Batches = Iterator["pa.RecordBatch"]


def failing_at_first(stage: Callable[..., Callable[[Batches], Batches]]) -> Callable[..., Callable[[Batches], Batches]]:
    """A stage whose tasks do all their work in vain on the first attempt."""

    def made(*arguments: Any) -> Callable[[Batches], Batches]:
        work = stage(*arguments)

        def run(batches: Batches) -> Batches:
            from pyspark import TaskContext

            context = TaskContext.get()
            results = list(work(batches))
            if context is not None and context.attemptNumber() == 0:
                raise RuntimeError("the executor is lost")
            yield from results

        return run

    return made


def assert_whole(table: hudini.Table) -> None:
    report = table.verify(deep=True)
    assert report.ok, str(report)
    assert not report.findings, str(report)


def story(folder: Path) -> None:
    from pyspark.sql import SparkSession

    import hudini
    import hudini.spark as hs
    from hudini.spark import frames
    from tests.spark.test_same_answer import local_answer, on_spark

    builder = SparkSession.builder.master("local[2,4]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    for name in ("_locate", "_look_up", "_group_keys", "_look_up_records", "_settle", "_run"):
        setattr(frames, name, failing_at_first(getattr(frames, name)))
    for index in ("BUCKET", "SIMPLE", "RECORD_INDEX"):
        path = str(folder / index)
        job = {
            "hoodie.datasource.write.recordkey.field": "id",
            "hoodie.datasource.write.precombine.field": "ts",
            "hoodie.index.type": index,
        }
        if index == "BUCKET":
            job["hoodie.bucket.index.num.buckets"] = "2"
        rows = spark.range(50).selectExpr("concat('k', id) as id", "1L as ts")
        assert hs.upsert(rows, path, job).inserted == 50
        newer = spark.range(40, 60).selectExpr("concat('k', id) as id", "2L as ts")
        result = hs.upsert(newer, path)
        assert (result.inserted, result.updated) == (10, 10)
        table = hudini.open(path)
        assert (table.read().count(), table.read(filter="ts = 2").count()) == (60, 20)
        assert_whole(table)
    # Logs of lost attempts are whole files.
    kind = ("mor", "BUCKET")
    due = local_answer(folder / "logs by one thread", kind)
    answer = on_spark(spark, folder / "logs", kind, partitions=3)
    assert answer.difference(due) is None, answer.difference(due)
    assert_whole(hudini.open(folder / "logs"))
    spark.stop()
    print("done")


if __name__ == "__main__":
    story(Path(sys.argv[1]))
