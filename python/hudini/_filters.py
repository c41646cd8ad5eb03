"""Filters as lists of `(column, op, value)`, written out as the SQL that the core reads."""

from __future__ import annotations

import datetime
import math
import sys
from collections.abc import Collection, Sequence
from typing import Any

from hudini.errors import InvalidFilter

_COMPARISONS = {"=": "=", "==": "=", "!=": "<>", "<>": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">=", "<=>": "<=>"}
_HINT = "a filter is SQL as in \"city = 'sf' and ts >= 10\", or a list of (column, op, value)"


def filter_text(given: str | Sequence[Any] | None) -> str | None:
    """SQL as it is; a list of conditions joined by AND, of lists of conditions by OR."""
    if given is None or isinstance(given, str):
        return given
    if not isinstance(given, Sequence):
        raise InvalidFilter(f"a filter cannot be a {type(given).__name__}", hint=_HINT)
    if not given:
        raise InvalidFilter("the filter is an empty list", hint="leave filter out to read all rows")
    if all(isinstance(item, list) for item in given):
        return " or ".join(f"({_all(conditions)})" for conditions in given)
    return _all(given)


def _all(conditions: Sequence[Any]) -> str:
    if not conditions:
        raise InvalidFilter("the filter holds an empty list of conditions", hint=_HINT)
    return " and ".join(_condition(condition) for condition in conditions)


def _condition(condition: Any) -> str:
    if not isinstance(condition, tuple) or len(condition) != 3:
        raise InvalidFilter(f"{condition!r} is no condition", hint=_HINT)
    name, op, value = condition
    if not isinstance(name, str) or not isinstance(op, str):
        raise InvalidFilter(f"{condition!r} names no column and operator", hint=_HINT)
    column = ".".join("`" + part.replace("`", "``") + "`" for part in name.split("."))
    words = " ".join(op.lower().split())
    if words in _COMPARISONS:
        return f"{column} {_COMPARISONS[words]} {_value(value)}"
    if words in ("in", "not in"):
        if isinstance(value, (str, bytes)) or not isinstance(value, Collection):
            raise InvalidFilter(f"{op} takes a list of values, not {value!r}")
        items = ", ".join(_value(item) for item in value)
        # SQL has no empty list: nothing is in it, not even null.
        return f"{column} {words} ({items})" if items else ("false" if words == "in" else "true")
    if words in ("is", "is not") and (value is None or isinstance(value, bool)):
        return f"{column} {words} {_value(value)}"
    if words in ("like", "not like") and isinstance(value, str):
        return f"{column} {words} {_value(value)}"
    if words in ("between", "not between") and isinstance(value, Sequence) and len(value) == 2:
        return f"{column} {words} {_value(value[0])} and {_value(value[1])}"
    raise InvalidFilter(
        f"{condition!r}: no such operator with such a value",
        hint="operators: = != < <= > >= <=>, in, not in, is, is not, like, not like, between, not between",
    )


def is_decimal(value: Any) -> bool:
    """Whoever has one has loaded what makes them, which takes its time."""
    decimal = sys.modules.get("decimal")
    return decimal is not None and isinstance(value, decimal.Decimal)


def _value(value: Any) -> str:
    if hasattr(value, "item") and hasattr(value, "dtype"):  # a scalar of NumPy
        value = value.astype("datetime64[us]").item() if value.dtype.kind == "M" else value.item()
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return int.__repr__(value)  # of an enum too
    if isinstance(value, float):
        text = float.__repr__(value)
        return f"{text}D" if math.isfinite(value) else f"cast('{text}' as double)"
    if is_decimal(value) and value.is_finite():
        return f"{value:f}"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, (bytes, bytearray)):
        return f"x'{value.hex()}'"
    if isinstance(value, datetime.datetime):
        if getattr(value, "nanosecond", 0):
            raise InvalidFilter(f"a filter cannot hold {value!r}: times have microseconds", hint=_HINT)
        return f"timestamp'{_utc(value).isoformat(sep=' ')}'"
    if isinstance(value, datetime.date):
        return f"date'{value.isoformat()}'"
    raise InvalidFilter(f"a filter cannot hold {value!r}, a {type(value).__name__}", hint=_HINT)


def _utc(when: datetime.datetime) -> datetime.datetime:
    """Without a zone it is taken for UTC."""
    return when if when.tzinfo is None else when.astimezone(datetime.timezone.utc).replace(tzinfo=None)
