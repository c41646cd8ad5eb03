"""Real processes on one table: nothing acknowledged is lost, no key stands twice, and a dead writer stops nobody."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import hudini
from tests.support.rows import Model, to_arrow

from .crashing import crash, mismatch
from .writing import MOST_WRITERS, Writer, batches, create

TABLE_TYPES = pytest.mark.parametrize("table_type", ["cow", "mor"])
COMMITS = 20
KILLS = 8


@TABLE_TYPES
def test_two_writers_lose_nothing(table_type: str, tmp_path: Path) -> None:
    path = tmp_path / "table"
    create(path, table_type)

    writers = [Writer(path, number, COMMITS) for number in (1, 2)]
    try:
        for writer in writers:
            writer.go()
        assert [writer.acknowledged() for writer in writers] == [COMMITS, COMMITS], [w.complaint() for w in writers]
        assert [writer.exit_code for writer in writers] == [0, 0]
    finally:
        for writer in writers:
            writer.close()

    model = Model(partitioned=False)
    for number in (1, 2):
        for batch in batches(number, COMMITS):
            model.upsert(batch)
    assert mismatch(path, model) is None, mismatch(path, model)
    # An attempt that lost against the other writer may leave a rollback; it leaves no commit. Older ones are archived.
    timeline = hudini.open(str(path)).inspect.timeline(archived=True)
    commits = [row["requested"] for row in timeline if row["operation"] == "upsert"]
    assert len(set(commits)) == len(commits) == 2 * COMMITS


@TABLE_TYPES
def test_a_killed_writer_leaves_a_table_that_the_next_one_can_use(table_type: str, tmp_path: Path) -> None:
    path, chance = tmp_path / "table", random.Random(table_type)
    create(path, table_type)
    model = Model(partitioned=False)

    for round_ in range(KILLS):
        crash(path, number=round_, first=3 * round_, new_files=chance.randrange(15), model=model)
        # The next writer is another process (this one), and need not wait for anything.
        [batch] = batches(writer=MOST_WRITERS - 1 - round_, commits=1, first=3 * round_ + 2)
        committed = hudini.open(str(path)).upsert(to_arrow(batch))
        model.upsert(batch)
        assert committed.instant == next(
            row["instant"] for row in hudini.open(str(path)).history() if row["action"] != "clean"
        )
        assert mismatch(path, model) is None, mismatch(path, model)
