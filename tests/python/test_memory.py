"""Merging and writing within a memory limit, and tables that live in memory."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import hudini

CHECKOUT = Path(__file__).resolve().parents[2]
ROWS = 500


def rows(first: int, count: int, ts: int, width: int = 1000) -> pa.Table:
    numbers = range(first, first + count)
    texts = [f"{ts}/{n}/" + "x" * width for n in numbers]
    return pa.table({"id": [f"k{n}" for n in numbers], "ts": [ts] * count, "text": texts})


def with_a_log(path: str) -> hudini.Table:
    schema = pa.schema([pa.field("id", pa.string(), False), pa.field("ts", pa.int64(), False), ("text", pa.string())])
    options = {"hoodie.bucket.index.num.buckets": 1}
    table = hudini.create(path, schema, record_key="id", ordering="ts", table_type="mor", options=options)
    table.upsert(rows(0, ROWS, 1))
    table.upsert(rows(ROWS // 2, ROWS, 2))
    return table


@pytest.mark.parametrize("limit", [200_000, "200kB", "196 KiB"])
def test_rows_do_not_depend_on_the_limit(limit: int | str, tmp_path: Path) -> None:
    table = with_a_log(str(tmp_path / "t"))
    scan = table.read(memory_limit=limit)
    assert scan.to_arrow() == table.read().to_arrow()
    pieces = [pickle.loads(pickle.dumps(split)) for split in scan.splits()]
    assert pa.concat_tables([pa.table(hudini.read_split(piece)) for piece in pieces]) == scan.to_arrow()


@pytest.mark.parametrize("wrong", [-1, "", "MB", "0.2MB", "12 parsecs", 1.5, True])
def test_what_is_no_number_of_bytes_is_refused(wrong: object, tmp_path: Path) -> None:
    table = hudini.create(tmp_path / "t", {"id": "string not null"}, record_key="id")
    with pytest.raises(hudini.InvalidOption, match="memory_limit"):
        table.read(memory_limit=wrong)


def test_keys_that_do_not_fit_are_an_error_with_a_way_out(tmp_path: Path) -> None:
    table = with_a_log(str(tmp_path / "t"))
    with pytest.raises(hudini.MemoryLimit, match="raise memory_limit") as caught:
        table.read(memory_limit=100).to_arrow()
    assert isinstance(caught.value, MemoryError)


def test_the_option_says_it_too(tmp_path: Path) -> None:
    with_a_log(str(tmp_path / "t"))
    table = hudini.open(tmp_path / "t", options={"hoodie.memory.merge.max.size": 100})
    with pytest.raises(hudini.MemoryLimit):
        table.read().to_arrow()
    assert table.read(memory_limit="1g").to_arrow().num_rows == ROWS + ROWS // 2


@pytest.mark.parametrize("index", ["BUCKET", "SIMPLE"])
@pytest.mark.parametrize("table_type", ["cow", "mor"])
def test_rows_that_go_to_disk_are_written_like_others(table_type: str, index: str, tmp_path: Path) -> None:
    """Batch after batch, more than the limit allows; a pyarrow.Table stays in memory."""
    told = {}
    for name in ("streamed", "whole"):
        table = hudini.create(
            tmp_path / name,
            {"id": "string not null", "ts": "long", "text": "string"},
            record_key="id",
            ordering="ts",
            table_type=table_type,
            options={"hoodie.index.type": index, "hoodie.memory.merge.max.size": 100_000},
        )
        steps = [("bulk_insert", rows(0, ROWS, 1)), ("upsert", rows(ROWS // 2, ROWS, 2)), ("delete", rows(100, 50, 0))]
        for operation, data in steps:
            given = iter(data.to_batches(max_chunksize=7)) if name == "streamed" else data
            getattr(table, operation)(given)
        told[name] = table.read(meta=False).to_arrow().sort_by("id")
        assert table.verify(deep=True).ok
    assert told["streamed"] == told["whole"]
    assert told["whole"].num_rows == ROWS + ROWS // 2 - 50


@pytest.mark.parametrize(
    ("operation", "table_type", "buckets", "count"),
    [
        ("bulk_insert", "cow", 8, ROWS),
        ("upsert", "cow", 1, ROWS),
        ("upsert", "mor", 1, ROWS),
        ("bulk_insert", "cow", 1, 12),
        ("upsert", "cow", 1, 12),
    ],
)
def test_neither_a_stream_nor_a_file_group_need_fit_into_memory(
    operation: str, table_type: str, buckets: int, count: int, tmp_path: Path
) -> None:
    """300 MB of rows: what is needed is for batches on their way, of 8 MB each, or of 64 MiB where rows are wide."""
    command = [sys.executable, "-m", "tests.python.test_memory", str(tmp_path / "t"), operation, table_type]
    said = subprocess.run(
        [*command, str(buckets), str(count)], cwd=CHECKOUT, capture_output=True, text=True, check=True
    ).stdout
    assert int(said) < (220 if count == ROWS else 420) << 20
    table = hudini.open(tmp_path / "t")
    assert table.read().count() == 600 * count


def scene(path: str, operation: str, table_type: str, buckets: str, count: str) -> None:
    """Writes 300 MB of rows and says by how many bytes that made the process grow at most."""
    import resource

    many, width = int(count), 500_000 // int(count)

    def stream(first: int = 0) -> Iterator[pa.RecordBatch]:
        for number in range(first, 600):
            yield rows(number * many, many, 1, width).combine_chunks().to_batches()[0]

    def peak() -> int:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10

    options = {
        "hoodie.bucket.index.num.buckets": int(buckets),
        "hoodie.memory.merge.max.size": 16 << 20,
        "hoodie.logfile.data.block.max.size": 16 << 20,
    }
    schema = {"id": "string not null", "ts": "long", "text": "string"}
    table = hudini.create(path, schema, "id", "ts", table_type=table_type, options=options, threads=1)
    if operation == "upsert":
        # Into logs where the group has a base file.
        table.bulk_insert(stream(599))
    before = peak()
    getattr(table, operation)(stream())
    print(peak() - before)


def test_a_table_in_memory() -> None:
    table = with_a_log("memory://test_a_table_in_memory")
    assert hudini.open("memory://test_a_table_in_memory").read().count() == ROWS + ROWS // 2
    assert table.verify(deep=True).ok
    with pytest.raises(hudini.TableExists):
        with_a_log("memory://test_a_table_in_memory")
    with pytest.raises(hudini.TableNotFound):
        hudini.open("memory://another")


if __name__ == "__main__":
    scene(*sys.argv[1:])
