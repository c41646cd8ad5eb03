"""The DataFrame shapes that the distributed write goes through."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import reduce
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as st

from hudini import _core
from hudini.errors import HudiniError, SchemaMismatch
from hudini.spark.batches import arrow_schema, conform

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PARTITION = "_hudini_partition"
SLOT = "_hudini_slot"
SEQUENCE = "_hudini_sequence"
KEY = "_hudini_key"
WIDTH = "_hudini_width"
GROUP = "_hudini_group"
SCATTERED = "_hudini_scattered"
FILE = "_hudini_file"
CARRIED = (PARTITION, SLOT, SEQUENCE, KEY, WIDTH)

Batches = Iterator[pa.RecordBatch]
Place = tuple[str, int]
Cut = tuple[Any, ...]
"""What rows that go on together have in common."""
Tasks = dict[Place, bytes]
Placed = Mapping[Place, bytes | None]
"""`None`: there is nothing to do for the rows of that place."""
Done = tuple[str, int, int, bytes]
"""Partition, slot, rows, status."""


def located(df: DataFrame, locator: bytes, *, with_keys: bool) -> DataFrame:
    """`df` with columns behind it: where each row goes, its place in the input, and perhaps its key and what it takes.

    Spark hands a group's rows over in any order. Of two rows with one key and one ordering value the later one wins, so
    each row carries its place: the number of its Spark partition above, its number within it below.
    """
    taken = [name for name in df.columns if name in CARRIED]
    if taken:
        raise SchemaMismatch(f"the DataFrame has a column {taken[0]}, a name that hudini uses itself")
    carried = [
        st.StructField(PARTITION, st.StringType(), False),
        st.StructField(SLOT, st.IntegerType(), False),
        st.StructField(SEQUENCE, st.LongType(), False),
    ]
    if with_keys:
        carried.append(st.StructField(KEY, st.StringType(), False))
        carried.append(st.StructField(WIDTH, st.LongType(), False))
    schema = st.StructType(df.schema.fields + carried)
    names = [field.name for field in carried]
    return df.mapInArrow(_locate(locator, arrow_schema(df.schema), names, _text_type(df.sparkSession)), schema)


def look_up(keys: DataFrame, tasks: Tasks) -> DataFrame:
    """Partition, slot and key of those keys that the file groups have, a key once for each group that has it.

    Every file group is asked for all keys of its partition, which stream by.
    """
    from pyspark.sql.functions import broadcast

    spark = keys.sparkSession
    groups = spark.createDataFrame(list(tasks), f"{PARTITION} string not null, {SLOT} int not null")
    asked = keys.join(broadcast(groups), PARTITION).select(PARTITION, SLOT, KEY)
    grouped = asked.repartition(_width(spark, len(tasks)), PARTITION, SLOT).sortWithinPartitions(PARTITION, SLOT)
    return grouped.mapInArrow(_look_up(tasks, _text_type(spark)), asked.schema)


def recorded(rows: DataFrame, lookup: bytes, groups: int) -> DataFrame:
    """Key, partition and file of those keys that the record index has, a key once for each file group that has it;
    without a file those that it does not have, if their rows name several partitions.

    Each of the index's file groups is asked for the keys that belong there; in their order, so that it is read once.
    """
    spark = rows.sparkSession
    text = _text_type(spark)
    fields = f"{GROUP} int not null, {KEY} string not null, {SCATTERED} boolean not null"
    grouped = _keys(rows).mapInArrow(_group_keys(lookup, text), fields)
    ordered = grouped.repartition(_width(spark, groups), GROUP).sortWithinPartitions(GROUP, KEY)
    fields = f"{KEY} string not null, {PARTITION} string not null, {FILE} string not null"
    return ordered.mapInArrow(_look_up_records(lookup, text), fields)


def scattered(rows: DataFrame) -> DataFrame:
    """The keys whose rows name several partitions."""
    return _keys(rows).where(SCATTERED).select(KEY)


def lost(found: DataFrame) -> DataFrame:
    """Those of the keys that the record index was asked for."""
    return found.where(f"{FILE} = ''").select(KEY)


def chosen(rows: DataFrame, keys: DataFrame, choice: bytes, columns: list[str]) -> DataFrame:
    """Each of the keys with the one partition that its rows go to."""
    spark = rows.sparkSession
    rivals = rows.join(keys, KEY, "left_semi").select(KEY, PARTITION, SEQUENCE, *columns)
    ordered = rivals.repartition(KEY).sortWithinPartitions(KEY, SEQUENCE).drop(SEQUENCE)
    fields = f"{KEY} string not null, {PARTITION} string not null"
    return ordered.mapInArrow(_choose(choice, arrow_schema(ordered.schema), _text_type(spark)), fields)


def _keys(rows: DataFrame) -> DataFrame:
    """Each key once, and whether its rows name several partitions."""
    from pyspark.sql.functions import max, min

    return rows.groupBy(KEY).agg((min(PARTITION) != max(PARTITION)).alias(SCATTERED))


def files(found: DataFrame) -> list[tuple[str, str, str]]:
    """The partition and the id of each file that has some of the keys, and one of these."""
    from pyspark.sql.functions import min

    named = found.where(f"{FILE} != ''").groupBy(PARTITION, FILE).agg(min(KEY)).collect()
    return sorted((row[0], row[1], row[2]) for row in named)


def with_slots(found: DataFrame, slots: list[tuple[str, str, int]]) -> DataFrame:
    """Key, partition and slot of keys whose partitions and files are known."""
    from pyspark.sql.functions import broadcast

    fields = f"{PARTITION} string not null, {FILE} string not null, {SLOT} int not null"
    known = found.sparkSession.createDataFrame(slots, fields)
    return found.join(broadcast(known), [PARTITION, FILE]).select(KEY, PARTITION, SLOT)


def at_home(rows: DataFrame, homes: DataFrame, by: list[str]) -> DataFrame:
    """Located rows, each with what is said of its key, once for each home that it has; the others stay as they are."""
    from pyspark.sql.functions import coalesce

    names = rows.columns
    found = {name: f"{name}_found" for name in homes.columns if name not in by}
    joined = rows.join(homes.withColumnsRenamed(found), by, "left")
    moved = {name: coalesce(there, name) for name, there in found.items()}
    return joined.withColumns(moved).select(*names)


def settled(rows: DataFrame, new_slots: bytes) -> DataFrame:
    """Located rows with the slots of tasks, without their keys and widths."""
    schema = st.StructType([field for field in rows.schema.fields if field.name not in (KEY, WIDTH)])
    return rows.mapInArrow(_settle(new_slots), schema)


def partitions(rows: DataFrame) -> list[str]:
    """The partitions that rows go to."""
    return sorted(row[0] for row in rows.select(PARTITION).distinct().collect())


def profile(rows: DataFrame) -> list[tuple[str, int, int, int]]:
    """How many rows go where, and what they take, where that matters."""
    from pyspark.sql.functions import count, lit, sum

    width = sum(WIDTH) if WIDTH in rows.columns else lit(0)
    counted = rows.groupBy(PARTITION, SLOT).agg(count(lit(1)), width).collect()
    return sorted((row[0], row[1], row[2], row[3]) for row in counted)


def run(rows: DataFrame, tasks: Placed) -> list[Done]:
    """Runs each task on its rows. A task without rows is not run.

    A sorted partition is walked once and cut where the group changes, so a group streams through its task in input
    order: Spark's sort spills. Inserts into base files need no more memory than that; of an upsert or a delete the task
    holds the changes of its group.
    """
    spark = rows.sparkSession
    schema = data_schema(rows)
    grouped = rows.repartition(_width(spark, len(tasks)), PARTITION, SLOT)
    ordered = grouped.sortWithinPartitions(PARTITION, SLOT, SEQUENCE)
    result = ordered.mapInArrow(_run(tasks, schema, _text_type(spark)), _DONE)
    return [(row[0], row[1], row[2], bytes(row[3])) for row in result.collect()]


_DONE = "partition string, slot int, rows long, status binary"


def data_schema(rows: DataFrame) -> pa.Schema:
    """What tasks get of located rows."""
    return arrow_schema(st.StructType([field for field in rows.schema.fields if field.name not in CARRIED]))


def run_without_rows(spark: SparkSession, tasks: list[bytes], schema: pa.Schema) -> list[bytes]:
    """Runs each task on no rows at all: their statuses."""
    return run_each(spark, tasks, _Idle(schema))


def run_compaction(spark: SparkSession, tasks: list[bytes]) -> list[bytes]:
    """Runs each task once: their statuses."""
    return run_each(spark, tasks, _core.run_compaction_task)


class _Idle:
    """Runs a task of a write without any rows."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema

    def __call__(self, task: bytes) -> bytes:
        return _core.run_task(task, pa.RecordBatchReader.from_batches(self._schema, []))


def run_each(spark: SparkSession, tasks: list[bytes], work: Callable[[bytes], bytes]) -> list[bytes]:
    """What comes of each, as far as may be in Spark partitions of their own."""

    def run_tasks(batches: Batches) -> Batches:
        for batch in batches:
            for task in batch.column(0):
                status = pa.array([work(task.as_py())], batch.schema.field(0).type)
                yield pa.RecordBatch.from_arrays([status], names=["status"])

    rows = spark.createDataFrame([(n, bytearray(task)) for n, task in enumerate(tasks)], "number int, task binary")
    spread = rows.repartitionByRange(max(len(tasks), 1), "number").select("task")
    return [bytes(row[0]) for row in spread.mapInArrow(run_tasks, "status binary").collect()]


def _width(spark: SparkSession, groups: int) -> int:
    """Spark partitions for so many groups. Without a number Spark puts small ones together, and what is small to it may
    be a change of large files."""
    return max(1, min(groups, int(spark.conf.get("spark.sql.shuffle.partitions", "200") or "200")))


def _text_type(spark: SparkSession) -> pa.DataType:
    large = spark.conf.get("spark.sql.execution.arrow.useLargeVarTypes", "false") == "true"
    return pa.large_string() if large else pa.string()


def _locate(locator: bytes, schema: pa.Schema, names: list[str], text: pa.DataType) -> Callable[[Batches], Batches]:
    def locate(batches: Batches) -> Batches:
        from pyspark import TaskContext

        context = TaskContext.get()
        sequence = (context.partitionId() if context is not None else 0) << 33
        for batch in batches:
            found = pa.RecordBatchReader.from_stream(_core.locate(locator, conform(batch, schema))).read_all()
            if found.num_rows != batch.num_rows:
                raise HudiniError(f"{batch.num_rows} rows were to be located, {found.num_rows} came back")
            numbers = pa.array(range(sequence, sequence + batch.num_rows), pa.int64())
            sequence += batch.num_rows
            carried = [numbers if name == SEQUENCE else _as_text(found.column(name), text) for name in names]
            # Spark gets its own columns back untouched, in whatever zone and width it sent them.
            fields = [*batch.schema, *(pa.field(n, c.type, False) for n, c in zip(names, carried, strict=True))]
            yield pa.RecordBatch.from_arrays([*batch.columns, *carried], schema=pa.schema(fields))

    return locate


def _as_text(column: pa.ChunkedArray, text: pa.DataType) -> pa.Array:
    """One array of it, texts as Spark wants them."""
    whole = column.combine_chunks()
    return whole.cast(text) if pa.types.is_string(whole.type) else whole


def _look_up(tasks: Tasks, text: pa.DataType) -> Callable[[Batches], Batches]:
    keys_alone = pa.schema([pa.field(KEY, pa.string(), False)])
    schema = pa.schema(
        [pa.field(PARTITION, text, False), pa.field(SLOT, pa.int32(), False), pa.field(KEY, text, False)]
    )

    def look_up_groups(batches: Batches) -> Batches:
        for (partition, slot), group in groupby(_pieces(batches, PARTITION, SLOT), key=lambda piece: piece[0]):
            keys = (conform(piece, keys_alone) for _, piece in group)
            found = _core.look_up(tasks[partition, slot], pa.RecordBatchReader.from_batches(keys_alone, keys))
            for batch in pa.RecordBatchReader.from_stream(found):
                columns = [
                    pa.array([partition] * batch.num_rows, text),
                    pa.array([slot] * batch.num_rows, pa.int32()),
                    batch.column(0).cast(text),
                ]
                yield pa.RecordBatch.from_arrays(columns, schema=schema)

    return look_up_groups


_ASKED = pa.schema([pa.field(KEY, pa.string(), False), pa.field(SCATTERED, pa.bool_(), False)])


def _group_keys(lookup: bytes, text: pa.DataType) -> Callable[[Batches], Batches]:
    schema = pa.schema([pa.field(GROUP, pa.int32(), False), _ASKED.field(KEY).with_type(text), _ASKED.field(SCATTERED)])

    def group_keys(batches: Batches) -> Batches:
        keys = pa.RecordBatchReader.from_batches(_ASKED, (conform(batch, _ASKED) for batch in batches))
        for batch in pa.RecordBatchReader.from_stream(_core.group_keys(lookup, keys)):
            yield conform(batch, schema)

    return group_keys


def _look_up_records(lookup: bytes, text: pa.DataType) -> Callable[[Batches], Batches]:
    schema = pa.schema([pa.field(name, text, False) for name in (KEY, PARTITION, FILE)])

    def look_up_groups(batches: Batches) -> Batches:
        for (number,), group in groupby(_pieces(batches, GROUP), key=lambda piece: piece[0]):
            keys = pa.RecordBatchReader.from_batches(_ASKED, (conform(piece, _ASKED) for _, piece in group))
            for batch in pa.RecordBatchReader.from_stream(_core.look_up_records(lookup, number, keys)):
                yield conform(batch, schema)

    return look_up_groups


def _choose(choice: bytes, schema: pa.Schema, text: pa.DataType) -> Callable[[Batches], Batches]:
    output = pa.schema([pa.field(name, text, False) for name in (KEY, PARTITION)])

    def choose(batches: Batches) -> Batches:
        rows = pa.RecordBatchReader.from_batches(schema, (conform(batch, schema) for batch in batches))
        for batch in pa.RecordBatchReader.from_stream(_core.choose(choice, rows)):
            yield conform(batch, output)

    return choose


def _settle(new_slots: bytes) -> Callable[[Batches], Batches]:
    def settle(batches: Batches) -> Batches:
        for batch in batches:
            # Rows that nobody writes are left out, so each carries its number.
            asked = pa.RecordBatch.from_arrays(
                [
                    batch.column(PARTITION).cast(pa.string()),
                    batch.column(SLOT),
                    batch.column(KEY).cast(pa.string()),
                    pa.array(range(batch.num_rows), pa.int64()),
                ],
                names=[PARTITION, SLOT, KEY, SEQUENCE],
            )
            found = pa.RecordBatchReader.from_stream(_core.settle(new_slots, asked)).read_all()
            kept = batch if found.num_rows == batch.num_rows else batch.take(found.column(SEQUENCE).combine_chunks())
            slots = found.column(SLOT).combine_chunks()
            fields = [field for field in batch.schema if field.name not in (KEY, WIDTH)]
            columns = [slots if field.name == SLOT else kept.column(field.name) for field in fields]
            yield pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))

    return settle


def _run(tasks: Placed, schema: pa.Schema, text: pa.DataType) -> Callable[[Batches], Batches]:
    def run_tasks(batches: Batches) -> Batches:
        for (partition, slot), group in groupby(_pieces(batches, PARTITION, SLOT), key=lambda piece: piece[0]):
            if (partition, slot) not in tasks:
                raise HudiniError(
                    f"rows for partition {partition!r}, slot {slot} turned up after they had been counted elsewhere",
                    hint="Spark read its source twice and got different rows: write the DataFrame to files first",
                )
            task = tasks[partition, slot]
            if task is None:
                continue
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


def _pieces(batches: Batches, *names: str) -> Iterator[tuple[Cut, pa.RecordBatch]]:
    """Batches sorted by some columns, cut so that each piece has one value in each of these."""
    for batch in batches:
        count = batch.num_rows
        if count == 0:
            continue
        columns = [batch.column(name) for name in names]
        changed = [pc.not_equal(column.slice(1), column.slice(0, count - 1)) for column in columns]
        changes = reduce(pc.or_, changed)
        starts = [0, *(index + 1 for index in pc.indices_nonzero(changes).to_pylist()), count]
        for start, end in pairwise(starts):
            yield tuple(column[start].as_py() for column in columns), batch.slice(start, end - start)
