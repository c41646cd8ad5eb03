"""Equality of rows: as multisets, columns by name, values exactly; apart from it, equality of columns.

NaN equals NaN, -0.0 does not equal 0.0, a map is a set of entries, a struct has named fields, JSON texts named as such
are compared as the objects they spell.
"""

from __future__ import annotations

import json
import struct
from collections import Counter
from collections.abc import Callable, Collection
from typing import Any

import pyarrow as pa


def difference(actual: pa.Table, expected: pa.Table, json_columns: Collection[str] = ()) -> str | None:
    """What sets the two apart, for a person to read; None if nothing does."""
    if set(actual.column_names) != set(expected.column_names) or len(actual.column_names) != len(expected.column_names):
        return f"columns {sorted(actual.column_names)}, expected {sorted(expected.column_names)}"
    names = expected.column_names
    got, wanted = multiset(actual, names, json_columns), multiset(expected, names, json_columns)
    if got == wanted:
        return None
    surplus, missing = got - wanted, wanted - got
    lines = [f"{actual.num_rows} rows, expected {expected.num_rows}"]
    lines += [f"  unexpected {count}x {dict(zip(names, row, strict=True))}" for row, count in _first(surplus)]
    lines += [f"  missing    {count}x {dict(zip(names, row, strict=True))}" for row, count in _first(missing)]
    return "\n".join(lines)


def columns_difference(actual: pa.Table, expected: pa.Table, ordered: bool = True) -> str | None:
    """What sets the columns of the two apart: names, their order unless not `ordered`, types. None if nothing does."""
    got, wanted = columns_of(actual), columns_of(expected)
    if got == wanted or (not ordered and sorted(got, key=repr) == sorted(wanted, key=repr)):
        return None
    if [name for name, _ in got] != [name for name, _ in wanted]:
        return f"columns {actual.column_names}, expected {expected.column_names}"
    pairs = zip(got, wanted, strict=True)
    return "; ".join(f"{one[0]} is {one[1]}, expected {other[1]}" for one, other in pairs if one != other)


def columns_of(table: pa.Table) -> list[tuple[str, pa.DataType]]:
    """Names and types in their order, where the spellings of a text type are one type, wherever it stands."""
    return [(field.name, _plain(field.type)) for field in table.schema]


def _plain(kind: pa.DataType) -> pa.DataType:
    types = pa.types
    if types.is_large_string(kind) or types.is_string_view(kind):
        return pa.string()
    if types.is_struct(kind):
        return pa.struct([(field.name, _plain(field.type)) for field in kind])
    if types.is_map(kind):
        return pa.map_(_plain(kind.key_type), _plain(kind.item_type))
    if types.is_list(kind) or types.is_large_list(kind):
        return pa.list_(_plain(kind.value_type))
    return kind


def _first(rows: Counter[tuple[Any, ...]]) -> list[tuple[tuple[Any, ...], int]]:
    return sorted(rows.items(), key=repr)[:5]


def multiset(table: pa.Table, names: list[str], json_columns: Collection[str] = ()) -> Counter[tuple[Any, ...]]:
    """How often each row occurs."""
    columns = []
    for name in names:
        column = table.column(name)
        canonical = _json if name in json_columns else _canonical(column.type)
        columns.append(_values(_microseconds(column), canonical))
    return Counter(zip(*columns, strict=True))


def _values(column: pa.ChunkedArray, canonical: Callable[[Any], Any]) -> list[Any]:
    try:
        return [canonical(value) for value in column.to_pylist()]
    except OverflowError:
        return [_value(value, canonical) for value in column]


def _value(scalar: pa.Scalar, canonical: Callable[[Any], Any]) -> Any:
    """Its text where it has a time in a year that Python's calendar lacks: a mistake, which is to be told of."""
    try:
        return canonical(scalar.as_py())
    except OverflowError:
        return pa.array([scalar], scalar.type).to_string()


def _microseconds(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Python's datetime holds no nanoseconds; a cast that would lose some fails."""
    if pa.types.is_timestamp(column.type) and column.type.unit == "ns":
        return column.cast(pa.timestamp("us", tz=column.type.tz))
    return column


def _canonical(kind: pa.DataType) -> Callable[[Any], Any]:
    """A function that makes values of this type hashable and equal exactly when they are the same value."""
    by_value = _canonical_present(kind)
    return lambda value: None if value is None else by_value(value)


def _canonical_present(kind: pa.DataType) -> Callable[[Any], Any]:
    types = pa.types
    if types.is_dictionary(kind):
        return _canonical_present(kind.value_type)
    if types.is_floating(kind):
        return lambda value: "NaN" if value != value else (struct.pack(">d", value), value)
    if types.is_map(kind):
        key, item = _canonical(kind.key_type), _canonical(kind.item_type)
        return lambda value: frozenset((key(k), item(v)) for k, v in value)
    if types.is_struct(kind):
        fields = {kind.field(i).name: _canonical(kind.field(i).type) for i in range(kind.num_fields)}
        return lambda value: tuple(sorted((name, fields[name](item)) for name, item in value.items()) if fields else ())
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        item = _canonical(kind.value_type)
        return lambda value: tuple(item(v) for v in value)
    if types.is_boolean(kind):
        return lambda value: ("bool", value)  # True == 1 in Python
    if types.is_date(kind) or types.is_timestamp(kind) or types.is_decimal(kind):
        return lambda value: (type(value).__name__, value)  # Decimal(1) == 1 in Python
    return lambda value: value


def _json(text: str | None) -> str | None:
    return None if text is None else json.dumps(json.loads(text), sort_keys=True)
