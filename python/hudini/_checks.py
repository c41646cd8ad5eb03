"""Values of dicts, looked at before pyarrow gets them.

pyarrow leaves out what a column has no place for: keys of a dict that are no fields, the time of a date's datetime, the
fraction of a number. So values of dicts are looked at before it gets them, and are taken as they are or refused. Two
are taken for what Python cannot say better: a datetime without a zone for UTC where the column holds instants, and a
float for the nearest one of single precision.
"""

from __future__ import annotations

import datetime
import decimal
import math
import numbers
from collections.abc import Callable, Collection, Mapping
from typing import Any

from hudini._optional import need
from hudini.errors import SchemaMismatch

# Of these types pyarrow takes the whole value for an integer.
WHOLE = {int, type(None)}

# The greatest float of single precision, and half the step to what would be the next.
_MOST_FLOAT = (2 - 2**-24) * 2.0**127

# Looks at a value, and gives it in the shape that pyarrow takes.
Check = Callable[[Any], Any]


class Unfit(Exception):
    """A value of which pyarrow would take a part."""


def checked(values: list[Any], check: Check, at: int, told: str) -> list[Any]:
    checked: list[Any] = []
    try:
        for value in values:
            checked.append(check(value))
    except Unfit as error:
        raise SchemaMismatch(f"row {at + len(checked)}: {error}{told}") from None
    return checked


def check_of(kind: Any, path: str) -> Check | None:
    """What values of a type need; None where pyarrow takes the whole value or refuses it."""
    types = need("pyarrow", "taking a list of dicts").types
    if types.is_struct(kind):
        return _struct_check(kind, path)
    if types.is_map(kind):
        return _map_check(kind, path)
    if types.is_list(kind) or types.is_large_list(kind):
        return _list_check(kind, path)
    if types.is_integer(kind):
        return _number_check(path)
    if types.is_float32(kind):
        return _float_check(path)
    if types.is_date(kind):
        return _date_check(path)
    if types.is_timestamp(kind) or types.is_time(kind):
        return _time_check(kind, path)
    return None


def _struct_check(kind: Any, path: str) -> Check:
    scalar = need("pyarrow", "taking a list of dicts").Scalar
    names = [field.name for field in kind]
    known = set(names)
    of_fields = {field.name: check_of(field.type, f"{path}.{field.name}") for field in kind}
    checks = [(name, of_field) for name, of_field in of_fields.items() if of_field is not None]

    def check(value: Any) -> Any:
        if value is None or isinstance(value, scalar):
            return value
        if isinstance(value, tuple) and len(value) == len(names):
            value = dict(zip(names, value, strict=True))
        if not isinstance(value, (dict, Mapping)):
            raise Unfit(f"{path} is a {type(value).__name__}, not a dict")
        if not known.issuperset(value):
            extra = next(name for name in value if name not in known)
            raise Unfit(f"{path}.{extra} is no field of the column")
        seen = dict(value)
        for name, of_field in checks:
            if (item := seen.get(name)) is not None:
                seen[name] = of_field(item)
        return seen

    return check


def _map_check(kind: Any, path: str) -> Check:
    """Arrow takes maps as lists of pairs; people hold dicts, wherever a map stands."""
    scalar = need("pyarrow", "taking a list of dicts").Scalar
    of_item = check_of(kind.item_type, f"{path}.{kind.item_field.name}")
    names = kind.key_field.name, kind.item_field.name

    def pair(entry: Any) -> tuple[Any, Any]:
        if isinstance(entry, Mapping) and entry.keys() == set(names):
            entry = entry[names[0]], entry[names[1]]
        if not isinstance(entry, (tuple, list)) or len(entry) != 2:
            raise Unfit(f"{path} holds a {type(entry).__name__} that is no pair of key and value")
        return entry[0], entry[1] if of_item is None else of_item(entry[1])

    def check(value: Any) -> Any:
        if value is None or isinstance(value, scalar):
            return value
        return [pair(entry) for entry in (value.items() if isinstance(value, Mapping) else _items(value, path))]

    return check


def _list_check(kind: Any, path: str) -> Check:
    scalar = need("pyarrow", "taking a list of dicts").Scalar
    of_item = check_of(kind.value_type, f"{path}.{kind.value_field.name}")
    are_integers = holds_integers(kind.value_type)

    def check(value: Any) -> Any:
        if not isinstance(value, (list, tuple)):
            if value is None or isinstance(value, scalar) or _is_array_of(kind.value_type, value):
                return value
            _items(value, path)
        if of_item is None or (are_integers and WHOLE.issuperset(map(type, value))):
            return value
        return [of_item(item) for item in value]

    return check


def _items(value: Any, path: str) -> Collection[Any]:
    """The items of a list. A text has items too, its letters."""
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Collection):
        raise Unfit(f"{path} is a {type(value).__name__}, not a list")
    return value


def _is_array_of(kind: Any, value: Any) -> bool:
    """Whether these are NumPy's integers, or its times in the column's unit: pyarrow takes the numbers as they are."""
    dtype: Any = getattr(value, "dtype", None)
    code = getattr(dtype, "kind", None)
    return code in ("i", "u") or (code == "M" and dtype.str.endswith(f"[{getattr(kind, 'unit', None)}]"))


def holds_integers(kind: Any) -> bool:
    """Of integers it is looked at all together whether they are any: one after the other takes longer than pyarrow."""
    return bool(need("pyarrow", "taking a list of dicts").types.is_integer(kind))


def _number_check(path: str) -> Check:
    def check(value: Any) -> Any:
        if not isinstance(value, int) and isinstance(value, (numbers.Real, decimal.Decimal)) and not _is_whole(value):
            raise Unfit(f"{path} is no whole number")
        return value

    return check


def _is_whole(value: Any) -> bool:
    try:
        return not value % 1
    except ArithmeticError:
        # Larger than its context reckons with: what of it fits, pyarrow tells.
        return True


def _float_check(path: str) -> Check:
    """Floats are rounded to the column's, but none becomes infinite by that."""

    def check(value: Any) -> Any:
        size: Any = abs(value) if isinstance(value, numbers.Real) else 0
        if _MOST_FLOAT <= size < math.inf:
            raise Unfit(f"{path} is too large for the column")
        return value

    return check


def _date_check(path: str) -> Check:
    of_number = _number_check(path)

    def check(value: Any) -> Any:
        if isinstance(value, datetime.datetime):
            raise Unfit(f"{path} is a {type(value).__name__}, and the column holds dates")
        return value if isinstance(value, datetime.date) else of_number(value)

    return check


def _time_check(kind: Any, path: str) -> Check:
    types = need("pyarrow", "taking a list of dicts").types
    held = datetime.time if types.is_time(kind) else datetime.datetime
    has_zone = types.is_timestamp(kind) and kind.tz is not None
    unit = {"s": 1_000_000, "ms": 1_000}.get(kind.unit, 1)
    of_number = _number_check(path)

    def check(value: Any) -> Any:
        if not isinstance(value, held):
            return of_number(value)
        if value.tzinfo is not None and not has_zone:
            raise Unfit(f"{path} has a time zone, and the column has none")
        # pandas has nanoseconds besides.
        if value.microsecond % unit or (kind.unit != "ns" and getattr(value, "nanosecond", 0)):
            raise Unfit(f"{path} has finer digits than the column, which holds {kind.unit}")
        return value

    return check
