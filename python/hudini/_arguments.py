"""Arguments as people give them, in the few plain shapes that the core takes."""

from __future__ import annotations

import datetime
import os
from collections.abc import Mapping, Sequence
from typing import Any

from hudini.errors import InvalidOption, UnsupportedFeature


def path_text(path: str | os.PathLike[str]) -> str:
    text = os.fspath(path)
    if not isinstance(text, str):
        raise TypeError(f"a path is a string or a pathlib.Path, not {type(path).__name__}")
    return os.path.expanduser(text) if text.startswith("~") else text


def options_text(options: Mapping[str, Any] | None) -> dict[str, str]:
    """Options as text, as Apache Hudi has them: `True` is `true`."""
    return {_key(key): _value(key, value) for key, value in (options or {}).items()}


def metadata_text(metadata: Mapping[str, str] | None) -> dict[str, str]:
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
    if isinstance(when, (datetime.datetime, datetime.date)):
        return when.isoformat()
    instant = when.get("instant") if isinstance(when, Mapping) else getattr(when, "instant", None)
    if isinstance(instant, str):
        return instant
    raise TypeError(f"an instant is text, a datetime, a CommitResult or a row of history(), not {when!r}")


def completion_text(when: Any) -> str | None:
    """The same, where it counts when a write completed."""
    completed = when.get("completed") if isinstance(when, Mapping) else getattr(when, "completed", None)
    return completed if isinstance(completed, str) else instant_text(when)


def refuse(call: str, argument: str, *, given: bool) -> None:
    """Says that a documented argument is not there yet, rather than ignoring it."""
    if given:
        raise UnsupportedFeature(f"{call}: {argument} is not supported by this version of hudini")


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
