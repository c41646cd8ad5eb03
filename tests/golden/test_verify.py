"""No golden table is damaged, but those whose logs were broken on purpose."""

from __future__ import annotations

from pathlib import Path

import pytest

import hudini

from . import catalogue

# The logs of these were broken in a way that loses what a commit wrote.
BROKEN = {
    "mor_log_damages_v6": {"file_size", "log_block", "row_count"},
    "mor_log_damages_v8": {"file_size", "log_block", "row_count"},
    "mor_log_damages_v9": {"file_size", "log_block", "row_count"},
    "mor_log_no_magic_v9": {"log_file", "slice"},
    "mor_torn_log_tail_v9": {"file_size", "log_block"},
}
WARNED = {
    # A key was let in twice: inserts look for none, and an older Hudi did not find some.
    "cow_bulk_insert_row_writer": {"duplicate_key"},
    "cow_complex_key_v9": {"duplicate_key"},
    "mor_sql_dml_v9": {"duplicate_key"},
    # Longer than its commit says: a torn attempt in front of the whole one.
    "mor_corrupt_block_then_good_v9": {"file_size"},
    # Apache Hudi's bounds beside NaN are 0, and texts that are too long for statistics count as nulls.
    "mor_misleading_indexes_v9": {"column_stats", "partition_stats"},
}
CASES = [subject.removesuffix("::timeline") for subject in catalogue.timelines()]


@pytest.mark.parametrize("case", CASES)
def test_what_apache_hudi_wrote_is_whole(case: str, tmp_path: Path) -> None:
    table = catalogue.opened(case, tmp_path)
    try:
        report = table.verify(deep=True)
    except hudini.UnsupportedFeature:
        return  # a table of a kind that is not read
    damage = {finding.check for finding in report.findings if finding.level == "damage"}
    assert damage == BROKEN.get(case, set()), str(report)
    assert report.ok == (case not in BROKEN)
    if case not in BROKEN:
        warnings = {finding.check for finding in report.findings if finding.level == "warning"}
        assert warnings == WARNED.get(case, set()), str(report)
