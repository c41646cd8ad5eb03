"""Arguments as people give them, in the few plain shapes that the core takes."""

from __future__ import annotations

import datetime
import operator
import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from hudini.errors import InvalidOption, UnsupportedFeature

_OPTIONS_HINT = 'options are a dict, as in {"hoodie.metadata.enable": "false"}'


def path_text(path: str | os.PathLike[str]) -> str:
    text = os.fspath(path)
    if not isinstance(text, str):
        raise TypeError(f"a path is a string or a pathlib.Path, not {type(path).__name__}")
    return os.path.expanduser(text) if text.startswith("~") else text


def options_text(options: Mapping[str, Any] | None) -> dict[str, str]:
    """Options as text, as Apache Hudi has them: `True` is `true`."""
    if options is not None and not isinstance(options, Mapping):
        raise InvalidOption(f"options map keys to values, and are no {type(options).__name__}", hint=_OPTIONS_HINT)
    return {_key(key): _value(key, value) for key, value in (options or {}).items()}


def storage_text(options: Mapping[str, Any] | None) -> dict[str, str]:
    """Options of a storage. What fsspec has in a dict of its own goes beside the others, `None` is nothing."""
    if not isinstance(options, Mapping):
        return options_text(options)
    own = {key: value for key, value in options.items() if value is not None}
    inner = own.pop("client_kwargs", {}) if isinstance(own.get("client_kwargs"), Mapping) else {}
    inner = {key: value for key, value in inner.items() if value is not None}
    for key in own.keys() & inner.keys():
        if own[key] != inner[key]:
            raise InvalidOption(f"storage options say two things of {key!r}: {own[key]!r} and {inner[key]!r}")
    return options_text(own | inner)


def metadata_text(metadata: Mapping[str, str] | None) -> dict[str, str]:
    if metadata is not None and not isinstance(metadata, Mapping):
        raise TypeError(f"metadata maps strings to strings, and is no {type(metadata).__name__}")
    for key, value in (metadata or {}).items():
        if not isinstance(key, str) or not isinstance(value, str):
            raise TypeError(f"metadata maps strings to strings; {key!r} maps to {value!r}")
    return dict(metadata or {})


def name_list(names: str | Sequence[str] | None, argument: str) -> list[str]:
    """One column name, several, or none."""
    if names is None:
        return []
    found = [names] if isinstance(names, str) else list(names)
    for name in found:
        if not isinstance(name, str):
            raise TypeError(f"{argument} holds column names, not {name!r}")
    return found


def instant_text(when: Any) -> str | None:
    """An instant or a point in time, as text; the core knows the table's time zone and does the rest."""
    if when is None or isinstance(when, str):
        return when
    if isinstance(when, datetime.datetime):
        try:
            when = when if when.tzinfo is None else when.astimezone(datetime.timezone.utc)
        except OverflowError:
            raise InvalidOption(f"{when} is beyond the years that have an instant") from None
        # Not just its second, of which all milliseconds would count.
        return when.isoformat(timespec="milliseconds")
    if isinstance(when, datetime.date):
        return when.isoformat()
    instant = when.get("instant") if isinstance(when, Mapping) else getattr(when, "instant", None)
    if isinstance(instant, str):
        return instant
    raise TypeError(f"an instant is text, a datetime, a CommitResult or a row of history(), not {when!r}")


def completion_text(when: Any) -> str | None:
    """The same, where it counts when a write completed."""
    completed = when.get("completed") if isinstance(when, Mapping) else getattr(when, "completed", None)
    return completed if isinstance(completed, str) else instant_text(when)


# What a count of the core may be, and a small one.
_MOST = (1 << 63) - 1
SMALL = (1 << 32) - 1


def whole_number(value: Any, name: str, most: int = _MOST, least: int = 0) -> int | None:
    """How many of something, or None where nothing is said."""
    if value is None:
        return None
    number = operator.index(value)
    if not least <= number <= most:
        raise InvalidOption(f"{name} is a number from {least} to {most}, not {number}")
    return number


_UNITS = {"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_UNITS |= {f"{unit}b": 1000**power for power, unit in enumerate("kmgt", 1)}
_UNITS |= {f"{unit}ib": 1 << (10 * power) for power, unit in enumerate("kmgt", 1)}


def byte_count(value: Any, name: str) -> int | None:
    """Bytes of a number or of a text such as `"64MB"`, `"64 MiB"` or, as Java has it, `"1g"`."""
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST):
        return value
    matched = re.fullmatch(r"\s*(\d+)\s*([a-z]*)\s*", value.lower()) if isinstance(value, str) else None
    if matched is None or matched[2] not in _UNITS:
        raise InvalidOption(f'{name} is a number of bytes or a text such as "64MB", not {value!r}')
    return whole_number(int(matched[1]) * _UNITS[matched[2]], name)


def refuse(call: str, argument: str, *, given: bool) -> None:
    """Says that a documented argument is not there yet, rather than ignoring it."""
    if given:
        raise UnsupportedFeature(f"{call}: {argument} is not supported by this version of hudini")


def not_yet(call: str) -> Callable[..., NoReturn]:
    """A method of the public contract that is not there yet: it says so by its name."""

    def refused(*_: Any, **__: Any) -> NoReturn:
        raise UnsupportedFeature(f"{call}() is not supported by this version of hudini")

    refused.__name__ = refused.__qualname__ = call.rpartition(".")[2]
    refused.__doc__ = "Not supported by this version of hudini."
    return refused


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise InvalidOption(f"an option's key is a string, not {key!r}")
    return key


def _value(key: str, value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, int, float)):
        return str(value)
    if isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value):
        return ",".join(value)
    raise InvalidOption(f"the option {key} has the value {value!r}", hint="a value is a string, a number or a boolean")
