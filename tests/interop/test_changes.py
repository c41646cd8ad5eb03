"""Change feeds of tables that Apache Hudi wrote, as Apache Hudi reads them."""

from __future__ import annotations

import datetime as dt
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import hudini
from tests.support.changes import unexplained
from tests.support.compare import difference

from .oracle import Oracle
from .oracle.queries import query_options

pytestmark = pytest.mark.interop

SCHEMA = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("ts", pa.int64(), nullable=False),
        pa.field("city", pa.string(), nullable=False),
        pa.field("ratio", pa.float64()),
        pa.field("day", pa.date32()),
        pa.field("seen", pa.timestamp("us", tz="UTC")),
        pa.field("flag", pa.bool_()),
        pa.field("note", pa.string()),
        pa.field("_hoodie_is_deleted", pa.bool_()),
    ]
)
SEEN = dt.datetime(2026, 11, 21, 8, 48, 38, 673_000, tzinfo=dt.timezone.utc)


def row(number: int, ts: int, note: str | None, deleted: bool = False) -> dict[str, Any]:
    return {
        "id": f"k{number}",
        "ts": ts,
        "city": ("sf", "ny")[number % 2],
        "ratio": number / 3,
        "day": SEEN.date() if number % 3 else None,
        "seen": SEEN,
        "flag": number % 2 == 0,
        "note": note,
        "_hoodie_is_deleted": deleted,
    }


WRITES = [
    ("insert", [row(n, 10, f"first {n}") for n in range(12)]),
    ("upsert", [row(0, 11, 'an "update"'), row(1, 10, None), row(2, 5, "late"), row(12, 1, "new")]),
    ("upsert", [row(3, 12, "gone", True), row(0, 12, "again")]),
    ("delete", [row(5, 10, "whatever"), row(0, 1, "whatever"), row(77, 1, "never was")]),
    ("upsert", [row(5, 14, "back"), row(3, 13, "back too"), row(6, 11, "6")]),
    ("insert_overwrite", [row(2, 1, "over"), row(14, 1, "over")]),
    ("upsert", [row(14, 2, "after it"), row(7, 11, "7")]),
]
# What Apache Hudi tells of these, its own snapshots contradict.
LATE = [
    ("insert", [row(n, 10, f"first {n}") for n in range(6)]),
    ("upsert", [row(4, 3, "gone too late", True)]),
    ("delete", [row(5, 10, "whatever")]),
    ("upsert", [row(5, 4, "too old to come back")]),
]


def written(oracle: Oracle, path: Path, table_type: str, mode: str, writes: list[Any]) -> list[str]:
    """The table after these writes, and when they completed."""
    options = {
        "hoodie.table.name": "trips",
        "hoodie.datasource.write.table.type": table_type,
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.partitionpath.field": "city",
        "hoodie.table.ordering.fields": "ts",
        "hoodie.table.cdc.enabled": "true",
        "hoodie.table.cdc.supplemental.logging.mode": mode,
        "hoodie.parquet.small.file.limit": "0",
        "hoodie.compact.inline": "false",
    }
    for operation, rows in writes:
        options["hoodie.datasource.write.operation"] = operation
        oracle.write(path, pa.Table.from_pylist(rows, SCHEMA), options)
    return [row["completed"] for row in hudini.open(path).inspect.timeline() if row["completed"]]


def theirs(oracle: Oracle, path: Path, start: str, end: str | None) -> pa.Table:
    return oracle.read(path, query_options("cdc", start=start, end=end))


@pytest.mark.parametrize(
    ("table_type", "mode"), [("COPY_ON_WRITE", "data_before"), ("MERGE_ON_READ", "data_before_after")]
)
def test_the_same_changes(oracle: Oracle, tmp_path: Path, table_type: str, mode: str) -> None:
    ends = written(oracle, tmp_path / "table", table_type, mode, WRITES)
    if table_type == "MERGE_ON_READ":
        oracle.compact(tmp_path / "table")
    for start, end in [("000", None), (ends[0], ends[2]), (ends[2], ends[3]), (ends[4], ends[6])]:
        expected = theirs(oracle, tmp_path / "table", start, end)
        ours = hudini.open(tmp_path / "table").changes(start, end, images="json").to_arrow()
        problem = difference(ours, expected, ("before", "after"))
        assert problem is None, f"{start} to {end}: {problem}"


def test_ranges_go_by_completion_times(oracle: Oracle, tmp_path: Path) -> None:
    """docs/differences.md: Apache Hudi takes changes by requested times, and rows by completion times."""
    written(oracle, tmp_path / "table", "COPY_ON_WRITE", "data_before", WRITES[:2])
    first, second = (row for row in hudini.open(tmp_path / "table").inspect.timeline() if row["completed"])
    table = hudini.open(tmp_path / "table")
    assert first["completed"] < second["requested"] < second["completed"]
    assert set(table.changes(first["completed"]).to_arrow()["ts_ms"].to_pylist()) == {second["requested"]}
    assert theirs(oracle, tmp_path / "table", first["completed"], None).num_rows == 3
    assert table.changes(second["requested"]).count() == table.incremental(second["requested"]).count() == 3
    assert theirs(oracle, tmp_path / "table", second["requested"], None).num_rows == 0
    rows = oracle.read(tmp_path / "table", query_options("incremental", start=second["requested"]))
    assert rows.num_rows == 3


def test_what_a_snapshot_does_not_show_did_not_happen(oracle: Oracle, tmp_path: Path) -> None:
    """docs/differences.md: Apache Hudi does not ask what a log record does to the state of the file group."""
    ends = written(oracle, tmp_path / "table", "MERGE_ON_READ", "op_key_only", LATE)
    notes = dict(oracle.read(tmp_path / "table").select(["id", "note"]).to_pandas().to_numpy())
    assert (notes["k4"], notes["k5"]) == ("first 4", "first 5")

    def told(feed: pa.Table) -> list[tuple[str, str | None, str | None]]:
        notes = [
            [image and json.loads(image)["note"] for image in feed[side].to_pylist()] for side in ("before", "after")
        ]
        return sorted(zip(feed["op"].to_pylist(), *notes, strict=True))

    ours = hudini.open(tmp_path / "table").changes(ends[0], images="json").to_arrow()
    assert told(ours) == [("d", "first 5", None), ("i", None, "first 5")]
    expected = theirs(oracle, tmp_path / "table", ends[0], None)
    assert told(expected) == [("d", "first 4", None), ("d", "first 5", None), ("i", None, "too old to come back")]


@pytest.mark.parametrize(
    ("mode", "handle"),
    [("op_key_only", ""), ("op_key_only", "org.apache.hudi.io.HoodieWriteMergeHandle"), ("data_before", "")],
)
def test_rows_that_share_a_key_change_apart(oracle: Oracle, tmp_path: Path, mode: str, handle: str) -> None:
    """One handle changes the first of them, the other one all. Apache Hudi tells of the last one either way."""
    options = {
        "hoodie.table.name": "t",
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.partitionpath.field": "",
        "hoodie.table.ordering.fields": "ts",
        "hoodie.table.cdc.enabled": "true",
        "hoodie.table.cdc.supplemental.logging.mode": mode,
        "hoodie.combine.before.insert": "false",
    } | ({"hoodie.write.merge.handle.class": handle} if handle else {})

    def write(operation: str, rows: list[tuple[str, int]]) -> None:
        ids, ts = (list(column) for column in zip(*rows, strict=True))
        told = options | {"hoodie.datasource.write.operation": operation}
        oracle.write(tmp_path / "t", pa.table({"id": ids, "ts": pa.array(ts, pa.int64())}), told)

    write("insert", [("a", 1), ("a", 2), ("b", 1), ("c", 1), ("c", 2), ("d", 1)])
    write("upsert", [("a", 5), ("b", 5)])
    write("delete", [("c", 5), ("d", 5)])
    write("insert", [("b", 6), ("e", 1)])
    table = hudini.open(tmp_path / "t")
    ends = [None, *(row["completed"] for row in table.inspect.timeline() if row["completed"])]
    for start, end in pairwise(ends):
        before = table.read(as_of=start, meta=False).to_arrow() if start else None
        after = table.read(as_of=end, meta=False).to_arrow()
        feed = table.changes(start, end).to_arrow()
        assert not unexplained(feed, after.slice(0, 0) if before is None else before, after), (start, end)


def test_numbers_that_time_based_folders_stand_for(oracle: Oracle, tmp_path: Path) -> None:
    """The table shows them as text, images in JSON as numbers."""
    options = {
        "hoodie.table.name": "t",
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.partitionpath.field": "at",
        "hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.TimestampBasedKeyGenerator",
        "hoodie.keygen.timebased.timestamp.type": "EPOCHMILLISECONDS",
        "hoodie.keygen.timebased.output.dateformat": "yyyy-MM-dd",
        "hoodie.table.ordering.fields": "ts",
        "hoodie.table.cdc.enabled": "true",
        "hoodie.table.cdc.supplemental.logging.mode": "data_before",
    }
    for ts in (1, 2):
        at = pa.array([1_700_000_000_000] * 2, pa.int64())
        oracle.write(tmp_path / "t", pa.table({"id": ["a", "b"], "ts": [ts] * 2, "at": at}), options)
    expected = theirs(oracle, tmp_path / "t", "000", None)
    ours = hudini.open(tmp_path / "t").changes(images="json").to_arrow()
    assert difference(ours, expected, ("before", "after")) is None
