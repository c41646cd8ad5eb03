"""The metadata table in two hands: hudini and Apache Hudi keep it in turns, and neither has to build it anew."""

from __future__ import annotations

from pathlib import Path

import pytest

import hudini
from tests.support.rows import Model, Rows

from .apache import BY_RECORDS, INDEX, LAYOUTS, Apache, Layout
from .engines import Local, create
from .oracle import Oracle
from .scenes import holds, mixed_batch, step

pytestmark = pytest.mark.interop

EVERY_LAYOUT = pytest.mark.parametrize("layout", LAYOUTS, ids=str)
KEPT = {"hoodie.metadata.enable": "true"}
SKIPPING = {**KEPT, "hoodie.enable.data.skipping": "true"}
# Of the commits that made it: a table that is built anew has others.
FIRST = "00000000000000000_"


class Metadata:
    """Looks at the metadata table of one table."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def born(self) -> list[str]:
        timeline = self._path / ".hoodie/metadata/.hoodie/timeline"
        return sorted(file.name for file in timeline.glob(f"{FIRST}*.deltacommit"))

    def compactions(self) -> int:
        return len(list((self._path / ".hoodie/metadata/.hoodie/timeline").glob("*.commit")))

    def kept(self) -> str:
        return hudini.open(self._path).properties.get("hoodie.table.metadata.partitions", "")

    def is_sound(self) -> None:
        """It is used, and tells the truth of every row."""
        table = hudini.open(self._path)
        assert table.read().explain()["listing"] == "metadata table"
        # Beside NaN, Apache Hudi writes bounds that do not hold: no reader of ours believes any.
        assert [found for found in table.verify(deep=True).findings if found.level != "warning"] == []


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "table"


@pytest.fixture
def apache(oracle: Oracle, path: Path, layout: Layout) -> Apache:
    return Apache(oracle, path, layout)


@pytest.fixture
def metadata(path: Path) -> Metadata:
    return Metadata(path)


def skips_right(model: Model, path: Path, oracle: Oracle) -> None:
    """With a filter both engines leave out files by statistics, and lose no row."""
    rows = model.expected().to_pylist()
    for ts in (100, 401, 1200, max(row["ts"] for row in rows)):
        wanted = sorted(row["id"] for row in rows if row["ts"] == ts)
        ours = hudini.open(path).read(columns=["id"], filter=f"ts = {ts}").to_arrow()
        theirs = oracle.read(path, SKIPPING, filter=f"ts = {ts}", columns=["id"])
        assert sorted(ours["id"].to_pylist()) == sorted(theirs["id"].to_pylist()) == wanted


@EVERY_LAYOUT
def test_what_hudini_keeps_apache_goes_on_with(
    layout: Layout, apache: Apache, metadata: Metadata, path: Path, oracle: Oracle
) -> None:
    rows, model, engine = Rows(seed=11), Model(partitioned=layout.partitioned), Local(path, KEPT)
    create(path, layout)
    step(engine.bulk_insert, rows.batch(range(40), ts=100), model)
    born = metadata.born()
    for start in range(40, 160, 20):
        step(engine.upsert, mixed_batch(rows, start=start), model)
    holds(model, engine, apache)
    metadata.is_sound()
    skips_right(model, path, oracle)
    kept = metadata.kept()
    assert "column_stats" in kept and ("partition_stats" in kept) == layout.partitioned

    step(apache.upsert, mixed_batch(rows, start=160), model)
    holds(model, apache, engine)
    metadata.is_sound()
    if layout.table_type == "mor":
        apache.compact()
        holds(model, apache, engine)
        metadata.is_sound()
    for start in range(180, 320, 20):
        step(engine.upsert, mixed_batch(rows, start=start), model)
    step(apache.upsert, mixed_batch(rows, start=320), model)
    step(engine.upsert, mixed_batch(rows, start=340), model)
    holds(model, engine, apache)
    metadata.is_sound()
    skips_right(model, path, oracle)
    assert metadata.born() == born, "it was built anew"
    assert metadata.kept() == kept
    assert metadata.compactions() > 0


@EVERY_LAYOUT
def test_what_apache_keeps_hudini_goes_on_with(layout: Layout, apache: Apache, metadata: Metadata, path: Path) -> None:
    rows, model, engine = Rows(seed=12), Model(partitioned=layout.partitioned), Local(path, {**KEPT, **INDEX})
    step(apache.create, rows.batch(range(40), ts=100), model)
    step(apache.upsert, mixed_batch(rows, start=40), model)
    born, kept = metadata.born(), metadata.kept()
    for start in range(60, 240, 20):
        step(engine.upsert, mixed_batch(rows, start=start), model)
    holds(model, engine, apache)
    metadata.is_sound()
    step(apache.upsert, mixed_batch(rows, start=240), model)
    step(engine.upsert, mixed_batch(rows, start=260), model)
    holds(model, engine, apache)
    metadata.is_sound()
    assert metadata.born() == born, "it was built anew"
    assert metadata.kept() == kept


@EVERY_LAYOUT
def test_the_record_index_in_turns(layout: Layout, metadata: Metadata, path: Path, oracle: Oracle) -> None:
    rows, model = Rows(seed=13), Model(partitioned=layout.partitioned)
    engine, apache = Local(path, KEPT), Apache(oracle, path, layout, index=BY_RECORDS)
    create(path, layout, BY_RECORDS)
    step(engine.bulk_insert, rows.batch(range(40), ts=100), model)
    born = metadata.born()
    for start in range(40, 120, 20):
        step(engine.upsert, mixed_batch(rows, start=start), model)
    gone = rows.batch(range(0, 120, 7), ts=5000)
    engine.delete(gone)
    model.delete(row["id"] for row in gone)
    holds(model, engine, apache)
    metadata.is_sound()

    step(apache.upsert, mixed_batch(rows, start=120), model)
    holds(model, apache, engine)
    metadata.is_sound()
    for start in range(140, 260, 20):
        step(engine.upsert, mixed_batch(rows, start=start), model)
    if layout.table_type == "mor":
        apache.compact()
        hudini.open(path).services.compact()
    step(apache.upsert, mixed_batch(rows, start=260), model)
    gone = rows.batch(range(0, 240, 9), ts=9000)
    apache.delete(gone)
    model.delete(row["id"] for row in gone)
    step(engine.upsert, mixed_batch(rows, start=280), model)
    holds(model, engine, apache)
    metadata.is_sound()
    wanted = [row["id"] for row in model.expected().to_pylist()][::17]
    for key in wanted:
        found = oracle.read(path, SKIPPING, filter=f"id = '{key}'", columns=["id"])
        assert found["id"].to_pylist() == [key]
    assert metadata.born() == born, "it was built anew"
    assert "record_index" in metadata.kept()


@EVERY_LAYOUT
def test_a_record_index_of_apache_is_gone_on_with(
    layout: Layout, metadata: Metadata, path: Path, oracle: Oracle
) -> None:
    rows, model = Rows(seed=14), Model(partitioned=layout.partitioned)
    engine, apache = Local(path), Apache(oracle, path, layout, index=BY_RECORDS)
    step(apache.create, rows.batch(range(40), ts=100), model)
    step(apache.upsert, mixed_batch(rows, start=40), model)
    born, kept = metadata.born(), metadata.kept()
    for start in range(60, 120, 20):
        step(engine.upsert, mixed_batch(rows, start=start), model)
    metadata.is_sound()
    step(apache.upsert, mixed_batch(rows, start=120), model)
    step(engine.upsert, mixed_batch(rows, start=140), model)
    holds(model, engine, apache)
    metadata.is_sound()
    assert metadata.born() == born, "it was built anew"
    assert metadata.kept() == kept


@pytest.mark.parametrize("index", [INDEX, BY_RECORDS], ids=["buckets", "records"])
@pytest.mark.parametrize("layout", [Layout("mor", partitioned=True), Layout("cow", partitioned=False)], ids=str)
def test_it_lives_on_for_sixty_commits(layout: Layout, index: dict[str, str], path: Path, oracle: Oracle) -> None:
    """It is cleaned and archived beside its table, and Apache Hudi goes on with what is left."""
    rows, model, engine = Rows(seed=15), Model(partitioned=layout.partitioned), Local(path, index)
    metadata, apache = Metadata(path), Apache(oracle, path, layout, index)
    create(path, layout, index)
    for turn in range(60):
        step(engine.upsert, rows.batch(range(turn, turn + 8), ts=turn), model)
    own = path / ".hoodie/metadata/.hoodie/timeline"
    assert list(own.glob("*.clean")), "it is never cleaned"
    assert list((own / "history").glob("*.parquet")), "it is never archived"
    # It keeps what the table's own timeline has: of copy-on-write tables a clean for each commit too.
    most = 40 if layout.table_type == "mor" else len(oracle.timeline(path)) + 12
    assert len(list(own.glob("*.deltacommit"))) < most
    metadata.is_sound()
    holds(model, engine, apache)
    for turn in range(60, 63):
        step(apache.upsert, rows.batch(range(turn, turn + 8), ts=turn), model)
    step(engine.upsert, rows.batch(range(70), ts=100), model)
    holds(model, engine, apache)
    metadata.is_sound()
