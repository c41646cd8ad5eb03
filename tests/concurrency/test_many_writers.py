"""Crowds of processes on one table: what was acknowledged stays, whoever is paused or killed, whatever is cleaned away.

A few small crowds by default. `HUDINI_CROWDS=all` plays all of them, with as many commits as a night allows;
`HUDINI_CROWDS_SEED` brings others. CONTRIBUTING.md says more.
"""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import pytest

from .crowd import MENDED_SECONDS, Crowd, Scene, check

SEED = int(os.environ.get("HUDINI_CROWDS_SEED", "1"))

# Writers, table type and version, index, metadata table, kills, pauses: each of them with each of the others, as far as
# so few can.
SMALL = [
    Scene(SEED, 2, 8, "cow", "bucket", metadata=True, kills=1, pauses=1),
    Scene(SEED, 4, 6, "mor", "bucket", metadata=False, kills=2, pauses=1, version=8),
    Scene(SEED, 4, 6, "cow", "bloom", metadata=False, kills=2, pauses=1),
    Scene(SEED, 2, 8, "mor", "record_index", metadata=True, kills=1, pauses=1),
    Scene(SEED, 8, 4, "mor", "bucket", metadata=True, kills=2, pauses=2),
    Scene(SEED, 8, 4, "cow", "simple", metadata=True, kills=2, pauses=2, version=8),
]
FULL = [
    Scene(SEED, writers, 50, table_type, index, metadata, kills=2 * writers, pauses=writers // 2, version=version)
    for writers, table_type, index, metadata, version in itertools.product(
        (2, 4, 8), ("cow", "mor"), ("bucket", "simple", "bloom", "record_index"), (False, True), (9, 8)
    )
    if metadata or index != "record_index"
]
SCENES = FULL if os.environ.get("HUDINI_CROWDS") == "all" else SMALL


@pytest.mark.parametrize("scene", SCENES, ids=str)
def test_a_crowd_of_writers_loses_nothing(scene: Scene, tmp_path: Path) -> None:
    crowd = Crowd(scene, tmp_path / "table")
    crowd.play()
    check(crowd)
    # Those who were to be killed were killed, and nobody stood in the way of the services or the reader.
    assert crowd.told["killed"] > 0
    assert 0 < max(crowd.mended) < MENDED_SECONDS, crowd.mended
    assert all(crowd.told[name] > 0 for name in ("clean", "archive", "read"))
    assert crowd.warnings == []
