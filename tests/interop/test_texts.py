"""Texts that engines may order, or take apart, in more than one way."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import hudini

from .oracle import Oracle

pytestmark = pytest.mark.interop

# By bytes the first is less than the second, by UTF-16 units it is greater.
LESS, GREATER = "\uff19", "\U0001f6f6"


def options(table_type: str, more: dict[str, str]) -> dict[str, str]:
    return {
        "hoodie.table.name": "t",
        "hoodie.datasource.write.table.type": table_type,
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.operation": "upsert",
        "hoodie.index.type": "SIMPLE",
        "hoodie.compact.inline": "false",
        "hoodie.parquet.small.file.limit": "0",
        **more,
    }


@pytest.mark.parametrize("version", ["9", "6"])
def test_texts_are_ordered_by_their_bytes(oracle: Oracle, tmp_path: Path, version: str) -> None:
    path = tmp_path / "t"
    told = options(
        "MERGE_ON_READ",
        {
            "hoodie.datasource.write.precombine.field": "at",
            "hoodie.datasource.write.partitionpath.field": "",
            "hoodie.record.merge.mode": "EVENT_TIME_ORDERING",
            "hoodie.write.table.version": version,
        },
    )

    def write(rows: list[tuple[str, str, int]], mode: str = "append") -> None:
        ids, at, values = (list(column) for column in zip(*rows, strict=True))
        oracle.write(path, pa.table({"id": ids, "at": at, "v": values}), told, mode)

    def both() -> tuple[dict[str, int], dict[str, int]]:
        tables = oracle.read(path), hudini.open(path).read().to_arrow()
        theirs, ours = (dict(zip(t["id"].to_pylist(), t["v"].to_pylist(), strict=True)) for t in tables)
        return theirs, ours

    write([("a", LESS, 1), ("b", GREATER, 1)], "overwrite")
    write([("a", GREATER, 2), ("b", LESS, 2)])
    assert both() == ({"a": 2, "b": 1},) * 2
    write([("a", LESS, 3), ("b", GREATER, 3)])
    assert both() == ({"a": 2, "b": 3},) * 2
    if version != "6":
        hudini.open(path).services.compact()
        assert both() == ({"a": 2, "b": 3},) * 2


def test_what_stands_before_an_equals_sign_in_a_folder_is_a_name(oracle: Oracle, tmp_path: Path) -> None:
    path = tmp_path / "t"
    rows = pa.table({"id": ["a", "b", "c", "d"], "p": ["x=y", "p=z", "z", "x=y=z"], "v": [1, 2, 3, 4]})
    told = options("COPY_ON_WRITE", {"hoodie.datasource.write.partitionpath.field": "p"})
    oracle.write(path, rows, told, "overwrite")
    expected = {"a": "y", "b": "z", "c": "z", "d": "y=z"}
    table = hudini.open(path)
    for found in oracle.read(path), table.read().to_arrow():
        assert dict(zip(found["id"].to_pylist(), found["p"].to_pylist(), strict=True)) == expected
    assert sorted(table.read(filter="p = 'z'").to_arrow()["id"].to_pylist()) == ["b", "c"]
    with pytest.raises(hudini.SchemaMismatch, match="no directory name"):
        table.upsert(rows.slice(0, 1))
