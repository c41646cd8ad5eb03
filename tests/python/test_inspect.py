"""What `Table.inspect` and its verbs tell of a table that Apache Hudi wrote, with a metadata table."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pyarrow as pa
import pytest

import hudini
from tests.golden import catalogue

from .test_cli import run

CASE = "mor_metadata_all_indexes_v9"
INDEXES = ["bloom_filters", "column_stats", "files", "partition_stats", "record_index"]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return catalogue.unpack(CASE, tmp_path_factory.mktemp("inspect"))


@pytest.fixture(scope="module")
def inspect(path: Path) -> hudini.inspecting.Inspect:
    return hudini.open(path).inspect


def test_slices_are_those_of_apache_hudi(inspect: hudini.inspecting.Inspect) -> None:
    newest: dict[tuple[str, str], dict[str, object]] = {}
    replaced = {"9203d89d-fe2c-4bf0-bf4e-446f4cf50897-0"}
    for row in catalogue.facts()[CASE]["slices"]:
        if row["file_id"] not in replaced:
            newest[row["partition"], row["file_id"]] = row
    slices = inspect.slices()
    assert [(row["partition"], row["file_id"]) for row in slices] == sorted(newest)
    for row in slices:
        expected = newest[row["partition"], row["file_id"]]
        assert (row["base_instant"], row["base_file"]) == (expected["base_instant"], expected["base_file"])
        assert row["log_files"] == sorted(expected["log_files"])
    assert inspect.slices(partition="ny") == [row for row in slices if row["partition"] == "ny"]
    assert inspect.slices(partition="nowhere") == []


def test_files_and_partitions_are_those_of_the_slices(inspect: hudini.inspecting.Inspect, path: Path) -> None:
    slices, files = inspect.slices(), inspect.files()
    named = [(row["partition"], name) for row in slices for name in [row["base_file"], *row["log_files"]] if name]
    assert [(row["partition"], row["name"]) for row in files] == named
    for row in files:
        assert row["bytes"] == (path / row["partition"] / row["name"]).stat().st_size
        assert (row["kind"] == "log") == row["name"].startswith(".")
    for row in inspect.partitions():
        of_it = [file for file in files if file["partition"] == row["partition"]]
        assert row["base_files"] + row["log_files"] == len(of_it)
        assert row["base_bytes"] + row["log_bytes"] == sum(file["bytes"] for file in of_it)


def test_files_as_of_a_commit_are_fewer(path: Path, inspect: hudini.inspecting.Inspect) -> None:
    first = hudini.open(path).history()[-1]
    then = inspect.files(as_of=first)
    assert {row["kind"] for row in then} == {"base"}
    assert all(first["instant"] in row["name"] for row in then)
    assert inspect.slices(as_of=first["instant"])[0]["base_instant"] == first["instant"]


def test_indexes(inspect: hudini.inspecting.Inspect) -> None:
    rows = {row["name"]: row for row in inspect.indexes()}
    assert sorted(rows) == INDEXES
    assert {row["state"] for row in rows.values()} == {"ready"}
    assert rows["files"]["type"] is None
    assert "v" in rows["column_stats"]["columns"]
    assert rows["record_index"]["options"] == {"isPartitioned": "false"}
    assert pa.table(inspect.indexes()).num_rows == len(INDEXES)


def test_metadata_is_an_arrow_stream_that_can_be_read_again(inspect: hudini.inspecting.Inspect) -> None:
    files = inspect.metadata()
    first = files.to_arrow()
    assert first.column("key").to_pylist() == ["__all_partitions__", "la", "ny", "sf"]
    assert files.to_arrow() == first
    kinds = {name: set(pa.table(inspect.metadata(name)).column("type").to_pylist()) for name in INDEXES}
    assert kinds == {
        "bloom_filters": {4},
        "column_stats": {3},
        "files": {1, 2},
        "partition_stats": {6},
        "record_index": {5},
    }
    assert inspect.metadata(None).to_arrow().num_rows == sum(inspect.metadata(n).to_arrow().num_rows for n in INDEXES)
    with pytest.raises(hudini.HudiniError, match="has no partition 'nope'"):
        inspect.metadata("nope").to_arrow()


def test_a_table_without_a_metadata_table_says_so(tmp_path: Path) -> None:
    options = {"hoodie.metadata.enable": "false"}
    hudini.create(tmp_path / "t", {"id": "string not null"}, record_key="id").upsert([{"id": "a"}], options=options)
    table = hudini.open(tmp_path / "t")
    assert table.inspect.indexes() == []
    assert [row["partition"] for row in table.inspect.partitions()] == [""]
    assert table.read().explain()["listing"] == "storage"
    with pytest.raises(hudini.HudiniError, match="no metadata table"):
        table.inspect.metadata().to_arrow()


def test_writes_keep_the_metadata_table_unless_they_are_told_not_to(tmp_path: Path) -> None:
    table = hudini.create(tmp_path / "t", {"id": "string not null"}, record_key="id")
    table.upsert([{"id": "a"}])
    table.upsert([{"id": "b"}])
    assert table.properties["hoodie.table.metadata.partitions"] == "column_stats,files"
    assert table.read().explain()["listing"] == "metadata table"
    assert table.verify(deep=True).findings == ()
    table.upsert([{"id": "c"}], options={"hoodie.metadata.enable": "false"})
    assert table.properties["hoodie.table.metadata.partitions"] == ""
    assert table.read().explain()["listing"] == "storage"
    assert table.read().count() == 3


def test_the_verbs(path: Path, inspect: hudini.inspecting.Inspect) -> None:
    table = str(path)
    for verb in ("partitions", "slices", "files", "indexes"):
        assert json.loads(run(verb, table, "--json")[0]) == getattr(inspect, verb)()
        assert run(verb, table)[1] == f"{len(getattr(inspect, verb)())} rows\n"
    assert len(list(csv.DictReader(io.StringIO(run("slices", table, "--csv", "--partition", "ny")[0])))) == 1
    rows = json.loads(run("metadata", table, "--json")[0])
    assert [row["key"] for row in rows] == ["__all_partitions__", "la", "ny", "sf"]
    human, note = run("metadata", table, "record_index")
    assert "partitionName" in human
    assert note.endswith("rows\n")
    assert len(json.loads(run("metadata", table, "all", "--json")[0])) == inspect.metadata(None).to_arrow().num_rows
    assert "has no partition 'nope'" in run("metadata", table, "nope", code=1)[1]


def test_results_show_what_they_are(path: Path, inspect: hudini.inspecting.Inspect) -> None:
    table = hudini.open(path)
    assert repr(inspect.metadata("record_index")) == f"Metadata({table.path}, record_index)"
    assert repr(inspect.metadata(None)) == f"Metadata({table.path}, all partitions)"
    assert "filesystemMetadata" in inspect.metadata()._repr_html_()
    assert "no partition &#x27;nope&#x27;" in inspect.metadata("nope")._repr_html_()
    split = table.read().splits()[0]
    rows = hudini.read_split(split)
    assert repr(rows) == f"SplitRows({split})"
    for html in (rows._repr_html_(), table.schema._repr_html_()):
        assert "<table>" in html
        assert all(name in html for name in table.schema.names)


def test_log_blocks(path: Path, inspect: hudini.inspecting.Inspect, tmp_path: Path) -> None:
    logs = [f"{row['partition']}/{row['name']}" for row in inspect.files() if row["kind"] == "log"]
    assert logs
    for log in logs:
        blocks = inspect.log_blocks(log)
        shown = json.loads(run("log", str(path / log), "--json")[0])
        assert blocks == inspect.log_blocks(path / log)
        assert [(b["offset"], b["kind"], b["headers"], b["bytes"], b["records"], b["error"]) for b in blocks] == [
            (s["offset"], s["kind"], s["headers"], s["content_length"], s["count"], s["error"]) for s in shown
        ]
        assert pa.table(blocks).column("offset").to_pylist() == [block["offset"] for block in shown]
    whole = (path / logs[0]).read_bytes()
    damaged = tmp_path / "damaged.log"
    damaged.write_bytes(whole + whole[:-20] + whole)
    found = inspect.log_blocks(damaged)
    assert [row["offset"] for row in found if row["kind"] == "damaged"]
    assert pa.table(found).num_rows == len(found)
    with pytest.raises(hudini.StorageFailure):
        inspect.log_blocks("nowhere.log")


def test_locks_and_markers_are_traces_of_writers(tmp_path: Path) -> None:
    rows = pa.table({"id": ["a"], "ts": [1]})
    table = hudini.create(tmp_path / "t", schema=rows.schema, record_key="id")
    table.upsert(rows)
    inspect = table.inspect
    assert inspect.markers() == []
    assert [(row["lock"], row["held"]) for row in inspect.locks()] == [("table", False)]
    # Another engine is at work, and left the lock file of a third behind.
    hoodie = tmp_path / "t" / ".hoodie"
    marker = hoodie / ".temp" / "20261124120000000" / "city=x" / "a_1-0-1_20261124120000000.parquet.marker.MERGE"
    for file in (marker, hoodie / ".heartbeat" / "20261124120000000", hoodie / "lock"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    assert inspect.markers() == [
        {
            "instant": "20261124120000000",
            "partition": "city=x",
            "file": "a_1-0-1_20261124120000000.parquet",
            "kind": "MERGE",
        }
    ]
    locks = {row["lock"]: row for row in inspect.locks()}
    assert {lock: row["held"] for lock, row in locks.items()} == {"table": False, "shared": True, "heartbeat": True}
    assert locks["heartbeat"]["instant"] == "20261124120000000"
    assert 0 <= locks["heartbeat"]["age_seconds"] < 60
    assert pa.table(inspect.locks()).schema.field("held").type == pa.bool_()
