"""Tables without buckets: hudini and Apache Hudi find each other's keys, each with each of its indexes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import hudini
from tests.support.answers import elsewhere
from tests.support.rows import SCHEMA, Model, Rows, to_arrow

from .apache import BY_RECORDS, LAYOUTS, Apache, Layout
from .engines import Local, OnSpark
from .oracle import Oracle
from .scenes import holds, mixed_batch, step

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.interop

EVERY_LAYOUT = pytest.mark.parametrize("layout", LAYOUTS, ids=str)
EVERY_INDEX = pytest.mark.parametrize("index", ["SIMPLE", "BLOOM"])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "table"


def create(path: Path, layout: Layout, index: str, **more: object) -> Local:
    hudini.create(
        str(path),
        SCHEMA,
        record_key="id",
        ordering="ts",
        partition_by=["city"] if layout.partitioned else (),
        table_type=layout.table_type,
        name="trips",
        options={"hoodie.index.type": index},
        **more,
    )
    return Local(path)


@EVERY_INDEX
@EVERY_LAYOUT
def test_keys_of_hudini_are_found_by_apache_and_back(layout: Layout, index: str, oracle: Oracle, path: Path) -> None:
    rows, model, engine = Rows(seed=11), Model(partitioned=layout.partitioned), create(path, layout, index)
    untold = Apache(oracle, path, layout, index={})
    by_bloom = Apache(oracle, path, layout, index={"hoodie.index.type": "BLOOM"})

    step(engine.upsert, mixed_batch(rows, start=20), model)
    holds(model, engine, untold)
    step(untold.upsert, mixed_batch(rows, start=40), model)
    holds(model, engine, untold)
    step(engine.upsert, mixed_batch(rows, start=60), model)
    step(by_bloom.upsert, mixed_batch(rows, start=80), model)
    holds(model, engine, untold)
    for deleter, numbers in ((engine, range(0, 80, 7)), (by_bloom, range(1, 80, 7)), (untold, range(2, 80, 7))):
        gone = rows.batch(numbers, ts=1)
        deleter.delete(gone)
        model.delete(row["id"] for row in gone)
        holds(model, engine, untold)
    if layout.table_type == "mor":
        untold.compact()
        holds(model, engine, untold)
    step(engine.upsert, mixed_batch(rows, start=100), model)
    holds(model, engine, untold)
    assert hudini.open(str(path)).verify(deep=True).ok


@pytest.mark.spark
@pytest.mark.parametrize("index", ["BLOOM", "RECORD_INDEX"])
@EVERY_LAYOUT
def test_keys_that_sparks_tasks_look_up_are_found_by_apache_and_back(
    layout: Layout, index: str, oracle: Oracle, path: Path, spark: SparkSession
) -> None:
    rows, model, local = Rows(seed=14), Model(partitioned=layout.partitioned), create(path, layout, index)
    by_records = index == "RECORD_INDEX"
    engine = OnSpark(spark, path)
    apache = Apache(oracle, path, layout, index=BY_RECORDS if by_records else {"hoodie.index.type": "BLOOM"})

    step(engine.upsert, mixed_batch(rows, start=20), model)
    holds(model, engine, apache)
    step(apache.upsert, mixed_batch(rows, start=40), model)
    step(engine.upsert, mixed_batch(rows, start=60), model)
    holds(model, engine, apache)
    gone = rows.batch(range(0, 80, 3), ts=1)
    engine.delete(gone)
    model.delete(row["id"] for row in gone)
    holds(model, engine, apache)
    if layout.table_type == "mor":
        # Before that a late row would bring back what a log deletes.
        apache.compact()
    step(apache.upsert, mixed_batch(rows, start=80), model)
    step(engine.upsert, mixed_batch(rows, start=100), model)
    holds(model, local, apache)
    for writer, ts in ((engine, 5000), (apache, 6000), (engine, 7000)):
        # By the record index rows stay in the partitions of their keys, whatever they say.
        newer = rows.batch(range(22, 120, 3), ts=ts)
        writer.upsert([elsewhere(row) for row in newer] if by_records and layout.partitioned else newer)
        model.upsert(newer)
    holds(model, engine, apache)
    table = hudini.open(str(path))
    assert table.verify(deep=True).ok
    assert ("record_index" in table.properties["hoodie.table.metadata.partitions"]) == by_records


@EVERY_INDEX
@EVERY_LAYOUT
def test_keys_of_apache_are_found_by_hudini(layout: Layout, index: str, oracle: Oracle, path: Path) -> None:
    rows, model = Rows(seed=12), Model(partitioned=layout.partitioned)
    untold, engine = Apache(oracle, path, layout, index={}), Local(path, {"hoodie.index.type": index})

    untold.first_upsert(first := mixed_batch(rows, start=20))
    model.upsert(first)
    step(engine.upsert, mixed_batch(rows, start=40), model)
    holds(model, engine, untold)
    step(untold.upsert, mixed_batch(rows, start=60), model)
    step(Local(path).upsert, mixed_batch(rows, start=80), model)
    holds(model, engine, untold)


@pytest.mark.parametrize("index", ["SIMPLE", "BUCKET"])
@pytest.mark.parametrize("layout", [layout for layout in LAYOUTS if layout.partitioned], ids=str)
def test_partitions_are_overwritten_and_deleted(layout: Layout, index: str, oracle: Oracle, path: Path) -> None:
    rows, engine = Rows(seed=13), create(path, layout, index)
    apache = Apache(oracle, path, layout, index={"hoodie.index.type": index, "hoodie.bucket.index.num.buckets": "4"})
    stored = {row["id"]: row for row in rows.batch(range(40), ts=100)}

    def agree() -> None:
        model = Model(partitioned=True)
        model.upsert(stored.values())
        holds(model, engine, apache)

    def overwrite(new: list[dict]) -> None:
        cities = {row["city"] for row in new}
        for key in [key for key, row in stored.items() if row["city"] in cities]:
            del stored[key]
        stored.update({row["id"]: row for row in new})

    engine.upsert(stored.values())
    new = rows.batch([0, 4, 44, 1], ts=5)  # of two cities, with smaller ordering values
    hudini.open(str(path)).insert_overwrite(to_arrow(new))
    overwrite(new)
    agree()
    new = rows.batch([2, 42], ts=5)
    apache.insert_overwrite(new)
    overwrite(new)
    agree()
    hudini.open(str(path)).delete_partitions(["la"])
    for key in [key for key, row in stored.items() if row["city"] == "la"]:
        del stored[key]
    agree()
    more = rows.batch(range(30, 50), ts=200)
    apache.upsert(more)
    stored.update({row["id"]: row for row in more})
    agree()
    apache.delete_partitions(["ny"])
    for key in [key for key, row in stored.items() if row["city"] == "ny"]:
        del stored[key]
    agree()
    more = rows.batch(range(60), ts=300)
    engine.upsert(more)
    stored.update({row["id"]: row for row in more})
    agree()
    hudini.open(str(path)).overwrite_table(to_arrow(new))
    stored.clear()
    stored.update({row["id"]: row for row in new})
    agree()
    more = rows.batch(range(20), ts=300)
    apache.upsert(more)
    stored.update({row["id"]: row for row in more})
    agree()
    assert pa.table(hudini.open(str(path)).read()).num_rows == len(stored)


KEPT_AT_8 = {"hoodie.write.auto.upgrade": "false", "hoodie.write.table.version": "8"}


@pytest.mark.parametrize("index", ["SIMPLE", "BLOOM", "BUCKET"])
@EVERY_LAYOUT
def test_tables_of_version_8_stay_so_and_go_back_and_forth(
    layout: Layout, index: str, oracle: Oracle, path: Path
) -> None:
    rows, model = Rows(seed=14), Model(partitioned=layout.partitioned)
    engine = create(path, layout, index, table_version=8)
    apache = Apache(
        oracle,
        path,
        layout,
        index=KEPT_AT_8
        | {"hoodie.index.type": index}
        | ({"hoodie.bucket.index.num.buckets": "4"} if index == "BUCKET" else {}),
    )

    step(engine.upsert, mixed_batch(rows, start=20), model)
    holds(model, engine, apache)
    step(apache.upsert, mixed_batch(rows, start=40), model)
    holds(model, engine, apache)
    step(engine.upsert, mixed_batch(rows, start=60), model)
    holds(model, engine, apache)
    assert oracle.properties(path)["hoodie.table.version"] == "8"
    assert hudini.open(str(path)).version == 8
    upgrading = Apache(oracle, path, layout, index={})
    step(upgrading.upsert, mixed_batch(rows, start=80), model)
    step(engine.upsert, mixed_batch(rows, start=100), model)
    holds(model, engine, upgrading)
    assert hudini.open(str(path)).version == 9


@pytest.fixture(scope="module")
def older(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Oracle]:
    """Apache Hudi 1.0.2, whose tables have version 8."""
    with Oracle.start(tmp_path_factory.mktemp("older"), "1.0.2") as session:
        yield session


@EVERY_LAYOUT
def test_apache_hudi_1_0_goes_on_with_tables_of_version_8(layout: Layout, older: Oracle, path: Path) -> None:
    rows, model = Rows(seed=15), Model(partitioned=layout.partitioned)
    engine = create(path, layout, "SIMPLE", table_version=8)
    apache = Apache(older, path, layout, index={"hoodie.datasource.write.precombine.field": "ts"})

    step(engine.upsert, mixed_batch(rows, start=20), model)
    holds(model, engine, apache)
    step(apache.upsert, mixed_batch(rows, start=40), model)
    step(engine.upsert, mixed_batch(rows, start=60), model)
    holds(model, engine, apache)
