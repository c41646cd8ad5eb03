"""Rows on their way in: whatever people hold, as one Arrow C stream.

Taken are, in this order: a pandas DataFrame (its index is left out), a polars LazyFrame, anything with
`__arrow_c_stream__` (pyarrow.Table, polars.DataFrame, a DuckDB relation, a `Scan`, …), anything with
`__arrow_c_array__` (one batch), an iterable of such batches, and an iterable of dicts.
What has no `__arrow_c_stream__` needs pyarrow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from hudini._optional import is_instance, need
from hudini.errors import SchemaMismatch
from hudini.schema import pandas_schema

if TYPE_CHECKING:
    import pyarrow

_ROWS_PER_BATCH = 65_536


class Input:
    """A stream for the core, which remembers an exception that the caller's own iterator raised inside it.

    The Arrow C stream interface hands on only an error's text; `failure` keeps the exception itself.
    """

    def __init__(self, source: Any, *, in_memory: bool = False) -> None:
        self.source = source
        self.in_memory = in_memory
        """Whether all rows are in memory as they are, so that none need go to disk on their way."""
        self.failure: BaseException | None = None

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.source.__arrow_c_stream__(requested_schema)

    def opened(self) -> pyarrow.Schema:
        """The stream's schema. The stream is opened for it, and stays open for the one who reads it."""
        self.source = need("pyarrow", "creating a table from its data").RecordBatchReader.from_stream(self.source)
        return self.source.schema

    def watched(self, batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        try:
            yield from batches
        except BaseException as error:
            self.failure = error
            raise


def as_input(data: Any, table_schema: Callable[[], Any] | None = None) -> Input:
    """`data` as a stream. `table_schema` is asked for the types of columns that Python values don't tell."""
    if is_instance(data, "pandas", "DataFrame"):
        return Input(_from_pandas(data), in_memory=True)
    if is_instance(data, "polars", "LazyFrame"):
        return Input(data.collect(), in_memory=True)
    if hasattr(data, "__arrow_c_stream__"):
        return Input(data, in_memory=is_instance(data, "pyarrow", "Table") or is_instance(data, "polars", "DataFrame"))
    if hasattr(data, "__arrow_c_array__"):
        return Input(need("pyarrow", "taking a single Arrow array as data").record_batch(data), in_memory=True)
    if type(data).__module__.startswith("pyspark."):
        raise TypeError("a Spark DataFrame is written by hudini.spark: hudini.spark.upsert(df, path)")
    if isinstance(data, (str, bytes, Mapping)) or not isinstance(data, Iterable):
        raise TypeError(
            "data is an object with __arrow_c_stream__ (pyarrow, polars, DuckDB, …), a pandas DataFrame, "
            f"an iterable of record batches, or a list of dicts, not {type(data).__name__}"
        )
    return _from_iterable(iter(data), table_schema)


def as_keys(keys: Any, record_key: Sequence[str], table_schema: Callable[[], Any]) -> Input:
    """Keys to delete: data with the key columns, or plain values (tuples of them when the key has several columns)."""
    if isinstance(keys, (list, tuple, set, frozenset)) and keys and not isinstance(next(iter(keys)), Mapping):
        first = next(iter(keys))
        if not hasattr(first, "__arrow_c_array__") and not hasattr(first, "__arrow_c_stream__"):
            keys = [_key_row(key, record_key) for key in keys]
    return as_input(keys, table_schema)


def _key_row(key: Any, record_key: Sequence[str]) -> dict[str, Any]:
    values = key if isinstance(key, tuple) else (key,)
    if len(values) != len(record_key):
        raise SchemaMismatch(
            f"the key {key!r} has {len(values)} values, the table's record key is {', '.join(record_key)}"
        )
    return dict(zip(record_key, values, strict=True))


def _from_pandas(frame: Any) -> pyarrow.Table:
    pyarrow = need("pyarrow", "taking a pandas DataFrame")
    schema = pandas_schema(frame)
    table = pyarrow.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)
    try:
        return table.cast(schema)
    except pyarrow.ArrowInvalid as error:
        raise SchemaMismatch(f"a timestamp of the DataFrame does not fit into microseconds: {error}") from error


def _from_iterable(items: Iterator[Any], table_schema: Callable[[], Any] | None) -> Input:
    pyarrow = need("pyarrow", "taking rows or batches from an iterable")
    known = pyarrow.schema(table_schema()) if table_schema is not None else None
    first = next(items, None)
    if first is None:
        if known is None:
            raise SchemaMismatch(
                "the data is empty and has no schema", hint="give a pyarrow.Table with a schema, or create() first"
            )
        return Input(known.empty_table())
    items = chain([first], items)
    if isinstance(first, Mapping):
        return _from_rows(items, known)
    if hasattr(first, "__arrow_c_array__") or hasattr(first, "__arrow_c_stream__"):
        return _from_batches(items)
    raise TypeError(f"an iterable of data holds record batches or dicts, not {type(first).__name__}")


def _from_batches(items: Iterator[Any]) -> Input:
    pyarrow = need("pyarrow", "taking rows or batches from an iterable")
    first = next(items)
    head = list(_batches_of(first))
    schema = head[0].schema if head else pyarrow.RecordBatchReader.from_stream(first).schema
    source = Input(None)
    batches = chain(head, chain.from_iterable(map(_batches_of, items)))
    source.source = pyarrow.RecordBatchReader.from_batches(schema, source.watched(_same_schema(batches, schema)))
    return source


def _batches_of(item: Any) -> Iterator[pyarrow.RecordBatch]:
    pyarrow = need("pyarrow", "taking rows or batches from an iterable")
    if isinstance(item, pyarrow.RecordBatch):
        yield item
    elif hasattr(item, "__arrow_c_stream__"):
        yield from pyarrow.RecordBatchReader.from_stream(item)
    elif hasattr(item, "__arrow_c_array__"):
        yield pyarrow.record_batch(item)
    else:
        raise TypeError(f"an iterable of record batches holds a {type(item).__name__}")


def _same_schema(batches: Iterator[pyarrow.RecordBatch], schema: pyarrow.Schema) -> Iterator[pyarrow.RecordBatch]:
    for number, batch in enumerate(batches):
        if not batch.schema.equals(schema):
            raise SchemaMismatch(
                f"batch {number} has the columns {_brief(batch.schema)}, the first batch has {_brief(schema)}"
            )
        yield batch


def _brief(schema: pyarrow.Schema) -> str:
    return ", ".join(f"{field.name} {field.type}" for field in schema)


def _from_rows(rows: Iterator[Any], known: pyarrow.Schema | None) -> Input:
    """Dicts as a stream. Without a table's schema the first rows decide on names and types; later ones must fit."""
    pyarrow = need("pyarrow", "taking a list of dicts")
    first = list(islice(rows, _ROWS_PER_BATCH))
    schema = _schema_of(first, known)
    source = Input(None)

    # The first batch is built now: a wrong value is told at the call, not from inside a stream.
    head = _batch_of(first, schema, 0)

    def batches() -> Iterator[Any]:
        yield head
        at = len(first)
        while chunk := list(islice(rows, _ROWS_PER_BATCH)):
            yield _batch_of(chunk, schema, at)
            at += len(chunk)

    source.source = pyarrow.RecordBatchReader.from_batches(schema, source.watched(batches()))
    return source


def _schema_of(rows: list[Mapping[str, Any]], known: pyarrow.Schema | None) -> pyarrow.Schema:
    pyarrow = need("pyarrow", "taking a list of dicts")
    names: dict[str, None] = {}
    for row in rows:
        if not isinstance(row, Mapping):
            raise TypeError(f"a list of dicts holds a {type(row).__name__}")
        names.update(dict.fromkeys(row))
    types = {} if known is None else {field.name: field.type for field in known}
    fields = []
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"a column name is a string, not {name!r}")
        kind = types.get(name) or _column([row.get(name) for row in rows], None, name, 0).type
        fields.append(pyarrow.field(name, kind))
    return pyarrow.schema(fields)


def _batch_of(rows: list[Mapping[str, Any]], schema: pyarrow.Schema, at: int) -> pyarrow.RecordBatch:
    pyarrow = need("pyarrow", "taking a list of dicts")
    known = set(schema.names)
    for number, row in enumerate(rows, at):
        if not isinstance(row, Mapping):
            raise TypeError(f"a list of dicts holds a {type(row).__name__} (row {number})")
        if not known.issuperset(row):
            extra = next(name for name in row if name not in known)
            raise SchemaMismatch(f"row {number} has the column {extra}, which the rows before it lack")
    columns = [_column([row.get(field.name) for row in rows], field.type, field.name, at) for field in schema]
    return pyarrow.RecordBatch.from_arrays(columns, schema=schema)


def _column(values: list[Any], kind: Any, name: str, at: int) -> pyarrow.Array:
    pyarrow = need("pyarrow", "taking a list of dicts")
    if kind is not None and "map<" in str(kind):
        values = [_maps_as_pairs(value, kind) for value in values]
    try:
        return pyarrow.array(values, type=kind)
    except (pyarrow.ArrowException, TypeError, ValueError, OverflowError) as error:
        message = f"column {name}, rows from {at}: {error}"
        raise SchemaMismatch(message if kind is None else f"{message} (the table's type is {kind})") from error


def _maps_as_pairs(value: Any, kind: Any) -> Any:
    """Arrow takes maps as lists of pairs; people hold dicts, wherever a map stands."""
    types = need("pyarrow", "taking a list of dicts").types
    if types.is_map(kind) and isinstance(value, Mapping):
        return [(key, _maps_as_pairs(item, kind.item_type)) for key, item in value.items()]
    if types.is_struct(kind) and isinstance(value, Mapping):
        known = {field.name: field.type for field in kind}
        return {key: _maps_as_pairs(item, known[key]) if key in known else item for key, item in value.items()}
    if (types.is_list(kind) or types.is_large_list(kind)) and isinstance(value, (list, tuple)):
        return [_maps_as_pairs(item, kind.value_type) for item in value]
    return value
