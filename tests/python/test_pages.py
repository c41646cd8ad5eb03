"""What a filter leaves out within base files, row groups and pages, holds no row that matches."""

from __future__ import annotations

import datetime
import random
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import hudini
from tests.golden.test_skipping import Filters
from tests.support.compare import difference

SCHEMA = {
    "id": "string not null",
    "n": "long",
    "word": "string",
    "price": "decimal(12,2)",
    "day": "date",
    "at": "timestamp",
    "x": "double",
}
ROWS = 30_000
# Where a filter can be answered by one alone.
BY = {"parquet_statistics", "page_index"}


def rows(seed: int) -> list[dict[str, Any]]:
    """Columns that ascend, with gaps, beside ones without any order."""
    chance = random.Random(seed)
    start = datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc)

    def row(number: int) -> dict[str, Any]:
        return {
            "id": f"k{number:06}",
            "n": None if number % 97 == 0 or 9000 < number < 12000 else number * 3,
            "word": f"{chance.randrange(1 << 60):x}",
            "price": Decimal(number).scaleb(-2) if number % 13 else None,
            "day": start.date() + datetime.timedelta(days=number // 50),
            "at": start + datetime.timedelta(seconds=number),
            "x": float("nan") if number % 5000 == 0 else chance.random(),
        }

    return [row(number) for number in range(ROWS)]


def written(path: Path, **layout: Any) -> hudini.Table:
    """A table of one base file, which Arrow wrote anew."""
    one = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "1"}
    table = hudini.create(path, SCHEMA, record_key="id", options=one)
    table.bulk_insert(rows(7))
    (file,) = (Path(table.path) / entry["name"] for entry in table.inspect.files())
    footer = {k: v for k, v in pq.ParquetFile(file).metadata.metadata.items() if k != b"ARROW:schema"}
    stored = pq.read_table(file, partitioning=None).replace_schema_metadata(footer)
    pq.write_table(stored, file, row_group_size=8000, data_page_size=4096, write_batch_size=200, **layout)
    return hudini.open(path)


@pytest.mark.parametrize(("version", "dictionary"), [("1.0", True), ("2.0", False)])
def test_filters_lose_no_row(version: str, dictionary: bool, tmp_path: Path) -> None:
    layout = {"data_page_version": version, "use_dictionary": dictionary, "compression": "zstd"}
    table = written(tmp_path / "t", write_page_index=True, **layout)
    whole = table.read().to_arrow()
    left_out: Counter[str] = Counter()
    for condition, expected in Filters(whole, version):
        scan = table.read(filter=condition)
        ran = scan.explain(run=True)["ran"]
        assert ran["rows"] == expected.num_rows, condition
        assert difference(scan.to_arrow(), expected) is None, (condition, ran["pruned"])
        left_out.update(ran["pruned"]["by"])
    assert set(left_out) >= BY


def test_pages_without_rows_that_match_are_not_fetched(tmp_path: Path) -> None:
    # Dictionaries would be fetched whole.
    indexed = written(tmp_path / "indexed", use_dictionary=False, write_page_index=True)
    plain = written(tmp_path / "plain", use_dictionary=False)
    (file,) = (Path(plain.path) / entry["name"] for entry in plain.inspect.files())
    footer = pq.ParquetFile(file).metadata.serialized_size
    for condition in ["n = 45003", "day = date'2024-03-01'", "at > timestamp'2024-01-01 08:15:00'"]:
        ran = [table.read(filter=condition).explain(run=True)["ran"] for table in (indexed, plain)]
        assert ran[0]["rows"] == ran[1]["rows"] > 0
        assert ran[0]["pruned"]["rows"] > 4000
        assert ran[1]["pruned"]["rows"] == 0
        assert ran[0]["pruned"]["row_groups"] == ran[1]["pruned"]["row_groups"] == 3
        assert (ran[0]["bytes"] - footer) * 2 < ran[1]["bytes"] - footer


def test_nulls_are_looked_for_in_the_pages_that_have_some(tmp_path: Path) -> None:
    table = written(tmp_path / "t", write_page_index=True)
    ran = table.read(filter="n is null and day < date'2024-01-03'").explain(run=True)["ran"]
    assert ran["rows"] == 2
    assert ran["pruned"]["rows"] > 0
