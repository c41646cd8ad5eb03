"""Tables as DataFrames, and the DataFrame shapes that the distributed write goes through."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as st

from hudini import _core
from hudini._arguments import completion_text, instant_text, name_list, options_text
from hudini._filters import filter_text
from hudini.errors import HudiniError, SchemaMismatch
from hudini.spark.batches import arrow_schema, conform
from hudini.spark.source import AS_OF, BEGIN, COLUMNS, END, FILTER, IMAGES, INCREMENTAL_FORMAT, META, QUERY_TYPE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PARTITION = "_hudini_partition"
SLOT = "_hudini_slot"
SEQUENCE = "_hudini_sequence"
_CARRIED = (PARTITION, SLOT, SEQUENCE)

Batches = Iterator[pa.RecordBatch]
Tasks = dict[tuple[str, int], bytes]


def read(
    spark: SparkSession,
    path: str,
    *,
    columns: Sequence[str] | None = None,
    filter: str | Sequence[Any] | None = None,
    as_of: Any = None,
    mode: str = "snapshot",
    meta: bool = True,
    options: Mapping[str, Any] | None = None,
) -> DataFrame:
    """The table's rows as a DataFrame, pinned to one snapshot; only `columns` are read from the files.

    `filter` is that of `Table.read`: unlike `DataFrame.filter`, it leaves out partitions, files and row groups.
    """
    given = options_text(options) | {QUERY_TYPE: mode, META: "true" if meta else "false"}
    if columns is not None:
        given[COLUMNS] = json.dumps(name_list(columns, "columns"))
    where = filter_text(filter)
    if where is not None:
        given[FILTER] = where
    when = instant_text(as_of)
    if when is not None:
        given[AS_OF] = when
    return spark.read.format("hudini").options(**given).load(path)


def incremental(
    spark: SparkSession,
    path: str,
    start: Any = None,
    end: Any = None,
    *,
    columns: Sequence[str] | None = None,
    filter: str | Sequence[Any] | None = None,
    options: Mapping[str, Any] | None = None,
) -> DataFrame:
    """The rows that were written after `start` and up to `end`, as `Table.incremental` has them, as a DataFrame."""
    given = options_text(options) | _range(start, end)
    where = filter_text(filter)
    if where is not None:
        given[FILTER] = where
    if columns is not None:
        given[COLUMNS] = json.dumps(name_list(columns, "columns"))
    return spark.read.format("hudini").options(**given).load(path)


def changes(
    spark: SparkSession,
    path: str,
    start: Any = None,
    end: Any = None,
    *,
    images: str = "struct",
    options: Mapping[str, Any] | None = None,
) -> DataFrame:
    """What happened to rows after `start` and up to `end`, as `Table.changes` has it, as a DataFrame."""
    given = options_text(options) | _range(start, end) | {INCREMENTAL_FORMAT: "cdc", IMAGES: images}
    return spark.read.format("hudini").options(**given).load(path)


def _range(start: Any, end: Any) -> dict[str, str]:
    until = completion_text(end)
    given = {QUERY_TYPE: "incremental", BEGIN: completion_text(start) or "earliest"}
    return given if until is None else given | {END: until}


def located(df: DataFrame, locator: bytes) -> DataFrame:
    """`df` with three columns behind it: where each row goes, and its place in the input.

    Spark hands a group's rows over in any order. Of two rows with one key and one ordering value the later one wins, so
    each row carries its place: the number of its Spark partition above, its number within it below.
    """
    taken = [name for name in df.columns if name in _CARRIED]
    if taken:
        raise SchemaMismatch(f"the DataFrame has a column {taken[0]}, a name that hudini uses itself")
    carried = [
        st.StructField(PARTITION, st.StringType(), False),
        st.StructField(SLOT, st.IntegerType(), False),
        st.StructField(SEQUENCE, st.LongType(), False),
    ]
    schema = st.StructType(df.schema.fields + carried)
    return df.mapInArrow(_locate(locator, arrow_schema(df.schema), _text_type(df.sparkSession)), schema)


def profile(rows: DataFrame) -> list[tuple[str, int, int]]:
    """How many rows go where."""
    counted = rows.groupBy(PARTITION, SLOT).count().collect()
    return sorted((row[0], row[1], row[2]) for row in counted)


def run(rows: DataFrame, tasks: Tasks) -> list[tuple[str, int, int, bytes]]:
    """Runs each task on its rows: (partition, slot, rows, status).

    A sorted partition is walked once and cut where the group changes, so a group streams through its task in input
    order and no group has to fit into memory: Spark's sort spills.
    """
    schema = arrow_schema(st.StructType([field for field in rows.schema.fields if field.name not in _CARRIED]))
    ordered = rows.repartition(PARTITION, SLOT).sortWithinPartitions(PARTITION, SLOT, SEQUENCE)
    text = _text_type(rows.sparkSession)
    result = ordered.mapInArrow(_run(tasks, schema, text), "partition string, slot int, rows long, status binary")
    return [(row[0], row[1], row[2], bytes(row[3])) for row in result.collect()]


def run_compaction(spark: SparkSession, tasks: list[bytes]) -> list[bytes]:
    """Runs each task once, as far as may be in Spark partitions of their own: their statuses."""
    rows = spark.createDataFrame([(n, bytearray(task)) for n, task in enumerate(tasks)], "number int, task binary")
    spread = rows.repartitionByRange(max(len(tasks), 1), "number").select("task")
    return [bytes(row[0]) for row in spread.mapInArrow(_run_compaction, "status binary").collect()]


def _run_compaction(batches: Batches) -> Batches:
    for batch in batches:
        for task in batch.column(0):
            status = pa.array([_core.run_compaction_task(task.as_py())], batch.schema.field(0).type)
            yield pa.RecordBatch.from_arrays([status], names=["status"])


def _text_type(spark: SparkSession) -> pa.DataType:
    large = spark.conf.get("spark.sql.execution.arrow.useLargeVarTypes", "false") == "true"
    return pa.large_string() if large else pa.string()


def _locate(locator: bytes, schema: pa.Schema, text: pa.DataType) -> Callable[[Batches], Batches]:
    def locate(batches: Batches) -> Batches:
        from pyspark import TaskContext

        context = TaskContext.get()
        sequence = (context.partitionId() if context is not None else 0) << 33
        for batch in batches:
            found = pa.RecordBatchReader.from_stream(_core.locate(locator, conform(batch, schema))).read_all()
            if found.num_rows != batch.num_rows:
                raise HudiniError(f"{batch.num_rows} rows were to be located, {found.num_rows} came back")
            carried = [
                found.column(PARTITION).combine_chunks().cast(text),
                found.column(SLOT).combine_chunks(),
                pa.array(range(sequence, sequence + batch.num_rows), pa.int64()),
            ]
            sequence += batch.num_rows
            # Spark gets its own columns back untouched, in whatever zone and width it sent them.
            fields = [*batch.schema, *(pa.field(n, c.type, False) for n, c in zip(_CARRIED, carried, strict=True))]
            yield pa.RecordBatch.from_arrays([*batch.columns, *carried], schema=pa.schema(fields))

    return locate


def _run(tasks: Tasks, schema: pa.Schema, text: pa.DataType) -> Callable[[Batches], Batches]:
    def run_tasks(batches: Batches) -> Batches:
        for (partition, slot), group in groupby(_pieces(batches), key=lambda piece: piece[0]):
            task = tasks.get((partition, slot))
            if task is None:
                raise HudiniError(
                    f"rows for partition {partition!r}, slot {slot} turned up after they had been counted elsewhere",
                    hint="Spark read its source twice and got different rows: write the DataFrame to files first",
                )
            counted = _Counted(piece for _, piece in group)
            reader = pa.RecordBatchReader.from_batches(schema, (conform(piece, schema) for piece in counted))
            status = _core.run_task(task, reader)
            columns = [
                pa.array([partition], text),
                pa.array([slot], pa.int32()),
                pa.array([counted.rows], pa.int64()),
                pa.array([status], pa.large_binary() if pa.types.is_large_string(text) else pa.binary()),
            ]
            yield pa.RecordBatch.from_arrays(columns, names=["partition", "slot", "rows", "status"])

    return run_tasks


class _Counted:
    """Batches passing by, and how many rows they held."""

    def __init__(self, batches: Iterator[pa.RecordBatch]) -> None:
        self._batches = batches
        self.rows = 0

    def __iter__(self) -> Batches:
        for batch in self._batches:
            self.rows += batch.num_rows
            yield batch


def _pieces(batches: Batches) -> Iterator[tuple[tuple[str, int], pa.RecordBatch]]:
    """Batches sorted by where their rows go, cut so that each piece goes to one place."""
    for batch in batches:
        count = batch.num_rows
        if count == 0:
            continue
        partitions, slots = batch.column(PARTITION), batch.column(SLOT)
        changes = pc.or_(
            pc.not_equal(partitions.slice(1), partitions.slice(0, count - 1)),
            pc.not_equal(slots.slice(1), slots.slice(0, count - 1)),
        )
        starts = [0, *(index + 1 for index in pc.indices_nonzero(changes).to_pylist()), count]
        for start, end in pairwise(starts):
            place = (partitions[start].as_py(), slots[start].as_py())
            yield place, batch.slice(start, end - start)
