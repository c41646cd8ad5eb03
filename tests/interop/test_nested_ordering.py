"""Rows ordered by a field within a struct: both engines read, write and compact such tables alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import hudini
from tests.support.compare import difference

from .oracle import Oracle
from .oracle.queries import query_options

pytestmark = pytest.mark.interop

SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("a", pa.struct([("m", pa.string()), ("n", pa.int64())])),
        ("v", pa.string()),
        ("ts", pa.int64()),
        ("_hoodie_is_deleted", pa.bool_()),
    ]
)
KEYS = ["lower", "equal", "greater", "gone lower", "gone equal", "by key"]


def line(key: str, n: int | None, v: str, ts: int = 5, gone: bool = False) -> dict[str, Any]:
    return {"id": key, "a": {"m": v, "n": n}, "v": v, "ts": ts, "_hoodie_is_deleted": gone}


BASE = [line(key, 5, "base") for key in KEYS]
CHANGES = [
    line("lower", 4, "new", ts=9),
    line("equal", 5, "new"),
    line("greater", 10, "new"),
    line("gone lower", 4, "gone", gone=True),
    line("gone equal", 5, "gone", gone=True),
    line("fresh", 7, "1st"),
    line("fresh", 6, "2nd"),
]
AFTER = {"lower": "base", "equal": "new", "greater": "new", "gone lower": "base", "fresh": "1st"}


class Both:
    """One table, for Apache Hudi and for hudini."""

    def __init__(self, oracle: Oracle, path: Path, kind: str, version: int, ordering: str, **more: str) -> None:
        self.oracle, self.path, self.is_log = oracle, path, kind == "MERGE_ON_READ"
        self.options = {
            "hoodie.table.name": "t",
            "hoodie.datasource.write.table.type": kind,
            "hoodie.datasource.write.recordkey.field": "id",
            "hoodie.datasource.write.precombine.field": ordering,
            "hoodie.write.table.version": str(version),
            "hoodie.index.type": "SIMPLE",
            "hoodie.compact.inline": "false",
            "hoodie.metadata.enable": "false",
            "hoodie.parquet.small.file.limit": "0",
            **{name.replace("__", "."): value for name, value in more.items()},
        }

    def write(self, operation: str, rows: list[dict[str, Any]], mode: str = "append") -> None:
        options = {**self.options, "hoodie.datasource.write.operation": operation}
        self.oracle.write(self.path, pa.Table.from_pylist(rows, schema=SCHEMA), options, mode)

    def read(self) -> dict[str, str]:
        """v by key, which both engines say, whatever is asked of the table."""
        ours = hudini.open(self.path)
        for query in ["snapshot", "read_optimized"] if self.is_log else ["snapshot"]:
            theirs = self.oracle.read(self.path, query_options(query))
            assert difference(ours.read(mode=query).to_arrow(), theirs) is None, query
        theirs = self.oracle.read(self.path)
        assert difference(ours.read(["v", "id"]).to_arrow(), theirs.select(["v", "id"])) is None
        assert ours.read().count() == theirs.num_rows
        filtered = self.oracle.read(self.path, filter="a.n > 5", columns=["id"])
        assert difference(ours.read(["id"], filter="a.n > 5").to_arrow(), filtered) is None
        since = self.oracle.read(self.path, query_options("incremental", start="000"))
        assert difference(ours.incremental(start="000").to_arrow(), since) is None
        return {row["id"]: row["v"] for row in theirs.to_pylist()}


@pytest.mark.parametrize(
    ("kind", "version", "more"),
    [
        ("MERGE_ON_READ", 9, {}),
        ("MERGE_ON_READ", 9, {"hoodie__logfile__data__block__format": "parquet"}),
        ("MERGE_ON_READ", 8, {"hoodie__write__record__positions": "true"}),
        ("MERGE_ON_READ", 6, {}),
        ("COPY_ON_WRITE", 9, {}),
    ],
)
def test_the_field_within_decides(
    oracle: Oracle, tmp_path: Path, kind: str, version: int, more: dict[str, str]
) -> None:
    both = Both(oracle, tmp_path / "t", kind, version, "a.n", **more)
    both.write("bulk_insert", BASE, "overwrite")
    both.write("upsert", CHANGES)
    both.write("delete", [line("by key", 1, "")])
    assert both.read() == AFTER
    if version == 6:
        return
    ours = hudini.open(both.path)
    changes = [
        line("lower", 6, "later"),
        line("equal", 4, "late"),
        line("gone lower", 9, "", gone=True),
        line("greater", 9, "", gone=True),
    ]
    ours.upsert(pa.Table.from_pylist(changes, schema=SCHEMA))
    ours.delete(pa.table({"id": ["fresh"]}))
    expected = {"lower": "later", "equal": "new", "greater": "new"}
    assert both.read() == expected
    if both.is_log:
        ours.services.compact()
        assert both.read() == expected
    both.write("upsert", [line("lower", 5, "late"), line("equal", 6, "last")])
    assert both.read() == {**expected, "equal": "last"}


@pytest.mark.parametrize("ordering", ["a.n,ts", "ts,a.n"])
def test_beside_another_field(oracle: Oracle, tmp_path: Path, ordering: str) -> None:
    both = Both(oracle, tmp_path / "t", "MERGE_ON_READ", 9, ordering)
    both.write("bulk_insert", BASE, "overwrite")
    both.write("upsert", [*CHANGES, line("by key", 5, "gone", ts=4, gone=True)])
    wins = "new" if ordering == "ts,a.n" else "base"
    assert both.read() == {**AFTER, "lower": wins, "by key": "base"}
