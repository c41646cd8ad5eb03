"""What is written into `hoodie.properties`: as Apache Hudi does it for the same table."""

from __future__ import annotations

from pathlib import Path

import pytest

import hudini
from tests.support.rows import SCHEMA, Rows, to_arrow

from .apache import INDEX, LAYOUTS, Apache, Layout
from .oracle import Oracle

pytestmark = pytest.mark.interop

VERSIONS = {9: {}, 8: {"hoodie.write.auto.upgrade": "false", "hoodie.write.table.version": "8"}}
# What is stored so that no writer has to be told, see docs/differences.md; the schema, as Apache Hudi's SQL does it.
OURS_ALONE = {
    *INDEX,
    "hoodie.index.bucket.engine",
    "hoodie.bucket.index.hash.field",
    "hoodie.datasource.write.recordkey.field",
    "hoodie.table.create.schema",
}
# For Hive; Apache Hudi's SQL does without.
THEIRS_ALONE = {"hoodie.table.partition_extractor_class"}
EMPTY = {"hoodie.table.partition.fields"}
ZONE = "hoodie.table.timeline.timezone"
ORDERING = ["hoodie.table.ordering.fields", "hoodie.table.precombine.field"]
# Of version 8 Apache Hudi 1.2 writes properties that its release 1.0 does not know, and lacks one that it looks for.
OF: dict[int, set[str]] = {9: set(), 8: {"hoodie.table.format", *ORDERING}}

MODES = {"event": "EVENT_TIME_ORDERING", "commit": "COMMIT_TIME_ORDERING"}


@pytest.mark.parametrize("hive_style", [False, True])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("keys", [["id"], ["id", "city"]])
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_properties_are_those_of_apache_hudi(
    layout: Layout, version: int, keys: list[str], mode: str, hive_style: bool, oracle: Oracle, tmp_path: Path
) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    rows = Rows(seed=1).batch(range(10), ts=1)
    told = {
        "hoodie.datasource.write.recordkey.field": ",".join(keys),
        "hoodie.datasource.write.hive_style_partitioning": str(hive_style).lower(),
        "hoodie.write.record.merge.mode": MODES[mode],
    }
    Apache(oracle, theirs, layout, index=INDEX | VERSIONS[version] | told).create(rows)
    table = hudini.create(
        ours,
        SCHEMA,
        record_key=keys,
        ordering="ts",
        partition_by=["city"] if layout.partitioned else (),
        table_type=layout.table_type,
        table_version=version,
        name="trips",
        merge_mode=MODES[mode],
        options=INDEX | {"hoodie.datasource.write.hive_style_partitioning": str(hive_style).lower()},
    )
    table.bulk_insert(to_arrow(rows))
    mine, apaches = oracle.properties(ours), oracle.properties(theirs)
    different = {key for key in mine.keys() | apaches.keys() if mine.get(key) != apaches.get(key)}
    assert different == OURS_ALONE | THEIRS_ALONE | {ZONE} | (EMPTY if not layout.partitioned else set()) | OF[version]
    assert not OURS_ALONE & apaches.keys() and not (THEIRS_ALONE | EMPTY & different) & mine.keys()
    assert mine[ZONE] == "UTC"
    assert [mine.get(key) for key in ORDERING] == ([None, "ts"] if version == 8 else ["ts", None])
    assert {key: mine[key] for key in INDEX} == INDEX
    assert mine["hoodie.bucket.index.hash.field"] == ",".join(keys)
