"""Rows on their way in: whatever people hold, as one Arrow C stream.

Taken are, in this order: a pandas DataFrame (its index is left out), a polars LazyFrame, anything with
`__arrow_c_stream__` (pyarrow.Table, polars.DataFrame, a DuckDB relation, a `Scan`, …), anything with
`__arrow_c_array__` (one batch), an iterable of such batches, and an iterable of dicts.
What has no `__arrow_c_stream__` needs pyarrow.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from hudini._checks import WHOLE, check_of, checked, holds_integers
from hudini._optional import is_instance, need
from hudini.errors import SchemaMismatch
from hudini.schema import pandas_schema

if TYPE_CHECKING:
    import pyarrow

_ROWS_PER_BATCH = 65_536
# Bytes of an iterator's rows that may wait for one with a column that the table has and they lack.
_WAITING_BYTES = 64 << 20


class Input:
    """A stream for the core, which remembers an exception that the caller's own iterator raised inside it.

    The Arrow C stream interface hands on only an error's text; `failure` keeps the exception itself.
    """

    def __init__(self, source: Any, *, in_memory: bool = False) -> None:
        self.source = source
        self.in_memory = in_memory
        """Whether all rows are in memory as they are, so that none need go to disk on their way."""
        self.failure: BaseException | None = None
        self.head: Any = None
        """The first rows, if they are at hand before the stream is read."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.source.__arrow_c_stream__(requested_schema)

    def opened(self) -> pyarrow.Schema:
        """The stream's schema. The stream is opened for it, and stays open for the one who reads it."""
        self.source = need("pyarrow", "creating a table from its data").RecordBatchReader.from_stream(self.source)
        if self.in_memory:
            self.source = self.head = self.source.read_all()
        return self.source.schema

    def check_keys(self, record_key: Sequence[str]) -> None:
        """Refuses rows without a key among those that are at hand."""
        places = [] if self.head is None else [self.head.schema.get_field_index(name) for name in record_key]
        # Of columns that are not there the core tells.
        if not places or -1 in places:
            return
        columns = [self.head.column(place) for place in places]
        if any(column.null_count == 0 for column in columns):
            return
        compute = need("pyarrow.compute", "looking for rows without a key")
        row = compute.index(functools.reduce(compute.and_, map(compute.is_null, columns)), True).as_py()
        if row >= 0:
            raise SchemaMismatch(
                f"row {row} has no record key: '{','.join(record_key)}' is null",
                hint="every row needs a key; drop or fill such rows before writing",
            )

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
        pyarrow = need("pyarrow", "taking a single Arrow array as data")
        try:
            return Input(pyarrow.record_batch(data), in_memory=True)
        except pyarrow.ArrowInvalid as error:
            raise TypeError(f"data is rows with named columns, and no {type(data).__name__}: {error}") from None
    if type(data).__module__.startswith("pyspark."):
        raise TypeError("a Spark DataFrame is written by hudini.spark: hudini.spark.upsert(df, path)")
    if isinstance(data, (str, bytes, Mapping)) or not isinstance(data, Iterable):
        raise TypeError(
            "data is an object with __arrow_c_stream__ (pyarrow, polars, DuckDB, …), a pandas DataFrame, "
            f"an iterable of record batches, or a list of dicts, not {type(data).__name__}"
        )
    return _from_iterable(data, table_schema)


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


def _from_iterable(data: Iterable[Any], table_schema: Callable[[], Any] | None) -> Input:
    pyarrow = need("pyarrow", "taking rows or batches from an iterable")
    known = pyarrow.schema(table_schema()) if table_schema is not None else None
    items = iter(data)
    head = list(islice(items, 1))
    if not head:
        if known is None:
            raise SchemaMismatch(
                "the data is empty and has no schema", hint="give a pyarrow.Table with a schema, or create() first"
            )
        return Input(known.empty_table())
    items = chain(head, items)
    if isinstance(head[0], Mapping):
        return _from_rows(items, data if isinstance(data, (list, tuple)) else None, known)
    if hasattr(head[0], "__arrow_c_array__") or hasattr(head[0], "__arrow_c_stream__"):
        return _from_batches(items)
    raise TypeError(f"an iterable of data holds record batches or dicts, not {type(head[0]).__name__}")


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


def _from_rows(rows: Iterator[Any], every: Sequence[Any] | None, known: pyarrow.Schema | None) -> Input:
    """Dicts as a stream. Types that no table's schema tells come from all rows of a list (`every`), and from the first
    ones of an iterator, which later ones must fit.
    """
    pyarrow = need("pyarrow", "taking a list of dicts")
    chunks = _chunks(rows)
    at, first = next(chunks)
    schema = _schema_of(first if every is None else every, known)
    # The first batch is built now: a wrong value is told at the call, not from inside a stream.
    head = [_batch_of(first, schema, known, at)]
    if every is None and known is not None:
        schema = _read_on(chunks, head, known)
    source = Input(None)
    source.head = head[0]

    def batches() -> Iterator[Any]:
        while head:
            yield head.pop(0)
        for at, chunk in chunks:
            yield _batch_of(chunk, schema, known, at)

    source.source = pyarrow.RecordBatchReader.from_batches(schema, source.watched(batches()))
    return source


def _chunks(rows: Iterator[Any]) -> Iterator[tuple[int, list[Any]]]:
    """Rows, with the number of the first."""
    at = 0
    while chunk := list(islice(rows, _ROWS_PER_BATCH)):
        yield at, chunk
        at += len(chunk)


def _read_on(
    chunks: Iterator[tuple[int, list[Any]]], head: list[pyarrow.RecordBatch], known: pyarrow.Schema
) -> pyarrow.Schema:
    """Takes more rows into `head` while the table has columns that none of them has, and gives them all one schema.

    A stream says at its start which columns it has. Nulls for those that might still come would pass for columns that
    are there, where the core refuses rows without them.
    """
    pyarrow = need("pyarrow", "taking a list of dicts")
    schema = head[0].schema
    while sum(batch.nbytes for batch in head) < _WAITING_BYTES:
        lacking = [field for field in known if field.name not in schema.names]
        at, chunk = next(chunks, (0, [])) if lacking else (0, [])
        if not chunk:
            break
        names = _names_of(chunk)
        for field in lacking:
            if field.name in names:
                schema = schema.append(pyarrow.field(field.name, field.type))
        head.append(_batch_of(chunk, schema, known, at))
    for place, batch in enumerate(head):
        nulls = [pyarrow.nulls(batch.num_rows, field.type) for field in list(schema)[batch.num_columns :]]
        head[place] = pyarrow.RecordBatch.from_arrays([*batch.columns, *nulls], schema=schema)
    return schema


def _names_of(rows: Iterable[Any]) -> dict[str, None]:
    names: dict[str, None] = {}
    for row in rows:
        if not isinstance(row, (dict, Mapping)):
            raise TypeError(f"a list of dicts holds a {type(row).__name__}")
        if not names.keys() >= row.keys():
            names.update(dict.fromkeys(row))
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"a column name is a string, not {name!r}")
    return names


def _schema_of(rows: Sequence[Mapping[str, Any]], known: pyarrow.Schema | None) -> pyarrow.Schema:
    pyarrow = need("pyarrow", "taking a list of dicts")
    types = {} if known is None else {field.name: field.type for field in known}
    fields = []
    for name in _names_of(rows):
        kind = types.get(name)
        if kind is None:
            kind = _column([row.get(name) for row in rows], None, name, 0).type
        fields.append(pyarrow.field(name, kind))
    return pyarrow.schema(fields)


def _batch_of(rows: list[Any], schema: pyarrow.Schema, known: pyarrow.Schema | None, at: int) -> pyarrow.RecordBatch:
    pyarrow = need("pyarrow", "taking a list of dicts")
    names = set(schema.names)
    for number, row in enumerate(rows, at):
        if not isinstance(row, (dict, Mapping)):
            raise TypeError(f"a list of dicts holds a {type(row).__name__} (row {number})")
        if not names.issuperset(row):
            extra = next(name for name in row if name not in names)
            raise SchemaMismatch(
                f"row {number} has the column {extra}, which the rows before it lack",
                hint="an iterator's first rows tell its columns: give them this one too, with None for nothing",
            )
    of_table = set() if known is None else set(known.names)
    columns = [
        _column([row.get(field.name) for row in rows], field.type, field.name, at, field.name in of_table)
        for field in schema
    ]
    return pyarrow.RecordBatch.from_arrays(columns, schema=schema)


def _column(values: list[Any], kind: Any, name: str, at: int, is_of_table: bool = False) -> pyarrow.Array:
    pyarrow = need("pyarrow", "taking a list of dicts")
    told = f" (the table's type is {kind})" if is_of_table else ""
    check = None if kind is None else check_of(kind, name)
    if check is not None and not (holds_integers(kind) and WHOLE.issuperset(map(type, values))):
        values = checked(values, check, at, told)
    try:
        return pyarrow.array(values, type=kind)
    except (pyarrow.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise SchemaMismatch(f"column {name}, rows from {at}: {error}{told}") from error
