"""What rows of older tables and older files mean: Apache Hudi writes them, and both engines read the same."""

from __future__ import annotations

from datetime import datetime, timezone
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import hudini
from tests.support.compare import difference

from .oracle import Oracle

pytestmark = pytest.mark.interop

KINDS = ["COPY_ON_WRITE", "MERGE_ON_READ"]
PARTIAL = "org.apache.hudi.common.model.PartialUpdateAvroPayload"


class Writer:
    """Apache Hudi at work on one table."""

    def __init__(self, oracle: Oracle, path: Path, schema: pa.Schema, kind: str, version: int, **more: str) -> None:
        self._oracle, self.path, self._schema = oracle, path, schema
        self._options = {
            "hoodie.table.name": "t",
            "hoodie.datasource.write.table.type": kind,
            "hoodie.datasource.write.recordkey.field": "id",
            "hoodie.datasource.write.precombine.field": "ts",
            "hoodie.write.table.version": str(version),
            "hoodie.index.type": "SIMPLE",
            "hoodie.compact.inline": "false",
            "hoodie.metadata.enable": "false",
            # Else what should be a log is a base file, written anew for new keys.
            "hoodie.parquet.small.file.limit": "0",
            **{name.replace("__", "."): value for name, value in more.items()},
        }

    def write(self, operation: str, rows: list[dict[str, Any]], mode: str = "append") -> None:
        options = {**self._options, "hoodie.datasource.write.operation": operation}
        self._oracle.write(self.path, pa.Table.from_pylist(rows, schema=self._schema), options, mode)

    def assert_same(self) -> list[dict[str, Any]]:
        """Both engines read the same, meta columns too; the rows without those."""
        theirs, ours = self._oracle.read(self.path), hudini.open(self.path).read().to_arrow()
        assert difference(ours, theirs) is None
        return ours.to_pylist()


VALUES = pa.schema(
    [
        ("id", pa.string()),
        ("v", pa.string()),
        ("f", pa.float64()),
        ("ts", pa.int64()),
        ("_hoodie_is_deleted", pa.bool_()),
    ]
)


def value(key: str, v: str | None, f: float | None, ts: int | None, gone: bool = False) -> dict[str, Any]:
    return {"id": key, "v": v, "f": f, "ts": ts, "_hoodie_is_deleted": gone}


@pytest.mark.parametrize("version", [6, 8, 9])
def test_partial_updates_by_their_payload_class(oracle: Oracle, tmp_path: Path, version: int) -> None:
    payload = {"hoodie__datasource__write__payload__class": PARTIAL}
    table = Writer(oracle, tmp_path / "t", VALUES, "MERGE_ON_READ", version, **payload)
    keys = [f"k{number}" for number in range(1, 9)]
    table.write("bulk_insert", [value(key, None if key == "k4" else "b", 1.0, 5) for key in keys], "overwrite")
    table.write(
        "upsert",
        [
            value("k1", None, None, 4, True),
            value("k2", "u", None, 9),
            value("k3", None, None, 9, True),
            value("k4", "x", 9.0, 4),
            value("k5", None, None, 5, True),
            value("k7", None, None, 9, True),
            value("k8", "u8", None, 6),
        ],
    )
    table.assert_same()
    table.write(
        "upsert",
        [
            value("k2", None, None, 7, True),
            value("k3", "late", None, 7),
            value("k7", "newer", None, 11),
            value("k8", None, None, 8, True),
        ],
    )
    found = {row["id"]: (row["v"], row["f"], row["ts"]) for row in table.assert_same()}
    if version < 9:
        assert found == {
            "k3": ("late", 1.0, 7),
            "k4": ("x", 1.0, 5),
            "k6": ("b", 1.0, 5),
            "k7": ("newer", 1.0, 11),
        }
    if version == 9:
        assert found["k1"] == ("b", 1.0, 5), "there the delete is ordered"


EVENTS = pa.schema(
    [
        ("id", pa.string()),
        ("v", pa.string()),
        ("_event_seq", pa.string()),
        ("_event_lsn", pa.int64()),
        ("_change_operation_type", pa.string()),
    ]
)
PLACES = (("2.50", 1), ("2.1000", 2), ("10.50", 10))
# Null: the record is not in that write.
HISTORIES = list(product((*PLACES, None), [*product(PLACES, "ud"), None], [*product(PLACES, "ud"), None]))


def event(number: int, place: tuple[str, int], operation: str, v: str) -> dict[str, Any]:
    key, (seq, lsn) = f"k{number:03}", place
    return {"id": key, "v": v, "_event_seq": seq, "_event_lsn": lsn, "_change_operation_type": operation}


@pytest.mark.parametrize("version", [6, 8])
@pytest.mark.parametrize(
    ("payload", "ordering"),
    [("MySqlDebezium", "_event_seq"), ("PostgresDebezium", "_event_lsn"), ("MySqlDebezium", "v")],
)
def test_events_of_debezium(oracle: Oracle, tmp_path: Path, payload: str, ordering: str, version: int) -> None:
    """Each order of three events, with and without the first and the second; then deletes by key."""
    chosen = {
        "hoodie__datasource__write__payload__class": f"org.apache.hudi.common.model.debezium.{payload}AvroPayload",
        "hoodie__datasource__write__precombine__field": ordering,
    }
    table = Writer(oracle, tmp_path / "t", EVENTS, "MERGE_ON_READ", version, **chosen)
    first = [event(number, place, "c", "0") for number, (place, *_) in enumerate(HISTORIES) if place]
    table.write("bulk_insert", first, "overwrite")
    for at in (1, 2):
        events = [(number, history[at]) for number, history in enumerate(HISTORIES) if history[at]]
        # Text that Debezium did not have stays as it says so.
        text = "__debezium_unavailable_value" if at == 1 else "2"
        table.write("upsert", [event(number, place, kind, text) for number, (place, kind) in events])
    found = {row["id"] for row in table.assert_same()}
    table.write("delete", first[::9])
    assert found - {row["id"] for row in table.assert_same()} == found & {row["id"] for row in first[::9]}
    table.write("upsert", [event(number, PLACES[0], "u", "late") for number in range(0, len(HISTORIES), 18)])
    table.assert_same()
    with pytest.raises(hudini.UnsupportedFeature, match=r"payload class|version 6"):
        hudini.open(table.path).delete(pa.Table.from_pylist(first[:1], EVENTS))


TIMES = (4, 5, 6)


def test_events_by_a_class_that_decides(oracle: Oracle, tmp_path: Path) -> None:
    """Release 1.0 says of tables with this class that it decides, the others that it means a merge mode."""
    payload = {"hoodie__datasource__write__payload__class": "org.apache.hudi.common.model.EventTimeAvroPayload"}
    table = Writer(oracle, tmp_path / "t", VALUES, "MERGE_ON_READ", 8, **payload)
    histories = list(product([*product(TIMES, (False, True)), None], repeat=3))
    table.write("bulk_insert", [value(f"k{n}", "base", 1.0, 5) for n in range(len(histories))], "overwrite")
    for at in range(3):
        events = [(n, history[at]) for n, history in enumerate(histories) if history[at]]
        table.write("upsert", [value(f"k{n}", str(at), None, ts, gone) for n, (ts, gone) in events])
    by_mode = table.assert_same()
    properties = table.path / ".hoodie" / "hoodie.properties"
    stated = {
        "hoodie.record.merge.mode": "CUSTOM",
        "hoodie.record.merge.strategy.id": "00000000-0000-0000-0000-000000000000",
        "hoodie.compaction.payload.class": "org.apache.hudi.common.model.EventTimeAvroPayload",
    }
    kept = [line for line in properties.read_text().splitlines() if line.partition("=")[0] not in stated]
    properties.write_text("\n".join([*kept, *(f"{key}={text}" for key, text in stated.items())]) + "\n")
    properties.with_name(".hoodie.properties.crc").unlink(missing_ok=True)
    assert len(table.assert_same()) > len(by_mode)
    with pytest.raises(hudini.UnsupportedFeature, match="payload class"):
        hudini.open(table.path).delete(pa.Table.from_pylist([value("k0", None, None, 9)], VALUES))


@pytest.mark.parametrize("version", [8, 9])
def test_a_delete_without_an_ordering_value(oracle: Oracle, tmp_path: Path, version: int) -> None:
    """In a log; where it rewrites files, Apache Hudi fails at such a row."""
    table = Writer(oracle, tmp_path / "t", VALUES, "MERGE_ON_READ", version)
    table.write("bulk_insert", [value("k", "a", 1.0, 5), value("j", "a", 1.0, 5)], "overwrite")
    table.write("upsert", [value("k", None, None, None, True)])
    assert [row["id"] for row in table.assert_same()] == ["j"]


@pytest.mark.parametrize("kind", KINDS)
def test_milliseconds_that_files_call_microseconds(oracle: Oracle, tmp_path: Path, kind: str) -> None:
    """Releases before 1.1 wrote such files, of rows with `timestamp-millis`."""
    schema = pa.schema([("id", pa.string()), ("ts", pa.int64()), ("t", pa.timestamp("us", tz="UTC"))])
    table = Writer(oracle, tmp_path / "t", schema, kind, 6)
    told, meant = datetime(1970, 1, 20, 16, 13, 20, tzinfo=timezone.utc), datetime(2023, 11, 14, 22, 13, 20)
    table.write("bulk_insert", [{"id": "a", "ts": 1, "t": told}, {"id": "c", "ts": 1, "t": told}], "overwrite")
    table.write("upsert", [{"id": "a", "ts": 2, "t": told}, {"id": "b", "ts": 2, "t": told}])
    for commit in (table.path / ".hoodie").glob("*commit"):
        commit.write_text(commit.read_text().replace("timestamp-micros", "timestamp-millis"))
        (commit.parent / f".{commit.name}.crc").unlink(missing_ok=True)
    [theirs, ours] = [oracle.read(table.path), hudini.open(table.path).read().to_arrow()]
    in_python = [{row["id"]: row["t"].replace(tzinfo=None) for row in rows.to_pylist()} for rows in (theirs, ours)]
    assert in_python == [{key: meant for key in "abc"}] * 2


@pytest.mark.parametrize("kind", KINDS)
def test_a_partition_column_that_is_shown_as_text(oracle: Oracle, tmp_path: Path, kind: str) -> None:
    """An UPDATE in SQL writes the text that it reads, beside files that have the number."""
    schema = pa.schema([("id", pa.string()), ("ts", pa.string()), ("at", pa.int64())])
    by_time = {
        "hoodie__datasource__write__keygenerator__class": "org.apache.hudi.keygen.TimestampBasedKeyGenerator",
        "hoodie__keygen__timebased__timestamp__type": "EPOCHMILLISECONDS",
        "hoodie__keygen__timebased__output__dateformat": "yyyy-MM-dd",
        "hoodie__datasource__write__partitionpath__field": "at",
    }
    table = Writer(oracle, tmp_path / "t", schema, kind, 9, **by_time)
    rows = [{"id": "a", "ts": "1", "at": 1_700_000_000_000}, {"id": "b", "ts": "1", "at": 1_700_100_000_000}]
    table.write("bulk_insert", rows, "overwrite")
    name = f"by_time_{kind.lower()}"
    oracle.sql(f"CREATE TABLE {name} USING hudi LOCATION '{table.path}'")
    oracle.sql(f"UPDATE {name} SET ts = '2' WHERE id = 'a'")
    found = {row["id"]: (row["ts"], row["at"]) for row in table.assert_same()}
    assert found == {"a": ("2", "1700000000000"), "b": ("1", "1700100000000")}
