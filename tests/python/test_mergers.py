"""Mergers of one's own, on a table of Apache Hudi whose merge mode is CUSTOM."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import hudini
from tests.golden import catalogue

STORED = "11111111-2222-3333-4444-555555555555"


@pytest.fixture
def table(tmp_path: Path, request: pytest.FixtureRequest) -> tuple[hudini.Table, str]:
    """The table under a strategy id of the test's own: mergers are registered for the whole process."""
    path = catalogue.unpack("refuse_custom_merger", tmp_path)
    own = f"test-{request.node.name}"
    properties = path / ".hoodie" / "hoodie.properties"
    properties.write_text(properties.read_text().replace(STORED, own))
    return hudini.open(path), own


def rows(scan: hudini.Scan) -> list[dict[str, object]]:
    return sorted(scan.to_arrow().to_pylist(), key=lambda row: str(row["_hoodie_record_key"]))


def test_the_function_decides(table: tuple[hudini.Table, str]) -> None:
    handle, strategy = table
    batches = []

    def keep_old(old: pa.RecordBatch, new: pa.RecordBatch) -> pa.RecordBatch:
        batches.append((old, new))
        return old

    hudini.register_merger(strategy, keep_old)
    base = rows(handle.read(mode="read_optimized"))
    assert rows(handle.read()) == base
    assert batches
    for old, new in batches:
        assert old.schema.equals(new.schema)
        assert old["_hoodie_record_key"].to_pylist() == new["_hoodie_record_key"].to_pylist()
    hudini.register_merger(strategy, lambda old, new: pa.Table.from_batches([new]))
    newer = rows(handle.read())
    assert newer != base
    assert [row["_hoodie_record_key"] for row in newer] == [row["_hoodie_record_key"] for row in base]
    assert "custom merger" in handle.read().explain()["merged_by"]
    assert handle.merge_mode == "CUSTOM"


def test_what_goes_wrong_in_it_is_told(table: tuple[hudini.Table, str]) -> None:
    handle, strategy = table
    with pytest.raises(hudini.UnsupportedFeature, match=strategy) as refused:
        handle.read().to_arrow()
    assert "register_merger" in str(refused.value.hint)

    def fails(old: pa.RecordBatch, new: pa.RecordBatch) -> pa.RecordBatch:
        raise ValueError("no idea")

    hudini.register_merger(strategy, fails)
    with pytest.raises(hudini.SchemaMismatch, match="no idea"):
        handle.read().to_arrow()
    hudini.register_merger(strategy, lambda old, new: new.slice(0, 0))
    with pytest.raises(hudini.SchemaMismatch, match="merger"):
        handle.read().to_arrow()


def test_a_merger_is_a_function() -> None:
    with pytest.raises(TypeError, match="a merger is a function"):
        hudini.register_merger("test-no-function", 5)  # type: ignore[arg-type]
