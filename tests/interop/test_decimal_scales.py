"""Decimals whose scale grew: Apache Hudi writes the bounds of a partition down as if all files had the newer one."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

import hudini

from .oracle import Oracle

pytestmark = pytest.mark.interop


@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_no_row_is_left_out(oracle: Oracle, tmp_path: Path, table_type: str) -> None:
    path = tmp_path / "table"
    options = {
        "hoodie.table.name": "scales",
        "hoodie.datasource.write.operation": "upsert",
        "hoodie.datasource.write.table.type": table_type,
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.partitionpath.field": "p",
        "hoodie.table.ordering.fields": "ts",
        "hoodie.parquet.small.file.limit": "0",
        "hoodie.compact.inline": "false",
    }

    def write(ids: list[str], values: list[str], ts: int, kind: pa.DataType) -> None:
        amounts = pa.array([Decimal(value) for value in values], kind)
        count = len(ids)
        oracle.write(path, pa.table({"id": ids, "p": ["a"] * count, "ts": [ts] * count, "d": amounts}), options)

    write(["k5", "k7"], ["5", "7"], 1, pa.decimal128(10, 2))
    write(["k5"], ["4"], 2, pa.decimal128(14, 4))
    table = hudini.open(path)
    for condition, count in {"d = 7": 1, "d = 4": 1, "d > 3": 2, "d > 7": 0}.items():
        assert table.read(filter=condition).count() == count, condition
