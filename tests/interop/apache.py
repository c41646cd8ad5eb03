"""Apache Hudi as a job that writes one table, and the kinds of table under test."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from tests.support.rows import Row, to_arrow

from .oracle import Oracle

BUCKETS = 3
INDEX = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": str(BUCKETS)}
# Apache Hudi drops an index that a write does not ask for.
BY_RECORDS = {"hoodie.index.type": "RECORD_INDEX", "hoodie.metadata.record.index.enable": "true"}


@dataclass(frozen=True)
class Layout:
    """A kind of table."""

    table_type: str  # "cow" or "mor"
    partitioned: bool

    def __str__(self) -> str:
        return f"{self.table_type}-{'partitioned' if self.partitioned else 'flat'}"


LAYOUTS = [Layout(table_type, partitioned) for table_type in ("cow", "mor") for partitioned in (False, True)]


class Apache:
    """Apache Hudi. Its metadata table is on; compaction runs only when a test asks for it."""

    def __init__(self, oracle: Oracle, path: Path, layout: Layout, index: dict[str, str] = INDEX) -> None:
        self._oracle, self._path = oracle, path
        self._options = {
            "hoodie.table.name": "trips",
            "hoodie.datasource.write.table.type": {"cow": "COPY_ON_WRITE", "mor": "MERGE_ON_READ"}[layout.table_type],
            "hoodie.datasource.write.recordkey.field": "id",
            "hoodie.table.ordering.fields": "ts",
            "hoodie.metadata.enable": "true",
            "hoodie.compact.inline": "false",
            **index,
        }
        if layout.partitioned:
            self._options["hoodie.datasource.write.partitionpath.field"] = "city"

    def create(self, rows: Iterable[Row]) -> None:
        self._write("bulk_insert", rows, mode="overwrite")

    def first_upsert(self, rows: Iterable[Row]) -> None:
        """Makes the table by an upsert, as most jobs do."""
        self._write("upsert", rows, mode="overwrite")

    def insert_overwrite(self, rows: Iterable[Row]) -> None:
        self._write("insert_overwrite", rows)

    def delete_partitions(self, partitions: list[str]) -> None:
        named = {"hoodie.datasource.write.partitions.to.delete": ",".join(partitions)}
        self._write("delete_partition", [], more=named)

    def bulk_insert(self, rows: Iterable[Row]) -> None:
        self._write("bulk_insert", rows)

    def upsert(self, rows: Iterable[Row]) -> None:
        self._write("upsert", rows)

    def delete(self, rows: Iterable[Row]) -> None:
        self._write("delete", rows)

    def read(self) -> pa.Table:
        return self._oracle.read(self._path)

    def compact(self) -> None:
        """Compacts every slice with logs, and proves that it did."""
        [compaction] = self._oracle.compact(self._path)
        assert compaction["state"] == "COMPLETED"
        assert self._oracle.timeline(self._path)[-1]["requested"] == compaction["timestamp"]

    def serve(self, service: str, more: dict[str, str]) -> None:
        """Cleans or archives."""
        self._oracle.service(self._path, service, options={**self._options, **more})

    def _write(
        self, operation: str, rows: Iterable[Row], mode: str = "append", more: dict[str, str] | None = None
    ) -> None:
        options = {**self._options, "hoodie.datasource.write.operation": operation, **(more or {})}
        self._oracle.write(self._path, to_arrow(rows), options, mode)
