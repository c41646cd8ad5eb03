"""The moves that all interop tests are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Protocol

import pyarrow as pa

import hudini
from tests.support.compare import difference
from tests.support.rows import SCHEMA, Model, Row, Rows

from .oracle import Oracle
from .oracle.queries import query_options


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


def alike(oracle: Oracle, path: Path, instants: list[str]) -> None:
    """Both engines answer every kind of query with the same rows."""
    table = hudini.open(str(path))
    same = {
        "snapshot": (table.read(), query_options("snapshot")),
        "read optimized": (table.read(mode="read_optimized"), query_options("read_optimized")),
        "incremental": (table.incremental(), query_options("incremental", start="000")),
    }
    completed = [row["completed"] for row in oracle.timeline(path) if row["requested"] in instants]
    if len(completed) > 1:
        bounds = {"start": min(completed), "end": max(completed)}
        same[f"incremental, {bounds}"] = (table.incremental(**bounds), query_options("incremental", **bounds))
    for instant in instants:
        same[f"as of {instant}"] = (table.read(as_of=instant), query_options("time_travel", as_of=instant))
    for question, (ours, options) in same.items():
        for metadata in ("true", "false") if question == "snapshot" else ("true",):
            theirs = oracle.read(path, {**options, "hoodie.metadata.enable": metadata})
            problem = difference(pa.table(ours), theirs)
            assert problem is None, f"{question}: {problem}"


def instants(oracle: Oracle, path: Path) -> list[str]:
    """The newest commits, to travel to."""
    return [row["requested"] for row in oracle.timeline(path) if "commit" in row["action"]][-3:]


def named(oracle: Oracle, path: Path) -> str:
    """A name for the table, which some of Apache Hudi's procedures ask for."""
    name = path.parent.name
    oracle.sql(f"CREATE TABLE IF NOT EXISTS {name} USING hudi LOCATION '{path}'")
    return name


def validated(oracle: Oracle, path: Path) -> None:
    """Apache Hudi's own check of the metadata table finds the files that are there, and no others."""
    name = named(oracle, path)
    assert oracle.sql(f"CALL validate_metadata_table_files(table => '{name}')") == []
    every = oracle.sql(f"CALL validate_metadata_table_files(table => '{name}', verbose => true)")
    assert every
    assert all(file["is_present_in_fs"] and file["is_present_in_metadata"] for file in every), every
    # Its sizes are hints where logs grow; ours are exact.
    assert [file for file in every if file["fs_size"] != file["metadata_size"]] == []
