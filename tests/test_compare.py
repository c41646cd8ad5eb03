"""The judge of all other tests must itself tell right from wrong."""

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest

from tests.support.compare import columns_difference, difference

NESTED = pa.struct([("a", pa.int32()), ("b", pa.list_(pa.float64()))])


def one(value, kind) -> pa.Table:
    return pa.table({"c": pa.array([value], kind)})


@pytest.mark.parametrize(
    ("kind", "value", "other"),
    [
        (pa.float64(), 0.0, -0.0),
        (pa.float64(), float("nan"), None),
        (pa.float64(), 0.1, 0.1 + 2**-55),
        (pa.int64(), 2**63 - 1, 2**63 - 2),
        (pa.string(), "", None),
        (pa.bool_(), False, None),
        (pa.decimal128(10, 2), Decimal("1.10"), Decimal("1.11")),
        (pa.timestamp("us", "UTC"), dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1, 0, 0, 0, 1)),
        (pa.list_(pa.int32()), [1, 2], [2, 1]),
        (pa.map_(pa.string(), pa.int32()), [("a", 1)], [("a", 2)]),
        (NESTED, {"a": 1, "b": [float("nan")]}, {"a": 1, "b": []}),
        (NESTED, {"a": None, "b": None}, None),
    ],
)
def test_a_value_equals_itself_and_nothing_else(kind, value, other) -> None:
    assert difference(one(value, kind), one(value, kind)) is None
    assert difference(one(value, kind), one(other, kind)) is not None


@pytest.mark.parametrize(
    ("value", "kind", "other_kind"),
    [(1, pa.int32(), pa.bool_()), (1, pa.int64(), pa.float64()), (0, pa.int32(), pa.date32())],
)
def test_values_of_other_kinds_differ(value, kind, other_kind) -> None:
    assert difference(one(value, kind), one(value, kind).cast(pa.schema([("c", other_kind)]), safe=False)) is not None


def test_order_says_nothing_and_number_does() -> None:
    rows = pa.table({"a": [1, 2, 2], "b": ["x", "y", "y"]})
    assert difference(rows.take([2, 0, 1]).select(["b", "a"]), rows) is None
    assert difference(rows.slice(0, 2), rows) is not None
    assert difference(pa.concat_tables([rows, rows.slice(2)]), rows) is not None
    assert difference(rows.take([0, 0, 1]), rows) is not None


def test_columns_match_by_name() -> None:
    assert difference(pa.table({"a": [1]}), pa.table({"b": [1]})) is not None
    assert difference(pa.table({"a": [1], "b": [1]}), pa.table({"a": [1]})) is not None


def test_columns_have_an_order_and_types() -> None:
    rows = pa.table({"a": [1], "b": ["x"]})
    assert columns_difference(rows, rows) is None
    turned = rows.select(["b", "a"])
    assert columns_difference(turned, rows) == "columns ['b', 'a'], expected ['a', 'b']"
    assert columns_difference(turned, rows, ordered=False) is None
    narrow = rows.cast(pa.schema([("a", pa.int32()), ("b", pa.string())]))
    assert difference(narrow, rows) is None
    assert columns_difference(narrow, rows) == "a is int32, expected int64"
    assert columns_difference(narrow.select(["b", "a"]), rows, ordered=False) is not None
    assert columns_difference(rows.select(["a"]), rows, ordered=False) is not None


@pytest.mark.parametrize(
    "nested", [lambda t: t, pa.list_, lambda t: pa.struct([("a", t)]), lambda t: pa.map_(pa.string(), t)]
)
def test_the_spellings_of_a_text_type_are_one_type(nested) -> None:
    tables = [pa.schema([("c", nested(kind))]).empty_table() for kind in (pa.string(), pa.large_string())]
    assert columns_difference(*tables) is None
    assert columns_difference(tables[0], pa.schema([("c", nested(pa.binary()))]).empty_table()) is not None


def test_map_entries_and_json_members_have_no_order() -> None:
    kind = pa.map_(pa.string(), pa.int32())
    assert difference(one([("a", 1), ("b", 2)], kind), one([("b", 2), ("a", 1)], kind)) is None
    texts = [one(text, pa.string()) for text in ('{"a": 1, "b": 2}', '{"b":2,"a":1}')]
    assert difference(*texts, json_columns=["c"]) is None
    assert difference(*texts) is not None
