"""What a killed engine leaves behind must not confuse the other: it reads, takes back what hangs, and writes on."""

from __future__ import annotations

import os
import random
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import hudini
from tests.concurrency.crashing import crash
from tests.support.rows import Model, Rows

from .apache import INDEX, Apache, Layout
from .engines import Local, create
from .oracle import Oracle, OracleError
from .scenes import holds, step

pytestmark = pytest.mark.interop


@pytest.mark.parametrize("table_type", ["cow", "mor"])
def test_apache_goes_on_after_killed_writers(table_type: str, oracle: Oracle, tmp_path: Path) -> None:
    path, layout, chance = tmp_path / "table", Layout(table_type, partitioned=False), random.Random(table_type)
    rows, model = Rows(seed=6), Model(partitioned=False)
    engine, apache = Local(path), Apache(oracle, path, layout)
    create(path, layout)

    for round_ in range(4):
        crash(path, number=round_, first=4 * round_, new_files=chance.randrange(12), model=model)
        holds(model, engine, apache)
        step(apache.upsert, rows.batch(range(4 * round_, 4 * round_ + 10), ts=100_000 + round_), model)
        holds(model, engine, apache)
    assert {row["state"] for row in oracle.timeline(path)} == {"completed"}


@pytest.mark.parametrize("table_type", ["cow", "mor"])
def test_hudini_goes_on_after_a_killed_apache(table_type: str, oracle: Oracle, tmp_path: Path) -> None:
    path, layout = tmp_path / "table", Layout(table_type, partitioned=True)
    rows, model = Rows(seed=7), Model(partitioned=True)
    engine, apache = Local(path, INDEX), Apache(oracle, path, layout)
    step(apache.first_upsert, rows.batch(range(30), ts=100), model)

    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(apache.upsert, rows.batch(range(20, 50), ts=200))
        while not begun(path):
            assert not writing.done(), "the write was done before it could be killed"
        kill(oracle.pid)
        assert isinstance(writing.exception(), OracleError)
    holds(model, engine)

    step(engine.upsert, rows.batch(range(10, 40), ts=300), model)
    assert not begun(path), "what was left is taken back"
    holds(model, engine, apache)
    step(apache.upsert, rows.batch(range(40, 60), ts=400), model)
    holds(model, engine, apache)
    assert [found for found in hudini.open(path).verify(deep=True).findings if found.level == "damage"] == []
    assert {row["state"] for row in oracle.timeline(path)} == {"completed"}


def begun(path: Path) -> list[Path]:
    """Where the writes under way say which files they have begun."""
    return list((path / ".hoodie" / ".temp").glob("*/MARKERS*"))


def kill(pid: int) -> None:
    """Ends the process and those below it, without a word."""
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        kill(int(child))
    os.kill(pid, signal.SIGKILL)
