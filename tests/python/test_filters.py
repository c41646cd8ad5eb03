"""Filters from Python: text and lists of conditions, what they mean, what they leave out, and what is no filter."""

from __future__ import annotations

import datetime
import pickle
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import hudini

SCHEMA = {
    "id": "string not null",
    "city": "string",
    "n": "int",
    "fare": "double",
    "paid": "decimal(10,2)",
    "day": "date",
    "seen": "timestamp",
    "ok": "boolean",
    "raw": "binary",
}
DAY = datetime.date(2024, 2, 29)
SEEN = datetime.datetime(2024, 2, 29, 12, 30, tzinfo=datetime.timezone.utc)
ROWS = [
    {
        "id": "a",
        "city": "o'slo",
        "n": 1,
        "fare": float("nan"),
        "paid": Decimal("1.50"),
        "day": DAY,
        "seen": SEEN,
        "ok": True,
    },
    {
        "id": "b",
        "city": "rome",
        "n": -2,
        "fare": 2.5,
        "paid": Decimal("-7.25"),
        "day": None,
        "seen": None,
        "raw": b"\x00'",
    },
    {"id": "c", "city": "rome", "n": None, "fare": -0.0, "ok": False, "day": DAY - datetime.timedelta(days=1)},
]


@pytest.fixture(params=["cow", "mor"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> hudini.Table:
    options = {"hoodie.bucket.index.num.buckets": 2}
    where = tmp_path / "filtered"
    table = hudini.create(
        where, SCHEMA, record_key="id", partition_by="city", table_type=request.param, options=options
    )
    table.upsert([row | {"n": 99} for row in ROWS])
    table.upsert(ROWS)
    return table


def ids(scan: Any) -> str:
    return "".join(sorted(scan.to_arrow().column("id").to_pylist()))


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("n = 1", "a"),
        ("n = 99", ""),
        ([("n", "=", 1)], "a"),
        ([("n", "!=", 1)], "b"),
        ([("n", "<", 1), ("city", "=", "rome")], "b"),
        ([[("n", "<", 1)], [("city", "==", "o'slo"), ("n", ">=", 1)]], "ab"),
        ([("n", "is", None)], "c"),
        ([("n", "is not", None)], "ab"),
        ([("n", "=", None)], ""),
        ([("n", "<=>", None)], "c"),
        ([("n", "in", [1, None])], "a"),
        ([("n", "not in", (1, 7))], "b"),
        ([("n", "in", [])], ""),
        ([("n", "not in", set())], "abc"),
        ([("city", "like", "r%")], "bc"),
        ([("city", "not  LIKE", "%'%")], "bc"),
        ([("n", "between", (-2, 1))], "ab"),
        ([("fare", "=", float("nan"))], "a"),
        ([("fare", ">", 2.4)], "ab"),
        ([("fare", "<", float("inf"))], "bc"),
        ([("fare", "=", 0)], "c"),
        ([("paid", "=", Decimal("1.5"))], "a"),
        ([("paid", "<", -7)], "b"),
        ([("day", "=", DAY)], "a"),
        ([("day", "<", "2024-02-29")], "c"),
        ([("seen", "=", SEEN.astimezone(datetime.timezone(datetime.timedelta(hours=2))))], "a"),
        ([("seen", ">", SEEN.replace(tzinfo=None))], ""),
        ([("ok", "=", True)], "a"),
        ([("ok", "is not", True)], "bc"),
        ([("raw", "=", b"\x00'")], "b"),
        ([("_hoodie_partition_path", "=", "rome")], "bc"),
    ],
)
def test_text_and_lists_of_conditions(table: hudini.Table, given: Any, found: str) -> None:
    scan = table.read(columns=["id"], filter=given)
    assert ids(scan) == found
    assert scan.count() == len(found)
    pieces = [hudini.read_split(pickle.loads(pickle.dumps(split))) for split in scan.splits()]
    assert "".join(sorted(row["id"] for piece in pieces for batch in piece for row in batch.to_pylist())) == found
    assert ids(table.incremental(columns=["id"], filter=given)) == found


def test_the_plan_says_what_is_left_out(table: hudini.Table) -> None:
    plan = table.read(filter="city = 'rome'").explain()
    assert (plan["filter"], plan["partitions"]) == ("city = 'rome'", 1)
    assert plan["pruned"] == {"partitions": 1, "slices": 0, "by": {"paths": 1}}
    plan = table.read().explain()
    assert (plan["filter"], plan["pruned"]) == (None, {"partitions": 0, "slices": 0, "by": {}})
    pruned = table.read(filter="id = 'b'").explain()["pruned"]
    assert pruned["slices"] == pruned["by"]["buckets"] > 0


def test_a_filter_with_a_limit(table: hudini.Table) -> None:
    assert table.read(filter="city = 'rome'", limit=1).count() == 1
    assert table.read(filter="city = 'rome'", limit=5).to_arrow().num_rows == 2


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("nope = 1", "no column 'nope'"),
        ('city = "rome"', "no column 'rome'"),
        ("n = 'x'", "'x' is no int"),
        ("n =", "the end"),
        ("", "the end"),
        ([], "an empty list"),
        ([[]], "an empty list"),
        ([("n", "=")], "no condition"),
        ([("n", "~", 1)], "no such operator"),
        ([("n", "is", 1)], "no such operator"),
        ([("n", "in", "abc")], "a list of values"),
        ([("n", "=", object())], "cannot hold"),
        ([(1, "=", 1)], "names no column"),
        (7, "cannot be a int"),
        ([("n`", "=", 1)], "no column 'n`'"),
        ([("n or 1", "=", 1)], "no column 'n or 1'"),
    ],
)
def test_what_is_no_filter(table: hudini.Table, given: Any, says: str) -> None:
    with pytest.raises(hudini.InvalidFilter, match=says):
        table.read(filter=given)


def test_the_place_and_the_columns_are_named(table: hudini.Table) -> None:
    with pytest.raises(hudini.InvalidFilter) as caught:
        table.read(filter="n = 1 and nope = 2")
    assert caught.value.offset == 10
    assert caught.value.hint is not None and "city, n, fare" in caught.value.hint
    assert caught.value.code == "HUDINI-403"


@pytest.mark.parametrize("ordering", [None, "ts"])
@pytest.mark.parametrize("table_type", ["cow", "mor"])
@pytest.mark.parametrize("taken", ["delete", "overwrite", "delete_partitions"])
def test_rows_of_one_key_in_buckets_of_several_partitions(
    tmp_path: Path, taken: str, table_type: str, ordering: str | None
) -> None:
    """The record index knows one of them, and none once that one is gone."""
    schema = {"id": "string not null", "d": "string not null", "ts": "long not null"}
    table = hudini.create(
        tmp_path / "t",
        schema,
        record_key="id",
        partition_by="d",
        table_type=table_type,
        ordering=ordering,
        options={"hoodie.metadata.record.index.enable": True},
    )
    asked = {"options": {"hoodie.metadata.record.index.enable": True}}

    def places(**question: str) -> list[str]:
        return sorted(row["d"] for row in hudini.open(tmp_path / "t").read(**question).to_arrow().to_pylist())

    table.upsert([{"id": "k", "d": "a", "ts": 1}], **asked)
    table.upsert([{"id": "k", "d": "b", "ts": 2}], **asked)
    assert places(filter="id = 'k'") == places() == ["a", "b"]
    if taken == "delete":
        table.delete([{"id": "k", "d": "b", "ts": 3}], **asked)
    elif taken == "overwrite":
        table.insert_overwrite([{"id": "other", "d": "b", "ts": 3}], **asked)
    else:
        table.delete_partitions(["b"], **asked)
    assert places(filter="id = 'k'") == ["a"]
    table.upsert([{"id": "k", "d": "a", "ts": 9}], **asked)
    assert places(filter="id = 'k'") == ["a"]
    report = hudini.open(tmp_path / "t").verify(deep=True)
    assert report.ok, report


def test_rows_of_one_key_under_consistent_hashing(tmp_path: Path) -> None:
    """Rings of buckets are seen by their folder: their file groups have names like any."""
    schema = {"id": "string not null", "d": "string not null"}
    options = {"hoodie.index.type": "SIMPLE", "hoodie.metadata.record.index.enable": True}
    path = tmp_path / "t"
    table = hudini.create(path, schema, record_key="id", partition_by="d", table_type="mor", options=options)
    for place in "ab":
        table.upsert([{"id": "k", "d": place}], options=options)
    assert table.read(filter="id = 'k'").count() == 1  # as docs/filters.md has it
    (path / ".hoodie/.bucket_index/consistent_hashing_metadata/a").mkdir(parents=True)
    assert table.read(filter="id = 'k'").count() == 2
    assert table.verify(deep=True).ok
