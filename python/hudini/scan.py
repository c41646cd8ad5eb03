"""Reading: a `Scan` is one question to one pinned state of a table, a `Split` is a piece of its answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from hudini import _core, _html
from hudini._arguments import whole_number
from hudini.progress import Told, Wanted, watching
from hudini.schema import Schema
from hudini.streams import ArrowRows

if TYPE_CHECKING:
    import pyarrow


class Scan(ArrowRows):
    """A lazy result, pinned to one snapshot of the table: it holds the same rows however often it is read.

    It is an Arrow stream (`pyarrow.table(scan)`, `polars.DataFrame(scan)`, `duckdb.sql("from scan")`) and an iterable
    of record batches.

    >>> scan = table.read(columns=["id", "city"])
    >>> scan.count()
    3
    >>> scan.to_pandas()
    """

    def __init__(self, core: _core.Scan, path: str) -> None:
        self._core = core
        self._path = path

    @property
    def schema(self) -> Schema:
        """The columns of the result."""
        return Schema(self._core.schema())

    @property
    def instant(self) -> str | None:
        """The newest instant that the scan sees; None for a table without a commit."""
        return self._core.instant

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._core.reader(None, False).__arrow_c_stream__(requested_schema)

    def _watched(self, listener: Told | None) -> Any:
        return self._core.reader(listener, True)

    def _narrowed(self, columns: list[str] | None, limit: int | None) -> Scan:
        return Scan(self._core.narrowed(columns, limit), self._path)

    def __iter__(self) -> Iterator[pyarrow.RecordBatch]:
        return iter(self.reader())

    def count(self, *, progress: Wanted = None) -> int:
        """The number of rows. `progress` is that of `to_arrow`."""
        with watching(progress) as listener:
            return self._core.count(listener)

    def splits(self, target_bytes: int | None = None) -> list[Split]:
        """The scan in pieces of about `target_bytes` of files, which other processes read with `hudini.read_split`.

        Who reads one knows nothing of the others, so a scan with a limit has none. Batches have the scan's size.
        """
        return [Split(piece) for piece in self._core.splits(whole_number(target_bytes, "target_bytes"))]

    def explain(self, run: bool = False, *, progress: Wanted = None) -> dict[str, Any]:
        """What the scan will read, how long it took to find out, and which options have no effect.

        With `run` all rows are read, and under `ran` stands what only that tells: rows, bytes, seconds (by `stages`:
        those of all threads), blocks in logs and of which kinds, damaged ones, how many slices were merged by record
        position and by record key, and how many row groups and rows of files that were opened a filter left out, by
        what.
        """
        plan = self._core.explain()
        if run:
            with watching(progress) as listener:
                plan["ran"] = self._core.run(listener)
        return plan

    def __repr__(self) -> str:
        return f"Scan({self._path}, instant {self.instant})"

    def _repr_html_(self) -> str:
        return _html.titled(repr(self), _html.fields(self.schema))


class Split:
    """A piece of a scan. Small and picklable; needs nothing but the storage to be read."""

    __slots__ = ("_bytes",)

    def __init__(self, piece: bytes) -> None:
        self._bytes = piece

    @property
    def schema(self) -> Schema:
        """The columns of the result, the same in all splits of a scan."""
        return Schema(_core.split_schema(self._bytes))

    def to_bytes(self) -> bytes:
        """The split as bytes, which a hudini of the same version or a newer one understands."""
        return self._bytes

    def __reduce__(self) -> tuple[object, ...]:
        return Split, (self._bytes,)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Split) and self._bytes == other._bytes

    def __hash__(self) -> int:
        return hash(self._bytes)

    def __repr__(self) -> str:
        return f"Split({len(self._bytes)} bytes)"


class SplitRows(ArrowRows):
    """The rows of one split: an Arrow stream and an iterable of record batches."""

    def __init__(self, split: Split, batch_size: int | None) -> None:
        self._split = split
        self._batch_size = batch_size

    @property
    def schema(self) -> Schema:
        """The columns of the result."""
        return self._split.schema

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return _core.read_split(self._split.to_bytes(), self._batch_size, False).__arrow_c_stream__(requested_schema)

    def _watched(self, listener: Told | None) -> Any:
        return _core.read_split(self._split.to_bytes(), self._batch_size, True)

    def __iter__(self) -> Iterator[pyarrow.RecordBatch]:
        return iter(self.reader())

    def __repr__(self) -> str:
        return f"SplitRows({self._split})"

    def _repr_html_(self) -> str:
        return _html.titled(repr(self), _html.fields(self.schema))


def read_split(split: Split, *, batch_size: int | None = None) -> SplitRows:
    """The rows of one split, wherever it was pickled to.

    >>> def piece(split):
    ...     return hudini.read_split(split).to_arrow()
    >>> with concurrent.futures.ProcessPoolExecutor() as pool:
    ...     tables = list(pool.map(piece, table.read().splits()))
    """
    if not isinstance(split, Split):
        raise TypeError(f"a split is one of those that Scan.splits() gives, not {split!r}")
    return SplitRows(split, whole_number(batch_size, "batch_size"))
