"""Partition columns of type timestamp behind folders that are named after a part of the time."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import hudini
from tests.support.compare import difference

from .oracle import Oracle
from .oracle.queries import query_options

pytestmark = pytest.mark.interop

TIMES = [
    dt.datetime(2024, 1, 2),
    dt.datetime(2024, 1, 2, 0, 0, 0, 123_000),
    dt.datetime(1969, 12, 31, 23, 59, 59, 999_999),
    None,
]


@pytest.fixture(autouse=True)
def rows_one_by_one(oracle: Oracle) -> Iterator[None]:
    """Of a column that it shows as text Apache Hudi cannot read times in columns."""
    oracle.sql("SET spark.sql.parquet.enableVectorizedReader=false")
    yield
    oracle.sql("RESET spark.sql.parquet.enableVectorizedReader")


def options(table_type: str, more: dict[str, str]) -> dict[str, str]:
    return {
        "hoodie.table.name": "t",
        "hoodie.datasource.write.table.type": table_type,
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.partitionpath.field": "at",
        "hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.TimestampBasedKeyGenerator",
        "hoodie.keygen.timebased.timestamp.type": "EPOCHMICROSECONDS",
        "hoodie.keygen.timebased.output.dateformat": "yyyy-MM",
        "hoodie.table.ordering.fields": "ts",
        "hoodie.compact.inline": "false",
        **more,
    }


def rows(zone: str | None, ts: int, count: int = len(TIMES)) -> pa.Table:
    at = pa.array(TIMES, pa.timestamp("us", tz=zone))
    return pa.table({"id": ["a", "b", "c", "d"], "ts": [ts] * len(TIMES), "at": at}).slice(0, count)


def test_base_files_have_texts_and_logs_numbers(oracle: Oracle, tmp_path: Path) -> None:
    told = options("MERGE_ON_READ", {})

    def both() -> dict[str, str | None]:
        theirs = oracle.read(tmp_path / "t")
        table = hudini.open(tmp_path / "t")
        ours = table.read().to_arrow()
        assert difference(ours, theirs) is None
        ranged = oracle.read(tmp_path / "t", query_options("incremental", start="000"))
        assert difference(table.incremental().to_arrow(), ranged) is None
        return dict(zip(ours["id"].to_pylist(), ours["at"].to_pylist(), strict=True))

    texts = {"a": "2024-01-02 00:00:00", "b": "2024-01-02 00:00:00.123", "c": "1969-12-31 23:59:59.999999", "d": None}
    oracle.write(tmp_path / "t", rows("UTC", 1), told)
    assert both() == texts
    oracle.write(tmp_path / "t", rows("UTC", 2, 1), told)
    assert both() == texts | {"a": "1704153600000000"}
    table = hudini.open(tmp_path / "t")
    assert table.read(filter="at = '2024-01-02 00:00:00.123'").to_arrow()["id"].to_pylist() == ["b"]
    assert table.read(filter="at = '1704153600000000'").to_arrow()["id"].to_pylist() == ["a"]
    assert table.read(["at"], mode="read_optimized").to_arrow()["at"].null_count == 1
    with pytest.raises(hudini.UnsupportedFeature, match="times as text in column 'at'"):
        table.changes()
    oracle.compact(tmp_path / "t")
    assert both() == texts


def test_images_in_json_have_numbers(oracle: Oracle, tmp_path: Path) -> None:
    more = {"hoodie.table.cdc.enabled": "true", "hoodie.table.cdc.supplemental.logging.mode": "data_before_after"}
    told = options("COPY_ON_WRITE", more)
    oracle.write(tmp_path / "t", rows(None, 1), told)
    oracle.write(tmp_path / "t", rows(None, 2, 1), told)
    table = hudini.open(tmp_path / "t")
    assert difference(table.read().to_arrow(), oracle.read(tmp_path / "t")) is None
    expected = oracle.read(tmp_path / "t", query_options("cdc", start="000"))
    assert difference(table.changes(images="json").to_arrow(), expected, ("before", "after")) is None
    after = table.changes().to_arrow()["after"].to_pylist()
    assert {row["at"] for row in after if row["id"] == "a"} == {"2024-01-02 00:00:00"}
