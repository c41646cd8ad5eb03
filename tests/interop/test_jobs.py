"""A job of Apache Hudi goes over to hudini by the name of its format, with a new table and amid an old one."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hudini.spark as hs

from .jobs import JOBS, WRITE, Job, Step
from .oracle import Oracle

pytestmark = [pytest.mark.interop, pytest.mark.spark]

# Those that say what a table is; Apache Hudi says of a table without partitions that it has "".
PROPERTIES = (
    "hoodie.table.name",
    "hoodie.database.name",
    "hoodie.table.type",
    "hoodie.table.version",
    "hoodie.table.recordkey.fields",
    "hoodie.table.partition.fields",
    "hoodie.table.ordering.fields",
    "hoodie.table.keygenerator.type",
    "hoodie.record.merge.mode",
    "hoodie.datasource.write.hive_style_partitioning",
    "hoodie.datasource.write.partitionpath.urlencode",
)
OF_THE_COMMIT = ("_hoodie_commit_time", "_hoodie_commit_seqno", "_hoodie_file_name")


def rows_of(table: pa.Table) -> tuple[list[str], list[str]]:
    """Columns in their order, and rows in any."""
    table = table.drop_columns(list(OF_THE_COMMIT))
    fields = [f"{field.name}: {field.type}" for field in table.schema]
    return fields, sorted(json.dumps(row, default=str) for row in table.to_pylist())


class Hudini:
    """The same job, with another name of its format."""

    def __init__(self, spark, folder: Path) -> None:
        self._spark, self._folder = spark, folder

    def write(self, path: Path, job: Job, step: Step) -> None:
        source = self._folder / "source.parquet"
        pq.write_table(step.rows, source)
        frame = self._spark.read.parquet(str(source)).coalesce(1)
        frame.write.format("hudini").options(**job.told(step)).mode(step.mode).save(str(path))

    def call(self, path: Path, job: Job, step: Step) -> None:
        """By the function of `hudini.spark`, with the same options."""
        told = job.told(step)
        operation = told.get(WRITE + "operation", "upsert")
        if step.mode == "overwrite" and path.exists():
            operation = told[WRITE + "operation"] = "insert_overwrite_table"
        if operation == "delete_partition":
            partitions = told.pop(WRITE + "partitions.to.delete").split(",")
            hs.delete_partitions(self._spark, str(path), partitions, **told)
            return
        frame = self._spark.createDataFrame(step.rows).coalesce(1)
        getattr(hs, {"insert_overwrite_table": "overwrite_table"}.get(operation, operation))(frame, str(path), **told)

    def read(self, path: Path) -> pa.Table:
        return self._spark.read.format("hudini").load(str(path)).toArrow()


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.name)
def test_a_job_does_the_same_under_another_format(job: Job, oracle: Oracle, spark, tmp_path: Path) -> None:
    theirs, ours, moved, called = (tmp_path / name for name in ("theirs", "ours", "moved", "called"))
    engine = Hudini(spark, tmp_path)
    *earlier, last = job.steps
    for step in earlier:
        oracle.write(theirs, step.rows, job.told(step), step.mode)
    shutil.copytree(theirs, moved)
    oracle.write(theirs, last.rows, job.told(last), last.mode)
    expected = rows_of(oracle.read(theirs))

    for step in job.steps:
        engine.write(ours, job, step)
        engine.call(called, job, step)
    engine.write(moved, job, last)
    for path in (ours, moved, called):
        assert rows_of(engine.read(path)) == expected
        assert rows_of(oracle.read(path)) == expected
    properties = [
        {key: oracle.properties(path).get(key) or "" for key in PROPERTIES} for path in (ours, called, theirs)
    ]
    assert properties[0] == properties[1] == properties[2]
