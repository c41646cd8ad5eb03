"""What a killed hudini leaves behind must not confuse Apache Hudi: it reads, rolls back what hangs, and writes on."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.concurrency.crashing import crash
from tests.support.rows import Model, Rows

from .apache import Apache, Layout
from .engines import Local, create
from .oracle import Oracle
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
