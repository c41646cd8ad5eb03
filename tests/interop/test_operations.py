"""The column `_hoodie_operation`, by which Flink tells what became of a row."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import hudini
from tests.support.compare import difference

from .oracle import Oracle
from .oracle.queries import query_options

pytestmark = pytest.mark.interop

COLUMN = "_hoodie_operation"
# Of the same length, so that it can be put in its place in all files: Apache Hudi on Spark has no values for it.
ALIAS = "zhoodie_operation"
Row = tuple[str, int, str, str]

FIRST: list[Row] = [(str(number), 5, f"b{number}", "I") for number in range(12)]
SECOND: list[Row] = [
    ("0", 6, "x", "U"),
    ("1", 6, "x", "D"),
    ("2", 6, "x", "-U"),
    ("3", 4, "x", "D"),
    ("4", 4, "x", "-U"),
    ("5", 4, "x", "U"),
    ("6", 5, "x", "D"),
    ("20", 6, "n", "I"),
    ("21", 6, "n", "D"),
]
THIRD: list[Row] = [
    ("1", 3, "y", "U"),
    ("2", 7, "y", "U"),
    ("8", 9, "y", "D"),
    ("20", 5, "y", "D"),
    ("21", 6, "y", "I"),
]


def table_of(rows: list[Row]) -> pa.Table:
    keys, times, values, operations = zip(*rows, strict=True)
    return pa.table(
        {ALIAS: operations, "id": keys, "p": ["a"] * len(rows), "ts": pa.array(times, pa.int64()), "v": values}
    )


def options(version: int, mode: str, table_type: str = "MERGE_ON_READ") -> dict[str, str]:
    return {
        "hoodie.table.name": "operations",
        "hoodie.datasource.write.operation": "upsert",
        "hoodie.datasource.write.table.type": table_type,
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.partitionpath.field": "p",
        **({"hoodie.datasource.write.precombine.field": "ts"} if mode == "EVENT_TIME_ORDERING" else {}),
        "hoodie.record.merge.mode": mode,
        "hoodie.write.record.merge.mode": mode,
        "hoodie.write.table.version": str(version),
        "hoodie.parquet.small.file.limit": "0",
        "hoodie.metadata.enable": "false",
    }


def put_in_place(table: Path, is_meant: Callable[[Path], bool]) -> None:
    for path in [path for path in table.rglob("*") if path.is_file()]:
        if path.suffix == ".crc":
            path.unlink()
        elif is_meant(path):
            path.write_bytes(path.read_bytes().replace(ALIAS.encode(), COLUMN.encode()))


def is_data(path: Path) -> bool:
    return ".hoodie" not in path.parts


def check(oracle: Oracle, path: Path) -> None:
    table = hudini.open(str(path))
    for columns in (None, ["id", "v"]):
        theirs = oracle.read(path, columns=columns)
        ours = table.read(columns).to_arrow()
        assert difference(ours, theirs) is None
        assert ours.column_names == theirs.column_names
    mode = "read_optimized"
    assert difference(table.read(mode=mode).to_arrow(), oracle.read(path, query_options(mode))) is None
    filter = f"{COLUMN} = 'U'"
    assert difference(table.read(filter=filter).to_arrow(), oracle.read(path, filter=filter)) is None


@pytest.mark.parametrize(
    ("version", "mode", "where"),
    [
        (9, "EVENT_TIME_ORDERING", "everywhere"),
        (9, "COMMIT_TIME_ORDERING", "in_data"),
        (8, "COMMIT_TIME_ORDERING", "in_logs"),
        (6, "EVENT_TIME_ORDERING", "everywhere"),
    ],
)
def test_deletes_are_told_by_operations(oracle: Oracle, tmp_path: Path, version: int, mode: str, where: str) -> None:
    path = tmp_path / "table"
    for rows in (FIRST, SECOND, THIRD):
        oracle.write(path, table_of(rows), options(version, mode))
    meant = {"everywhere": lambda _: True, "in_data": is_data, "in_logs": lambda path: ".log." in path.name}
    put_in_place(path, meant[where])
    check(oracle, path)
    table = hudini.open(str(path))
    names = table.read().schema.names
    assert names.index(COLUMN) == 5
    assert COLUMN not in table.read(meta=False).schema.names
    since = min(str(action["completed"] or action["instant"]) for action in table.history())
    range_of_theirs = query_options("incremental", start=since)
    assert difference(table.incremental(since).to_arrow(), oracle.read(path, range_of_theirs)) is None
    before = list(table.history())
    if version > 6:
        with pytest.raises(hudini.UnsupportedFeature, match=COLUMN):
            table.upsert(table_of(THIRD).drop_columns([ALIAS]))
        with pytest.raises(hudini.UnsupportedFeature, match=COLUMN):
            table.services.compact()
    assert list(table.history()) == before


@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
@pytest.mark.parametrize("version", [9, 6])
def test_it_is_shown_while_the_newest_file_has_it(
    oracle: Oracle, tmp_path: Path, version: int, table_type: str
) -> None:
    path = tmp_path / "table"
    given = options(version, "EVENT_TIME_ORDERING", table_type)
    steps = [("upsert", False), ("upsert", True), ("upsert", True), ("delete", True), ("upsert", False)]
    for number, (operation, says_operations) in enumerate(steps):
        rows = [("0", number, "u", ""), (str(number), number, "n", "")] if operation == "upsert" else [("1", 9, "", "")]
        told = {
            "hoodie.datasource.write.operation": operation,
            "hoodie.allow.operation.metadata.field": str(says_operations).lower(),
        }
        oracle.write(path, table_of(rows).drop_columns([ALIAS]), given | told)
        ours, theirs = hudini.open(str(path)).read().to_arrow(), oracle.read(path)
        assert difference(ours, theirs) is None
        assert ours.column_names == theirs.column_names
        assert (COLUMN in ours.column_names) == says_operations
        instants = sorted(str(action["instant"]) for action in hudini.open(str(path)).history())
        for instant in instants[:-1] if number in (2, 4) else []:
            then = hudini.open(str(path)).read(as_of=instant).to_arrow()
            theirs = oracle.read(path, query_options("time_travel", as_of=instant))
            assert difference(then, theirs) is None
            assert then.column_names == theirs.column_names


def test_an_operation_that_nobody_knows(oracle: Oracle, tmp_path: Path) -> None:
    path = tmp_path / "table"
    for rows in (FIRST, [("1", 9, "x", "?")]):
        oracle.write(path, table_of(rows), options(9, "EVENT_TIME_ORDERING"))
    put_in_place(path, is_data)
    with pytest.raises(hudini.CorruptFile, match=r"'\?' is no _hoodie_operation"):
        hudini.open(str(path)).read().to_arrow()


def test_a_table_whose_newest_files_lack_it(oracle: Oracle, tmp_path: Path) -> None:
    """Reads say so, rather than show rows that are deleted."""
    path = tmp_path / "table"
    for rows in (FIRST, SECOND, [("30", 1, "z", "I")]):
        oracle.write(path, table_of(rows), options(9, "EVENT_TIME_ORDERING"))
    put_in_place(path, lambda file: ".log." in file.name)
    with pytest.raises(hudini.UnsupportedFeature, match=COLUMN):
        hudini.open(str(path)).read().to_arrow()
