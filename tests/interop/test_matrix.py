"""Every kind of table in both hands: written by one engine, read by the other with every kind of query, kept up by
Apache Hudi's services, checked by its validation of the metadata table, and gone on with.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import hudini
from tests.support.rows import SCHEMA, Model, Rows

from .apache import LAYOUTS, Apache, Layout
from .engines import Local, OnSpark
from .oracle import Oracle
from .scenes import alike, holds, instants, mixed_batch, step, validated

pytestmark = pytest.mark.interop

INDEXES = {
    "BUCKET": {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "3"},
    "BLOOM": {"hoodie.index.type": "BLOOM"},
}
VERSIONS = {9: {}, 8: {"hoodie.write.auto.upgrade": "false", "hoodie.write.table.version": "8"}}
# So few that there is something to clean and to archive.
FEW = {"hoodie.clean.commits.retained": "1", "hoodie.keep.min.commits": "2", "hoodie.keep.max.commits": "3"}
# Archiving waits for the metadata table's compaction.
SOON = {"hoodie.metadata.compact.max.delta.commits": "2"}
# Keys that no other write touches: a late row behind a delete is another story, see test_compaction.
DELETED = range(1000, 1012)


def kept_up(apache: Apache, oracle: Oracle, path: Path) -> None:
    """Cleans and archives, and proves that it did."""
    before = {line["requested"] for line in oracle.timeline(path)}
    apache.serve("clean", FEW)
    assert "clean" in {line["action"] for line in oracle.timeline(path)}
    apache.serve("archive", FEW)
    assert before - {line["requested"] for line in oracle.timeline(path)}


def compacted_by_hudini(engine: Local | OnSpark, path: Path) -> None:
    assert any(row["log_files"] for row in hudini.open(path).inspect.slices())
    engine.compact()
    assert not any(row["log_files"] for row in hudini.open(path).inspect.slices())


def kept_up_by_hudini(engine: Local | OnSpark, oracle: Oracle, path: Path) -> None:
    before = {line["requested"] for line in oracle.timeline(path)}
    engine.clean_and_archive(FEW)
    after = {line["requested"]: line["action"] for line in oracle.timeline(path)}
    assert "clean" in [action for requested, action in after.items() if requested not in before]
    assert before - after.keys()


@pytest.mark.parametrize("begins", ["hudini", "apache"])
@pytest.mark.parametrize("where", ["local", pytest.param("spark", marks=pytest.mark.spark)])
@pytest.mark.parametrize("index", INDEXES)
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_every_kind_of_table(
    layout: Layout,
    version: int,
    index: str,
    where: str,
    begins: str,
    request: pytest.FixtureRequest,
    oracle: Oracle,
    tmp_path: Path,
) -> None:
    path, rows, model = tmp_path / "table", Rows(seed=21), Model(partitioned=layout.partitioned)
    told = INDEXES[index] | VERSIONS[version] | SOON
    apache = Apache(oracle, path, layout, index=told)
    engine = (
        Local(path, INDEXES[index] | SOON)
        if where == "local"
        else OnSpark(request.getfixturevalue("spark"), path, INDEXES[index] | SOON)
    )
    if begins == "hudini":
        partitions = ["city"] if layout.partitioned else ()
        hudini.create(
            path,
            SCHEMA,
            record_key="id",
            ordering="ts",
            partition_by=partitions,
            table_type=layout.table_type,
            table_version=version,
            name="trips",
            options=INDEXES[index],
        )
        step(engine.bulk_insert, rows.batch([*range(40), *DELETED], ts=100), model)
    else:
        step(apache.create, rows.batch([*range(40), *DELETED], ts=100), model)
    step(engine.upsert, mixed_batch(rows, start=40), model)
    gone = rows.batch(DELETED[::2], ts=1)
    engine.delete(gone)
    model.delete(row["id"] for row in gone)
    step(engine.upsert, rows.batch(range(0, 60, 5), ts=900), model)
    holds(model, engine, apache)
    alike(oracle, path, instants(oracle, path))
    validated(oracle, path)

    step(apache.upsert, mixed_batch(rows, start=60), model)
    if layout.table_type == "mor":
        apache.compact()
        # A second time, so that there is a base file that nobody needs.
        step(apache.upsert, rows.batch(range(0, 60, 2), ts=1000), model)
        apache.compact()
        step(apache.upsert, rows.batch(range(0, 60, 3), ts=1001), model)
    kept_up(apache, oracle, path)
    holds(model, engine, apache)
    validated(oracle, path)

    step(engine.upsert, mixed_batch(rows, start=80), model)
    if layout.table_type == "mor":
        compacted_by_hudini(engine, path)
    for number in range(3):
        step(engine.upsert, rows.batch(range(number, 90, 6), ts=1100 + number), model)
    kept_up_by_hudini(engine, oracle, path)
    holds(model, engine, apache)
    alike(oracle, path, instants(oracle, path)[-1:])
    validated(oracle, path)
    step(apache.upsert, rows.batch(range(0, 80, 7), ts=2000), model)
    holds(model, apache, engine)
    assert hudini.open(path).verify(deep=True).ok
    assert hudini.open(path).version == version
