"""The moves that all interop tests are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

import pyarrow as pa

from tests.support.compare import difference
from tests.support.rows import SCHEMA, Model, Row, Rows


class Engine(Protocol):
    """Whatever writes and reads the one table under test."""

    def bulk_insert(self, rows: Iterable[Row]) -> None: ...
    def upsert(self, rows: Iterable[Row]) -> None: ...
    def read(self) -> pa.Table: ...


def mixed_batch(rows: Rows, start: int) -> list[Row]:
    """Updates, late updates, ties, new keys, keys that come twice or thrice; all of it shuffled."""
    base = start * 10
    return rows.shuffled(
        [
            *rows.batch(range(0, start, 4), ts=base),  # newer than anything stored before
            *rows.batch(range(1, start, 4), ts=5),  # late: must lose
            *rows.batch(range(2, start, 4), ts=100),  # ties with the first batch, late against later ones
            *rows.batch(range(start, start + 20), ts=100),  # new keys
            *rows.batch(range(start, start + 10), ts=101),  # the same new keys again, newer
            *rows.batch(range(start + 5, start + 15), ts=100),  # and again, tied or late
            *rows.batch(range(0, start, 8), ts=base + 1),
        ]
    )


def step(write: Callable[[Iterable[Row]], None], rows: list[Row], model: Model) -> None:
    """One write, by an engine and by the model."""
    write(rows)
    model.upsert(rows)


def holds(model: Model, *engines: Engine) -> None:
    """Each engine returns the model's rows, with their types, each key once."""
    expected = model.expected()
    for engine in engines:
        actual = engine.read().select(expected.column_names)
        assert types_of(actual) == types_of(expected)
        problem = difference(actual, expected)
        assert problem is None, f"{type(engine).__name__}: {problem}"
        assert len(set(actual["_hoodie_record_key"].to_pylist())) == actual.num_rows


def types_of(table: pa.Table) -> dict[str, pa.DataType]:
    """Types by name, where the two spellings of a text type are one type."""
    plain = {pa.large_string(): pa.string(), pa.string_view(): pa.string()}
    return {field.name: plain.get(field.type, field.type) for field in table.schema if field.name in SCHEMA.names}
