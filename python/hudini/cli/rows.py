"""Verbs that read rows: read, head, count, incremental, changes, diff, sql."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any

import typer

import hudini
from hudini._difference import difference
from hudini._optional import need
from hudini.cli.opening import AsOf, Storage, Where, opened
from hudini.cli.output import Arrow, Csv, Form, Json, note, show_record, show_rows
from hudini.streams import ArrowRows


class Mode(str, Enum):
    """What of a merge-on-read table is read."""

    snapshot = "snapshot"
    read_optimized = "read_optimized"


Columns = Annotated[str | None, typer.Option("--columns", "-c", help="Only these columns, between commas.")]
Filter = Annotated[
    str | None, typer.Option("--filter", "--where", "-w", help="Only rows for which this holds, as in \"city = 'sf'\".")
]
ReadMode = Annotated[Mode, typer.Option("--mode", help="read_optimized leaves out what is not yet compacted.")]
Start = Annotated[
    str | None, typer.Option("--start", help="Only writes that completed later: an instant or an ISO time.")
]
End = Annotated[str | None, typer.Option("--end", help="Only writes that completed by then.")]
Meta = Annotated[bool, typer.Option("--meta/--no-meta", help="With Hudi's own five columns, or without.")]


def read(
    table: Where,
    columns: Columns = None,
    filter: Filter = None,
    as_of: AsOf = None,
    mode: ReadMode = Mode.snapshot,
    meta: Meta = False,
    limit: Annotated[int | None, typer.Option("--limit", "-n", min=0, help="At most so many rows.")] = None,
    storage: Storage = None,
    json: Json = False,
    csv: Csv = False,
    arrow: Arrow = None,
) -> None:
    """The table's rows."""
    form = Form(json, csv, arrow)
    _show(_scan(opened(table, storage), columns, filter, as_of, mode, meta, limit), form)


def head(
    table: Where,
    rows: Annotated[int, typer.Option("--rows", "-n", min=0, help="How many.")] = 10,
    columns: Columns = None,
    filter: Filter = None,
    as_of: AsOf = None,
    meta: Meta = False,
    storage: Storage = None,
    json: Json = False,
    csv: Csv = False,
    arrow: Arrow = None,
) -> None:
    """A few of the table's rows."""
    form = Form(json, csv, arrow)
    _show(_scan(opened(table, storage), columns, filter, as_of, Mode.snapshot, meta, rows), form)


def count(
    table: Where,
    filter: Filter = None,
    as_of: AsOf = None,
    mode: ReadMode = Mode.snapshot,
    storage: Storage = None,
    json: Json = False,
    csv: Csv = False,
    arrow: Arrow = None,
) -> None:
    """How many rows the table has."""
    form = Form(json, csv, arrow)
    total = _scan(opened(table, storage), None, filter, as_of, mode, False, None).count(progress=True)
    if json or csv or arrow:
        show_record({"count": total}, form)
    else:
        print(total, flush=True)


def incremental(
    table: Where,
    start: Start = None,
    end: End = None,
    columns: Columns = None,
    filter: Filter = None,
    storage: Storage = None,
    json: Json = False,
    csv: Csv = False,
    arrow: Arrow = None,
) -> None:
    """The rows that were written in a range of time, as they stood at its end."""
    form = Form(json, csv, arrow)
    _show(opened(table, storage).incremental(start, end, columns=_names(columns), filter=filter), form)


def changes(
    table: Where,
    start: Start = None,
    end: End = None,
    storage: Storage = None,
    json: Json = False,
    csv: Csv = False,
    arrow: Arrow = None,
) -> None:
    """What happened to rows in a range of time: inserts (i), updates (u) and deletes (d), before and after."""
    form = Form(json, csv, arrow)
    _show(opened(table, storage).changes(start, end), form)


def diff(
    table: Where,
    old: Annotated[str, typer.Argument(metavar="A", help="The earlier state: an instant or an ISO time.")],
    new: Annotated[str, typer.Argument(metavar="B", help="The later one.")],
    storage: Storage = None,
    json: Json = False,
    csv: Csv = False,
    arrow: Arrow = None,
) -> None:
    """The rows that differ between two states: added, removed, or changed and in which columns."""
    form = Form(json, csv, arrow)
    found = difference(opened(table, storage), old, new)
    show_rows(found.rows, found.columns, found, form)
    counts = found.counts()
    note(", ".join(f"{counts[change]} {change}" for change in ("added", "removed", "changed")))


def sql(
    table: Where,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="In it the table is called t.")],
    as_of: AsOf = None,
    meta: Meta = False,
    storage: Storage = None,
    json: Json = False,
    csv: Csv = False,
    arrow: Arrow = None,
) -> None:
    """Asks the table in SQL, through DuckDB, which takes all of its rows into memory for it."""
    form = Form(json, csv, arrow)
    duckdb = need("duckdb", "hudini sql")
    scan = _scan(opened(table, storage), None, None, as_of, Mode.snapshot, meta, None)
    with duckdb.connect() as connection:
        connection.register("t", scan.to_arrow(progress=True))
        try:
            answer = connection.sql(query)
        except duckdb.Error as error:
            raise typer.BadParameter(str(error), param_hint="QUERY") from error
        if answer is None:
            raise typer.BadParameter("this asks for no rows", param_hint="QUERY")
        _show(_Answer(answer.to_arrow_table()), form)


class _Answer(ArrowRows):
    """Rows that somebody else found."""

    def __init__(self, table: Any) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


def _names(columns: str | None) -> list[str] | None:
    return None if columns is None else [name.strip() for name in columns.split(",")]


def _scan(
    table: hudini.Table,
    columns: str | None,
    filter: str | None,
    as_of: str | None,
    mode: Mode,
    meta: bool,
    limit: int | None,
) -> hudini.Scan:
    chosen: Any = mode.value
    return table.read(columns=_names(columns), filter=filter, as_of=as_of, mode=chosen, meta=meta, limit=limit)


def _show(found: ArrowRows, form: Form) -> None:
    reader = found.reader()
    schema = reader.schema
    with_maps = [field for field in schema if "map<" in str(field.type)]
    rows = (row for batch in reader for row in batch.to_pylist())
    if with_maps:
        rows = (row | {field.name: _maps_as_dicts(row[field.name], field.type) for field in with_maps} for row in rows)
    show_rows(rows, schema.names, found, form)


def _maps_as_dicts(value: Any, kind: Any) -> Any:
    """pyarrow makes lists of pairs of maps, wherever they stand."""
    from pyarrow import types

    if value is None:
        return None
    if types.is_map(kind):
        return {key: _maps_as_dicts(item, kind.item_type) for key, item in value}
    if types.is_list(kind) or types.is_large_list(kind):
        return [_maps_as_dicts(item, kind.value_type) for item in value]
    if types.is_struct(kind):
        return {field.name: _maps_as_dicts(value[field.name], field.type) for field in kind}
    return value
