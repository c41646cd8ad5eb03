"""Compacting a golden table of Apache Hudi changes none of its rows, and what cannot be compacted is left as it was."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import hudini
from tests.support.compare import difference

from . import catalogue

# What hudini does not write, by the part of the error that says so.
REFUSED = {
    "keeping the index",
    "change data capture",
    "virtual keys",
    "schema-on-read",
    "key generator",
    "bootstrapped",
    "pending restore",
    "a time partition needs",
    "keeps no partition columns",
    "without record key fields",
    "deletes by a marker column",
    "payload class merges",
    # Its plan names the folder in which the table was made.
    "which is not in this table",
}


def cases() -> list[str]:
    return [
        name
        for name, facts in catalogue.facts().items()
        if facts["table_type"] == "MERGE_ON_READ" and facts["table_version"] == 9
    ]


def rows_of(table: hudini.Table) -> pa.Table:
    rows = table.read(meta=True).to_arrow()
    # A compaction keeps who wrote a row and when, and moves it to another file.
    return rows.drop_columns([name for name in rows.column_names if name == "_hoodie_file_name"])


@pytest.mark.parametrize("metadata", ["true", "false"])
@pytest.mark.parametrize("case", cases())
def test_no_row_changes(case: str, metadata: str, tmp_path: Path) -> None:
    path = catalogue.unpack(case, tmp_path)
    options = {**catalogue.facts()[case].get("read_conf", {}), "hoodie.metadata.enable": metadata}
    table = hudini.open(path, options=options)
    try:
        before = rows_of(table)
        was_whole = table.verify().ok
    except (hudini.UnsupportedFeature, hudini.CorruptFile):
        pytest.skip("a table that is not read")
    timeline = list(table.inspect.timeline())
    try:
        result = table.services.compact()
    except (hudini.UnsupportedFeature, hudini.InvalidOption) as refusal:
        assert any(part in str(refusal) for part in REFUSED), refusal
        assert list(table.inspect.timeline()) == timeline
        assert difference(rows_of(table), before) is None
        return
    assert difference(rows_of(table), before) is None
    if result:
        assert [row["action"] for row in table.inspect.timeline() if row["requested"] == result.instant] == ["commit"]
        assert not any(row["log_files"] for row in table.inspect.slices())
        assert table.verify().ok or not was_whole
    assert not table.services.compact()
