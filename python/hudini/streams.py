"""Rows on their way out: what every result that holds rows can turn into.

A class that offers `__arrow_c_stream__` and inherits `ArrowRows` gets the conversions. Each imports its package
when it is called, no earlier.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from hudini import _html
from hudini._optional import need
from hudini.errors import restored
from hudini.progress import Told, Wanted, watching

if TYPE_CHECKING:
    import duckdb
    import pandas
    import polars
    import pyarrow


class ArrowRows(ABC):
    """Conversions of anything with the Arrow C stream interface. A call reads the rows anew."""

    @abstractmethod
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The rows, for whoever takes Arrow's C stream interface."""

    def _watched(self, listener: Told | None) -> Any:
        """The rows as an Arrow stream whose errors the reader puts right with `restored()`."""
        return self

    def _narrowed(self, columns: list[str] | None, limit: int | None) -> ArrowRows:
        """At least these columns of at least so many of the first rows."""
        return self

    def _reader(self, listener: Told | None) -> pyarrow.RecordBatchReader:
        readers = need("pyarrow", "reading as Arrow batches").RecordBatchReader
        with restored():
            stream = readers.from_stream(self._watched(listener))
        return readers.from_batches(stream.schema, _with_our_errors(stream))

    def reader(self) -> pyarrow.RecordBatchReader:
        """The rows as a `pyarrow.RecordBatchReader`: batch after batch, never all at once."""
        return self._reader(None)

    def to_arrow(self, *, progress: Wanted = None) -> pyarrow.Table:
        """All rows as a `pyarrow.Table`.

        Of a long read `progress=True` shows a bar on the terminal; a function is called with a `hudini.Progress` a few
        times a second, and what it raises ends the read. The same holds for the other calls that take all rows.
        """
        with watching(progress) as listener:
            return self._reader(listener).read_all()

    def to_batches(self, *, progress: Wanted = None) -> list[pyarrow.RecordBatch]:
        """All rows as a list of `pyarrow.RecordBatch`."""
        with watching(progress) as listener:
            return list(self._reader(listener))

    def to_pandas(self, *, progress: Wanted = None, **options: Any) -> pandas.DataFrame:
        """All rows as a `pandas.DataFrame`; `options` go to `pyarrow.Table.to_pandas`."""
        need("pandas", "to_pandas()")
        return self.to_arrow(progress=progress).to_pandas(**options)

    def to_polars(self, lazy: bool = False, *, progress: Wanted = None) -> polars.DataFrame | polars.LazyFrame:
        """All rows as a `polars.DataFrame`, or as a `polars.LazyFrame` that reads when it is collected."""
        polars = need("polars", "to_polars()")
        with restored(), watching(progress) as listener:
            return _lazy_frame(polars, self) if lazy else polars.DataFrame(self._watched(listener))

    def to_duckdb(
        self, con: duckdb.DuckDBPyConnection | None = None, *, progress: Wanted = None
    ) -> duckdb.DuckDBPyRelation:
        """The rows as a relation of the DuckDB connection `con`, by default DuckDB's shared one."""
        duckdb = need("duckdb", "to_duckdb()")
        return (con or duckdb.default_connection()).from_arrow(self.to_arrow(progress=progress))


def _with_our_errors(batches: Iterator[Any]) -> Iterator[Any]:
    with restored():
        yield from batches


def _lazy_frame(polars: Any, rows: ArrowRows) -> Any:
    """A LazyFrame that streams: what polars asks for is read, columns and rows; its filter runs batch by batch."""
    sources = need("polars.io.plugins", "to_polars(lazy=True)")
    schema = polars.DataFrame(rows.reader().schema.empty_table()).schema

    def read(columns: list[str] | None, predicate: Any, n_rows: int | None, batch_size: int | None) -> Any:
        left = n_rows
        # A frame without columns would have no rows either.
        wanted = schema.names()[:1] if columns == [] else columns
        for batch in rows._narrowed(wanted, n_rows).reader():
            frame = polars.DataFrame(batch)
            if wanted is not None:
                frame = frame.select(wanted)
            if left is not None:
                frame = frame.head(left)
                left -= len(frame)
            yield frame if predicate is None else frame.filter(predicate)
            if left == 0:
                return

    return sources.register_io_source(io_source=read, schema=schema)


class Rows(Sequence[dict[str, Any]], ArrowRows):
    """A short table, such as a timeline: a sequence of dicts that is an Arrow stream as well.

    It equals a list of the same dicts, but is none: pyarrow looks into a list before it asks for a stream.
    """

    def __init__(self, rows: Iterable[Mapping[str, Any]], columns: Mapping[str, str]) -> None:
        self._rows = [dict(row) for row in rows]
        self._columns = dict(columns)

    @property
    def columns(self) -> list[str]:
        """The names of the columns, in order."""
        return list(self._columns)

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> Rows: ...
    def __getitem__(self, index: int | slice) -> dict[str, Any] | Rows:
        return Rows(self._rows[index], self._columns) if isinstance(index, slice) else self._rows[index]

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self._rows)

    def __eq__(self, other: object) -> bool:
        return self._rows == (other._rows if isinstance(other, Rows) else other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self._rows)

    def _repr_html_(self) -> str:
        return _html.table(self._rows, self._columns)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        from hudini.schema import as_schema

        pyarrow = need("pyarrow", "turning this list into Arrow")
        schema = as_schema(self._columns)
        columns = [pyarrow.array([_arrow_value(row.get(f.name)) for row in self], type=f.type) for f in schema]
        return pyarrow.Table.from_arrays(columns, schema=schema).__arrow_c_stream__(requested_schema)


def _arrow_value(value: Any) -> Any:
    # Arrow's maps are lists of pairs.
    return list(value.items()) if isinstance(value, Mapping) else value
