"""Apache Hudi reads what `df.write.format("hudini")` wrote and goes on, also while such a job is under way."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pytest

import hudini
from hudini import _core
from tests.support.rows import Model, Row, Rows, to_arrow

from .apache import INDEX, LAYOUTS, Apache, Layout
from .oracle import Oracle
from .scenes import holds, mixed_batch, step

pytestmark = [pytest.mark.interop, pytest.mark.spark]


class Source:
    """A job of Apache Hudi with another name of its format."""

    def __init__(self, spark, path: Path, layout: Layout) -> None:
        self._spark, self._path = spark, str(path)
        self._options = {
            "hoodie.table.name": "trips",
            "hoodie.datasource.write.table.type": {"cow": "COPY_ON_WRITE", "mor": "MERGE_ON_READ"}[layout.table_type],
            "hoodie.datasource.write.recordkey.field": "id",
            "hoodie.datasource.write.precombine.field": "ts",
            "hoodie.datasource.write.partitionpath.field": "city" if layout.partitioned else "",
            **INDEX,
        }

    def bulk_insert(self, rows: Iterable[Row]) -> None:
        self._save(rows, "append", "bulk_insert")

    def upsert(self, rows: Iterable[Row]) -> None:
        self._save(rows, "append", "upsert")

    def overwrite(self, rows: Iterable[Row]) -> None:
        self._save(rows, "overwrite", "upsert")

    def delete(self, rows: Iterable[Row]) -> None:
        self._save(rows, "append", "delete")

    def read(self) -> pa.Table:
        return self._spark.read.format("hudini").load(self._path).toArrow()

    def _save(self, rows: Iterable[Row], mode: str, operation: str) -> None:
        # One partition: the order of the batch is part of what is tested.
        frame = self._spark.createDataFrame(to_arrow(rows)).coalesce(1)
        told = self._options | {"hoodie.datasource.write.operation": operation}
        frame.write.format("hudini").options(**told).mode(mode).save(self._path)


@pytest.mark.parametrize("layout", [LAYOUTS[1], LAYOUTS[2]], ids=str)
def test_a_table_of_the_data_source_goes_back_and_forth(layout: Layout, oracle: Oracle, spark, tmp_path: Path) -> None:
    path = tmp_path / "table"
    rows, model = Rows(seed=1), Model(partitioned=layout.partitioned)
    source, apache = Source(spark, path, layout), Apache(oracle, path, layout)

    step(source.bulk_insert, rows.batch(range(40), ts=100), model)
    holds(model, apache)
    step(source.upsert, mixed_batch(rows, start=40), model)
    step(apache.upsert, mixed_batch(rows, start=60), model)
    holds(model, source, apache)
    gone = rows.batch(range(0, 40, 3), ts=1)
    source.delete(gone)
    model.delete(row["id"] for row in gone)
    holds(model, source, apache)
    if layout.table_type == "mor":
        apache.compact()
    model = Model(partitioned=layout.partitioned)
    step(source.overwrite, mixed_batch(rows, start=40), model)
    holds(model, source, apache)
    step(apache.upsert, mixed_batch(rows, start=60), model)
    holds(model, source, apache)


def test_staged_rows_and_apache_leave_each_other_alone(oracle: Oracle, tmp_path: Path) -> None:
    path, layout = tmp_path / "table", Layout("mor", partitioned=True)
    rows, model, apache = Rows(seed=2), Model(partitioned=True), Apache(oracle, path, layout)
    step(apache.create, rows.batch(range(40), ts=100), model)
    core = hudini.open(path)._core
    ours = to_arrow(rows.batch(range(20, 60), ts=500))
    staging = _core.open_staging(core)
    staged = _core.stage(staging, ours)

    def files() -> list[Path]:
        return sorted((path / ".hoodie" / ".temp").glob("hudini-*/*"))

    there = files()
    assert len(there) == 2
    for ts in (200, 300):
        step(apache.upsert, rows.batch(range(10, 30), ts=ts), model)
        apache.compact()
    step(apache.upsert, rows.batch(range(10, 30), ts=400), model)
    # Without the key a client of Apache Hudi fails on the settings of buckets.
    named = {"hoodie.table.name": "trips", "hoodie.datasource.write.recordkey.field": "id"}
    oracle.service(path, "clean", options={**INDEX, **named, "hoodie.clean.commits.retained": "1"})
    assert oracle.timeline(path)[-1]["action"] == "clean"
    holds(model, apache)
    assert files() == there
    _core.write_staged(core, staging, [staged], ours.schema, "upsert", INDEX, "evolve")
    _core.close_staging(staging)
    model.upsert(ours.to_pylist())
    holds(model, apache)
    assert not files()
