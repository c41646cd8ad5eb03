"""The result of a write."""

from __future__ import annotations

import pickle
from pathlib import Path

import pyarrow as pa
import pytest

import hudini
from hudini import CommitResult
from hudini.actions import human_bytes

FIELDS = {
    "instant": "20261121084838673",
    "completed": "20261121084838900",
    "action": "commit",
    "operation": "upsert",
    "inserted": 2,
    "updated": 1,
    "deleted": 0,
    "files_added": 1,
    "files_removed": 0,
    "bytes_written": 18_432,
    "seconds": 0.034,
    "retries": 0,
}


def test_a_result_is_one_line() -> None:
    result = CommitResult.from_core(FIELDS)
    assert repr(result) == (
        "CommitResult(upsert 20261121084838673: 2 inserted, 1 updated, 0 deleted; 1 file added, 18.4 kB, 0.03 s)"
    )
    assert result.to_dict() == FIELDS | {"warnings": ()}
    assert pickle.loads(pickle.dumps(result)) == result
    assert result


def test_files_that_went_are_told() -> None:
    assert "; 2 files added, 3 removed, " in repr(
        CommitResult.from_core(FIELDS | {"files_added": 2, "files_removed": 3})
    )


def test_what_a_newer_core_tells_besides_is_left_out() -> None:
    assert CommitResult.from_core(FIELDS | {"new": 1}) == CommitResult.from_core(FIELDS)


def test_a_result_explains_itself(tmp_path: Path) -> None:
    rows = pa.table({"id": ["a", "b"], "ts": [1, 1], "city": ["x", "y"]})
    path = str(tmp_path / "t")
    index = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "1"}
    table = hudini.create(
        path, schema=rows.schema, table_type="mor", record_key="id", partition_by=["city"], options=index
    )
    first = table.upsert(rows, options={"hoodie.upsert.shuffle.parallelism": 8})
    told = first.explain()
    assert told["options_without_effect"] == ["hoodie.upsert.shuffle.parallelism"]
    assert [(file["partition"], file["rows"], file["deletes"], file["replaces"]) for file in told["files"]] == [
        ("x", 1, 0, None),
        ("y", 1, 0, None),
    ]
    assert sum(file["bytes"] for file in told["files"]) == told["bytes_written"] == first.bytes_written
    assert all((tmp_path / "t" / file["partition"] / file["name"]).exists() for file in told["files"])
    assert told.items() >= first.to_dict().items()
    logged = table.delete(pa.table({"id": ["a"], "city": ["x"]})).explain()["files"]
    assert [(file["rows"], file["deletes"]) for file in logged] == [(0, 1)]
    assert logged[0]["name"].startswith("." + logged[0]["file_id"])
    assert table.upsert(rows.slice(0, 0)).explain()["files"] == []


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (999_949, "999.9 kB"),
        (999_999, "1.0 MB"),
        (5 * 10**15, "5000.0 TB"),
    ],
)
def test_sizes_for_people(count: int, text: str) -> None:
    assert human_bytes(count) == text
