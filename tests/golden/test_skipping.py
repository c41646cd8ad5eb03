"""What the indexes of Apache Hudi's metadata tables leave out of a filtered read holds no row that matches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import hudini
from tests.support.compare import difference
from tests.support.filters import Filters, text

from . import catalogue

# What must leave something out of some of a table's filters, so that nobody takes blindness for care.
SKIPS = {
    "cow_failed_commit_v9": {"column_stats"},
    "cow_nonpartitioned_v9": {"column_stats"},
    "cow_url_encoded": {"paths", "partition_stats"},
    "mor_bucket_simple_v9": {"column_stats", "partition_stats"},
    "mor_metadata_all_indexes_v6": {"record_index"},
    "mor_metadata_all_indexes_v8": {"partition_stats", "record_index"},
    "mor_metadata_all_indexes_v9": {"bloom_filters", "column_stats", "partition_stats", "record_index"},
    "mor_misleading_indexes_v9": {"partition_stats", "record_index", "secondary_index"},
    "mor_partial_update_merge_into_v9": {"column_stats"},
    "mor_record_index_v9": {"column_stats", "partition_stats", "record_index"},
    "mor_secondary_index_v8": {"partition_stats", "record_index"},
}


def with_indexes() -> list[str]:
    """The cases whose metadata table holds more than the list of files."""
    return [name for name in catalogue.with_metadata_table() if len(indexes_of(name)) > 1]


def indexes_of(case: str) -> list[str]:
    return catalogue.facts()[case]["metadata"]["partitions"]


def with_record_index() -> list[str]:
    return [name for name in with_indexes() if "record_index" in indexes_of(name)]


def opened(case: str, folder: Path) -> tuple[hudini.Table, hudini.Table]:
    """The table with its indexes, and without."""
    path, conf = catalogue.unpack(case, folder), catalogue.facts()[case].get("read_conf", {})
    options = [
        {**conf, **catalogue.bootstrap_options(path), "hoodie.enable.data.skipping": skips}
        for skips in ("true", "false")
    ]
    asked, plain = (hudini.open(path, options=each) for each in options)
    return asked, plain


@pytest.mark.parametrize("case", with_indexes())
def test_filters_give_the_same_rows_with_and_without_indexes(case: str, tmp_path: Path) -> None:
    asked, plain = opened(case, tmp_path)
    whole = plain.read().to_arrow()
    left_out: Counter[str] = Counter()
    for condition, expected in Filters(whole, case):
        scan = asked.read(filter=condition)
        plan = scan.explain()
        assert plan["warnings"] == [], condition
        left_out.update(plan["pruned"]["by"])
        assert difference(scan.to_arrow(), expected) is None, (condition, plan["pruned"])
        assert scan.count() == expected.num_rows, condition
        others = plain.read(filter=condition).explain()["pruned"]["by"]
        assert set(others) <= {"paths", "buckets"}, condition
    assert SKIPS.get(case, set()) <= set(left_out), left_out


@pytest.mark.parametrize("case", with_indexes())
def test_the_past_and_ranges_are_not_left_out_by_what_is_now(case: str, tmp_path: Path) -> None:
    asked, plain = opened(case, tmp_path)
    whole = plain.read().to_arrow()
    history = [entry["instant"] for entry in plain.history()]
    kinds = [{"mode": "read_optimized"}, *({"as_of": instant} for instant in history)]
    for condition, _ in islice(Filters(whole, case), 8):
        for kind in kinds:
            try:
                expected = plain.read(filter=condition, **kind).to_arrow()
            except hudini.InstantCleaned:
                continue
            assert difference(asked.read(filter=condition, **kind).to_arrow(), expected) is None, (condition, kind)
        try:
            ranged = plain.incremental(history[-1], filter=condition).to_arrow()
        except hudini.InstantCleaned:
            continue
        assert difference(asked.incremental(history[-1], filter=condition).to_arrow(), ranged) is None, condition


@pytest.mark.parametrize("case", with_record_index())
def test_keys_are_found_where_the_record_index_has_them(case: str, tmp_path: Path) -> None:
    asked, plain = opened(case, tmp_path)
    whole = plain.read().to_arrow()
    keys = whole.column("_hoodie_record_key").to_pylist()
    gone = {key for instant in plain.history() for key in keys_at(plain, instant["instant"])} - set(keys)
    field, left_out = asked.record_key[0], 0
    number = pa.types.is_integer(whole.schema.field(field).type)
    for key in [*keys, *sorted(gone), "12345678"]:
        expected = whole.filter(pc.equal(whole.column("_hoodie_record_key"), key))
        assert expected.num_rows == (key in keys)
        for condition in (f"_hoodie_record_key = {text(key)}", f"{field} = {key if number else text(key)}"):
            scan = asked.read(filter=condition)
            plan = scan.explain()
            assert plan["warnings"] == []
            left_out += plan["pruned"]["by"].get("record_index", 0)
            assert difference(scan.to_arrow(), expected) is None, (key, plan["pruned"])
    assert left_out >= len(keys)


def keys_at(table: hudini.Table, instant: str) -> list[str]:
    return table.read(columns=["_hoodie_record_key"], as_of=instant).to_arrow().column(0).to_pylist()


@pytest.mark.parametrize("case", ["mor_expression_index_v8", "mor_expression_index_v9"])
def test_days_that_no_file_has_are_not_read(case: str, tmp_path: Path) -> None:
    """Its base files alone: of logs that only delete it knows nothing."""
    asked, plain = opened(case, tmp_path)
    for condition, left_out in {
        "substring(from_unixtime(ts, 'yyyy-MM-dd'), 1, 4) = '2024'": 3,
        "from_unixtime(ts, 'yyyy-MM-dd') like '1970-01-01%'": 0,
    }.items():
        scan = asked.read(filter=condition, mode="read_optimized")
        plan = scan.explain()
        assert (plan["warnings"], plan["pruned"]["slices"]) == ([], left_out)
        expected = plain.read(filter=condition, mode="read_optimized").to_arrow()
        assert difference(scan.to_arrow(), expected) is None


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("v < -1000", lambda row: row["v"] < -1000),
        ("v > 13.5 and city = 'odd'", lambda row: row["city"] == "odd" and not row["v"] <= 13.5),
        ("n < 100", lambda row: row["n"] is not None and row["n"] < 100),
        ("n is null and city = 'odd'", lambda row: row["n"] is None and row["city"] == "odd"),
        ("name > 'zz'", lambda row: row["name"] > "zz"),
        ("name > '\ufffd'", lambda row: row["name"] > "\ufffd"),
        ("name = '\U0001f600' and n is not null", lambda row: row["name"] == "\U0001f600" and row["n"] is not None),
        ("id in ('k00001', 'k00061')", lambda row: row["id"] in ("k00001", "k00061")),
        ("id = 'k00002'", lambda row: row["id"] == "k00002"),
        ("id = 'k00043' and city = 'oslo'", lambda row: row["id"] == "k00043"),
    ],
)
def test_statistics_that_are_wrong_cost_no_row(
    condition: str, holds: Callable[[dict[str, Any]], bool], tmp_path: Path
) -> None:
    """Apache Hudi made them: 0 beside a NaN, nulls for a row group whose footer says nothing, Java's order of texts."""
    asked, plain = opened("mor_misleading_indexes_v9", tmp_path)
    expected = [row["id"] for row in plain.read().to_arrow().to_pylist() if holds(row)]
    assert sorted(asked.read(filter=condition).to_arrow().column("id").to_pylist()) == sorted(expected)
