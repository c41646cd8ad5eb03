"""Verbs that read rows: read, head, count, incremental, changes, diff, sql."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any

import typer

import hudini
from hudini._difference import difference
from hudini._optional import need
from hudini._values import rows_with_dicts
from hudini.cli.opening import AsOf, Option, Storage, Where, opened
from hudini.cli.output import Arrow, Csv, Form, Json, note, show_record, show_rows
from hudini.streams import ArrowRows


class Images(str, Enum):
    """How rows before and after a change are told."""

    struct = "struct"
    json = "json"


class Mode(str, Enum):
    """What of a merge-on-read table is read."""

    snapshot = "snapshot"
    read_optimized = "read_optimized"


Columns = Annotated[
    str | None, typer.Option("--columns", "-c", help="Just these columns, between commas, whatever --meta says.")
]
Filter = Annotated[
    str | None, typer.Option("--filter", "--where", "-w", help="Only rows for which this holds, as in \"city = 'sf'\".")
]
Limit = Annotated[int | None, typer.Option("--limit", "-n", min=0, help="At most so many rows.")]
ReadMode = Annotated[
    Mode | None,
    typer.Option(
        "--mode",
        help="read_optimized leaves out what is not yet compacted. Not given: as the option "
        "hoodie.datasource.query.type says, or else nothing is left out.",
    ),
]
Start = Annotated[
    str | None,
    typer.Option(
        "--start",
        help="Only writes that completed later: an ISO time, or an instant as hudini timeline has it under completed.",
    ),
]
End = Annotated[str | None, typer.Option("--end", help="Only writes that completed by then.")]
Meta = Annotated[
    bool,
    typer.Option("--meta/--no-meta", help="With Hudi's own five columns or not."),
]


def read(
    table: Where,
    columns: Columns = None,
    filter: Filter = None,
    as_of: AsOf = None,
    mode: ReadMode = None,
    meta: Meta = False,
    limit: Limit = None,
    option: Option = None,
    storage: Storage = None,
    json: Json = False,
    csv: Csv = False,
    arrow: Arrow = None,
) -> None:
    """The table's rows."""
    form = Form(json, csv, arrow)
    _show(_scan(opened(table, storage, option), columns, filter, as_of, mode, meta, limit), form)


def head(
    table: Where,
    rows: Annotated[int, typer.Option("--rows", "-n", min=0, help="How many.")] = 10,
    columns: Columns = None,
    filter: Filter = None,
    as_of: AsOf = None,
    mode: ReadMode = None,
    meta: Meta = False,
    option: Option = None,
    storage: Storage = None,
    json: Json = False,
    csv: Csv = False,
    arrow: Arrow = None,
) -> None:
    """A few of the table's rows."""
    form = Form(json, csv, arrow)
    _show(_scan(opened(table, storage, option), columns, filter, as_of, mode, meta, rows), form)


def count(
    table: Where,
    filter: Filter = None,
    as_of: AsOf = None,
    mode: ReadMode = None,
    option: Option = None,
    storage: Storage = None,
    json: Json = False,
    csv: Csv = False,
    arrow: Arrow = None,
) -> None:
    """How many rows the table has."""
    form = Form(json, csv, arrow)
    total = _scan(opened(table, storage, option), None, filter, as_of, mode, False, None).count(progress=True)
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
    meta: Meta = True,
    limit: Limit = None,
    option: Option = None,
    storage: Storage = None,
    json: Json = False,
    csv: Csv = False,
    arrow: Arrow = None,
) -> None:
    """The rows that were written in a range of time, as they stood at its end."""
    form = Form(json, csv, arrow)
    handle, chosen = opened(table, storage, option), _chosen(columns, meta)
    _show(handle.incremental(start, end, filter=filter, limit=limit, **chosen), form)


def changes(
    table: Where,
    start: Start = None,
    end: End = None,
    images: Annotated[
        Images, typer.Option("--images", help="Rows before and after as structs, or as JSON as Apache Hudi has it.")
    ] = Images.struct,
    option: Option = None,
    storage: Storage = None,
    json: Json = False,
    csv: Csv = False,
    arrow: Arrow = None,
) -> None:
    """What happened to rows in a range of time: inserts (i), updates (u) and deletes (d), before and after."""
    form = Form(json, csv, arrow)
    chosen: Any = images.value
    _show(opened(table, storage, option).changes(start, end, chosen), form)


def diff(
    table: Where,
    old: Annotated[str, typer.Argument(metavar="A", help="The earlier state: an instant or an ISO time.")],
    new: Annotated[str, typer.Argument(metavar="B", help="The later one.")],
    option: Option = None,
    storage: Storage = None,
    json: Json = False,
    csv: Csv = False,
    arrow: Arrow = None,
) -> None:
    """The rows that differ between two states: added, removed, or changed and in which columns."""
    form = Form(json, csv, arrow)
    found = difference(opened(table, storage, option), old, new)
    show_rows(found.rows, found.columns, found, form)
    counts = found.counts()
    note(", ".join(f"{counts[change]} {change}" for change in ("added", "removed", "changed")))


def sql(
    table: Where,
    query: Annotated[
        str, typer.Argument(metavar="QUERY", help='As in "select count(*) from t": the table is called t.')
    ],
    as_of: AsOf = None,
    meta: Meta = False,
    option: Option = None,
    storage: Storage = None,
    json: Json = False,
    csv: Csv = False,
    arrow: Arrow = None,
) -> None:
    """Asks the table in SQL, through DuckDB, which takes all of its rows into memory for it."""
    form = Form(json, csv, arrow)
    duckdb = need("duckdb", "hudini sql")
    _check_query(duckdb, query)
    scan = _scan(opened(table, storage, option), None, None, as_of, None, meta, None)
    with duckdb.connect() as connection:
        connection.register("t", scan.to_arrow(progress=True))
        try:
            answer = connection.sql(query)
        except duckdb.Error as error:
            raise typer.BadParameter(str(error), param_hint="QUERY") from error
        if answer is None:
            raise typer.BadParameter("this asks for no rows", param_hint="QUERY")
        _show(_Answer(answer.to_arrow_table()), form)


def _check_query(duckdb: Any, query: str) -> None:
    """What comes last must ask for rows: all else would change nothing but a copy, which is gone at the end."""
    try:
        statements = duckdb.extract_statements(query)
    except duckdb.Error as error:
        raise typer.BadParameter(str(error), param_hint="QUERY") from error
    if not statements:
        raise typer.BadParameter("this asks for no rows", param_hint="QUERY")
    kind = statements[-1].type.name.removesuffix("_STATEMENT")
    if kind not in _ASKS:
        raise typer.BadParameter(f"{kind} asks for no rows, and changes no table", param_hint="QUERY")


# What DuckDB calls the statements that give rows; PIVOT is one of several parts.
_ASKS = ("SELECT", "EXPLAIN", "PRAGMA", "CALL", "MULTI")


class _Answer(ArrowRows):
    """Rows that somebody else found."""

    def __init__(self, table: Any) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


def _chosen(columns: str | None, meta: bool) -> dict[str, Any]:
    """What `--columns` and `--meta` say. Hudi's own columns are columns like others where they are named."""
    if columns is None:
        return {"meta": meta}
    return {"columns": [name.strip() for name in columns.split(",")], "meta": True}


def _scan(
    table: hudini.Table,
    columns: str | None,
    filter: str | None,
    as_of: str | None,
    mode: Mode | None,
    meta: bool,
    limit: int | None,
) -> hudini.Scan:
    said: Any = None if mode is None else mode.value
    return table.read(filter=filter, as_of=as_of, mode=said, limit=limit, **_chosen(columns, meta))


def _show(found: ArrowRows, form: Form) -> None:
    reader = found.reader()
    show_rows(rows_with_dicts(reader), reader.schema.names, found, form)
