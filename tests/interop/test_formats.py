"""Files that `rust/format` wrote, read by the classes with which Apache Hudi reads its own: to the same values."""

from __future__ import annotations

from datetime import date, datetime, timezone
from decimal import Decimal
from math import isfinite, isnan
from typing import Any

import pytest

from .oracle import Oracle, OracleError
from .samples import Samples, first_difference

pytestmark = pytest.mark.interop

SAMPLES = {
    "log": [
        "avro",
        "avro_compacted",
        "avro_no_rows",
        "avro_partial",
        "avro_positions",
        "cdc_data_before",
        "cdc_data_before_after",
        "cdc_op_key_only",
        "command",
        "deletes",
        "deletes_none",
        "deletes_positions",
        "every_kind",
        "hfile_keyed",
        "hfile_numbered",
        "parquet",
    ],
    "hfile": [
        f"{name}_{codec}"
        for name in (
            "empty",
            "large_values",
            "long_keys",
            "many_blocks",
            "one_block",
            "one_cell",
            "tiny_blocks",
        )
        for codec in ("gzip", "plain")
    ],
    "metadata": [
        "bloom_filters",
        "column_stats",
        "column_stats_of_old_releases",
        "files",
        "partition_stats",
        "record_index",
        "secondary_index",
    ],
    "history": ["every_action", "levels", "nothing"],
    "timeline": [
        "clean",
        "clean_of_a_later_release",
        "clean_plan",
        "clean_plan_inflight",
        "clustering",
        "clustering_plan",
        "commit",
        "commit_inflight",
        "commit_of_nothing",
        "compaction_plan",
        "deltacommit",
        "index_commit",
        "index_plan",
        "log_compaction_plan",
        "replace_plan",
        "replace_plan_of_nothing",
        "replacecommit",
        "restore",
        "restore_plan",
        "rollback",
        "rollback_plan",
        "savepoint",
    ],
    "positions": ["dense", "edges", "empty", "half", "many_buckets", "runs", "sparse", "zero"],
    "bloom": ["dynamic", "dynamic_grown", "dynamic_overfull", "simple", "simple_empty", "simple_overfull"],
    "properties": ["awkward", "least"],
    "partition": ["deep", "none", "one_level"],
    "indexes": ["none", "two"],
    "ring": ["first", "one_bucket", "resized", "resizing"],
    "partition_buckets": ["two_rules"],
    "schema_on_read": ["one_version", "two_versions"],
}
REFUSED = ["commit_without_stats", "null_in_ordering", "time_as_ordering"]
TABLES = ["by_metadata_table", "listed"]


@pytest.fixture(scope="session")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Samples:
    return Samples.write(tmp_path_factory.mktemp("samples"))


def test_no_sample_is_left_out(samples: Samples) -> None:
    written = {kind: sorted(told) for kind, told in samples.told.items()}
    assert written == {**SAMPLES, "refused": REFUSED, "table": TABLES}


@pytest.mark.parametrize(
    ("kind", "sample"),
    [pytest.param(kind, sample, id=f"{kind}-{sample}") for kind, names in SAMPLES.items() for sample in names],
)
def test_apache_reads_a_file(kind: str, sample: str, samples: Samples, oracle: Oracle) -> None:
    found = oracle.file(kind, samples.folder / kind / sample)
    assert first_difference(found, samples.told[kind][sample]) is None


@pytest.mark.parametrize("sample", REFUSED)
def test_apache_cannot_read_what_its_notes_say(sample: str, samples: Samples, oracle: Oracle) -> None:
    told = samples.told["refused"][sample]
    with pytest.raises(OracleError, match=told["because"]):
        oracle.file(told["as"], samples.folder / "refused" / sample)


def test_apache_shows_archived_history(samples: Samples, oracle: Oracle) -> None:
    path = samples.folder / "history" / "every_action"
    shown = oracle.sql(f"CALL show_timeline(path => '{path}', showArchived => true)")
    told = samples.told["history"]["every_action"]
    assert {(row["instant_time"], row["action"], row["state"], row["timeline_type"]) for row in shown} == {
        (entry["requested"], entry["action"], "COMPLETED", "ARCHIVED") for entry in told
    }


@pytest.mark.parametrize("sample", TABLES)
def test_apache_reads_a_table(sample: str, samples: Samples, oracle: Oracle) -> None:
    path = samples.folder / "table" / sample
    found = oracle.read(path)
    told = samples.told["table"][sample]
    rows = [{column: plain(row[column]) for column in told[0]} for row in found.to_pylist(maps_as_pydicts="strict")]
    assert first_difference(sorted(rows, key=partition_and_key), sorted(told, key=partition_and_key)) is None


def test_apache_finds_files_by_the_metadata_table(samples: Samples, oracle: Oracle) -> None:
    """A listing of folders finds a log file more, which must not have been read."""
    path = samples.folder / "table" / "by_metadata_table"
    listed = oracle.read(path, {"hoodie.metadata.enable": "false"})
    assert listed.num_rows > len(samples.told["table"]["by_metadata_table"])


def partition_and_key(row: dict[str, Any]) -> tuple[str, str]:
    return row["city"], row["id"]


def plain(value: Any) -> Any:
    """A value of Arrow as the samples tell it."""
    match value:
        case dict():
            return {key: plain(item) for key, item in value.items()}
        case list():
            return [plain(item) for item in value]
        case bytes():
            return value.hex()
        case Decimal():
            return f"{value:f}"
        case float() if not isfinite(value):
            return "NaN" if isnan(value) else f"{'-' if value < 0 else ''}Infinity"
        case datetime():
            since = value - datetime(1970, 1, 1, tzinfo=timezone.utc)
            return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
        case date():
            return value.toordinal() - date(1970, 1, 1).toordinal()
    return value
