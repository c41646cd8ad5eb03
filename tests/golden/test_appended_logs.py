"""Up to version 6 writers append to the newest log file where they can, which golden tables do not show."""

from __future__ import annotations

from pathlib import Path

import pytest

import hudini
from tests.support.compare import difference

from . import catalogue


def appended(folder: Path) -> int:
    """Brings the blocks of each slice's logs together in its first log, as if they had been appended to it."""
    moved: dict[str, str] = {}
    for first in folder.rglob(".*.log.1_*"):
        stem = first.name.split(".log.")[0]
        others = [file for file in first.parent.glob(f"{stem}.log.*") if file != first]
        for log in sorted(others, key=lambda file: int(file.name.split(".log.")[1].split("_")[0])):
            first.write_bytes(first.read_bytes() + log.read_bytes())
            moved[log.name] = first.name
            log.unlink()
    for commit in (folder / ".hoodie").glob("*.deltacommit"):
        text = commit.read_text()
        for name, new in moved.items():
            text = text.replace(name, new)
        commit.write_text(text)
    return len(moved)


@pytest.mark.parametrize("case", ["mor_core_v6", "mor_event_time_ties_v6", "mor_parquet_log_v6"])
def test_ranges_have_the_blocks_of_their_writes(case: str, tmp_path: Path) -> None:
    options = {"hoodie.metadata.enable": "false"}
    folder = catalogue.unpack(case, tmp_path / "appended")
    assert appended(folder) > 0
    whole, table = (hudini.open(each, options=options) for each in (catalogue.unpack(case, tmp_path / "whole"), folder))
    assert difference(table.read().to_arrow(), whole.read().to_arrow()) is None
    times = ["000", *(row["requested"] for row in whole.inspect.timeline() if row["completed"])]
    for at, start in enumerate(times):
        for end in times[at + 1 :]:
            expected = whole.incremental(start, end).to_arrow()
            assert difference(table.incremental(start, end).to_arrow(), expected) is None, (start, end)
