"""One table, two engines: each reads, upserts and compacts what the other wrote, and no row differs.

Expected rows come from a model in plain Python, never from either engine.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import hudini
from tests.support.rows import Model, Rows

from .apache import INDEX, LAYOUTS, Apache, Layout
from .engines import Local, OnSpark, create
from .oracle import Oracle
from .scenes import Engine, holds, mixed_batch, step

pytestmark = pytest.mark.interop

EVERY_LAYOUT = pytest.mark.parametrize("layout", LAYOUTS, ids=str)
EVERY_ENGINE = pytest.mark.parametrize("where", ["local", pytest.param("spark", marks=pytest.mark.spark)])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "table"


@pytest.fixture
def engine(request: pytest.FixtureRequest, where: str, path: Path) -> Engine:
    """hudini, which finds the bucket index in the table that it made."""
    return Local(path) if where == "local" else OnSpark(request.getfixturevalue("spark"), path)


@pytest.fixture
def told_engine(request: pytest.FixtureRequest, where: str, path: Path) -> Engine:
    """hudini, told of the bucket index: Apache Hudi stores nothing of it in the tables that it makes."""
    return Local(path, INDEX) if where == "local" else OnSpark(request.getfixturevalue("spark"), path, INDEX)


@pytest.fixture
def apache(oracle: Oracle, path: Path, layout: Layout) -> Apache:
    return Apache(oracle, path, layout)


@EVERY_ENGINE
@EVERY_LAYOUT
def test_a_table_of_hudini_goes_back_and_forth(layout: Layout, engine: Engine, apache: Apache, path: Path) -> None:
    rows, model = Rows(seed=1), Model(partitioned=layout.partitioned)

    create(path, layout)
    step(engine.bulk_insert, rows.batch(range(40), ts=100), model)
    holds(model, engine, apache)
    step(engine.upsert, mixed_batch(rows, start=40), model)
    holds(model, engine, apache)
    step(apache.upsert, mixed_batch(rows, start=60), model)
    holds(model, apache, engine)
    step(engine.upsert, mixed_batch(rows, start=80), model)
    holds(model, engine, apache)
    if layout.table_type == "mor":
        apache.compact()
        holds(model, apache, engine)
    step(engine.upsert, mixed_batch(rows, start=100), model)
    holds(model, engine, apache)
    step(apache.upsert, mixed_batch(rows, start=120), model)
    holds(model, engine, apache)


@EVERY_ENGINE
@EVERY_LAYOUT
def test_a_table_of_apache_goes_back_and_forth(layout: Layout, told_engine: Engine, apache: Apache) -> None:
    rows, model, engine = Rows(seed=2), Model(partitioned=layout.partitioned), told_engine

    step(apache.create, rows.batch(range(40), ts=100), model)
    step(apache.upsert, mixed_batch(rows, start=40), model)
    holds(model, engine)
    step(engine.upsert, mixed_batch(rows, start=60), model)
    holds(model, engine, apache)
    if layout.table_type == "mor":
        apache.compact()
        holds(model, apache, engine)
    step(apache.upsert, mixed_batch(rows, start=80), model)
    step(engine.upsert, mixed_batch(rows, start=100), model)
    holds(model, engine, apache)


@EVERY_LAYOUT
def test_a_deleted_key_is_gone_for_both_and_can_come_back(layout: Layout, apache: Apache, path: Path) -> None:
    rows, model, engine = Rows(seed=3), Model(partitioned=layout.partitioned), Local(path)
    create(path, layout)
    step(engine.bulk_insert, rows.batch(range(20), ts=100), model)

    for deleter, numbers in ((engine, range(0, 20, 3)), (apache, range(1, 20, 3))):
        gone = rows.batch(numbers, ts=1)  # a delete by key asks for no ordering value
        deleter.delete(gone)
        model.delete(row["id"] for row in gone)
        holds(model, engine, apache)
    step(engine.upsert, rows.batch(range(0, 20, 2), ts=300), model)
    holds(model, engine, apache)
    if layout.table_type == "mor":
        apache.compact()
        holds(model, engine, apache)


@EVERY_LAYOUT
def test_apache_finds_and_keeps_the_index_that_create_stored(layout: Layout, oracle: Oracle, path: Path) -> None:
    rows, model, engine = Rows(seed=4), Model(partitioned=layout.partitioned), Local(path)
    untold = Apache(oracle, path, layout, index={})
    create(path, layout)
    step(engine.upsert, rows.batch(range(20), ts=100), model)
    step(untold.upsert, rows.batch(range(10, 30), ts=200), model)
    step(engine.upsert, rows.batch(range(20, 40), ts=300), model)

    holds(model, engine, untold)
    stored = oracle.properties(path)
    assert {key: stored.get(key) for key in INDEX} == INDEX


@pytest.mark.parametrize(
    "count",
    [
        pytest.param(None, id="none"),
        pytest.param(1, id="too few"),
        pytest.param(7, id="too many"),
    ],
)
@EVERY_LAYOUT
def test_a_bucket_count_is_never_guessed(layout: Layout, count: int | None, apache: Apache, path: Path) -> None:
    rows, model = Rows(seed=5), Model(partitioned=layout.partitioned)
    step(apache.create, rows.batch(range(40), ts=100), model)

    options = {} if count is None else {**INDEX, "hoodie.bucket.index.num.buckets": str(count)}
    with pytest.raises((hudini.InvalidOption, hudini.UnsupportedFeature)):
        Local(path, options).upsert(rows.batch(range(40), ts=200))
    holds(model, apache)
