"""Compaction between two engines: what one plans the other does, what one folds the other reads and goes on from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import hudini
import hudini.spark as hs
from tests.support.compare import difference
from tests.support.rows import Model, Rows

from .apache import INDEX, Apache, Layout
from .engines import Local, create
from .oracle import Oracle
from .scenes import alike, holds, instants, mixed_batch, step, validated

pytestmark = pytest.mark.interop

LAYOUTS = [Layout("mor", partitioned) for partitioned in (False, True)]
EVERY_LAYOUT = pytest.mark.parametrize("layout", LAYOUTS, ids=str)
# Keys that no other write touches: a late row behind a delete in the logs of one slice brings back the row in its base
# file, and behind a compaction it is an insert. That is Apache Hudi's rule, and not what is asked here.
DELETED = range(1000, 1024)
Compact = Callable[..., hudini.CommitResult]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "table"


@pytest.fixture
def apache(oracle: Oracle, path: Path, layout: Layout) -> Apache:
    return Apache(oracle, path, layout)


@pytest.fixture(params=["local", pytest.param("spark", marks=pytest.mark.spark)])
def compact(request: pytest.FixtureRequest, path: Path) -> Compact:
    """hudini's compaction, on threads and on PySpark."""
    if request.param == "local":
        return lambda **how: hudini.open(str(path)).services.compact(**how)
    spark = request.getfixturevalue("spark")
    return lambda **how: hs.compact(spark, str(path), **how)


def begun(path: Path, layout: Layout) -> tuple[Rows, Model, Local]:
    """A table of hudini with logs: updates, late ones, inserts, deletes."""
    rows, model, engine = Rows(seed=11), Model(partitioned=layout.partitioned), Local(path)
    create(path, layout)
    step(engine.bulk_insert, rows.batch([*range(40), *DELETED], ts=100), model)
    step(engine.upsert, mixed_batch(rows, start=40), model)
    gone = rows.batch(DELETED[::2], ts=1)
    engine.delete(gone)
    model.delete(row["id"] for row in gone)
    step(engine.upsert, mixed_batch(rows, start=60), model)
    return rows, model, engine


@EVERY_LAYOUT
def test_hudini_plans_and_folds(layout: Layout, compact: Compact, apache: Apache, oracle: Oracle, path: Path) -> None:
    rows, model, engine = begun(path, layout)
    holds(model, engine, apache)
    before = pa.table(hudini.open(str(path)).read()).drop_columns(["_hoodie_file_name"])
    result = compact()
    assert result.action == "commit"
    after = pa.table(hudini.open(str(path)).read()).drop_columns(["_hoodie_file_name"])
    assert difference(after, before) is None
    holds(model, engine, apache)
    alike(oracle, path, instants(oracle, path))
    step(apache.upsert, mixed_batch(rows, start=80), model)
    holds(model, apache, engine)
    apache.compact()
    holds(model, apache, engine)
    step(engine.upsert, mixed_batch(rows, start=100), model)
    assert compact()
    holds(model, engine, apache)
    step(apache.upsert, mixed_batch(rows, start=120), model)
    holds(model, engine, apache)
    assert hudini.open(str(path)).verify().ok


@EVERY_LAYOUT
def test_hudini_plans_and_apache_folds(layout: Layout, apache: Apache, oracle: Oracle, path: Path) -> None:
    rows, model, engine = begun(path, layout)
    planned = hudini.open(str(path)).services.compact(execute=False).instant
    # What is logged from now on lies on top of the plan, whoever logs it.
    step(engine.upsert, mixed_batch(rows, start=80), model)
    step(apache.upsert, mixed_batch(rows, start=100), model)
    holds(model, engine, apache)
    done = oracle.compact(path, op="run")
    assert [row["timestamp"] for row in done] == [planned]
    holds(model, engine, apache)
    alike(oracle, path, [planned])
    assert hudini.open(str(path)).services.compact()
    holds(model, engine, apache)


@EVERY_LAYOUT
def test_apache_plans_and_hudini_folds(
    layout: Layout, compact: Compact, apache: Apache, oracle: Oracle, path: Path
) -> None:
    rows, model, engine = begun(path, layout)
    [planned] = oracle.compact(path, op="schedule")
    step(apache.upsert, mixed_batch(rows, start=80), model)
    step(engine.upsert, mixed_batch(rows, start=100), model)
    holds(model, engine, apache)
    done = compact(schedule=False)
    assert done.instant == planned["timestamp"]
    holds(model, engine, apache)
    alike(oracle, path, [done.instant])
    apache.compact()
    holds(model, apache, engine)
    step(engine.upsert, mixed_batch(rows, start=120), model)
    holds(model, engine, apache)


@pytest.mark.parametrize("mode", ["EVENT_TIME_ORDERING", "COMMIT_TIME_ORDERING"])
@pytest.mark.parametrize("index", [INDEX, {"hoodie.index.type": "SIMPLE"}], ids=["bucket", "simple"])
@EVERY_LAYOUT
def test_tables_of_apache(layout: Layout, mode: str, index: dict[str, str], oracle: Oracle, path: Path) -> None:
    rows = Rows(seed=12)
    apache = Apache(oracle, path, layout, {**index, "hoodie.write.record.merge.mode": mode})
    apache.create(rows.batch([*range(40), *DELETED], ts=100))
    apache.upsert(mixed_batch(rows, start=40))
    apache.delete(rows.batch(DELETED[::2], ts=1))
    apache.upsert(mixed_batch(rows, start=60))
    before = apache.read().drop_columns(["_hoodie_file_name"])
    assert hudini.open(str(path)).services.compact()
    assert difference(apache.read().drop_columns(["_hoodie_file_name"]), before) is None
    alike(oracle, path, instants(oracle, path))
    apache.upsert(mixed_batch(rows, start=80))
    before = apache.read().drop_columns(["_hoodie_file_name"])
    apache.compact()
    assert difference(apache.read().drop_columns(["_hoodie_file_name"]), before) is None
    alike(oracle, path, [])


@EVERY_LAYOUT
def test_an_attempt_that_died_is_repeated_by_the_other(
    layout: Layout, apache: Apache, oracle: Oracle, path: Path
) -> None:
    _, model, engine = begun(path, layout)
    compactions = hudini.open(str(path))._core.compactions(True, True, None, {})
    tasks = compactions.next()
    assert tasks
    from hudini import _core

    _core.run_compaction_task(tasks[0])
    del compactions  # the process ends here, with a file written and nothing committed
    holds(model, engine, apache)
    assert oracle.compact(path, op="run")
    holds(model, engine, apache)
    assert not hudini.open(str(path)).services.compact()
    assert {row["state"] for row in oracle.timeline(path)} == {"completed"}
    alike(oracle, path, [])


@pytest.mark.parametrize("form", ["avro", "parquet"])
@pytest.mark.parametrize("positions", ["true", "false"])
def test_apache_reads_and_folds_logs_of_every_form(oracle: Oracle, path: Path, form: str, positions: str) -> None:
    layout = Layout("mor", partitioned=True)
    rows, model, apache = Rows(seed=16), Model(partitioned=True), Apache(oracle, path, layout)
    told = {"hoodie.logfile.data.block.format": form, "hoodie.write.record.positions": positions}
    engine = Local(path, {**told, "hoodie.compact.inline": "false"})
    create(path, layout)
    step(engine.bulk_insert, rows.batch([*range(60), *DELETED], ts=100), model)
    # Updates alone: rows with a place in the base file.
    step(
        engine.upsert, rows.shuffled([*rows.batch(range(0, 60, 3), ts=200), *rows.batch(range(1, 60, 7), ts=5)]), model
    )
    gone = rows.batch(DELETED[::2], ts=1)
    engine.delete(gone)
    model.delete(row["id"] for row in gone)
    holds(model, engine, apache)
    alike(oracle, path, instants(oracle, path))
    step(engine.upsert, mixed_batch(rows, start=60), model)
    holds(model, engine, apache)
    apache.compact()
    holds(model, apache, engine)
    step(engine.upsert, mixed_batch(rows, start=80), model)
    step(apache.upsert, mixed_batch(rows, start=100), model)
    holds(model, apache, engine)


def log_versions(path: Path) -> dict[str, list[int]]:
    """The versions of the log files of each write and file group."""
    versions: dict[str, list[int]] = {}
    for file in sorted(path.glob("**/.*.log.*_*")):
        if ".hoodie" not in file.relative_to(path).parts and not file.name.endswith(".crc"):
            write, _, rest = file.name.partition(".log.")
            versions.setdefault(write, []).append(int(rest.partition("_")[0]))
    return {write: sorted(found) for write, found in versions.items()}


@pytest.mark.parametrize("form", ["avro", "parquet"])
def test_logs_that_roll_over(form: str, oracle: Oracle, path: Path) -> None:
    layout = Layout("mor", partitioned=False)
    small = {
        "hoodie.logfile.data.block.format": form,
        "hoodie.logfile.data.block.max.size": "2000",
        "hoodie.logfile.max.size": "4000",
    }
    engine, apache = Local(path, small), Apache(oracle, path, layout, {**INDEX, **small})
    rows, model = Rows(seed=17), Model(partitioned=False)
    create(path, layout)
    step(engine.bulk_insert, rows.batch(range(400), ts=100), model)
    for writer in (engine, apache, engine):
        before = log_versions(path)
        step(writer.upsert, mixed_batch(rows, start=400), model)
        gone = rows.batch(range(1, 400, 40), ts=1)
        writer.delete(gone)
        model.delete(row["id"] for row in gone)
        written = [versions for write, versions in log_versions(path).items() if write not in before]
        assert max(map(len, written)) > 1
        assert all(versions == [*range(1, len(versions) + 1)] for versions in written), written
        holds(model, engine, apache)
    alike(oracle, path, instants(oracle, path))
    validated(oracle, path)
    assert hudini.open(path).verify(deep=True).ok
    apache.compact()
    holds(model, engine, apache)
    step(engine.upsert, mixed_batch(rows, start=440), model)
    assert hudini.open(path).services.compact()
    holds(model, engine, apache)
