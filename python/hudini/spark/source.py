"""The data source `hudini`: `spark.read.format("hudini").load(path)`, and the way into `hudini.spark.sink` for writes.

Spark makes the source once, at `load`, and plans its reader again for each query over the frame. The splits are made at
`load` and travel inside the source, so all queries over one frame see one snapshot. On Spark Connect a frame is only a
plan, and Spark makes the source anew for each query whose plan it has forgotten: there `as.of.instant` holds a frame to
a state, and frames of `hudini.spark.read` and its like hold their splits themselves.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NoReturn

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

import hudini
from hudini.errors import InvalidOption, SchemaMismatch, UnsupportedFeature

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import DataType, StructType

    from hudini.spark.sink import StagingWriter

PATH = "path"
# Spark's catalog says it, among the options, of a table that is being created.
PROVIDER = "provider"
AS_OF = "as.of.instant"
QUERY_TYPE = "hoodie.datasource.query.type"
OLD_QUERY_TYPE = "hoodie.datasource.view.type"
KINDS = ("snapshot", "read_optimized", "incremental")
BEGIN = "hoodie.datasource.read.begin.instanttime"
END = "hoodie.datasource.read.end.instanttime"
INCREMENTAL_FORMAT = "hoodie.datasource.query.incremental.format"
# Before the name of an option of the storage, such as `aws_region`.
STORAGE = "hudini.storage."
# How `hudini.spark.read` says what Spark's reader has no words for.
COLUMNS = "hudini.read.columns"
FILTER = "hudini.read.filter"
META = "hudini.read.meta"
IMAGES = "hudini.read.images"


class DefaultSource(DataSource):
    """Apache Hudi tables, without a JVM bundle.

    Options: `path` (what `load` is given), `as.of.instant`, `hoodie.datasource.query.type` (`snapshot`,
    `read_optimized`, or `incremental` with `hoodie.datasource.read.begin.instanttime` and perhaps
    `hoodie.datasource.read.end.instanttime`; with `hoodie.datasource.query.incremental.format=cdc` it gives changes)
    and the other `hoodie.*` read options; `hudini.storage.…` for the `storage_options` of `hudini.open`, as in
    `hudini.storage.aws_region`.

    >>> spark.read.format("hudini").option("as.of.instant", "2026-11-21").load(path)

    Writes take the `hoodie.*` options of a job for Apache Hudi, in the modes `append` and `overwrite`.

    >>> df.write.format("hudini").options(**options).mode("append").save(path)
    """

    def __init__(self, options: dict[str, str]) -> None:
        super().__init__(options)
        # Plain and lower-cased, as Spark's own mapping compares keys.
        self._given = {key.lower(): value for key, value in options.items()}
        self._pinned: list[bytes] | None = None

    @classmethod
    def name(cls) -> str:
        return "hudini"

    def schema(self) -> StructType:
        from hudini.spark.batches import spark_schema

        scan = self.scan()
        self._pinned = [split.to_bytes() for split in scan.splits()]
        return spark_schema(scan.schema.to_arrow())

    def reader(self, schema: StructType) -> DataSourceReader:
        if self._pinned is None:
            # The caller declared a schema, so Spark did not ask for ours.
            scan = self.scan()
            self._check(schema, scan)
            self._pinned = [split.to_bytes() for split in scan.splits()]
        return SplitReader(self._pinned, schema)

    def _check(self, declared: StructType, scan: hudini.Scan) -> None:
        """Refuses columns that the table does not have so: Spark takes the declaration at its word, nulls and all."""
        from hudini.spark.batches import spark_schema

        known = {field.name: field for field in spark_schema(scan.schema.to_arrow())}
        unknown = sorted(set(declared.fieldNames()) - known.keys())
        if unknown:
            raise SchemaMismatch(f"the table has no column {', '.join(unknown)}", path=self._given.get(PATH))
        for field in declared:
            column = known[field.name]
            if field.dataType != column.dataType and not _widens(column.dataType, field.dataType):
                what = f"is {field.dataType.simpleString()}, and {column.dataType.simpleString()} in the table"
                raise SchemaMismatch(
                    f"the column {field.name} {what}", path=self._given.get(PATH), hint="cast it in the query"
                )
            if column.nullable and not field.nullable:
                raise SchemaMismatch(
                    f"the column {field.name} is declared NOT NULL, and may be null in the table",
                    path=self._given.get(PATH),
                )

    def writer(self, schema: StructType, overwrite: bool) -> StagingWriter:
        from hudini.spark.sink import StagingWriter

        path, storage, options = self._located('df.write.format("hudini").mode("append").save(path)')
        return StagingWriter.begun(path, options, schema, overwrites=overwrite, storage=storage)

    # Spark's contract is a reader and a writer; the arguments are of no interest to a refusal.
    def streamReader(self, schema: StructType) -> NoReturn:
        raise UnsupportedFeature(
            'reading through spark.readStream.format("hudini") is not supported by this version of hudini',
            hint="hudini.spark.incremental(spark, path, start) reads what came since a commit",
        )

    def streamWriter(self, schema: StructType, overwrite: bool) -> NoReturn:
        raise UnsupportedFeature(
            'writing through df.writeStream.format("hudini") is not supported by this version of hudini',
            hint="df.writeStream.foreachBatch(hudini.spark.stream_upsert(path)) writes a stream",
        )

    def scan(self) -> hudini.Scan:
        """The scan that the options ask for, pinned now."""
        path, storage, rest = self._located('spark.read.format("hudini").load(path)')
        # A range of time is a call of its own; the table knows the other kinds.
        asked = {rest[name].strip().lower() for name in (QUERY_TYPE, OLD_QUERY_TYPE) if name in rest}
        unknown = asked.difference(KINDS)
        if unknown:
            raise InvalidOption(f"{QUERY_TYPE}={unknown.pop()}", path=path, hint=", ".join(KINDS))
        if asked == {"incremental"}:
            if AS_OF in rest:
                raise InvalidOption(f"an incremental read takes no {AS_OF}", hint=f"{END} ends its range")
            rest = {name: value for name, value in rest.items() if name not in (QUERY_TYPE, OLD_QUERY_TYPE)}
            return _incremental(path, storage, rest)
        for name in (BEGIN, END):
            if rest.get(name):
                hint = f"{QUERY_TYPE}=incremental makes it one"
                raise InvalidOption(f"the option {name} is for an incremental read", path=path, hint=hint)
        columns = json.loads(rest.pop(COLUMNS, "null"))
        where = rest.pop(FILTER, None)
        meta = rest.pop(META, "true") == "true"
        table = hudini.open(path, storage_options=storage, options=rest)
        return table.read(columns=columns, filter=where, meta=meta)

    def _located(self, example: str) -> tuple[str, dict[str, str], dict[str, str]]:
        """The path, the options of its storage, and the other options."""
        if PROVIDER in self._given:
            raise UnsupportedFeature(
                "CREATE TABLE … USING hudini: Spark tells no later query where such a table is",
                hint='spark.read.format("hudini").load(path).createOrReplaceTempView(name) gives it a name',
            )
        rest = dict(self._given)
        path = rest.pop(PATH, None)
        if not path:
            hint = f"{example}; of tables in a catalogue (saveAsTable) Spark does not tell where they are"
            raise InvalidOption("the option path is missing", hint=hint)
        if path.startswith("file:") and "%" in path:
            # To Hadoop it is a letter like others, to all others the beginning of a code.
            raise InvalidOption(
                "a file: URI with %, of which Spark and hudini make two different folders",
                path=path,
                hint="name the folder by its plain path, without file:",
            )
        storage = {key.removeprefix(STORAGE): rest.pop(key) for key in list(rest) if key.startswith(STORAGE)}
        return path, storage, rest


def _widens(stored: DataType, declared: DataType) -> bool:
    """Whether all values of a type are values of the other."""
    from pyspark.sql.types import ByteType, DoubleType, FloatType, IntegerType, LongType, ShortType

    wider: list[type[DataType]] = [ByteType, ShortType, IntegerType, LongType]
    if type(stored) in wider and type(declared) in wider:
        return wider.index(type(stored)) <= wider.index(type(declared))
    return isinstance(stored, FloatType) and isinstance(declared, DoubleType)


def _incremental(path: str, storage: dict[str, str], options: dict[str, str]) -> hudini.Scan:
    start, end = options.pop(BEGIN, None), options.pop(END, None)
    if start is None:
        raise InvalidOption(f"an incremental read needs the option {BEGIN}", hint='"000" is the beginning')
    form = options.pop(INCREMENTAL_FORMAT, "latest_state").lower()
    if form == "cdc":
        images: Any = options.pop(IMAGES, "json")
        return hudini.open(path, storage_options=storage, options=options).changes(start, end, images)
    if form != "latest_state":
        raise InvalidOption(f"{INCREMENTAL_FORMAT}={form}", hint="latest_state or cdc")
    columns = json.loads(options.pop(COLUMNS, "null"))
    where = options.pop(FILTER, None)
    if options.pop(META, "true") != "true":
        raise UnsupportedFeature("an incremental read without the meta columns: name the columns instead")
    table = hudini.open(path, storage_options=storage, options=options)
    return table.incremental(start, end, columns=columns, filter=where)


class SplitPartition(InputPartition):
    """One split on its way to an executor."""

    def __init__(self, split: bytes) -> None:
        super().__init__(split)


class SplitReader(DataSourceReader):
    """Reads splits into record batches of the declared schema. Spark's own filters stay with Spark."""

    def __init__(self, splits: list[bytes], schema: StructType) -> None:
        self._splits = splits
        self._schema = schema

    def partitions(self) -> list[InputPartition]:
        return [SplitPartition(split) for split in self._splits]

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        # An empty list of partitions comes back from Spark as a single one: None, or since 4.2 with nothing in it.
        if partition is None or partition.value is None:
            return
        from hudini.spark.batches import arrow_schema

        yield from rows_of(partition.value, arrow_schema(self._schema))


def rows_of(split: bytes, promised: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows of a split, in exactly the types that Spark was promised."""
    from hudini.spark.batches import conform

    for batch in hudini.read_split(hudini.Split(split)):
        yield conform(batch, promised)
