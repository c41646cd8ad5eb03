"""`hudini.write`: one call that makes the table or writes into the one that is there."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import hudini

TRIPS = [{"id": "a", "ts": 1, "city": "sf"}, {"id": "b", "ts": 1, "city": "ny"}]
CREATE: dict[str, Any] = {
    "record_key": "id",
    "ordering": "ts",
    "partition_by": "city",
    "table_type": "mor",
    "name": "rides",
    "merge_mode": "EVENT_TIME_ORDERING",
    "key_generator": "SIMPLE",
    "table_version": 9,
}


def ids(path: Path) -> list[str]:
    return sorted(hudini.open(path).read(columns=["id"]).to_arrow()["id"].to_pylist())


def test_the_same_call_can_be_repeated(tmp_path: Path) -> None:
    for _ in range(2):
        hudini.write(tmp_path / "t", TRIPS, **CREATE)
    table = hudini.open(tmp_path / "t")
    assert (table.name, table.table_type, table.merge_mode) == ("rides", "mor", "EVENT_TIME_ORDERING")
    assert (table.record_key, table.ordering, table.partition_by) == (["id"], ["ts"], ["city"])
    assert [line["operation"] for line in table.history()] == ["upsert", "upsert"]
    # The same in other words, and without any.
    same = {"table_type": "MERGE_ON_READ", "merge_mode": "org.apache.hudi.common.model.DefaultHoodieRecordPayload"}
    generator = "org.apache.hudi.keygen.SimpleKeyGenerator"
    hudini.write(tmp_path / "t", TRIPS, ["id"], ordering=["ts"], key_generator=generator, **same)  # type: ignore[arg-type]
    hudini.write(tmp_path / "t", TRIPS)
    assert ids(tmp_path / "t") == ["a", "b"]


@pytest.mark.parametrize(
    ("argument", "wish", "message"),
    [
        ("record_key", "ts", "record_key is 'ts', and 'id' in the table"),
        ("record_key", ["id", "city"], "record_key is 'id,city', and 'id' in the table"),
        ("ordering", "id", "ordering is 'id', and 'ts' in the table"),
        ("partition_by", ["ts"], "partition_by is 'ts', and 'city' in the table"),
        ("table_type", "cow", "table_type is 'cow', and 'mor' in the table"),
        ("name", "trips", "name is 'trips', and 'rides' in the table"),
        ("merge_mode", "commit_time_ordering", "merge_mode is 'commit_time_ordering', and 'EVENT_TIME_ORDERING' in"),
        ("key_generator", "COMPLEX", "key_generator is 'COMPLEX', and 'SIMPLE' in the table"),
        ("table_version", 8, "table_version is '8', and '9' in the table"),
    ],
)
def test_another_table_is_told_by_argument(tmp_path: Path, argument: str, wish: Any, message: str) -> None:
    hudini.write(tmp_path / "t", TRIPS, **CREATE)
    for told in ({argument: wish}, CREATE | {argument: wish}):
        with pytest.raises(hudini.InvalidOption, match=message) as caught:
            hudini.write(tmp_path / "t", TRIPS, **told)
        assert caught.value.path == hudini.open(tmp_path / "t").path
        assert "leave the argument out" in (caught.value.hint or "")
    assert len(hudini.open(tmp_path / "t").history()) == 1


def test_partition_fields_left_over_beside_the_generator_of_tables_without_partitions(tmp_path: Path) -> None:
    job = {
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.partitionpath.field": "city",
        "hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.NonpartitionedKeyGenerator",
    }
    for _ in range(2):
        hudini.write(tmp_path / "t", TRIPS, options=job)
    table = hudini.open(tmp_path / "t")
    assert table.partition_by == []
    assert set(table.read(columns=["_hoodie_partition_path"]).to_arrow()[0].to_pylist()) == {""}
    assert ids(tmp_path / "t") == ["a", "b"]
    with pytest.raises(hudini.InvalidOption, match="and the argument say different things"):
        hudini.write(tmp_path / "other", TRIPS, partition_by="city", options=job)


def test_a_wish_that_a_plain_table_does_not_fulfil_is_refused(tmp_path: Path) -> None:
    hudini.write(tmp_path / "t", TRIPS, record_key="id")
    for told in ({"ordering": "ts"}, {"partition_by": "city"}):
        with pytest.raises(hudini.InvalidOption, match=f"{next(iter(told))} is '.*', and '' in the table"):
            hudini.write(tmp_path / "t", TRIPS, **told)


def test_an_option_that_is_no_argument_keeps_its_name(tmp_path: Path) -> None:
    hudini.write(tmp_path / "t", TRIPS, **CREATE)
    options = {"hoodie.datasource.write.table.type": "COPY_ON_WRITE"}
    with pytest.raises(hudini.InvalidOption, match=r"hoodie\.datasource\.write\.table\.type is 'COPY_ON_WRITE'"):
        hudini.write(tmp_path / "t", TRIPS, options=options)


@pytest.mark.parametrize("exists", [False, True])
def test_an_argument_that_there_is_not_is_a_type_error(tmp_path: Path, exists: bool) -> None:
    if exists:
        hudini.write(tmp_path / "t", TRIPS, record_key="id")
    with pytest.raises(TypeError, match="tabel_type"):
        hudini.write(tmp_path / "t", TRIPS, record_key="id", tabel_type="mor")  # type: ignore[call-arg]
    assert hudini.is_table(tmp_path / "t") == exists


@pytest.mark.parametrize("mode", ["upsert", "append", "overwrite"])
def test_a_write_takes_metadata_and_key_whether_the_table_is_there_or_not(tmp_path: Path, mode: Any) -> None:
    for day in ("monday", "tuesday"):
        told: dict[str, Any] = {"mode": mode, "metadata": {"day": day}, "idempotency_key": day}
        first = hudini.write(tmp_path / "t", TRIPS, "id", **told)
        assert hudini.write(tmp_path / "t", TRIPS, "id", **told).instant == first.instant
    history = hudini.open(tmp_path / "t").history()
    assert [line["metadata"]["day"] for line in history] == ["tuesday", "monday"]


def test_a_write_takes_a_schema_mode(tmp_path: Path) -> None:
    hudini.write(tmp_path / "t", TRIPS, "id", schema_mode="strict")
    wider = [row | {"note": "new"} for row in TRIPS]
    with pytest.raises(hudini.SchemaMismatch, match="note"):
        hudini.write(tmp_path / "t", wider, schema_mode="strict")
    hudini.write(tmp_path / "t", wider)
    assert hudini.open(tmp_path / "t").schema.names[-1] == "note"


KEYLESS = [{"id": "a", "n": 1}, {"id": None, "n": 2}]
KEYED, UNKEYED = pa.table({"id": ["a"]}), pa.table({"id": pa.nulls(1, pa.string())})


LOCKS = "org.apache.hudi.client.transaction.lock"


@pytest.mark.parametrize(
    ("told", "error"),
    [
        ({"options": {"hoodie.bogus.key": "1"}}, hudini.InvalidOption),
        ({"options": {"hoodie.index.type": "GLOBAL_BLOOM"}}, hudini.UnsupportedFeature),
        ({"options": {"hoodie.write.lock.provider": f"{LOCKS}.ZookeeperBasedLockProvider"}}, hudini.UnsupportedFeature),
        ({"options": {"hoodie.write.lock.provider": "org.example.MyLock"}}, hudini.UnsupportedFeature),
        ({"options": {"hoodie.datasource.write.operation": "delete"}}, hudini.InvalidOption),
        ({"metadata": {"schema": "x"}}, hudini.InvalidOption),
        ({"metadata": {"n": 1}}, TypeError),
        ({"schema_mode": "merge"}, hudini.InvalidOption),
        ({"table_type": "cwo"}, hudini.InvalidOption),
        ({"record_key": "key"}, hudini.SchemaMismatch),
        ({"record_key": None}, hudini.UnsupportedFeature),
        ({"data": KEYLESS}, hudini.SchemaMismatch),
        ({"data": [{"id": "a"}, {"n": 2}]}, hudini.SchemaMismatch),
        ({"data": iter(KEYLESS)}, hudini.SchemaMismatch),
        ({"data": pa.Table.from_pylist(KEYLESS)}, hudini.SchemaMismatch),
        ({"data": pa.concat_tables([KEYED, UNKEYED])}, hudini.SchemaMismatch),
        ({"data": pa.table({"id": pa.nulls(2)})}, hudini.SchemaMismatch),
        ({"data": [{"id": None, "n": 1}, {"id": None, "n": None}], "record_key": ["id", "n"]}, hudini.SchemaMismatch),
    ],
)
def test_a_write_that_is_refused_leaves_no_table(tmp_path: Path, told: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        hudini.write(tmp_path / "t", **({"data": TRIPS, "record_key": "id"} | told))
    assert not hudini.is_table(tmp_path / "t")


def test_a_row_without_a_key_is_named(tmp_path: Path) -> None:
    for data in (KEYLESS, pa.Table.from_pylist(KEYLESS)):
        with pytest.raises(hudini.SchemaMismatch, match="row 1 has no record key: 'id' is null"):
            hudini.write(tmp_path / "t", data, "id")
    # A part of the key may be null.
    assert hudini.write(tmp_path / "t", KEYLESS, ["id", "n"]).inserted == 2


@pytest.mark.parametrize("way", ["polars", "pandas"])
def test_frames_make_tables(tmp_path: Path, way: str) -> None:
    frame = pytest.importorskip(way).DataFrame(TRIPS)
    assert hudini.write(tmp_path / "t", frame, "id").inserted == 2
    assert ids(tmp_path / "t") == ["a", "b"]


def at_once(monkeypatch: pytest.MonkeyPatch, **others: Any) -> None:
    """Somebody else makes the table just after it was looked for."""
    from hudini import table

    looked_for = table.is_table

    def is_table(path: Path, **told: Any) -> bool:
        found = looked_for(path, **told)
        monkeypatch.undo()
        hudini.write(path, [{"id": "z", "ts": 1, "city": "la"}], **others)
        return found

    monkeypatch.setattr(table, "is_table", is_table)


def test_two_that_write_first_both_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at_once(monkeypatch, **CREATE)
    hudini.write(tmp_path / "t", TRIPS, **CREATE)
    assert ids(tmp_path / "t") == ["a", "b", "z"]


def test_a_table_that_somebody_else_just_made_must_be_the_one_wished_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once(monkeypatch, record_key="ts")
    with pytest.raises(hudini.InvalidOption, match="record_key is 'id', and 'ts' in the table"):
        hudini.write(tmp_path / "t", TRIPS, **CREATE)
    assert ids(tmp_path / "t") == ["z"]


def test_of_two_that_want_no_table_yet_one_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at_once(monkeypatch, **CREATE)
    with pytest.raises(hudini.TableExists):
        hudini.write(tmp_path / "t", TRIPS, mode="error", **CREATE)
    assert ids(tmp_path / "t") == ["z"]


def test_nothing_of_a_dict_is_lost_on_its_way_into_a_table(tmp_path: Path) -> None:
    columns = {"id": "string not null", "addr": "struct<city:string>", "d": "date", "n": "timestamp_ntz"}
    table = hudini.create(tmp_path / "t", columns, record_key="id")
    east = dt.timezone(dt.timedelta(hours=2))
    for row, what in [
        ({"addr": {"city": "x", "zip": "1"}}, r"row 0: addr\.zip is no field of the column"),
        ({"d": dt.datetime(2024, 1, 1, 23, 59)}, "row 0: d is a datetime"),
        ({"n": dt.datetime(2024, 1, 1, 12, tzinfo=east)}, "row 0: n has a time zone"),
    ]:
        with pytest.raises(hudini.SchemaMismatch, match=what):
            table.upsert([{"id": "a"} | row])
    assert table.history() == []
    row = {"id": "a", "addr": {"city": "x"}, "d": dt.date(2024, 1, 1), "n": dt.datetime(2024, 1, 1, 12)}
    table.upsert([row])
    assert table.read(meta=False).to_arrow().to_pylist() == [row]


def test_a_late_column_does_not_make_one_that_rows_must_have(tmp_path: Path) -> None:
    columns = {"id": "long not null", "city": "string", "ts": "long", "note": "string"}
    table = hudini.create(tmp_path / "t", columns, record_key="id", ordering="ts", partition_by="city")

    def rows(**more: Any) -> Any:
        yield from ({"id": number, **more} for number in range(70_000))
        yield {"id": -1, **more, "note": "late"}

    with pytest.raises(hudini.SchemaMismatch, match=r"city|ts"):
        table.upsert(rows())
    with pytest.raises(hudini.SchemaMismatch, match="note"):
        table.upsert(({"id": number, "city": "sf", "ts": 1} for number in range(70_000)), schema_mode="strict")
    assert table.upsert(rows(city="sf", ts=1)).inserted == 70_001
    assert table.read(filter="note is not null").to_arrow()["id"].to_pylist() == [-1]
