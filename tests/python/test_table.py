"""The face of a table, end to end on local files."""

from __future__ import annotations

import datetime as dt
import json
import os
import pickle
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import hudini

SCHEMA = {"id": "string not null", "ts": "long not null", "city": "string not null", "fare": "double"}
META = [
    "_hoodie_commit_time",
    "_hoodie_commit_seqno",
    "_hoodie_record_key",
    "_hoodie_partition_path",
    "_hoodie_file_name",
]
OPTIONS = {"hoodie.bucket.index.num.buckets": 2}


def trip(key: str, ts: int, city: str = "sf", fare: float | None = 1.5) -> dict[str, Any]:
    return {"id": key, "ts": ts, "city": city, "fare": fare}


def rows(source: Any) -> list[dict[str, Any]]:
    return sorted(pa.table(source).select(list(SCHEMA)).to_pylist(), key=lambda row: row["id"])


@pytest.fixture(params=["cow", "mor"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> hudini.Table:
    return hudini.create(
        tmp_path / "trips",
        SCHEMA,
        record_key="id",
        ordering="ts",
        partition_by="city",
        table_type=request.param,
        options=OPTIONS,
    )


def test_what_a_table_is(table: hudini.Table, tmp_path: Path) -> None:
    assert Path(table.path.removeprefix("file://")) == tmp_path / "trips"
    assert table.name == "trips"
    assert table.version == 9
    assert table.record_key == ["id"]
    assert table.ordering == ["ts"]
    assert table.partition_by == ["city"]
    assert table.merge_mode == "EVENT_TIME_ORDERING"
    assert table.schema.names == list(SCHEMA)
    assert table.properties["hoodie.table.name"] == "trips"
    assert repr(table) == f"Table({table.path}, {table.table_type}, version 9, empty)"
    result = table.upsert([trip("a", 1)])
    assert repr(table) == f"Table({table.path}, {table.table_type}, version 9, at {result.instant})"
    assert hudini.open(table.path) == table


def test_a_fresh_table_is_empty(table: hudini.Table) -> None:
    assert rows(table) == []
    assert table.read().count() == 0
    assert table.read().schema.names == [*META, *SCHEMA]
    assert table.history() == []


def test_upsert_merges_by_ordering_and_tells_what_it_did(table: hudini.Table) -> None:
    first = table.upsert([trip("a", 2), trip("b", 2)], metadata={"job": "first"})
    assert (first.operation, first.inserted, first.updated, first.deleted) == ("upsert", 2, 0, 0)
    assert first.files_added > 0
    assert first.bytes_written > 0
    assert first
    second = table.upsert([trip("a", 3, fare=9.0), trip("b", 1, fare=9.0), trip("c", 1)])
    # A merge-on-read write appends to a log without looking at the base file: it calls all rows of it updates.
    assert (second.inserted, second.updated) == ((1, 1) if table.table_type == "cow" else (0, 3))
    assert second.deleted == 0
    assert rows(table) == [trip("a", 3, fare=9.0), trip("b", 2), trip("c", 1)]
    assert [(row["instant"], row["operation"]) for row in table.history()] == [
        (second.instant, "upsert"),
        (first.instant, "upsert"),
    ]
    assert table.history()[1]["metadata"]["job"] == "first"
    assert table.history(limit=1)[0]["instant"] == second.instant


def test_of_two_rows_with_one_key_the_greater_ordering_wins_and_on_a_tie_the_later(table: hudini.Table) -> None:
    table.upsert([trip("a", 2, fare=1.0), trip("a", 1, fare=2.0), trip("b", 1, fare=1.0), trip("b", 1, fare=2.0)])
    assert rows(table) == [trip("a", 2, fare=1.0), trip("b", 1, fare=2.0)]
    table.upsert([trip("b", 1, fare=3.0)])
    assert rows(table)[1] == trip("b", 1, fare=3.0)


def test_bulk_insert(table: hudini.Table) -> None:
    result = table.bulk_insert(pa.Table.from_pylist([trip(f"k{n}", n) for n in range(100)]))
    assert (result.operation, result.inserted) == ("bulk_insert", 100)
    assert table.read().count() == 100


def test_delete_by_key(table: hudini.Table) -> None:
    table.upsert([trip("a", 5), trip("b", 5), trip("c", 5)])
    result = table.delete([{"id": "a", "city": "sf"}, {"id": "c", "city": "sf"}])
    assert result.deleted == 2
    assert rows(table) == [trip("b", 5)]


def test_delete_by_plain_values(tmp_path: Path) -> None:
    table = hudini.create(tmp_path / "t", SCHEMA, record_key="id", ordering="ts", options=OPTIONS)
    table.upsert([trip("a", 5), trip("b", 5)])
    table.delete(["a"])
    assert rows(table) == [trip("b", 5)]


def test_nothing_to_write_commits_nothing(table: hudini.Table) -> None:
    result = table.upsert([])
    assert not result
    assert result.instant is None
    assert repr(result) == "CommitResult(nothing to commit)"
    assert table.history() == []


def test_a_scan_is_pinned_and_can_be_read_again(table: hudini.Table) -> None:
    table.upsert([trip("a", 1)])
    scan = table.read()
    table.upsert([trip("b", 1)])
    assert rows(scan) == [trip("a", 1)]
    assert rows(scan) == [trip("a", 1)]
    assert scan.count() == 1
    assert rows(table) == [trip("a", 1), trip("b", 1)]


def test_reading_the_past(table: hudini.Table) -> None:
    first = table.upsert([trip("a", 1)])
    table.upsert([trip("a", 2)])
    for when in (first, first.instant, table.history()[1]):
        scan = table.read(as_of=when)
        assert scan.instant == first.instant
        assert rows(scan) == [trip("a", 1)]


@pytest.mark.parametrize("key", ["as.of.instant", "as_of"])
def test_the_options_of_a_table_that_was_opened_hold_for_its_reads(tmp_path: Path, key: str) -> None:
    table = hudini.create(tmp_path / "t", SCHEMA, record_key="id", ordering="ts", table_type="mor", options=OPTIONS)
    first = table.upsert([trip("a", 1)])
    second = table.upsert([trip("a", 2)])
    then = hudini.open(table.path, options={key: first.instant})
    assert rows(then) == [trip("a", 1)]
    assert rows(then.read(as_of=second)) == [trip("a", 2)]
    with pytest.raises(hudini.InvalidOption, match=r"as_of, mode, as\.of\.instant"):
        then.incremental()
    for kind in ("hoodie.datasource.query.type", "hoodie.datasource.view.type"):
        optimized = hudini.open(table.path, options={kind: "read_optimized"})
        assert rows(optimized) == rows(table.read(mode="read_optimized"))
        assert rows(optimized) != rows(table)
        assert rows(optimized.read(mode="snapshot")) == rows(table)


def test_a_key_generator_that_names_single_keys(tmp_path: Path) -> None:
    keyed = {"record_key": "id", "ordering": "ts", "partition_by": "city", "key_generator": "COMPLEX"}
    table = hudini.create(tmp_path / "t", SCHEMA, **keyed, options={"hoodie.database.name": "lake"})
    table.upsert([trip("a", 1), trip("b", 1)])
    table.upsert([trip("a", 2)])
    table.delete([{"id": "b", "city": trip("b", 1)["city"]}])
    assert table.read(columns=["_hoodie_record_key", "ts"]).to_arrow().to_pylist() == [
        {"_hoodie_record_key": "id:a", "ts": 2}
    ]
    assert table.properties["hoodie.database.name"] == "lake"
    assert table.verify(deep=True).ok
    with pytest.raises(hudini.InvalidOption, match="COMPLEX does not fit"):
        hudini.create(tmp_path / "old", SCHEMA, **keyed, table_version=8)


def test_columns_meta_and_limit(table: hudini.Table) -> None:
    table.upsert([trip("a", 1), trip("b", 1), trip("c", 1, city="ny")])
    assert table.read(columns=["fare", "id"]).to_arrow().column_names == ["fare", "id"]
    assert table.read(columns=["id", META[2]]).to_arrow().column_names == ["id", META[2]]
    assert table.read().schema.names == [*META, *SCHEMA]
    assert table.read(meta=False).schema.names == list(SCHEMA)
    assert table.read(limit=2).to_arrow().num_rows == 2
    assert table.read(limit=2).count() == 2
    with pytest.raises(hudini.HudiniError, match="nope"):
        table.read(columns=["nope"]).to_arrow()


def test_every_way_out(table: hudini.Table) -> None:
    table.upsert([trip("a", 1), trip("b", 2, fare=None)])
    scan = table.read(meta=False)
    expected = rows(scan)
    assert sorted(pa.Table.from_batches(scan.to_batches()).to_pylist(), key=lambda row: row["id"]) == expected
    assert sum(batch.num_rows for batch in scan) == 2
    assert scan.reader().read_all().num_rows == 2
    assert pa.table(scan).num_rows == 2


def test_out_to_pandas(table: hudini.Table) -> None:
    pytest.importorskip("pandas")
    table.upsert([trip("a", 1)])
    assert table.read(meta=False).to_pandas().to_dict("records") == [trip("a", 1)]


def test_out_to_polars(table: hudini.Table) -> None:
    polars = pytest.importorskip("polars")
    table.upsert([trip("a", 1), trip("b", 2)])
    scan = table.read(meta=False)
    assert sorted(scan.to_polars().to_dicts(), key=lambda row: row["id"]) == [trip("a", 1), trip("b", 2)]
    lazy = scan.to_polars(lazy=True)
    assert lazy.filter(polars.col("ts") > 1).select("id", "fare").collect().to_dicts() == [{"id": "b", "fare": 1.5}]
    assert len(lazy.head(1).collect()) == 1
    assert len(lazy.collect()) == 2
    assert lazy.select(polars.len()).collect().item() == 2
    assert lazy.select(polars.col("ts").sum()).collect().item() == 3
    assert sorted(lazy.select("id").collect()["id"]) == ["a", "b"]


def test_polars_reads_what_it_asks_for(table: hudini.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    polars = pytest.importorskip("polars")
    table.upsert([trip("a", 1), trip("b", 2)])
    asked: list[tuple[list[str] | None, int | None]] = []
    narrowed = hudini.Scan._narrowed

    def listened(scan: hudini.Scan, columns: list[str] | None, limit: int | None) -> hudini.Scan:
        asked.append((columns, limit))
        found = narrowed(scan, columns, limit)
        assert columns is None or found.schema.names == columns
        return found

    monkeypatch.setattr(hudini.Scan, "_narrowed", listened)
    lazy = table.read(limit=2).to_polars(lazy=True)
    lazy.filter(polars.col("ts") > 1).select("fare").collect()
    lazy.head(1).collect()
    assert [sorted(asked[0][0] or []), asked[1][1]] == [["fare", "ts"], 1]


def test_out_to_duckdb(table: hudini.Table) -> None:
    duckdb = pytest.importorskip("duckdb")
    table.upsert([trip("a", 1), trip("b", 2)])
    with duckdb.connect() as con:
        relation = table.read().to_duckdb(con)
        assert relation.aggregate("sum(ts)").fetchall() == [(3,)]
        assert relation.aggregate("count(*)").fetchall() == [(2,)]
        tbl = table  # noqa: F841
        assert con.sql("select id, _hoodie_record_key from tbl order by 1").fetchall() == [("a", "a"), ("b", "b")]


def test_history_and_timeline_are_arrow_streams(table: hudini.Table) -> None:
    result = table.upsert([trip("a", 1)], metadata={"k": "v"})
    history = pa.table(table.history())
    assert history["instant"].to_pylist() == [result.instant]
    assert ("k", "v") in history["metadata"].to_pylist()[0]
    timeline = table.inspect.timeline()
    assert pa.table(timeline).column_names == ["requested", "completed", "action", "state", "operation"]
    assert [(row["requested"], row["completed"], row["state"]) for row in timeline] == [
        (result.instant, result.completed, "completed")
    ]
    assert pickle.loads(pickle.dumps(timeline)) == timeline


def read_piece(split: hudini.Split) -> list[dict[str, Any]]:
    return hudini.read_split(split).to_arrow().to_pylist()


def test_splits_are_read_in_other_processes(table: hudini.Table) -> None:
    table.upsert([trip(f"k{n}", n, city=city) for n, city in enumerate(["sf", "ny", "la"] * 20)])
    scan = table.read()
    splits = scan.splits(target_bytes=1)
    assert len(splits) > 1
    assert splits[0].schema == scan.schema
    table.upsert([trip("k0", 100)])
    with ProcessPoolExecutor(2) as pool:
        pieces = [row for piece in pool.map(read_piece, splits) for row in piece]
    assert sorted(row["id"] for row in pieces) == sorted(f"k{n}" for n in range(60))
    assert {row["ts"] for row in pieces} == set(range(60))


def test_there_is_no_table(tmp_path: Path) -> None:
    assert not hudini.is_table(tmp_path)
    with pytest.raises(hudini.TableNotFound) as caught:
        hudini.open(tmp_path)
    assert caught.value.path is not None
    assert isinstance(caught.value, FileNotFoundError)


def test_there_is_a_table_already(table: hudini.Table) -> None:
    assert hudini.is_table(table.path)
    with pytest.raises(hudini.TableExists):
        hudini.create(table.path, SCHEMA, record_key="id")
    again = hudini.create(table.path, SCHEMA, record_key="id", ordering="ts", partition_by="city", exist_ok=True)
    assert again == table


def test_write_creates_the_table_from_its_data(tmp_path: Path) -> None:
    path = tmp_path / "t"
    create: dict[str, Any] = {"record_key": "id", "ordering": "ts", "partition_by": "city", "options": OPTIONS}
    data = pa.Table.from_pylist([trip("a", 1), trip("b", 1)])
    result = hudini.write(path, data.to_reader(), mode="error", **create)
    assert result.inserted == 2
    with pytest.raises(hudini.TableExists):
        hudini.write(path, data, mode="error", **create)
    hudini.write(path, [trip("b", 2), trip("c", 1)])
    assert rows(hudini.open(path)) == [trip("a", 1), trip("b", 2), trip("c", 1)]


def test_write_overwrites_a_table(tmp_path: Path) -> None:
    for keys in (["a", "b"], ["c"]):
        hudini.write(tmp_path / "t", [trip(key, 1) for key in keys], record_key="id", mode="overwrite")
    table = hudini.open(tmp_path / "t")
    assert rows(table) == [trip("c", 1)]
    assert [line["action"] for line in table.history()] == ["replacecommit", "replacecommit"]


def test_write_refuses_what_it_cannot_do(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="mode is"):
        hudini.write(tmp_path / "t", [trip("a", 1)], record_key="id", mode="merge")  # type: ignore[arg-type]
    assert not hudini.is_table(tmp_path / "t")


def test_incremental(table: hudini.Table) -> None:
    first = table.upsert([trip("a", 1), trip("b", 1)])
    second = table.upsert([trip("a", 2), trip("c", 1)])

    def ids(start: Any = None, end: Any = None) -> list[str]:
        return sorted(table.incremental(start, end, columns=["id"]).to_arrow()["id"].to_pylist())

    assert ids() == ids("000") == ids("earliest") == ["a", "b", "c"]
    assert ids(first) == ids(table.history()[1]) == ids(first.completed, second) == ["a", "c"]
    assert ids(end=first) == ["a", "b"]
    assert ids(second) == []
    with pytest.raises(hudini.InvalidOption, match="earliest"):
        ids(end="earliest")
    scan = table.incremental(first)
    table.upsert([trip("d", 1)])
    assert scan.count() == 2
    assert scan.schema.names[0] == "_hoodie_commit_time"
    assert [row["id"] for split in scan.splits() for batch in hudini.read_split(split) for row in batch.to_pylist()]


def test_changes(table: hudini.Table) -> None:
    first = table.upsert([trip("a", 1), trip("b", 1)])
    second = table.upsert([trip("a", 2), trip("c", 1)])
    third = table.delete([{"id": "b", "city": "sf"}])

    def told(start: Any = None, end: Any = None) -> list[tuple[Any, ...]]:
        def ts(image: Any) -> Any:
            return image and (image["id"], image["ts"])

        rows = table.changes(start, end).to_arrow().to_pylist()
        return [(row["op"], row["ts_ms"], ts(row["before"]), ts(row["after"])) for row in rows]

    inserts = [("i", first.instant, None, ("a", 1)), ("i", first.instant, None, ("b", 1))]
    updates = [("u", second.instant, ("a", 1), ("a", 2)), ("i", second.instant, None, ("c", 1))]
    deletes = [("d", third.instant, ("b", 1), None)]
    assert told() == told("000") == [*inserts, *updates, *deletes]
    assert told(end=first) == inserts
    assert told(first, second) == updates
    assert told(second) == deletes
    assert told(third) == []
    scan = table.changes(first, images="json")
    assert scan.schema.names == ["op", "ts_ms", "before", "after"]
    texts = [row for split in scan.splits() for batch in hudini.read_split(split) for row in batch.to_pylist()]
    assert json.loads(texts[-1]["before"])["_hoodie_record_key"] == "b"
    assert texts[-1]["after"] is None
    assert scan.count() == 3
    assert scan.explain()["slices"] == 4
    with pytest.raises(hudini.InvalidOption, match="images=xml"):
        table.changes(images="xml")  # type: ignore[arg-type]


def test_images_spell_what_is_no_number_as_apache_hudi_does(tmp_path: Path) -> None:
    values = [float("inf"), float("-inf"), float("nan"), 0.1]
    table = hudini.create(tmp_path / "t", {"id": "int", "single": "float", "double": "double"}, record_key="id")
    table.upsert([{"id": n, "single": value, "double": value} for n, value in enumerate(values)])
    images = [json.loads(text) for text in table.changes(images="json").to_arrow()["after"].to_pylist()]
    told = {image["id"]: (image["single"], image["double"]) for image in images}
    assert told == {n: (text, text) for n, text in enumerate(["Infinity", "-Infinity", "NaN", 0.1])}


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda t: t.bulk_insert([], sort_by="id"), "sort_by="),
        (lambda t: t.bulk_insert([], curve="zorder"), "curve="),
        (lambda t: t.delete(where="id = 'a'"), "where="),
    ],
)
def test_arguments_that_are_not_there_yet_say_so(table: hudini.Table, call: Any, name: str) -> None:
    with pytest.raises(hudini.UnsupportedFeature, match=name):
        call(table)


def test_new_columns_are_added_unless_that_is_refused(table: hudini.Table) -> None:
    table.upsert([trip("a", 1)])
    wider = [{"id": "b", "ts": 1, "city": "sf", "note": "new"}]
    with pytest.raises(hudini.SchemaMismatch, match="note"):
        table.upsert(wider, schema_mode="strict")
    with pytest.raises(hudini.InvalidOption, match="schema_mode"):
        table.upsert(wider, schema_mode="merge")  # type: ignore[arg-type]
    table.upsert(wider)
    assert table.schema.names[-1] == "note"
    assert {row["id"]: row["note"] for row in table.read().to_arrow().to_pylist()} == {"a": None, "b": "new"}


def test_a_write_under_a_key_is_done_once(table: hudini.Table) -> None:
    first = table.insert([trip("a", 1)], idempotency_key="k")
    again = table.insert([trip("a", 1)], idempotency_key="k")
    assert (again.instant, again.inserted) == (first.instant, 1)
    assert len(table.history()) == 1


@pytest.mark.parametrize("table_type", ["cow", "mor"])
@pytest.mark.parametrize("index", ["SIMPLE", "BLOOM", "BUCKET"])
def test_partitions_are_overwritten_and_deleted(tmp_path: Path, table_type: Any, index: str) -> None:
    options = {"hoodie.index.type": index}
    table = hudini.create(tmp_path / "t", SCHEMA, "id", "ts", "city", table_type=table_type, options=options)
    table.upsert([trip("a", 5), trip("b", 5), {**trip("c", 5), "city": "ny"}])
    assert table.upsert([trip("a", 6)]).updated == 1
    result = table.insert_overwrite([trip("d", 1)])
    assert (result.action, result.operation, result.inserted) == ("replacecommit", "insert_overwrite", 1)
    assert sorted(row["id"] for row in rows(table)) == ["c", "d"]
    assert table.delete_partitions(["ny"]).operation == "delete_partition"
    assert table.delete_partitions("ny").instant is None
    assert rows(table) == [trip("d", 1)]
    assert table.read(as_of=table.history()[-1]).count() == 3
    assert table.overwrite_table([trip("e", 1)]).inserted == 1
    assert rows(table) == [trip("e", 1)]


def test_an_unknown_option_is_named(table: hudini.Table) -> None:
    with pytest.raises(hudini.InvalidOption, match=r"hoodie\.bogus\.key"):
        table.upsert([trip("a", 1)], options={"hoodie.bogus.key": "1"})
    assert table.history() == []


def test_options_say_what_the_arguments_leave_open(tmp_path: Path) -> None:
    options = {
        "hoodie.table.name": "rides",
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.precombine.field": "ts",
        "hoodie.datasource.write.partitionpath.field": "city",
        "hoodie.datasource.write.table.type": "MERGE_ON_READ",
    }
    table = hudini.create(tmp_path / "t", SCHEMA, options=options)
    assert (table.name, table.table_type) == ("rides", "mor")
    assert (table.record_key, table.ordering, table.partition_by) == (["id"], ["ts"], ["city"])
    assert hudini.create(tmp_path / "u", SCHEMA, "id", table_type="mor", options=options).table_type == "mor"


@pytest.mark.parametrize("way", ["to_arrow", "to_batches", "reader", "iteration", "to_pandas", "to_polars"])
def test_a_file_damaged_under_a_scan_is_a_typed_error(tmp_path: Path, way: str) -> None:
    if way in ("to_pandas", "to_polars"):
        pytest.importorskip(way.removeprefix("to_"))
    table = hudini.create(tmp_path / "t", SCHEMA, "id", "ts", options=OPTIONS)
    table.upsert([trip("a", 1)])
    scan = table.read()
    (file,) = (tmp_path / "t").glob("*.parquet")
    file.write_bytes(b"PAR1" + bytes(100) + b"PAR1")
    ways = {"reader": lambda: scan.reader().read_all(), "iteration": lambda: list(scan)}
    with pytest.raises(hudini.CorruptFile, match=file.name):
        ways.get(way, lambda: getattr(scan, way)())()


def test_data_without_the_record_key_is_an_error(table: hudini.Table) -> None:
    with pytest.raises(hudini.SchemaMismatch, match="id"):
        table.upsert(pa.table({"ts": [1], "city": ["sf"]}))
    assert table.history() == []


def test_an_exception_of_the_callers_iterator_comes_back_as_itself(table: hudini.Table) -> None:
    class Mine(Exception):
        pass

    def batches() -> Any:
        yield pa.RecordBatch.from_pylist([trip("a", 1)])
        raise Mine("the source broke")

    with pytest.raises(Mine, match="the source broke"):
        table.upsert(batches())
    assert rows(table) == []
    assert table.history() == []


def test_metadata_is_text(table: hudini.Table) -> None:
    with pytest.raises(TypeError, match="metadata"):
        table.upsert([trip("a", 1)], metadata={"n": 1})  # type: ignore[dict-item]


def test_a_mark_of_deletes_that_is_no_boolean_is_refused_at_once(table: hudini.Table) -> None:
    with pytest.raises(hudini.SchemaMismatch, match="_hoodie_is_deleted must be boolean"):
        table.upsert([trip("a", 1) | {"_hoodie_is_deleted": "yes"}])
    assert table.history() == []


def test_columns_that_rows_lack_are_not_dropped(table: hudini.Table) -> None:
    drops = {"hoodie.datasource.write.schema.allow.auto.evolution.column.drop": "true"}
    with pytest.raises(hudini.UnsupportedFeature, match=r"column\.drop"):
        table.upsert([trip("a", 1)], options=drops)
    assert table.history() == []
    assert hudini.open(table.path, options=drops).read().to_arrow().num_rows == 0


def test_columns_that_meta_leaves_out_are_told_as_such(tmp_path: Path) -> None:
    table = hudini.create(tmp_path / "t", {"id": "string not null"}, record_key="id")
    for ask in (table.read, table.incremental):
        with pytest.raises(hudini.InvalidOption, match="_hoodie_commit_time, and meta=False leaves out"):
            ask(columns=["id", "_hoodie_commit_time"], meta=False)
        assert ask(columns=["_hoodie_commit_time"]).schema.names == ["_hoodie_commit_time"]
        with pytest.raises(hudini.SchemaMismatch, match="no column 'nope'"):
            ask(columns=["nope"], meta=False)


def test_incremental_takes_meta_and_limit(tmp_path: Path) -> None:
    table = hudini.create(tmp_path / "t", {"id": "string not null"}, record_key="id")
    table.upsert([{"id": name} for name in "abc"])
    rows = table.incremental(meta=False, limit=2)
    assert rows.schema.names == ["id"]
    assert rows.to_arrow().num_rows == 2


def test_arguments_of_the_wrong_shape_are_told(tmp_path: Path) -> None:
    table = hudini.create(tmp_path / "t", {"id": "string not null"}, record_key="id")
    for wrong in ([("a", "b")], "a=b", 5):
        with pytest.raises(hudini.InvalidOption, match="options map keys to values"):
            hudini.open(table.path, options=wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="metadata maps strings to strings"):
        table.upsert([{"id": "a"}], metadata=[("a", "b")])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"Scan\.splits\(\)"):
        hudini.read_split("x")  # type: ignore[arg-type]


def test_properties_that_were_cut_off(tmp_path: Path) -> None:
    table = hudini.create(tmp_path / "t", {"id": "string"}, record_key="id")
    table.upsert([{"id": "a"}])
    properties = tmp_path / "t" / ".hoodie" / "hoodie.properties"
    whole = properties.read_bytes()
    properties.write_bytes(b"")
    with pytest.raises(hudini.CorruptFile, match=r"hoodie\.table\.name"):
        hudini.open(tmp_path / "t")
    with pytest.raises(hudini.CorruptFile):
        hudini.write(tmp_path / "t", [{"id": "b"}], record_key="id")
    assert properties.read_bytes() == b"", "no other table was made over it"
    properties.with_name("hoodie.properties.backup").write_bytes(whole)
    assert hudini.open(tmp_path / "t").read().count() == 1


def test_methods_that_are_not_there_yet_say_so(table: hudini.Table) -> None:
    for method in (table.merge, table.services.restore):
        with pytest.raises(hudini.UnsupportedFeature, match=rf"{method.__name__}\(\) is not supported"):
            method("anything", of=1)


def test_no_row_and_yet_something_to_tell(table: hudini.Table) -> None:
    nothing = pa.table(table.read(meta=False)).slice(0, 0)
    told = table.upsert(nothing, metadata={"place": "7"})
    assert (told.inserted, told.updated, told.files_added) == (0, 0, 0)
    assert (table.history()[0]["instant"], table.history()[0]["metadata"]) == (told.instant, {"place": "7"})
    marked = {"hoodie.datasource.write.commitmeta.key.prefix": "_", "_place": "8"}
    table.insert(nothing, options=marked)
    assert table.history()[0]["metadata"] == {"_place": "8"}
    assert table.upsert(nothing).instant is None
    assert table.verify(deep=True).ok


def test_tables_do_not_lie_within_each_other(tmp_path: Path) -> None:
    for name in ("a", "deep/b"):
        hudini.write(tmp_path / "lake" / name, [{"id": 1}], record_key="id")
    with pytest.raises(hudini.InvalidOption, match="tables within"):
        hudini.write(tmp_path / "lake", [{"id": 9}], record_key="id")
    assert not hudini.is_table(tmp_path / "lake")
    outer = hudini.create(tmp_path / "outer", {"id": "long"}, record_key="id")
    outer.upsert([{"id": 1}])
    hudini.write(tmp_path / "outer" / "in", [{"id": 2}], record_key="id")
    assert outer.read().count() == 1
    listed = hudini.open(outer.path, options={"hoodie.metadata.enable": "false"})
    with pytest.raises(hudini.UnsupportedFeature, match="a table in the folder of another one"):
        listed.read()


@pytest.mark.parametrize(
    "argument, option",
    [
        ({"record_key": "id"}, {"hoodie.datasource.write.recordkey.field": "city"}),
        ({"ordering": "ts"}, {"hoodie.datasource.write.precombine.field": "fare"}),
        ({"partition_by": "city"}, {"hoodie.datasource.write.partitionpath.field": "id"}),
        ({"table_type": "mor"}, {"hoodie.datasource.write.table.type": "COPY_ON_WRITE"}),
        ({"name": "one"}, {"hoodie.table.name": "other"}),
        ({"table_version": 8}, {"hoodie.write.table.version": "9"}),
        ({"merge_mode": "COMMIT_TIME_ORDERING"}, {"hoodie.write.record.merge.mode": "EVENT_TIME_ORDERING"}),
    ],
)
def test_arguments_and_options_say_the_same(tmp_path: Path, argument: Any, option: dict[str, str]) -> None:
    told = {"record_key": "id", "ordering": "ts"} | argument
    with pytest.raises(hudini.InvalidOption, match=next(iter(option))):
        hudini.create(tmp_path / "t", SCHEMA, options=option, **told)
    assert not hudini.is_table(tmp_path / "t")


def test_a_table_that_may_be_there_must_be_the_one_wished_for(table: hudini.Table) -> None:
    assert hudini.create(table.path, SCHEMA, record_key="id", exist_ok=True) == table
    assert hudini.create(table.path, SCHEMA, exist_ok=True) == table
    with pytest.raises(hudini.InvalidOption, match="record_key is 'city'"):
        hudini.create(table.path, SCHEMA, record_key="city", exist_ok=True)


def test_an_option_for_another_version_is_refused(table: hudini.Table) -> None:
    with pytest.raises(hudini.InvalidOption, match=r"table\.version is '8', and '9'"):
        table.upsert([trip("a", 1)], options={"hoodie.write.table.version": "8"})


def test_columns_that_spark_takes_for_hudis_own_are_refused(table: hudini.Table, tmp_path: Path) -> None:
    with pytest.raises(hudini.SchemaMismatch, match="beside the column '_hoodie_record_key'"):
        hudini.create(tmp_path / "t", SCHEMA | {"_HOODIE_RECORD_KEY": "string"}, record_key="id")
    with pytest.raises(hudini.SchemaMismatch, match="beside the column '_hoodie_file_name'"):
        table.upsert([trip("a", 1) | {"_Hoodie_File_Name": "x"}])


def test_arguments_of_other_kinds_are_told(table: hudini.Table) -> None:
    with pytest.raises(TypeError, match="no Int64Array"):
        table.upsert(pa.array([1]))
    with pytest.raises(hudini.InvalidOption, match="beyond the years"):
        table.read(as_of=dt.datetime.min.replace(tzinfo=dt.timezone(dt.timedelta(hours=14))))
    with pytest.raises(hudini.InvalidOption, match="'sf/' is no partition"):
        table.delete_partitions(["sf/"])


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Kolkata"])
def test_a_table_lives_in_utc_wherever_it_is_made(tmp_path: Path, zone: str) -> None:
    """Instants and partitions, on a machine whose clock shows another time."""
    code = f"""
import datetime as dt, hudini
row = {{"id": "a", "at": dt.datetime(2026, 1, 1, 0, 30, tzinfo=dt.timezone.utc), "day": dt.date(2026, 1, 1)}}
first = hudini.write({str(tmp_path / "t")!r}, [row], "id", partition_by="day", table_type="mor")
last = hudini.open({str(tmp_path / "t")!r}).upsert([row])
print(first.instant, last.instant)
"""
    before = dt.datetime.now(dt.timezone.utc)
    run = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "TZ": zone}, capture_output=True, text=True, check=True
    )
    first, last = (dt.datetime.strptime(word + "+0000", "%Y%m%d%H%M%S%f%z") for word in run.stdout.split())
    assert before - dt.timedelta(seconds=1) <= first < last <= dt.datetime.now(dt.timezone.utc)
    table = hudini.open(tmp_path / "t")
    assert "hoodie.table.timeline.timezone=UTC" in (tmp_path / "t/.hoodie/hoodie.properties").read_text()
    assert table.read(as_of=last).to_arrow().column("at").to_pylist()[0].hour == 0
    assert (tmp_path / "t" / "2026-01-01").is_dir()
    assert table.verify(deep=True).ok
