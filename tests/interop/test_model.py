"""The model of the round trips against Apache Hudi alone: if they disagree, the model is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.rows import Model, Rows

from .apache import LAYOUTS, Apache, Layout
from .oracle import Oracle
from .scenes import holds, mixed_batch, step

pytestmark = pytest.mark.interop


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_apache_alone_does_what_the_model_says(layout: Layout, oracle: Oracle, tmp_path: Path) -> None:
    rows, model = Rows(seed=0), Model(partitioned=layout.partitioned)
    apache = Apache(oracle, tmp_path / "table", layout)

    step(apache.create, rows.batch(range(40), ts=100), model)
    holds(model, apache)
    for start in (40, 60):
        step(apache.upsert, mixed_batch(rows, start), model)
        holds(model, apache)
    gone = rows.batch(range(0, 20, 3), ts=1)
    apache.delete(gone)
    model.delete(row["id"] for row in gone)
    holds(model, apache)
    step(apache.upsert, rows.batch(range(0, 20, 2), ts=10_000), model)
    if layout.table_type == "mor":
        apache.compact()
    holds(model, apache)
