"""Merging within a memory limit, and tables that live in memory."""

from __future__ import annotations

import pickle
from pathlib import Path

import pyarrow as pa
import pytest

import hudini

ROWS = 500


def rows(first: int, count: int, ts: int) -> pa.Table:
    numbers = range(first, first + count)
    texts = [f"{ts}/{n}/" + "x" * 1000 for n in numbers]
    return pa.table({"id": [f"k{n}" for n in numbers], "ts": [ts] * count, "text": texts})


def with_a_log(path: str) -> hudini.Table:
    schema = pa.schema([pa.field("id", pa.string(), False), pa.field("ts", pa.int64(), False), ("text", pa.string())])
    options = {"hoodie.bucket.index.num.buckets": 1}
    table = hudini.create(path, schema, record_key="id", ordering="ts", table_type="mor", options=options)
    table.upsert(rows(0, ROWS, 1))
    table.upsert(rows(ROWS // 2, ROWS, 2))
    return table


@pytest.mark.parametrize("limit", [200_000, "200kB", "196 KiB"])
def test_rows_do_not_depend_on_the_limit(limit: int | str, tmp_path: Path) -> None:
    table = with_a_log(str(tmp_path / "t"))
    scan = table.read(memory_limit=limit)
    assert scan.to_arrow() == table.read().to_arrow()
    pieces = [pickle.loads(pickle.dumps(split)) for split in scan.splits()]
    assert pa.concat_tables([pa.table(hudini.read_split(piece)) for piece in pieces]) == scan.to_arrow()


@pytest.mark.parametrize("wrong", [-1, "", "MB", "0.2MB", "12 parsecs", 1.5, True])
def test_what_is_no_number_of_bytes_is_refused(wrong: object, tmp_path: Path) -> None:
    table = hudini.create(tmp_path / "t", {"id": "string not null"}, record_key="id")
    with pytest.raises(hudini.InvalidOption, match="memory_limit"):
        table.read(memory_limit=wrong)


def test_keys_that_do_not_fit_are_an_error_with_a_way_out(tmp_path: Path) -> None:
    table = with_a_log(str(tmp_path / "t"))
    with pytest.raises(hudini.MemoryLimit, match="raise memory_limit") as caught:
        table.read(memory_limit=100).to_arrow()
    assert isinstance(caught.value, MemoryError)


def test_the_option_says_it_too(tmp_path: Path) -> None:
    with_a_log(str(tmp_path / "t"))
    table = hudini.open(tmp_path / "t", options={"hoodie.memory.merge.max.size": 100})
    with pytest.raises(hudini.MemoryLimit):
        table.read().to_arrow()
    assert table.read(memory_limit="1g").to_arrow().num_rows == ROWS + ROWS // 2


def test_a_table_in_memory() -> None:
    table = with_a_log("memory://test_a_table_in_memory")
    assert hudini.open("memory://test_a_table_in_memory").read().count() == ROWS + ROWS // 2
    assert table.verify(deep=True).ok
    with pytest.raises(hudini.TableExists):
        with_a_log("memory://test_a_table_in_memory")
    with pytest.raises(hudini.TableNotFound):
        hudini.open("memory://another")
