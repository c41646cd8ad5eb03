"""What the splits of a scan take along of what was asked."""

from __future__ import annotations

from pathlib import Path

import pytest

import hudini

from . import catalogue


@pytest.fixture
def table(tmp_path: Path) -> hudini.Table:
    return hudini.open(catalogue.unpack("mor_core_v9", tmp_path))


def test_a_scan_with_a_limit_has_no_splits(table: hudini.Table) -> None:
    scan = table.read(limit=2)
    assert scan.count() == 2
    with pytest.raises(hudini.InvalidOption, match="limit") as caught:
        scan.splits()
    assert "limit" in str(caught.value.hint)


def test_batches_of_splits_are_as_large_as_the_scan_asked_for(table: hudini.Table) -> None:
    def sizes(split: hudini.Split, batch_size: int | None = None) -> list[int]:
        return [batch.num_rows for batch in hudini.read_split(split, batch_size=batch_size)]

    splits = table.read(batch_size=3).splits()
    assert sum(sum(sizes(split)) for split in splits) == table.read().count()
    assert max(max(sizes(split)) for split in splits) == 3
    assert max(max(sizes(split, 5)) for split in splits) == 5
