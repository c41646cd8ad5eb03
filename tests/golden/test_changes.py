"""Changes must add up: a state of a golden table, less the rows before and plus those after, is the newest state."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import hudini
from tests.support.changes import unexplained

from . import catalogue


def cases() -> list[str]:
    """Those whose newest state hudini reads right."""
    listed = catalogue.not_yet()
    snapshots = [read for read in catalogue.reads() if read.facts["query"] == "snapshot" and not read.wants_error]
    return sorted({read.case for read in snapshots if str(read) not in listed and not read.session})


@pytest.mark.parametrize("case", cases())
def test_changes_add_up(case: str, tmp_path: Path) -> None:
    table = catalogue.opened(case, tmp_path)
    newest = table.read(meta=False).to_arrow()
    timeline = table.inspect.timeline()
    checked = 0
    for instant in [None, *[row for row in timeline if row["completed"] and in_order(row, timeline)][-3:]]:
        try:
            state = newest.slice(0, 0) if instant is None else as_of(table, instant)
            feed = table.changes(instant and instant["completed"]).to_arrow()
        except (hudini.InstantCleaned, hudini.InstantNotFound):
            continue
        if state.schema != newest.schema:
            continue
        assert not unexplained(feed, state, newest)
        checked += 1
    assert checked


def in_order(one: dict[str, Any], rows: list[dict[str, Any]]) -> bool:
    """States go by requested times and changes by completion times: here both hold the same writes, and whole.

    Of a write beside which a compaction was planned, time travel shows what it did not write to logs.
    """
    completed = [row for row in rows if row["completed"]]
    alike = all((row["requested"] <= one["requested"]) == (row["completed"] <= one["completed"]) for row in completed)
    return alike and not any(one["requested"] < row["requested"] <= one["completed"] for row in rows)


def as_of(table: hudini.Table, instant: dict[str, Any]) -> pa.Table:
    return table.read(meta=False, as_of=instant["requested"]).to_arrow()
