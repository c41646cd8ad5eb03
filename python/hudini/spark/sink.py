"""Writing through the data source: `df.write.format("hudini").options(...).mode(...).save(path)`.

    writer ─ driver ─  the table, made if need be; what would be refused is refused now; a staging folder
    write  ─ tasks  ─  each leaves its rows in the staging folder
    commit ─ driver ─  the rows of those tasks that count, as one ordinary commit of this one process
    abort  ─ driver ─  the staging folder goes

Spark brings rows together for nobody but itself, and runs each of these steps in a process that knows nothing of the
others. So tasks cannot be told which file group a row belongs to, and all rows go through the driver's commit, in its
memory as far as they fit, else on its disk.
The functions of `hudini.spark` spread that work over the executors.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

import hudini
from hudini import _core
from hudini.data import Input
from hudini.errors import HudiniError
from hudini.spark.batches import arrow_schema, conform
from hudini.spark.compaction import by_default

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

SCHEMA_MODE = "evolve"


@dataclass
class Staged(WriterCommitMessage):
    """What one attempt at a task left; attempts that were lost say nothing."""

    rows: bytes


class StagingWriter(DataSourceArrowWriter):
    """One write, on its way between processes."""

    def __init__(
        self,
        path: str,
        storage: dict[str, str],
        operation: str,
        options: dict[str, str],
        schema: StructType,
        staging: bytes,
    ) -> None:
        self._path = path
        self._storage = storage
        self._operation = operation
        self._options = options
        self._schema = schema
        self._staging = staging

    @classmethod
    def begun(
        cls,
        path: str,
        options: dict[str, str],
        schema: StructType,
        *,
        overwrites: bool,
        storage: dict[str, str] | None = None,
    ) -> StagingWriter:
        """Refuses what can be refused before there are rows."""
        columns, storage = arrow_schema(schema), storage or {}
        is_there = hudini.is_table(path, storage_options=storage)
        table = hudini.open(path, storage_options=storage) if is_there else None
        core = None if table is None else table._core
        operation, told = _core.asked(core, options, overwrites)
        _core.check_write(core, operation, columns, told, {}, SCHEMA_MODE)
        if table is None:
            # There is nothing to delete from.
            if operation in ("delete", "delete_partition"):
                table = hudini.open(path, storage_options=storage)
            else:
                table = hudini.create(path, columns, options=told, storage_options=storage, exist_ok=True)
            _core.check_write(table._core, operation, columns, told, {}, SCHEMA_MODE)
        followed = by_default(table._core, told)
        return cls(table._core.path, storage, operation, followed, schema, _core.open_staging(table._core))

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Staged:
        schema, source = arrow_schema(self._schema), Input(None)
        batches = source.watched(conform(batch, schema) for batch in iterator)
        source.source = pa.RecordBatchReader.from_batches(schema, batches)
        try:
            return Staged(_core.stage(self._staging, source))
        except Exception as error:
            if source.failure is not None:
                # What Spark's own rows ran into is what happened, not its echo across the stream.
                raise source.failure from error
            raise

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        staged = [message.rows for message in messages if isinstance(message, Staged)]
        if len(staged) != len(messages):
            raise HudiniError(f"{len(messages)} tasks were to bring rows, {len(staged)} did")
        table = hudini.open(self._path, storage_options=self._storage)._core
        done = _core.write_staged(
            table, self._staging, staged, arrow_schema(self._schema), self._operation, self._options, SCHEMA_MODE
        )
        for warning in done["warnings"]:
            warnings.warn(warning, stacklevel=1)
        try:
            _core.close_staging(self._staging)
        except HudiniError as error:
            # The commit stands.
            warnings.warn(
                f"staged rows could not be removed, and stay for a later write to do it: {error}", stacklevel=1
            )

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        # Nothing but the staging folder is this write's: `commit` takes back by itself what it began.
        _core.close_staging(self._staging)
