"""Whatever people hold becomes the same rows."""

from __future__ import annotations

import datetime as dt
import decimal
from collections import UserDict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import hudini
from hudini import SchemaMismatch
from hudini.data import as_input, as_keys

TABLE = pa.table({"id": ["a", "b", "c"], "n": [1, 2, None]})


def taken(data: Any, table_schema: pa.Schema | None = None) -> pa.Table:
    source = as_input(data, None if table_schema is None else lambda: table_schema)
    return pa.RecordBatchReader.from_stream(source).read_all()


class OnlyArray:
    """One batch that offers `__arrow_c_array__` and no stream."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self.batch = batch

    def __arrow_c_array__(self, requested_schema: object | None = None) -> object:
        return self.batch.__arrow_c_array__(requested_schema)


class OnlyStream:
    """A foreign library's table."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return TABLE.__arrow_c_stream__(requested_schema)


def batches() -> list[pa.RecordBatch]:
    return TABLE.to_batches(max_chunksize=2)


WAYS: dict[str, Callable[[], Any]] = {
    "table": lambda: TABLE,
    "batch": lambda: TABLE.combine_chunks().to_batches()[0],
    "reader": TABLE.to_reader,
    "foreign stream": OnlyStream,
    "foreign array": lambda: OnlyArray(TABLE.combine_chunks().to_batches()[0]),
    "list of batches": batches,
    "iterator of batches": lambda: iter(batches()),
    "iterator of foreign arrays": lambda: (OnlyArray(batch) for batch in batches()),
    "list of tables": lambda: [TABLE.slice(0, 1), TABLE.slice(1)],
    "list of dicts": TABLE.to_pylist,
    "iterator of dicts": lambda: iter(TABLE.to_pylist()),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_same_rows_come_in_every_way(way: str) -> None:
    assert taken(WAYS[way]()).equals(TABLE)


def test_polars() -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(TABLE)
    for data in (frame, frame.lazy()):
        assert taken(data).to_pylist() == TABLE.to_pylist()


def test_duckdb() -> None:
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as con:
        relation = con.sql("select * from (values ('a', 1), ('b', 2), ('c', null)) as t(id, n) order by id")
        assert taken(relation).to_pylist() == TABLE.to_pylist()


def test_pandas_leaves_its_index_and_its_nanoseconds_behind() -> None:
    pandas = pytest.importorskip("pandas")
    moment = pandas.Timestamp("2026-11-21 08:48:38.673001")
    frame = pandas.DataFrame({"id": ["a"], "t": [moment]}, index=["row"])
    got = taken(frame)
    assert got.schema.field("t").type == pa.timestamp("us")
    assert got.schema.metadata is None
    assert got.to_pylist() == [{"id": "a", "t": moment.to_pydatetime()}]


def test_pandas_nanoseconds_that_would_be_lost_are_an_error() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"t": [pandas.Timestamp(1, unit="ns")]})
    with pytest.raises(SchemaMismatch, match="microseconds"):
        taken(frame)


def test_dicts_take_the_types_of_the_table() -> None:
    schema = pa.schema([("id", pa.string()), ("small", pa.int32()), ("tags", pa.map_(pa.string(), pa.int64()))])
    got = taken([{"id": "a", "small": 1}, {"id": "b", "tags": {"x": 1}}], schema)
    assert got.schema == schema
    assert got.to_pylist() == [
        {"id": "a", "small": 1, "tags": None},
        {"id": "b", "small": None, "tags": [("x", 1)]},
    ]


def test_a_column_that_only_a_later_dict_has_is_not_lost() -> None:
    assert taken([{"a": 1}, {"a": 2, "b": "x"}]).column_names == ["a", "b"]


def test_a_column_that_the_table_lacks_is_kept_for_the_core_to_judge() -> None:
    assert taken([{"id": "a", "new": 1}], pa.schema([("id", pa.string())])).column_names == ["id", "new"]


def test_many_dicts_stream_in_batches() -> None:
    total = 150_000
    reader = pa.RecordBatchReader.from_stream(as_input({"n": number} for number in range(total)))
    sizes = [batch.num_rows for batch in reader]
    assert sum(sizes) == total
    assert len(sizes) == 3


def test_a_late_dict_with_a_new_column_is_an_error_with_its_number() -> None:
    def rows() -> Iterator[dict[str, int]]:
        yield from ({"n": number} for number in range(70_000))
        yield {"n": 1, "late": 2}

    source = as_input(rows())
    with pytest.raises(pa.ArrowInvalid):
        pa.RecordBatchReader.from_stream(source).read_all()
    assert isinstance(source.failure, SchemaMismatch)
    assert source.failure.message == "row 70000 has the column late, which the rows before it lack"


def test_rows_need_not_be_dicts_to_be_mappings() -> None:
    rows = [UserDict({"id": "a", "s": UserDict({"city": "x"})}), {"s": UserDict(), "n": 1}]
    got = taken(rows, pa.schema([("id", pa.string()), ("s", ADDRESS)]))
    assert got.select(["id", "s"]).to_pylist() == [
        {"id": "a", "s": {"city": "x", "since": None}},
        {"id": None, "s": {"city": None, "since": None}},
    ]
    assert got["n"].to_pylist() == [None, 1]


def test_a_column_that_comes_late_in_a_list_is_not_lost() -> None:
    rows = [{"n": number} for number in range(70_000)] + [{"n": 1, "late": 2.5}]
    for schema in (None, pa.schema([("n", pa.int64()), ("late", pa.float64())])):
        got = taken(rows, schema)
        assert got.schema.field("late").type == pa.float64()
        assert got["late"].null_count == 70_000
        assert got["late"][-1].as_py() == 2.5


def test_a_type_that_shows_late_in_a_list_is_seen() -> None:
    got = taken([{"n": 1, "s": {"a": 1}}] * 70_000 + [{"n": 1.5, "s": {"b": "x"}}])
    assert got.schema.field("n").type == pa.float64()
    assert got.slice(70_000).to_pylist() == [{"n": 1.5, "s": {"a": None, "b": "x"}}]


KINDS = {
    "n": pa.int64(),
    "late": pa.float64(),
    "map": pa.map_(pa.string(), pa.struct([("at", pa.timestamp("us", tz="UTC"))])),
    "never": pa.string(),
}


def numbered(many: int) -> Iterator[dict[str, Any]]:
    yield from ({"n": number} for number in range(many))
    yield {"n": 1, "late": 2.5}
    yield {"n": 2, "map": {"k": {"at": None}}}


@pytest.mark.parametrize("many", [3, 65_536, 70_000, 150_000])
def test_a_column_of_the_table_that_comes_late_is_not_lost(many: int) -> None:
    got = taken(numbered(many), pa.schema(list(KINDS.items())))
    # Not one that no row has: the core refuses rows without some columns.
    assert got.schema == pa.schema([(name, KINDS[name]) for name in ("n", "late", "map")])
    assert got["n"].to_pylist()[:many] == list(range(many))
    assert got.slice(many).to_pylist() == [
        {"n": 1, "late": 2.5, "map": None},
        {"n": 2, "late": None, "map": [("k", {"at": None})]},
    ]
    assert got["late"].null_count == got["map"].null_count == many + 1


def test_rows_do_not_wait_for_ever_for_a_column(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hudini.data._WAITING_BYTES", 1)
    source = as_input(numbered(70_000), lambda: pa.schema(list(KINDS.items())))
    with pytest.raises(pa.ArrowInvalid):
        pa.RecordBatchReader.from_stream(source).read_all()
    assert isinstance(source.failure, SchemaMismatch)
    assert source.failure.message == "row 70000 has the column late, which the rows before it lack"


EAST = dt.timezone(dt.timedelta(hours=2))
ADDRESS = pa.struct([("city", pa.string()), ("since", pa.date32())])
NOON = dt.datetime(2024, 1, 1, 12)


@pytest.mark.parametrize(
    ("kind", "value", "what"),
    [
        (ADDRESS, {"city": "x", "zip": "1"}, "c.zip is no field of the column"),
        (ADDRESS, "x", "c is a str, not a dict"),
        (ADDRESS, [("city", "x"), ("zip", "1")], "c is a list, not a dict"),
        (ADDRESS, ("x", None, "1"), "c is a tuple, not a dict"),
        (ADDRESS, {"since": NOON}, "c.since is a datetime"),
        (ADDRESS, ("x", NOON), "c.since is a datetime"),
        (pa.list_(pa.field("element", ADDRESS)), [{}, {"zip": "1"}], "c.element.zip is no field of the column"),
        (pa.list_(pa.field("element", ADDRESS)), {"city": "x"}, "c is a dict, not a list"),
        (pa.list_(pa.string()), "abc", "c is a str, not a list"),
        (pa.list_(pa.int64()), (number for number in (1, 1.0)), "c is a generator, not a list"),
        (pa.map_(pa.string(), ADDRESS), {"k": {"zip": "1"}}, "c.value.zip is no field of the column"),
        (pa.map_(pa.string(), ADDRESS), [("k", {"zip": "1"})], "c.value.zip is no field of the column"),
        (pa.map_(pa.string(), pa.int64()), [{"key": "k", "value": 1, "x": 2}], "no pair of key and value"),
        (pa.map_(pa.string(), pa.list_(pa.date32())), {"k": [None, NOON]}, "c.value.* is a datetime"),
        (pa.int64(), 1.5, "c is no whole number"),
        (pa.int32(), decimal.Decimal("1.5"), "c is no whole number"),
        (pa.date32(), 1.5, "c is no whole number"),
        (pa.timestamp("us"), 1.5, "c is no whole number"),
        (pa.list_(pa.field("element", pa.int64())), [1, 1.5], "c.element is no whole number"),
        (pa.date32(), dt.datetime(2024, 1, 1, 23, 59), "c is a datetime, and the column holds dates"),
        (pa.timestamp("us"), NOON.replace(tzinfo=EAST), "c has a time zone, and the column has none"),
        (pa.timestamp("ms"), NOON.replace(microsecond=1001), "c has finer digits than the column, which holds ms"),
        (pa.timestamp("ms", tz="UTC"), NOON.replace(microsecond=1), "c has finer digits"),
        (pa.timestamp("s"), NOON.replace(microsecond=1000), "c has finer digits"),
        (pa.time32("ms"), dt.time(12, 0, 0, 1), "c has finer digits"),
        (pa.time64("us"), dt.time(12, tzinfo=EAST), "c has a time zone"),
    ],
)
def test_a_value_of_which_a_part_would_be_lost_is_refused(kind: pa.DataType, value: Any, what: str) -> None:
    rows = [{"c": None}, {"c": value}]
    with pytest.raises(SchemaMismatch, match=rf"row 1: .*({what}).* \(the table's type is ") as caught:
        taken(rows, pa.schema([("c", kind)]))
    assert str(kind) in caught.value.message


@pytest.mark.parametrize(
    ("kind", "value", "stored"),
    [
        (ADDRESS, {"since": dt.date(2024, 1, 1)}, {"city": None, "since": dt.date(2024, 1, 1)}),
        (ADDRESS, {}, {"city": None, "since": None}),
        (ADDRESS, ("x", None), {"city": "x", "since": None}),
        (pa.list_(ADDRESS), ({"city": "x"}, None), [{"city": "x", "since": None}, None]),
        (pa.list_(pa.timestamp("us")), [NOON, None], [NOON, None]),
        (pa.map_(pa.string(), ADDRESS), {"k": {"city": "x"}}, [("k", {"city": "x", "since": None})]),
        (pa.map_(pa.string(), pa.int64()), [{"key": "k", "value": 1}], [("k", 1)]),
        (pa.map_(pa.string(), pa.int64()), [("k", 1)], [("k", 1)]),
        (pa.struct([("m", pa.map_(pa.string(), pa.int64()))]), {"m": {"k": 1}}, {"m": [("k", 1)]}),
        (pa.int64(), 1.0, 1),
        (pa.int64(), decimal.Decimal("1.00"), 1),
        (pa.list_(pa.int64()), [1.0, 2, None], [1, 2, None]),
        (pa.date32(), dt.date(2024, 1, 1), dt.date(2024, 1, 1)),
        (pa.date32(), 1, dt.date(1970, 1, 2)),
        (pa.timestamp("ms"), NOON.replace(microsecond=1000), NOON.replace(microsecond=1000)),
        (pa.timestamp("us"), NOON.replace(microsecond=1), NOON.replace(microsecond=1)),
        (pa.time64("us"), dt.time(12, 0, 0, 1), dt.time(12, 0, 0, 1)),
    ],
)
def test_a_value_that_a_column_has_a_place_for_is_kept(kind: pa.DataType, value: Any, stored: Any) -> None:
    got = taken([{"c": None}, {"c": value}], pa.schema([("c", kind)]))
    assert got["c"].to_pylist() == [None, stored]


def test_a_datetime_is_an_instant_by_its_zone_or_of_utc() -> None:
    schema = pa.schema([("c", pa.timestamp("us", tz="UTC"))])
    got = taken([{"c": NOON}, {"c": NOON.replace(hour=14, tzinfo=EAST)}], schema)
    assert got["c"].to_pylist() == [NOON.replace(tzinfo=dt.timezone.utc)] * 2


def test_digits_of_pandas_that_would_be_lost_are_an_error() -> None:
    pandas = pytest.importorskip("pandas")
    schema = pa.schema([("c", pa.timestamp("us"))])
    moment = pandas.Timestamp("2026-11-21 08:48:38.673001")
    assert taken([{"c": moment}], schema)["c"].to_pylist() == [moment.to_pydatetime()]
    with pytest.raises(SchemaMismatch, match="row 0: c has finer digits than the column, which holds us"):
        taken([{"c": pandas.Timestamp("2026-11-21 08:48:38.673001001")}], schema)


def test_values_of_arrow_and_numpy_are_taken() -> None:
    numpy = pytest.importorskip("numpy")
    kinds = {"s": ADDRESS, "l": pa.list_(ADDRESS), "m": pa.map_(pa.string(), pa.int64()), "t": pa.timestamp("us")}
    row = {"s": {"city": "x", "since": None}, "l": [{"city": "y", "since": None}], "m": [("k", 1)], "t": NOON}
    table = pa.Table.from_pylist([row], schema=pa.schema(list(kinds.items())))
    assert taken([{name: table[name][0] for name in table.column_names}], table.schema) == table
    lists = pa.schema([("t", pa.list_(pa.timestamp("us"))), ("s", pa.list_(ADDRESS)), ("n", pa.list_(pa.int64()))])
    arrays = {
        "t": numpy.array(["2024-01-01T12"], "datetime64[us]"),
        "s": numpy.array([{"city": "x"}], object),
        "n": numpy.array([1, 2]),
    }
    assert taken([arrays], lists).to_pylist() == [{"t": [NOON], "s": [{"city": "x", "since": None}], "n": [1, 2]}]
    with pytest.raises(SchemaMismatch, match=r"s\.element\.zip|s\.item\.zip"):
        taken([arrays | {"s": numpy.array([{"zip": "1"}], object)}], lists)
    numbers = pa.schema([("n", pa.int64())])
    assert taken([{"n": numpy.int32(1)}, {"n": numpy.float64(2)}], numbers)["n"].to_pylist() == [1, 2]
    with pytest.raises(SchemaMismatch, match="row 1: n is no whole number"):
        taken([{"n": 1}, {"n": numpy.float32(1.5)}], numbers)
    for column, values in {"n": [1.5], "t": numpy.array(["2024-01-01T12"], "datetime64[ms]")}.items():
        with pytest.raises(SchemaMismatch, match=f"column {column}|row 0: {column}"):
            taken([arrays | {column: numpy.array(values)}], lists)


def test_without_a_table_the_rows_before_tell_what_would_be_lost() -> None:
    def rows() -> Iterator[dict[str, Any]]:
        yield from ({"s": {"a": number}} for number in range(70_000))
        yield {"s": {"a": 1, "b": 2}}

    source = as_input(rows())
    with pytest.raises(pa.ArrowInvalid):
        pa.RecordBatchReader.from_stream(source).read_all()
    assert isinstance(source.failure, SchemaMismatch)
    assert source.failure.message == "row 70000: s.b is no field of the column"
    for first, second, what in [
        (dt.date(2024, 1, 1), NOON, "c is a datetime"),
        (NOON, NOON.replace(tzinfo=EAST), "c has a time zone"),
    ]:
        with pytest.raises(SchemaMismatch, match=f"row 1: {what}") as caught:
            taken([{"c": first}, {"c": second}])
        assert "the table's type" not in caught.value.message


def test_a_value_that_does_not_fit_names_its_column() -> None:
    with pytest.raises(SchemaMismatch, match=r"column n, rows from 0: .*the table's type is int64"):
        taken([{"n": "text"}], pa.schema([("n", pa.int64())]))
    with pytest.raises(SchemaMismatch, match="column n"):
        taken([{"n": 1}, {"n": "text"}])
    with pytest.raises(SchemaMismatch) as caught:
        taken([{"id": "a", "new": 1}, {"id": "b", "new": "text"}], pa.schema([("id", pa.string())]))
    assert "the table's type" not in caught.value.message


def test_batches_of_different_schemas_are_an_error_with_both() -> None:
    source = as_input(iter([pa.record_batch({"a": [1]}), pa.record_batch({"b": [1]})]))
    with pytest.raises(pa.ArrowInvalid):
        pa.RecordBatchReader.from_stream(source).read_all()
    assert isinstance(source.failure, SchemaMismatch)
    assert "batch 1 has the columns b int64, the first batch has a int64" in source.failure.message


def test_no_rows_need_a_schema_from_somewhere() -> None:
    schema = pa.schema([("id", pa.string())])
    assert taken([], schema).schema == schema
    assert taken(iter([schema.empty_table()])).schema == schema
    with pytest.raises(SchemaMismatch, match="empty and has no schema"):
        taken([])


@pytest.mark.parametrize(
    "nonsense", [None, 3, "text", b"bytes", {"id": ["a"]}, [1, 2], [None], [{"a": 1}, 2], [{1: 2}]]
)
def test_what_is_no_data(nonsense: object) -> None:
    with pytest.raises(TypeError):
        taken(nonsense)


def test_a_spark_frame_is_sent_to_its_own_door() -> None:
    class DataFrame:
        __module__ = "pyspark.sql.classic.dataframe"

    with pytest.raises(TypeError, match=r"hudini\.spark\.upsert"):
        taken(DataFrame())


@pytest.mark.parametrize(
    ("keys", "record_key", "rows"),
    [
        (["a", "b"], ["id"], [{"id": "a"}, {"id": "b"}]),
        ([("a", 1)], ["id", "n"], [{"id": "a", "n": 1}]),
        ([{"id": "a", "city": "x"}], ["id"], [{"id": "a", "city": "x"}]),
        (pa.table({"id": ["a"]}), ["id"], [{"id": "a"}]),
        ([pa.record_batch({"id": ["a"]})], ["id"], [{"id": "a"}]),
    ],
)
def test_keys_to_delete(keys: Any, record_key: list[str], rows: list[dict[str, Any]]) -> None:
    source = as_keys(keys, record_key, lambda: pa.schema([("id", pa.string()), ("n", pa.int64())]))
    assert pa.RecordBatchReader.from_stream(source).read_all().to_pylist() == rows


def test_a_key_with_too_few_values_is_an_error() -> None:
    with pytest.raises(SchemaMismatch, match="the table's record key is id, n"):
        as_keys(["a"], ["id", "n"], lambda: pa.schema([]))


@pytest.mark.parametrize(
    ("when", "text"),
    [
        ("20261121", "20261121"),
        (dt.date(2026, 11, 21), "2026-11-21"),
        (dt.datetime(2026, 11, 21, 8), "2026-11-21T08:00:00.000"),
        (dt.datetime(2026, 11, 21, 8, 0, 0, 999999), "2026-11-21T08:00:00.999"),
        (dt.datetime(2026, 11, 21, 8, tzinfo=dt.timezone(dt.timedelta(hours=1))), "2026-11-21T07:00:00.000+00:00"),
        ({"instant": "20261121084838673"}, "20261121084838673"),
        (hudini.CommitResult("20261121084838673", None, "commit", "upsert"), "20261121084838673"),
        (None, None),
    ],
)
def test_points_in_time(when: Any, text: str | None) -> None:
    from hudini._arguments import instant_text

    assert instant_text(when) == text


def test_an_empty_commit_is_no_point_in_time() -> None:
    from hudini._arguments import instant_text

    with pytest.raises(TypeError, match="an instant is"):
        instant_text(hudini.CommitResult(None, None, None, None))


@pytest.mark.parametrize(("value", "found"), [(None, None), (0, 0), (7, 7), (2**63 - 1, 2**63 - 1)])
def test_numbers(value: int | None, found: int | None) -> None:
    from hudini._arguments import byte_count, whole_number

    assert whole_number(value, "limit") == byte_count(value, "memory_limit") == found


@pytest.mark.parametrize("value", [-1, 2**63, 2**64])
def test_numbers_that_are_none(value: int) -> None:
    from hudini._arguments import byte_count, whole_number

    with pytest.raises(hudini.InvalidOption, match=f"limit is a number from 0 to .*{value}"):
        whole_number(value, "limit")
    with pytest.raises(hudini.InvalidOption, match="memory_limit is a number"):
        byte_count(value, "memory_limit")
    with pytest.raises(hudini.InvalidOption, match="memory_limit is a number"):
        byte_count("9999999999TB", "memory_limit")


def test_small_numbers(tmp_path: Path) -> None:
    with pytest.raises(hudini.InvalidOption, match="table_version is a number from 0 to"):
        hudini.create(tmp_path, {"id": "string not null"}, record_key="id", table_version=-1)
    table = hudini.create(tmp_path, {"id": "string not null"}, record_key="id")
    with pytest.raises(hudini.InvalidOption, match="threads is a number from 1 to"):
        hudini.open(tmp_path, threads=0)
    for retain in (-1, 2**70):
        with pytest.raises(hudini.InvalidOption, match="retain is a number from 0 to"):
            table.services.clean(retain=retain)


def test_options_become_text() -> None:
    from hudini._arguments import options_text

    assert options_text({"a": True, "b": 3, "c": 1.5, "d": "x", "e": ["p", "q"]}) == {
        "a": "true",
        "b": "3",
        "c": "1.5",
        "d": "x",
        "e": "p,q",
    }
    with pytest.raises(hudini.InvalidOption, match="the option a has the value None"):
        options_text({"a": None})


def test_floats_are_rounded_but_not_to_infinity(tmp_path: Path) -> None:
    table = hudini.create(tmp_path / "t", {"id": "string", "f": "float", "n": "long"}, record_key="id")
    with pytest.raises(hudini.SchemaMismatch, match="row 1: f is too large"):
        table.upsert([{"id": "a", "f": 0.1}, {"id": "b", "f": 1e300}])
    with pytest.raises(hudini.SchemaMismatch):
        table.upsert([{"id": "a", "n": decimal.Decimal("1e40")}])
    table.upsert([{"id": "a", "f": 3.4028235e38}, {"id": "b", "f": float("inf")}, {"id": "c", "f": float("nan")}])
    assert table.read(filter="id = 'a'", columns=["f"]).to_arrow()["f"][0].as_py() < float("inf")
