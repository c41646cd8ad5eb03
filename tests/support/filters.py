"""Conditions about the rows of a table, chosen by chance, each with the rows that it holds for."""

from __future__ import annotations

import datetime
import random
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

FILTERS = 40
OPERATORS = {
    "=": pc.equal,
    "<>": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
COMPARED = (str, int, bool, Decimal, datetime.date, datetime.datetime)


def text(value: Any) -> str:
    """As a literal of a filter."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, datetime.datetime):
        return f"timestamp'{value.replace(tzinfo=None).isoformat(' ')}'"
    if isinstance(value, datetime.date):
        return f"date'{value.isoformat()}'"
    return str(value)


class Filters:
    """Conditions about the rows of a table, each with the rows that it holds for."""

    def __init__(self, rows: pa.Table, seed: str) -> None:
        self.rows, self.chance = rows, random.Random(seed)
        plain = [field.name for field in rows.schema if self.is_compared(rows.column(field.name))]
        keys = [name for name in ("_hoodie_record_key", "_hoodie_partition_path") if name in plain]
        self.columns = [name for name in plain if not name.startswith("_hoodie_")] + keys

    @staticmethod
    def is_compared(column: pa.ChunkedArray) -> bool:
        values = column.drop_null()
        return len(values) > 0 and isinstance(values[0].as_py(), COMPARED) and not pa.types.is_binary(column.type)

    def one(self) -> tuple[str, pa.ChunkedArray]:
        column = self.chance.choice(self.columns)
        name, values = f"`{column}`", self.rows.column(column)
        known = [values[self.chance.randrange(len(values))].as_py() for _ in range(self.chance.randint(1, 3))]
        known = [self.moved(value) for value in known if value is not None]
        kind = self.chance.random()
        if not known or kind < 0.1:
            missing = pc.is_null(values)
            return (f"{name} is null", missing) if kind < 0.05 else (f"{name} is not null", pc.invert(missing))
        if kind < 0.35:
            listed = pa.array(known, values.type)
            found = pc.if_else(pc.is_null(values), False, pc.is_in(values, listed))
            return f"{name} in ({', '.join(map(text, known))})", found
        operator, compare = self.chance.choice(list(OPERATORS.items()))
        found = pc.fill_null(compare(values, pa.scalar(known[0], values.type)), False)
        return f"{name} {operator} {text(known[0])}", found

    def moved(self, value: Any) -> Any:
        """The value, or one beside it that may be in no row."""
        if self.chance.random() < 0.7 or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return value + self.chance.choice(["!", "~"])
        if isinstance(value, datetime.date):
            return value + datetime.timedelta(days=self.chance.choice([-3, 1]))
        if isinstance(value, Decimal):
            return value
        return value + self.chance.choice([-3, 1]) if abs(value) < 1 << 30 else value

    def __iter__(self) -> Iterator[tuple[str, pa.Table]]:
        for _ in range(FILTERS):
            condition, holds = self.one()
            if self.chance.random() < 0.4:
                other, also = self.one()
                join, both = self.chance.choice([("and", pc.and_), ("or", pc.or_)])
                condition, holds = f"{condition} {join} {other}", both(holds, also)
            yield condition, self.rows.filter(holds)
