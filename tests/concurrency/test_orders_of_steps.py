"""Whatever the order in which writers and services come to their steps: nothing is lost, no key is there twice."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from .orders import Orders

SEED = int(os.environ.get("HUDINI_CROWDS_SEED", "1"))
IS_FULL = os.environ.get("HUDINI_CROWDS") == "all"
SEEDS = range(SEED, SEED + (50 if IS_FULL else 1))
STEPS = 150 if IS_FULL else 80


@pytest.mark.parametrize("metadata", [False, True], ids=["plain", "metadata"])
@pytest.mark.parametrize("table_type", ["cow", "mor"])
@pytest.mark.parametrize("seed", SEEDS)
def test_no_order_loses_anything(seed: int, table_type: str, metadata: bool, tmp_path: Path) -> None:
    orders = Orders(tmp_path / "table", seed, table_type, metadata)
    orders.play(STEPS)
    assert orders.commits > 15 and orders.conflicts > 0
