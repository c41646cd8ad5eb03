"""A file that is gone and whose commit Apache Hudi has archived, in tables that have no list of their files."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import hudini

from .oracle import Oracle

pytestmark = pytest.mark.interop

SCHEMA = pa.schema([("id", pa.string()), ("p", pa.string()), ("ts", pa.int64())])
ARCHIVING = {
    "hoodie.keep.min.commits": "3",
    "hoodie.keep.max.commits": "4",
    "hoodie.clean.commits.retained": "1",
    "hoodie.commits.archival.batch": "1",
}


class Job:
    """Apache Hudi at work on one table, with whose files it does as it is told."""

    def __init__(self, oracle: Oracle, path: Path, version: int, kind: str, cleaned: bool) -> None:
        self._oracle, self._path = oracle, path
        self._options = {
            "hoodie.table.name": "t",
            "hoodie.datasource.write.table.type": kind,
            "hoodie.datasource.write.recordkey.field": "id",
            "hoodie.datasource.write.precombine.field": "ts",
            "hoodie.datasource.write.partitionpath.field": "p",
            "hoodie.write.table.version": str(version),
            "hoodie.metadata.enable": "false",
            "hoodie.compact.inline": "false",
            "hoodie.parquet.small.file.limit": "0",
            "hoodie.clean.automatic": str(cleaned).lower(),
            **ARCHIVING,
        }

    def write(self, operation: str, key: str, partition: str, ts: int, mode: str = "append") -> None:
        rows = pa.Table.from_pylist([{"id": key, "p": partition, "ts": ts}], schema=SCHEMA)
        options = {**self._options, "hoodie.datasource.write.operation": operation}
        self._oracle.write(self._path, rows, options, mode)


def values(rows: pa.Table) -> dict[str, int]:
    return {row["id"]: row["ts"] for row in rows.to_pylist()}


@pytest.mark.parametrize("cleaned", [False, True], ids=["kept", "cleaned"])
@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
@pytest.mark.parametrize("version", [6, 8, 9])
def test_what_an_archived_commit_wrote_is_missed(
    oracle: Oracle, tmp_path: Path, version: int, kind: str, cleaned: bool
) -> None:
    path = tmp_path / "t"
    job = Job(oracle, path, version, kind, cleaned)
    job.write("insert", "a", "quiet", 1, mode="overwrite")
    job.write("upsert", "a", "quiet", 2)
    # Groups that are replaced and cleaned away are in no slice, though nothing but the history tells why.
    job.write("insert", "b", "replaced", 1)
    job.write("insert_overwrite", "c", "replaced", 2)
    for ts in range(1, 9):
        job.write("upsert", "d", "busy", ts)

    whole = {"a": 2, "c": 2, "d": 8}
    table = hudini.open(path)
    assert values(table.read().to_arrow()) == values(oracle.read(path)) == whole
    [quiet] = [each for each in table.inspect.slices() if each["partition"] == "quiet"]
    gone = quiet["log_files"][-1] if quiet["log_files"] else quiet["base_file"]
    active = {entry["requested"] for entry in table.inspect.timeline()}
    [written] = [entry["requested"] for entry in table.inspect.timeline(archived=True)][1:2]
    assert written not in active
    assert table.verify(deep=True).ok

    (path / "quiet" / gone).unlink()
    assert values(oracle.read(path)) != whole, "Apache Hudi misses it by now: docs/differences.md is no longer true"
    with pytest.raises(hudini.StorageFailure, match="file of the snapshot is gone") as refused:
        table.read().to_arrow()
    assert str(refused.value.path).endswith(gone)
    assert not table.verify(deep=True).ok
    # Who does not ask for it does not miss it.
    assert values(table.read(filter="p <> 'quiet'").to_arrow()) == {"c": 2, "d": 8}
