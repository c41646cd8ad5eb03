"""What notebooks show: small tables in the notebook's own colours, everything escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

# Rows that a notebook shows; what more there is, it says.
SHOWN = 50
_LONGEST = 300
# No colours: they are the theme's.
_CELL = "text-align:left;vertical-align:top;white-space:pre-wrap"


def escape(text: str) -> str:
    """Text as HTML. The module that does it brings all entities along, for which no import of hudini should wait."""
    import html

    return html.escape(text)


def titled(title: str, *parts: str) -> str:
    """A title and what stands below it."""
    return f"<div><strong>{escape(title)}</strong>{''.join(parts)}</div>"


def record(values: Mapping[str, Any]) -> str:
    """Named values, one a line."""
    lines = (f'<tr><th style="{_CELL}">{escape(name)}</th>{_cell(value)}</tr>' for name, value in values.items())
    return f"<table>{''.join(lines)}</table>"


def table(rows: Sequence[Mapping[str, Any]], columns: Iterable[str]) -> str:
    """Many rows, the first of them."""
    names = list(columns)
    head = "".join(f'<th style="{_CELL}">{escape(name)}</th>' for name in names)
    lines = (f"<tr>{''.join(_cell(row.get(name)) for name in names)}</tr>" for row in rows[:SHOWN])
    more = f"<small>{len(rows) - SHOWN} more rows</small>" if len(rows) > SHOWN else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>{more}"


def fields(schema: Iterable[Any]) -> str:
    """The columns of a schema."""
    columns = [{"column": field.name, "type": str(field.type), "nullable": field.nullable} for field in schema]
    return table(columns, ("column", "type", "nullable"))


def _cell(value: Any) -> str:
    text = "" if value is None else str(value)
    if len(text) > _LONGEST:
        text = f"{text[:_LONGEST]}… ({len(text)} characters)"
    return f'<td style="{_CELL}">{escape(text)}</td>'
