"""Values of Arrow as Python has them, and those that Python has no value for: dates and times outside its years."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from hudini._optional import need

if TYPE_CHECKING:
    import pyarrow

# The calendar comes round after 400 years.
_CYCLE_YEARS, _CYCLE_DAYS = 400, 146_097
_EPOCH = datetime.datetime(1970, 1, 1)
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


class FarTime(int):
    """A date or a time that Python's classes cannot hold: the number that Arrow has for it, which prints as ISO 8601.

    Arrow takes it back where it takes the number.
    """

    text: str

    def __new__(cls, number: int, text: str) -> FarTime:
        made = super().__new__(cls, number)
        made.text = text
        return made

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"FarTime({self.text})"

    def __reduce__(self) -> tuple[object, ...]:
        return FarTime, (int(self), self.text)


def rows_of(batch: pyarrow.RecordBatch) -> Iterator[dict[str, Any]]:
    """The rows of a batch as dicts; maps are lists of pairs."""
    columns = [_column(column) for column in batch.columns]
    names = batch.schema.names
    return (dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True))


def rows_with_dicts(reader: pyarrow.RecordBatchReader) -> Iterator[dict[str, Any]]:
    """The rows of all batches as dicts; maps are dicts too."""
    with_maps = [field for field in reader.schema if "map<" in str(field.type)]
    for batch in reader:
        for row in rows_of(batch):
            yield row | {field.name: _maps_as_dicts(row[field.name], field.type) for field in with_maps}


def _maps_as_dicts(value: Any, kind: Any) -> Any:
    """pyarrow makes lists of pairs of maps, wherever they stand."""
    types = need("pyarrow", "showing rows").types
    if value is None:
        return None
    if types.is_map(kind):
        return {key: _maps_as_dicts(item, kind.item_type) for key, item in value}
    if types.is_list(kind) or types.is_large_list(kind):
        return [_maps_as_dicts(item, kind.value_type) for item in value]
    if types.is_struct(kind):
        return {field.name: _maps_as_dicts(value[field.name], field.type) for field in kind}
    return value


def _column(column: pyarrow.Array) -> list[Any]:
    try:
        return column.to_pylist()
    except (OverflowError, ValueError):
        # Slower, but one far value leaves the others as they are.
        return [_value(scalar) for scalar in column]


def _value(scalar: Any) -> Any:
    types = need("pyarrow", "showing rows").types
    kind = scalar.type
    if not scalar.is_valid:
        return None
    if types.is_map(kind):
        return [(_value(pair[0]), _value(pair[1])) for pair in scalar.values]
    if types.is_struct(kind):
        return {kind.field(index).name: _value(scalar[index]) for index in range(kind.num_fields)}
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return [_value(item) for item in scalar.values]
    try:
        return scalar.as_py()
    except (OverflowError, ValueError):
        if types.is_date32(kind):
            return FarTime(scalar.value, _date(scalar.value))
        if types.is_timestamp(kind):
            return FarTime(scalar.value, _timestamp(scalar.value, kind.unit) + ("+00:00" if kind.tz else ""))
        raise


def _date(days: int) -> str:
    """A day, counted from 1970, in ISO 8601: years of more than four digits have a sign."""
    cycles, rest = divmod(days, _CYCLE_DAYS)
    day = (_EPOCH + datetime.timedelta(days=rest)).date()
    year = day.year + cycles * _CYCLE_YEARS
    sign = "-" if year < 0 else "+" if year > 9999 else ""
    return f"{sign}{abs(year):04}-{day.month:02}-{day.day:02}"


def _timestamp(number: int, unit: str) -> str:
    days, rest = divmod(number, 86_400 * _PER_SECOND[unit])
    seconds, fraction = divmod(rest, _PER_SECOND[unit])
    nanoseconds = fraction * (10**9 // _PER_SECOND[unit])
    # As Python writes it: no fraction, or one of microseconds; more digits only where there is more.
    digits = f".{nanoseconds:09}".removesuffix("000") if nanoseconds else ""
    return f"{_date(days)}T{(_EPOCH + datetime.timedelta(seconds=seconds)).time().isoformat()}{digits}"
