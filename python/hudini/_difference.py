"""Which rows differ between two states of a table.

Rows are told apart by partition and record key; those of tables without keys, or with keys that are there several
times, by all their values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from hudini._optional import need
from hudini._values import rows_of
from hudini.streams import ArrowRows

if TYPE_CHECKING:
    import pyarrow

    from hudini.scan import Scan
    from hudini.table import Table

_KEY = ("_hoodie_partition_path", "_hoodie_record_key")
_Row = dict[str, Any]


class Difference(ArrowRows):
    """The rows that differ: an Arrow stream of change, partition, key, columns, before, after."""

    def __init__(self, old: Scan, new: Scan, keyed: bool) -> None:
        self._pyarrow = need("pyarrow", "the difference of two states")
        self._keyed = keyed
        self._schemas = [_user_columns(scan) for scan in (old, new)]
        self.rows: list[_Row] = list(self._compared(_rows_by_name(old, keyed), _rows_by_name(new, keyed)))

    def counts(self) -> Counter[str]:
        """How many rows were added, removed and changed."""
        return Counter(row["change"] for row in self.rows)

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return ["change", *(["partition", "key", "columns"] if self._keyed else []), "before", "after"]

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        pa = self._pyarrow
        before, after = (pa.struct(list(schema)) for schema in self._schemas)
        types = {"change": pa.string(), "partition": pa.string(), "key": pa.string(), "columns": pa.list_(pa.string())}
        types |= {"before": before, "after": after}
        schema = pa.schema([(name, types[name]) for name in self.columns])
        return pa.Table.from_pylist(self.rows, schema=schema).__arrow_c_stream__(requested_schema)

    def _compared(self, old: dict[Any, list[_Row]], new: dict[Any, list[_Row]]) -> Iterator[_Row]:
        for name, before in old.items():
            yield from self._of_name(name, before, new.get(name, []))
        for name, after in new.items():
            if name not in old:
                yield from self._of_name(name, [], after)

    def _of_name(self, name: Any, before: list[_Row], after: list[_Row]) -> Iterator[_Row]:
        if len(before) == len(after) == 1:
            columns = _changed(before[0], after[0])
            if columns:
                yield self._line("changed", name, columns, before[0], after[0])
            return
        # Rows that nothing tells apart but their values.
        left = Counter(map(_text, before)) - Counter(map(_text, after))
        more = Counter(map(_text, after)) - Counter(map(_text, before))
        yield from (self._line("removed", name, [], row, None) for row in _taken(before, left))
        yield from (self._line("added", name, [], None, row) for row in _taken(after, more))

    def _line(self, change: str, name: Any, columns: list[str], before: _Row | None, after: _Row | None) -> _Row:
        told: _Row = {"change": change}
        if self._keyed:
            told |= {"partition": name[0], "key": name[1], "columns": columns}
        return told | {"before": before, "after": after}


def difference(table: Table, old: Any, new: Any) -> Difference:
    """What became of the rows between the states as of `old` and as of `new`."""
    scans = [table.read(as_of=moment) for moment in (old, new)]
    keyed = bool(table.record_key) and all(set(_KEY) <= {field.name for field in scan.schema} for scan in scans)
    return Difference(scans[0], scans[1], keyed)


def _user_columns(scan: Scan) -> pyarrow.Schema:
    pa = need("pyarrow", "the difference of two states")
    return pa.schema([field for field in pa.schema(scan.schema) if not field.name.startswith("_hoodie_")])


def _rows_by_name(scan: Scan, keyed: bool) -> dict[Any, list[_Row]]:
    found: dict[Any, list[_Row]] = {}
    for batch in scan:
        for row in rows_of(batch):
            values = {name: value for name, value in row.items() if not name.startswith("_hoodie_")}
            name = tuple(row[column] for column in _KEY) if keyed else _text(values)
            found.setdefault(name, []).append(values)
    return found


def _changed(before: _Row, after: _Row) -> list[str]:
    """The columns whose values differ; a column that one state does not have is null there."""
    names = dict.fromkeys([*before, *after])
    return [name for name in names if not _same(before.get(name), after.get(name))]


def _same(one: Any, other: Any) -> bool:
    # NaN equals nothing, itself neither, but its text does.
    return bool(one == other) or repr(one) == repr(other)


def _text(row: _Row) -> str:
    return repr(sorted(row.items()))


def _taken(rows: list[_Row], wanted: Counter[str]) -> Iterator[_Row]:
    for row in rows:
        text = _text(row)
        if wanted[text] > 0:
            wanted[text] -= 1
            yield row
