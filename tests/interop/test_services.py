"""Cleaning and archiving by turns: each engine reads what the other left, goes back in time, and cleans on."""

from __future__ import annotations

from pathlib import Path

import pytest

import hudini
from tests.support.rows import Model, Rows

from .apache import INDEX, Apache, Layout
from .engines import Local, create
from .oracle import Oracle
from .scenes import holds, named, step

pytestmark = pytest.mark.interop

SMALL = {
    "hoodie.clean.commits.retained": "3",
    "hoodie.keep.min.commits": "5",
    "hoodie.keep.max.commits": "8",
    "hoodie.timeline.compaction.batch.size": "2",
}
LAYOUTS = [Layout("cow", partitioned=True), Layout("mor", partitioned=False)]


def commits(path: Path, archived: bool) -> list[str]:
    """Requested times of the commits that hudini lists."""
    lines = hudini.open(path).inspect.timeline(archived=archived)
    return [line["requested"] for line in lines if line["action"].endswith("commit") and line["state"] == "completed"]


def listed_by_apache(oracle: Oracle, path: Path) -> set[str]:
    """Requested times of all actions that Apache Hudi lists, archived ones too."""
    name = named(oracle, path)
    # By default it leaves out what is not yet a day old.
    always = "start_ts => '00000000000000000', end_ts => '99991231235959999', limit => 1000"
    archived = oracle.sql(f"CALL show_archived_commits(table => '{name}', {always})")
    active = {line["requested"] for line in oracle.timeline(path)}
    return active | {row["commit_time"] for row in archived}


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_tables_that_hudini_cleans_and_archives(layout: Layout, oracle: Oracle, tmp_path: Path) -> None:
    path, rows, model = tmp_path / "table", Rows(seed=11), Model(partitioned=layout.partitioned)
    engine = Local(path, {**INDEX, **SMALL})
    apache = Apache(oracle, path, layout, {**INDEX, **SMALL})
    create(path, layout)
    for round_ in range(42):
        step(engine.upsert, rows.batch(range(round_ % 5, 20, 2), ts=100 + round_), model)
    every = commits(path, archived=True)
    active = commits(path, archived=False)
    assert len(every) == 42
    assert len(active) <= 9
    holds(model, engine, apache)
    assert set(every) <= listed_by_apache(oracle, path)
    as_of(oracle, path, active[-3:])

    for round_ in range(42, 54):  # Apache Hudi cleans and archives as it goes
        step(apache.upsert, rows.batch(range(round_ % 5, 20, 3), ts=100 + round_), model)
    holds(model, apache, engine)
    assert len(commits(path, archived=True)) == 54
    assert len(commits(path, archived=False)) <= 12

    for round_ in range(54, 66):
        step(engine.upsert, rows.batch(range(round_ % 5, 20, 4), ts=100 + round_), model)
    holds(model, engine, apache)
    assert len(commits(path, archived=True)) == 66
    assert len(commits(path, archived=False)) <= 12
    assert hudini.open(path).verify(deep=True).ok
    assert {line["state"] for line in oracle.timeline(path)} == {"completed"}


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_tables_that_apache_cleans_and_archives(layout: Layout, oracle: Oracle, tmp_path: Path) -> None:
    path, rows, model = tmp_path / "table", Rows(seed=12), Model(partitioned=layout.partitioned)
    engine = Local(path, {**INDEX, **SMALL})
    # Without its metadata table, whose compactions archiving would have to wait for.
    apache = Apache(oracle, path, layout, {**INDEX, **SMALL, "hoodie.metadata.enable": "false"})
    step(apache.create, rows.batch(range(20), ts=50), model)
    for round_ in range(14):
        step(apache.upsert, rows.batch(range(round_ % 5, 20, 2), ts=100 + round_), model)
    holds(model, apache, engine)
    assert len(commits(path, archived=False)) < 15, "Apache Hudi archived"

    for round_ in range(14, 30):
        step(engine.upsert, rows.batch(range(round_ % 5, 20, 3), ts=100 + round_), model)
    holds(model, engine, apache)
    every = commits(path, archived=True)
    assert len(every) == 31
    assert len(commits(path, archived=False)) <= 12
    assert set(every) <= listed_by_apache(oracle, path)
    as_of(oracle, path, commits(path, archived=False)[-3:])

    for round_ in range(30, 36):
        step(apache.upsert, rows.batch(range(round_ % 5, 20, 4), ts=100 + round_), model)
    holds(model, apache, engine)
    assert len(commits(path, archived=True)) == 37
    assert hudini.open(path).verify(deep=True).ok


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_each_engine_finishes_a_clean_that_the_other_planned(layout: Layout, oracle: Oracle, tmp_path: Path) -> None:
    path, rows, model = tmp_path / "table", Rows(seed=13), Model(partitioned=layout.partitioned)
    by_hand = {**INDEX, "hoodie.clean.automatic": "false", "hoodie.archive.automatic": "false"}
    engine, apache = Local(path, by_hand), Apache(oracle, path, layout, by_hand)
    # Without the key a client of Apache Hudi fails on the settings of buckets.
    key = {"hoodie.datasource.write.recordkey.field": "id"}
    names = {"hoodie.table.name": "trips", **by_hand, **key, "hoodie.clean.commits.retained": "2"}
    create(path, layout)
    for round_ in range(3):
        step(engine.upsert, rows.batch(range(10), ts=100 + round_), model)
        if layout.table_type == "mor" and round_ > 0:
            apache.compact()
    for round_ in range(3, 6):
        step(engine.upsert, rows.batch(range(10), ts=100 + round_), model)

    planned = hudini.open(path).services.clean(execute=False, retain=2)
    assert planned.instant
    assert planned.files
    assert all((path / file).exists() for file in planned.files)
    oracle.service(path, "clean", options=names)
    assert not any((path / file).exists() for file in planned.files)
    assert {line["state"] for line in oracle.timeline(path)} == {"completed"}
    holds(model, engine, apache)

    for round_ in range(6, 9):
        step(apache.upsert, rows.batch(range(10), ts=100 + round_), model)
        if layout.table_type == "mor":
            apache.compact()
    instant = oracle.service(path, "plan", "CLEAN", options=names)
    assert instant
    done = hudini.open(path).services.clean(schedule=False)
    assert done.finished == [instant]
    assert done.files
    assert not any((path / file).exists() for file in done.files)
    assert {line["state"] for line in oracle.timeline(path)} == {"completed"}
    holds(model, engine, apache)
    step(apache.upsert, rows.batch(range(10), ts=200), model)
    holds(model, engine, apache)


def as_of(oracle: Oracle, path: Path, instants: list[str]) -> None:
    """Both engines see the same rows as of each instant."""
    for instant in instants:
        theirs = oracle.read(path, {"as.of.instant": instant}, columns=["id", "ts"])
        ours = hudini.open(path).read(columns=["id", "ts"], as_of=instant).to_arrow()
        assert sorted(ours.to_pylist(), key=str) == sorted(theirs.to_pylist(), key=str)
        assert ours.num_rows > 0
