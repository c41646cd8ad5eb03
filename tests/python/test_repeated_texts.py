"""Columns of few texts: base files keep them as numbers of a dictionary also when they are written anew."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hudini

SCHEMA = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("when", pa.string()),
        pa.field("city", pa.string()),
        pa.field("note", pa.string()),
        pa.field("blob", pa.binary()),
        pa.field("one", pa.string()),
        pa.field("stops", pa.int64()),
    ]
)
Row = dict[str, Any]


def row(chance: random.Random, number: int, when: str) -> Row:
    cities = ["Aberdeen", "", "Zürich", "Ōsaka", None, "B" * 90]
    return {
        "id": f"id {number:05}",
        "when": when,
        "city": chance.choice(cities),
        "note": chance.choice([None, None, f"a note, one of {chance.randrange(40)}"]),
        "blob": chance.choice([None, b"", bytes([chance.randrange(5)]) * 70]),
        "one": "the same in all",
        "stops": chance.choice([None, *range(5)]),
    }


def table_of(rows: list[Row]) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def encodings(table: hudini.Table) -> dict[str, tuple[str, ...]]:
    newest = max(Path(table.path).glob("*.parquet"), key=lambda file: file.stat().st_mtime_ns)
    metadata = pq.read_metadata(newest)
    columns = enumerate(metadata.schema.names)
    return {name: tuple(metadata.row_group(0).column(at).encodings) for at, name in columns}


def holds(table: hudini.Table, expected: dict[str, Row]) -> None:
    rows = table.read(columns=SCHEMA.names).to_arrow().to_pylist()
    assert {r["id"]: r for r in rows} == expected
    assert len(rows) == len(expected)
    assert table.verify(deep=True).ok


@pytest.mark.parametrize("codec", ["zstd", "gzip", "snappy", "uncompressed"])
@pytest.mark.parametrize("table_type", ["cow", "mor"])
def test_rows_come_through_files_that_are_written_anew(tmp_path: Path, table_type: str, codec: str) -> None:
    chance = random.Random(f"{table_type} {codec}")
    table = hudini.create(
        str(tmp_path / "table"),
        SCHEMA,
        record_key="id",
        ordering="when",
        table_type=table_type,
        options={
            "hoodie.index.type": "BUCKET",
            "hoodie.bucket.index.num.buckets": "1",
            "hoodie.parquet.compression.codec": codec,
            "hoodie.compact.inline": "false",
        },
    )
    expected: dict[str, Row] = {}

    def upsert(numbers: list[int], when: str) -> None:
        rows = [row(chance, number, when) for number in numbers]
        table.upsert(table_of(rows))
        expected.update({r["id"]: r for r in rows if r["when"] >= expected.get(r["id"], r)["when"]})

    upsert(list(range(30_000)), "2026-03")
    for turn, when in enumerate(["2026-04", "2026-01", "2026-05"]):
        numbers = chance.sample(range(30_000 + 500 * turn), 3000) if turn < 2 else list(range(100, 90_000, 29))
        upsert(numbers, when)
        gone = [f"id {number:05}" for number in chance.sample(range(30_000), 700)]
        table.delete(pa.table({"id": gone, "when": ["2026-09"] * len(gone)}))
        for key in gone:
            expected.pop(key, None)
        if table_type == "mor":
            table.services.compact()
        holds(table, expected)
    packed = {name for name, of in encodings(table).items() if "RLE_DICTIONARY" in of}
    assert {"city", "note", "blob", "one"} <= packed
    assert not {"id", "_hoodie_record_key", "_hoodie_commit_seqno"} & packed
