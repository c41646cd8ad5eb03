"""The verbs that open one file: log, hfile, instant, and properties of tables that nothing else opens."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import hudini
from tests.golden.catalogue import unpack

from .test_cli import run


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table with two log files: rows, and a delete."""
    where = tmp_path_factory.mktemp("files") / "notes"
    schema = {
        "id": "string not null",
        "ts": "long not null",
        "at": "timestamp",
        "raw": "binary",
    }
    options = {"hoodie.bucket.index.num.buckets": 1}
    made = hudini.create(where, schema, record_key="id", ordering="ts", table_type="mor", options=options)
    rows = [{"id": f"k{n:02d}", "ts": n, "at": None, "raw": b"\xff"} for n in range(12)]
    made.insert(rows)
    made.upsert(rows)
    made.delete([{"id": "k03"}])
    return where


def log_files(table: Path) -> list[Path]:
    return sorted(path for path in table.iterdir() if ".log." in path.name and not path.name.endswith(".crc"))


def test_log_for_people(table: Path) -> None:
    [rows, deletes] = log_files(table)
    out, note = run("log", str(rows))
    assert "offset 0: avro block" in out
    assert "INSTANT_TIME" in out
    assert '"id":"k00"' in out
    assert "… 2 more" in out
    assert note == "1 block, 12 records\n"
    out, note = run("log", str(deletes))
    assert '{"key":"k03","partition":"","ordering":' in out
    assert note == "1 block, 1 record\n"


def test_log_as_json_is_whole(table: Path) -> None:
    [block] = json.loads(run("log", str(log_files(table)[0]), "--json")[0])
    assert block["offset"] == 0
    assert block["kind"] == "avro"
    assert block["count"] == len(block["records"]) == 12
    assert block["records"][0]["raw"] == "/w=="
    assert json.loads(block["headers"]["SCHEMA"])["type"] == "record"
    [block] = json.loads(run("log", str(log_files(table)[0]), "--json", "--limit", "1")[0])
    assert (block["count"], len(block["records"])) == (12, 1)


def test_log_shows_damage_with_its_offset(table: Path, tmp_path: Path) -> None:
    whole = log_files(table)[0].read_bytes()
    damaged = tmp_path / "damaged.log"
    damaged.write_bytes(whole + whole[:-20] + whole)
    out, note = run("log", str(damaged), "--limit", "1")
    assert f"offset {len(whole) + 6}: damaged up to {2 * len(whole) - 20}" in out
    assert note == "2 blocks, 24 records, 1 damage\n"
    kinds = [(item["kind"], item["offset"]) for item in json.loads(run("log", str(damaged), "--json")[0])]
    assert kinds == [("avro", 0), ("damaged", len(whole) + 6), ("avro", 2 * len(whole) - 20)]


def test_log_goes_on_behind_rows_that_cannot_be_read(table: Path, tmp_path: Path) -> None:
    whole = log_files(table)[0].read_bytes()
    [block] = json.loads(run("log", str(log_files(table)[0]), "--json")[0])
    # The number of rows: more than the block can hold.
    at = block["content_offset"] + 4
    broken = whole[:at] + b"\x7f\xff\xff\xff" + whole[at + 4 :]
    damaged = tmp_path / "damaged.log"
    damaged.write_bytes(broken + whole)
    first, second = json.loads(run("log", str(damaged), "--json")[0])
    assert first["error"]["offset"] is not None
    assert first["count"] == 0
    assert second["count"] == 12
    assert "damaged: " in run("log", str(damaged))[0]


def test_records_with_all_ends_of_lines_stay_whole(tmp_path: Path) -> None:
    key = "a\u2028b\u0085c\nd\x1ce"
    schema = {"id": "string not null", "v": "long"}
    made = hudini.create(tmp_path / "t", schema, record_key="id", table_type="mor")
    made.insert([{"id": key, "v": 1}])
    made.upsert([{"id": key, "v": 2}])
    [file] = log_files(tmp_path / "t")
    [block] = json.loads(run("log", str(file), "--json")[0])
    assert [(record["id"], record["v"]) for record in block["records"]] == [(key, 2)]


def test_log_refuses_an_unknown_block_by_name(table: Path, tmp_path: Path) -> None:
    whole = bytearray(log_files(table)[0].read_bytes())
    whole[6 + 8 + 4 + 3] = 77
    unknown = tmp_path / "unknown.log"
    unknown.write_bytes(log_files(table)[0].read_bytes() + whole)
    out, error = run("log", str(unknown), "--json", code=1)
    assert [item["kind"] for item in json.loads(out)] == ["avro", "error"]
    assert "log block type 77" in error
    assert str(unknown) in error
    assert "offset: " in error


def test_hfile(tmp_path: Path) -> None:
    folder = unpack("mor_metadata_all_indexes_v9", tmp_path)
    file = next(path for path in sorted(folder.rglob("record-index-*.hfile")))
    out, note = run("hfile", str(file))
    assert "data block" in out
    assert "recordIndexMetadata" in out
    assert "_hoodie_record_key" not in out.splitlines()[-1]
    assert note.startswith("10 of ")
    found = json.loads(run("hfile", str(file), "--json")[0])
    assert found["entries"] == len(found["records"]) == found["count"]
    assert found["info"]["KEY_VALUE_VERSION"] == 1
    key = found["records"][3]["key"]
    one = json.loads(run("hfile", str(file), "--json", "--key", key)[0])
    assert [entry["key"] for entry in one["records"]] == [key]
    some = json.loads(run("hfile", str(file), "--json", "--prefix", key[:-1])[0])
    assert [entry for entry in found["records"] if entry["key"].startswith(key[:-1])] == some["records"]
    run("hfile", str(file), "--key", "a", "--prefix", "b", code=2)


def test_a_damaged_hfile_is_still_json_as_far_as_it_goes(tmp_path: Path) -> None:
    folder = unpack("mor_metadata_all_indexes_v9", tmp_path)
    file = next(path for path in sorted(folder.rglob("record-index-*.hfile")))
    head = json.loads(run("hfile", str(file), "--json", "--limit", "0")[0])
    assert (head["records"], head["count"], head["error"]) == ([], 0, None)
    assert json.loads(run("hfile", str(file), "--json", "--key", "not there")[0])["records"] == []
    damaged = bytearray(file.read_bytes())
    at = head["blocks"][0]["offset"]
    damaged[at : at + 4] = b"ZZZZ"
    file.write_bytes(damaged)
    out, error = run("hfile", str(file), "--json", code=1)
    assert json.loads(out)["records"] == []
    assert json.loads(out)["error"]["offset"] == at
    assert str(file) in error


def test_instant(table: Path) -> None:
    timeline = table / ".hoodie" / "timeline"
    completed, requested = (
        sorted(path for path in timeline.iterdir() if path.name.endswith(end))[0]
        for end in (".deltacommit", ".deltacommit.requested")
    )
    out, _ = run("instant", str(completed))
    assert "deltacommit" in out
    assert '"partitionToWriteStats"' in out
    found = json.loads(run("instant", str(completed), "--json")[0])
    assert (found["state"], found["action"]) == ("completed", "deltacommit")
    assert found["content"]["operationType"] == "INSERT"
    assert json.loads(run("instant", str(requested), "--json")[0])["content"] is None
    assert "(empty)" in run("instant", str(requested))[0]


def test_archived_instants(tmp_path: Path) -> None:
    folder = unpack("timeline_long_cow_v9", tmp_path) / ".hoodie" / "timeline" / "history"
    history = json.loads(run("instant", str(next(folder.glob("*.parquet"))), "--json")[0])
    assert history["file"] == "history"
    assert all(entry["metadata"] for entry in history["content"])
    manifest = json.loads(run("instant", str(next(folder.glob("manifest_*"))), "--json")[0])
    assert manifest["content"][0]["name"].endswith(".parquet")
    assert isinstance(json.loads(run("instant", str(folder / "_version_"), "--json")[0])["content"], int)


def test_properties_of_a_table_that_is_too_new(table: Path, tmp_path: Path) -> None:
    hoodie = tmp_path / "t" / ".hoodie"
    hoodie.mkdir(parents=True)
    text = (table / ".hoodie" / "hoodie.properties").read_text()
    (hoodie / "hoodie.properties").write_text(text.replace("hoodie.table.version=9", "hoodie.table.version=99"))
    assert json.loads(run("properties", str(tmp_path / "t"), "--json")[0])["hoodie.table.version"] == "99"
    assert "99" in run("describe", str(tmp_path / "t"), code=1)[1]


def test_properties_with_a_wrong_checksum(table: Path, tmp_path: Path) -> None:
    hoodie = tmp_path / "t" / ".hoodie"
    hoodie.mkdir(parents=True)
    text = (table / ".hoodie" / "hoodie.properties").read_text()
    (hoodie / "hoodie.properties").write_text(text.replace("hoodie.table.name=notes", "hoodie.table.name=other"))
    out, error = run("properties", str(tmp_path / "t"), "--json", code=1)
    assert json.loads(out)["hoodie.table.name"] == "other"
    assert "damaged: " in error
    assert "hoodie.properties" in error
    (hoodie / "hoodie.properties.backup").write_text(text)
    out, error = run("properties", str(tmp_path / "t"), "--json")
    assert json.loads(out)["hoodie.table.name"] == "notes"
    assert "shown is .hoodie/hoodie.properties.backup" in error


@pytest.mark.parametrize("verb", ["log", "hfile", "instant"])
@pytest.mark.parametrize(
    "content", [None, b"", b"ab", b"no Hudi file at all" * 300], ids=["none", "empty", "short", "text"]
)
def test_what_is_no_hudi_file(verb: str, content: bytes | None, tmp_path: Path) -> None:
    file = tmp_path / "thing"
    if content is not None:
        file.write_bytes(content)
    out, error = run(verb, str(file), code=1)
    assert out == ""
    assert str(file) in error
    assert ("HUDINI-701" if content is None else "HUDINI-301") in error
    if content is not None:
        assert "offset: " in error
