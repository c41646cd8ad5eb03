"""Each kind of damage, done to a copy of a table, is found by name."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hudini
from tests.golden import catalogue

SCHEMA = {"id": "string not null", "ts": "long not null", "city": "string not null", "n": "long"}
# Damage of the table alone: what its metadata table says of it is another matter.
BUCKETS = {
    "hoodie.index.type": "BUCKET",
    "hoodie.bucket.index.num.buckets": "2",
    "hoodie.metadata.enable": "false",
}


def rows(numbers: range, ts: int) -> list[dict[str, object]]:
    return [{"id": f"k{n:03}", "ts": ts, "city": ("sf", "la")[n % 2], "n": n} for n in numbers]


def made(path: Path, table_type: str) -> hudini.Table:
    table = hudini.create(
        path, SCHEMA, record_key="id", ordering="ts", partition_by="city", table_type=table_type, options=BUCKETS
    )
    table.upsert(rows(range(40), 1))
    table.upsert(rows(range(0, 40, 3), 2))
    return table


@pytest.fixture(params=["cow", "mor"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> hudini.Table:
    return made(tmp_path / "t", request.param)


@pytest.fixture
def cow(tmp_path: Path) -> hudini.Table:
    return made(tmp_path / "t", "cow")


@pytest.fixture
def mor(tmp_path: Path) -> hudini.Table:
    return made(tmp_path / "t", "mor")


@pytest.fixture
def indexed(tmp_path: Path) -> hudini.Table:
    """With a metadata table: column statistics, a global record index."""
    return catalogue.opened("mor_record_index_v9", tmp_path)


def found(table: hudini.Table, deep: bool = True) -> dict[str, set[str]]:
    """The names of the checks that found something, by level."""
    report = table.verify(deep=deep)
    levels: dict[str, set[str]] = {"damage": set(), "warning": set(), "note": set()}
    for finding in report.findings:
        levels[finding.level].add(finding.check)
    assert report.ok == (not levels["damage"])
    return levels


def files(table: hudini.Table, kind: str = "base") -> list[Path]:
    """The newest files of that kind."""
    listed = [file for file in table.inspect.files() if file["kind"] == kind]
    return [Path(table.path) / file["partition"] / file["name"] for file in listed]


def largest(table: hudini.Table) -> Path:
    return max(files(table), key=lambda file: pq.read_metadata(file).num_rows)


def rewrite(file: Path, change: Callable[[pa.Table], pa.Table], **footer: str) -> None:
    """Writes a base file anew, with other rows or other words in its footer."""
    kept = pq.ParquetFile(file).metadata.metadata
    rows = change(pq.read_table(file, partitioning=None))
    words = {key: value for key, value in kept.items() if key != b"ARROW:schema"}
    words |= {key.encode(): value.encode() for key, value in footer.items()}
    pq.write_table(rows.replace_schema_metadata(words), file)


def same(rows: pa.Table) -> pa.Table:
    return rows


def flip(file: Path, at: int) -> None:
    content = bytearray(file.read_bytes())
    content[at] ^= 0xFF
    file.write_bytes(content)


def test_a_whole_table_is_whole(table: hudini.Table) -> None:
    for deep in (False, True):
        assert found(table, deep) == {"damage": set(), "warning": set(), "note": set()}
    checked = table.verify(deep=True).checked
    assert checked["rows"] == checked["keys"] == 40
    assert checked["slices"] == 4
    assert checked["instants"] == 2


def test_a_deleted_base_file(cow: hudini.Table) -> None:
    files(cow)[0].unlink()
    assert found(cow, deep=False)["damage"] == {"missing_file"}


@pytest.mark.parametrize("table_type", ["cow", "mor"])
def test_a_deleted_file_of_an_archived_commit(tmp_path: Path, table_type: str) -> None:
    keep = {"hoodie.keep.min.commits": "2", "hoodie.keep.max.commits": "3", "hoodie.clean.commits.retained": "1"}
    table = hudini.create(
        tmp_path / "t",
        SCHEMA,
        record_key="id",
        ordering="ts",
        partition_by="city",
        table_type=table_type,
        options=BUCKETS | keep,
    )
    table.upsert(rows(range(40), 1))
    table.upsert([row | {"ts": 2} for row in rows(range(0, 10), 1) if row["city"] == "sf"])
    for ts in range(3, 12):
        table.upsert([{"id": f"x{ts}", "ts": ts, "city": "la", "n": ts}])
        table.services.clean()
    table.services.archive()
    active = {file.name.split("_", 1)[0] for file in Path(table.path).glob(".hoodie/timeline/*_*")}
    newest = [file for file in files(table) if file.parent.name.endswith("sf")]
    assert newest and active.isdisjoint(file.stem.rsplit("_", 1)[1] for file in newest)
    assert found(table)["damage"] == set()
    by_folders = hudini.open(table.path, options={"hoodie.metadata.enable": "false"})
    whole = by_folders.read().to_arrow().num_rows
    newest[0].unlink()
    assert found(table, deep=False)["damage"] == set()
    assert "missing_file" in found(table)["damage"]
    with pytest.raises(hudini.StorageFailure, match="of the snapshot is gone") as gone:
        by_folders.read().to_arrow()
    assert str(gone.value.path).endswith(newest[0].name)
    assert 0 < by_folders.read(filter="city <> 'sf'").to_arrow().num_rows < whole


def test_a_cut_base_file(cow: hudini.Table) -> None:
    file = files(cow)[0]
    file.write_bytes(file.read_bytes()[:-20])
    assert {"file_size", "base_file"} <= found(cow, deep=False)["damage"]


def test_a_flipped_byte_in_a_base_file(cow: hudini.Table) -> None:
    file = files(cow)[0]
    column = pq.read_metadata(file).row_group(0).column(2)
    flip(file, (column.dictionary_page_offset or column.data_page_offset) + 3)
    assert found(cow, deep=False)["damage"] == set()
    assert {"base_file", "slice"} <= found(cow)["damage"]


def test_a_cut_log(mor: hudini.Table) -> None:
    log = files(mor, "log")[0]
    log.write_bytes(log.read_bytes()[:-9])
    assert found(mor, deep=False)["damage"] == {"file_size", "log_block"}


def test_flipped_bytes_in_a_log(mor: hudini.Table) -> None:
    framing, content = files(mor, "log")[:2]
    flip(framing, 1)
    assert "log_file" in found(mor, deep=False)["damage"]
    flip(framing, 1)
    # The number of rows, which stands where the content begins.
    block = content.read_bytes()
    flip(content, block.index(b"k0") - 60)
    assert found(mor)["damage"]


def test_a_torn_block_in_front_of_a_whole_one(mor: hudini.Table) -> None:
    log = files(mor, "log")[0]
    block = log.read_bytes()
    log.write_bytes(block[: len(block) // 2] + block)
    levels = found(mor)
    assert levels["damage"] == set()
    assert "log_block" in levels["note"]


def test_a_file_that_its_commit_does_not_name(cow: hudini.Table) -> None:
    file = largest(cow)
    name = file.name.replace(file.name[9:17], "deadbeef", 1)
    shutil.copy(file, file.with_name(name))
    assert found(cow, deep=False)["damage"] == {"unnamed_file"}
    assert found(cow)["damage"] == {"unnamed_file", "duplicate_key"}


def test_a_file_that_a_dead_writer_left(cow: hudini.Table) -> None:
    file = files(cow)[0]
    instant = file.stem.rpartition("_")[2]
    shutil.copy(file, file.with_name(file.name.replace(instant, "29990101000000000")))
    assert found(cow) == {"damage": set(), "warning": set(), "note": {"leftover_file"}}


def test_a_folder_that_readers_do_not_see(cow: hudini.Table) -> None:
    (Path(cow.path) / "sf" / ".hoodie_partition_metadata").unlink()
    assert found(cow, deep=False)["damage"] == {"partition_file"}


def test_a_row_that_is_missing(cow: hudini.Table) -> None:
    rewrite(largest(cow), lambda rows: rows.slice(1))
    assert "row_count" in found(cow, deep=False)["damage"]


def test_a_wrong_bloom_filter(cow: hudini.Table) -> None:
    one, other = sorted(files(cow), key=lambda file: pq.read_metadata(file).num_rows)[-2:]
    filter_of_other = pq.read_metadata(other).metadata[b"org.apache.hudi.bloomfilter"].decode()
    rewrite(one, same, **{"org.apache.hudi.bloomfilter": filter_of_other})
    assert "bloom_filter" not in found(cow, deep=False)["damage"]
    assert "bloom_filter" in found(cow)["damage"]


def test_a_bloom_filter_that_is_none(cow: hudini.Table) -> None:
    rewrite(largest(cow), same, **{"org.apache.hudi.bloomfilter": "no filter"})
    assert "bloom_filter" in found(cow, deep=False)["damage"]


def test_a_wrong_range_of_keys(cow: hudini.Table) -> None:
    file = largest(cow)
    rewrite(file, same, hoodie_max_record_key="a")
    assert "key_range" in found(cow, deep=False)["damage"]
    rewrite(file, same, hoodie_max_record_key="k003", hoodie_min_record_key="k002")
    assert "key_range" in found(cow)["damage"]


def test_a_column_of_another_type(cow: hudini.Table) -> None:
    text = pa.array(["x"])

    def change(rows: pa.Table) -> pa.Table:
        return rows.set_column(rows.schema.get_field_index("n"), "n", pa.array(text.to_pylist() * rows.num_rows))

    rewrite(largest(cow), change)
    assert "schema" in found(cow, deep=False)["damage"]


def test_a_key_in_a_wrong_bucket(cow: hudini.Table) -> None:
    partition = Path(cow.path) / "sf"
    for file in partition.glob("*.parquet"):
        bucket = "00000001" if file.name.startswith("00000000") else "00000000"
        file.rename(file.with_name(bucket + file.name[8:]))
    assert {"missing_file", "unnamed_file", "wrong_bucket"} == found(cow)["damage"]


def test_a_row_in_a_wrong_partition(cow: hudini.Table) -> None:
    file = largest(cow)
    target = Path(cow.path) / {"sf": "la", "la": "sf"}[file.parent.name] / file.name
    file.rename(target)
    assert "wrong_partition" in found(cow)["damage"]


def test_a_key_that_was_inserted_twice_is_a_warning(tmp_path: Path) -> None:
    table = hudini.create(tmp_path / "t", SCHEMA, record_key="id", ordering="ts", options=BUCKETS)
    table.bulk_insert(rows(range(10), 1))
    table.bulk_insert(rows(range(8, 12), 1))
    report = table.verify(deep=True)
    if [finding.check for finding in report.findings] == []:
        pytest.fail("two inserts of a key made one row")
    assert {finding.level for finding in report.findings} == {"warning"}
    assert {finding.check for finding in report.findings} == {"duplicate_key"}
    assert "k008" in report.findings[0].message


def test_a_broken_commit(cow: hudini.Table) -> None:
    commit = max((Path(cow.path) / ".hoodie" / "timeline").glob("*_*.commit"))
    commit.write_bytes(commit.read_bytes()[:100])
    assert found(cow)["damage"] == {"timeline"}


def test_a_file_that_the_metadata_table_does_not_list(indexed: hudini.Table) -> None:
    file = largest(indexed)
    shutil.copy(file, file.with_name("deadbeef" + file.name[8:]))
    assert {"metadata_listing", "unnamed_file"} <= found(indexed, deep=False)["damage"]


def test_a_file_that_the_metadata_table_lists_and_that_is_gone(indexed: hudini.Table) -> None:
    largest(indexed).unlink()
    assert {"metadata_listing", "missing_file"} == found(indexed, deep=False)["damage"]


def test_a_broken_metadata_table(indexed: hudini.Table) -> None:
    folder = Path(indexed.path) / ".hoodie" / "metadata" / "files"
    for log in folder.glob(".files-*.log.*"):
        flip(log, 2)
    assert "metadata_table" in found(indexed, deep=False)["damage"]


def test_values_outside_of_the_column_statistics(indexed: hudini.Table) -> None:
    file = largest(indexed)

    def change(rows: pa.Table) -> pa.Table:
        at = next(i for i, field in enumerate(rows.schema) if pa.types.is_integer(field.type))
        return rows.set_column(at, rows.schema.field(at), pa.array([2**30] * rows.num_rows, rows.schema.field(at).type))

    rewrite(file, change)
    assert "column_stats" in found(indexed)["damage"]


def test_a_key_that_the_record_index_does_not_have(indexed: hudini.Table) -> None:
    file = largest(indexed)

    def change(rows: pa.Table) -> pa.Table:
        keys = rows["_hoodie_record_key"].to_pylist()
        at = rows.schema.get_field_index("_hoodie_record_key")
        return rows.set_column(at, rows.schema.field(at), pa.array(["never seen", *keys[1:]]))

    rewrite(file, change)
    levels = found(indexed)
    assert "record_index" in levels["damage"]
    assert "record_index" in levels["warning"], "the index has a place for the key that went"
    messages = [finding.message for finding in indexed.verify(deep=True).findings if finding.check == "record_index"]
    assert any("never seen" in message for message in messages)


def replaced(column: str, value: object) -> Callable[[pa.Table], pa.Table]:
    """One value in all rows."""

    def change(rows: pa.Table) -> pa.Table:
        at = rows.schema.get_field_index(column)
        field = rows.schema.field(at)
        return rows.set_column(at, field, pa.array([value] * rows.num_rows, field.type))

    return change


def test_a_key_that_the_metadata_tables_bloom_filter_lacks(tmp_path: Path) -> None:
    table = catalogue.opened("mor_metadata_all_indexes_v9", tmp_path)
    assert found(table)["damage"] == set()
    assert table.verify(deep=True).checked["bloom_filters"] > 0
    rewrite(largest(table), replaced("_hoodie_record_key", "never seen"))
    assert {"bloom_filter", "bloom_filters"} <= found(table)["damage"]


def test_values_outside_of_the_partition_statistics(tmp_path: Path) -> None:
    table = catalogue.opened("mor_metadata_all_indexes_v9", tmp_path)
    file = largest(table)
    fields = pq.read_schema(file)
    number = next(field.name for field in fields if pa.types.is_integer(field.type))
    rewrite(file, replaced(number, 2**30))
    assert {"column_stats", "partition_stats"} <= found(table)["damage"]


@pytest.mark.parametrize("case", ["mor_secondary_index_v8", "mor_secondary_index_v9"])
def test_a_value_that_a_secondary_index_does_not_have(case: str, tmp_path: Path) -> None:
    table = catalogue.opened(case, tmp_path)
    (column,) = (
        index["columns"][0] for index in table.inspect.indexes() if index["name"].startswith("secondary_index_")
    )
    assert "secondary_index" not in found(table)["damage"] | found(table)["warning"]
    assert table.verify(deep=True).checked["secondary_entries"] > 0
    values = pq.read_table(largest(table), partitioning=None)[column]
    rewrite(largest(table), replaced(column, 77 if pa.types.is_integer(values.type) else "never seen"))
    levels = found(table)
    assert "secondary_index" in levels["damage"]
    assert "secondary_index" in levels["warning"], "the index has the values that went"


def test_a_key_elsewhere_than_the_record_index_says(indexed: hudini.Table) -> None:
    one, other = sorted(files(indexed), key=lambda file: pq.read_metadata(file).num_rows)[-2:]
    ours, theirs = one.read_bytes(), other.read_bytes()
    one.write_bytes(theirs)
    other.write_bytes(ours)
    messages = [finding.message for finding in indexed.verify(deep=True).findings if finding.check == "record_index"]
    assert any("another place" in message for message in messages)


def test_the_report(cow: hudini.Table) -> None:
    whole = cow.verify()
    assert "no damage" in repr(whole)
    assert whole.seconds >= 0
    gone = files(cow)[0]
    gone.unlink()
    report = cow.verify()
    assert not report.ok
    assert "DAMAGED" in repr(report)
    assert gone.name in str(report)
    assert gone.name in report._repr_html_()
    table = pa.table(report)
    assert table.column_names == ["level", "check", "path", "instant", "message"]
    assert table["check"].to_pylist() == ["missing_file"]
    assert report.to_dict()["findings"][0]["level"] == "damage"


def test_many_findings_of_a_kind_are_counted(tmp_path: Path) -> None:
    table = hudini.create(tmp_path / "t", SCHEMA, record_key="id", ordering="ts", options=BUCKETS)
    table.bulk_insert(rows(range(400), 1))
    table.bulk_insert(rows(range(400), 1))
    findings = table.verify(deep=True).findings
    assert len(findings) == 101
    assert "300 more" in findings[-1].message
