"""Rows that no filter must lose: Apache Hudi with its data skipping on tables of hudini, and the other way round."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

import hudini

from .oracle import Oracle

pytestmark = pytest.mark.interop

# By which Spark takes the rows that it is given, and writes them.
REBASE = {"Read": "CORRECTED", "Write": "LEGACY"}
# Four new rows a file.
SPLIT = {"hoodie.copyonwrite.insert.auto.split": "false", "hoodie.copyonwrite.insert.split.size": "4"}
INDEXED = {"hoodie.metadata.index.column.stats.enable": "true"}


def apache(table_type: str = "COPY_ON_WRITE", **more: str) -> dict[str, str]:
    return {
        "hoodie.table.name": "t",
        "hoodie.datasource.write.table.type": table_type,
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.partitionpath.field": "p",
        "hoodie.table.ordering.fields": "ts",
        "hoodie.index.type": "SIMPLE",
        **more,
    }


def rows(**columns: pa.Array) -> pa.Table:
    count = len(next(iter(columns.values())))
    ids = [f"k{n}" for n in range(count)]
    return pa.table({"id": ids, "p": ["a"] * count, "ts": pa.array([1] * count, pa.int64()), **columns})


def found(oracle: Oracle, path: Path, condition: str, *, skipping: bool) -> int:
    options = {"hoodie.metadata.enable": "true", "hoodie.enable.data.skipping": str(skipping).lower()}
    return oracle.read(path, options, filter=condition, columns=["id"]).num_rows


def create(path: Path, data: pa.Table, table_type: str = "cow", version: int = 9) -> hudini.Table:
    return hudini.create(
        path,
        data.schema,
        record_key="id",
        ordering="ts",
        partition_by="p",
        table_type=table_type,
        table_version=version,
        name="t",
        options={"hoodie.index.type": "SIMPLE"},
    )


def test_statistics_that_apache_hudi_takes_from_our_footers(oracle: Oracle, tmp_path: Path) -> None:
    """Made anew by Apache Hudi, they come from the files: it passed over bounds in an order that it does not know."""
    data = rows(v=pa.array([n + 0.5 for n in range(20)]), f=pa.array([n + 0.5 for n in range(20)], pa.float32()))
    table = create(tmp_path / "t", data)
    table.upsert(data, options={"hoodie.metadata.enable": "false"})
    more = rows(v=pa.array([99.0]), f=pa.array([99.0], pa.float32())).set_column(1, "p", pa.array(["b"]))
    oracle.write(tmp_path / "t", more.set_column(0, "id", pa.array(["z"])), apache(**INDEXED))
    for condition, count in {"v > 1": 20, "v = 2.5": 1, "f >= 18.5": 3, "v < 1 and f < 1": 1}.items():
        assert found(oracle, tmp_path / "t", condition, skipping=True) == count, condition


@pytest.mark.parametrize("table_type", ["cow", "mor"])
@pytest.mark.parametrize("version", [8, 9])
def test_numbers_beside_one_that_is_none(oracle: Oracle, tmp_path: Path, table_type: str, version: int) -> None:
    data = rows(v=pa.array([1.5, 2.5, 3.5, float("nan")] * 2))
    create(tmp_path / "t", data, table_type, version).upsert(data)
    for condition, count in {"v > 1": 8, "v = 2.5": 2, "v < 100": 6, "v > 3": 4}.items():
        assert found(oracle, tmp_path / "t", condition, skipping=True) == count, condition


@pytest.mark.parametrize("table_type", ["cow", "mor"])
def test_decimals_without_bounds_and_a_file_of_nulls(oracle: Oracle, tmp_path: Path, table_type: str) -> None:
    """Version 8 has no bounds of decimals of that size."""
    kind = pa.decimal128(20, 3)
    data = rows(v=pa.array([Decimal("1.250")] * 5, kind))
    table = create(tmp_path / "t", data, table_type, 8)
    table.upsert(data)
    nulls = rows(v=pa.array([None], kind)).set_column(2, "ts", pa.array([2], pa.int64()))
    table.upsert(nulls)
    table.insert(nulls.set_column(0, "id", pa.array(["other"])), options={"hoodie.parquet.small.file.limit": "0"})
    assert found(oracle, tmp_path / "t", "v >= cast(1.25 as decimal(20, 3))", skipping=True) == 4


@pytest.mark.parametrize("table_type", ["cow", "mor"])
def test_texts_of_all_planes(oracle: Oracle, tmp_path: Path, table_type: str) -> None:
    """Java orders them by units of 16 bits, and queries by bytes."""
    data = rows(s=pa.array(["\ufffd1", "😀2"] * 8))
    table = create(tmp_path / "t", data, table_type)
    table.bulk_insert(data, options=SPLIT)
    assert table.verify(deep=True).ok
    for text in ("\ufffd1", "😀2"):
        assert found(oracle, tmp_path / "t", f"s = '{text}'", skipping=True) == 8


@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
@pytest.mark.parametrize("version", ["8", "9"])
def test_numbers_that_became_texts(oracle: Oracle, tmp_path: Path, table_type: str, version: str) -> None:
    """Apache Hudi turns the bounds of a partition into texts: 0 and 14 become '0' and '14', and '8' is not between."""
    options = apache(table_type, **(INDEXED | {"hoodie.write.table.version": version}))
    oracle.write(tmp_path / "t", rows(c=pa.array(range(15), pa.int32())), options)
    oracle.write(tmp_path / "t", rows(c=pa.array(["30"])).set_column(0, "id", pa.array(["k30"])), options)
    table = hudini.open(tmp_path / "t")
    for condition, expected in {"c = '8'": ["8"], "c >= '7'": ["7", "8", "9"], "c = '30'": ["30"]}.items():
        assert sorted(table.read(filter=condition).to_arrow()["c"].to_pylist()) == expected, condition


def test_dates_by_another_calendar_are_refused(oracle: Oracle, tmp_path: Path) -> None:
    new_day, new_time = dt.date(2024, 1, 1), dt.datetime(2024, 1, 1, tzinfo=dt.timezone.utc)
    old_time = dt.datetime(1890, 5, 1, 12, tzinfo=dt.timezone.utc)
    moments = pa.timestamp("us", "UTC")
    old = rows(day=pa.array([dt.date(1500, 3, 1), new_day]), t=pa.array([old_time, new_time], moments))
    new = rows(day=pa.array([new_day]), t=pa.array([new_time], moments))
    modes = {f"spark.sql.parquet.datetimeRebaseModeIn{way}": mode for way, mode in REBASE.items()}
    for name, mode in modes.items():
        oracle.sql(f"set {name}={mode}")
    try:
        for name, data in {"old": old, "new": new}.items():
            oracle.write(tmp_path / name, data, apache(**{"hoodie.datasource.write.operation": "bulk_insert"}))
    finally:
        for name in modes:
            oracle.sql(f"reset {name}")
    table = hudini.open(tmp_path / "old")
    by_filter = [
        {"filter": condition} for condition in ("day = '1500-03-01'", "day < '1500-03-05'", "t < '1895-01-01'")
    ]
    for asked in ({"columns": ["day"]}, {"columns": ["t"]}, *by_filter):
        with pytest.raises(hudini.UnsupportedFeature, match="another calendar"):
            table.read(**asked).to_arrow()  # type: ignore[arg-type]
    assert table.read(columns=["id"]).to_arrow().num_rows == 2
    assert hudini.open(tmp_path / "new").read().to_arrow()["day"].to_pylist() == [new_day]
