"""Verbs that look at a table from outside: describe, history, timeline, schema, properties, and what it consists of."""

from __future__ import annotations

import json as codec
from typing import Annotated, Any

import typer

from hudini import _core
from hudini._values import rows_with_dicts
from hudini.actions import human_bytes
from hudini.cli.opening import AsOf, Option, Storage, Where, opened, storage_options
from hudini.cli.output import Arrow, Csv, Form, Json, note, show_record, show_rows
from hudini.streams import Rows

Limit = Annotated[int | None, typer.Option("--limit", "-n", min=0, help="At most so many, the newest.")]


def describe(
    table: Where,
    option: Option = None,
    storage: Storage = None,
    json: Json = False,
    csv: Csv = False,
    arrow: Arrow = None,
) -> None:
    """What kind of table it is, and where it stands."""
    form = Form(json, csv, arrow)
    handle = opened(table, storage, option)
    newest = handle.history(1)
    show_record(
        {
            "path": handle.path,
            "name": handle.name,
            "table type": handle.table_type,
            "table version": handle.version,
            "record key": handle.record_key,
            "ordering": handle.ordering,
            "partitioned by": handle.partition_by,
            "merge mode": handle.merge_mode,
            "last commit": newest[0]["instant"] if newest else None,
            "last operation": newest[0]["operation"] if newest else None,
        },
        form,
    )


def history(
    table: Where,
    limit: Limit = None,
    option: Option = None,
    storage: Storage = None,
    json: Json = False,
    csv: Csv = False,
    arrow: Arrow = None,
) -> None:
    """What was done to the table, newest first."""
    form = Form(json, csv, arrow)
    found = opened(table, storage, option).history(limit)
    if json or csv or arrow:
        show_rows(found, found.columns, found, form)
    else:
        columns = [name for name in found.columns if name not in ("completed", "metadata")]
        show_rows([_for_people(row) for row in found], columns, found, form)


def _for_people(row: dict[str, Any]) -> dict[str, Any]:
    size, seconds = row["bytes"], row["seconds"]
    return row | {
        "bytes": None if size is None else human_bytes(size),
        "seconds": None if seconds is None else f"{seconds:.2f}",
    }


def timeline(
    table: Where,
    archived: Annotated[bool, typer.Option("--archived", help="Also what was archived.")] = False,
    option: Option = None,
    storage: Storage = None,
    json: Json = False,
    csv: Csv = False,
    arrow: Arrow = None,
) -> None:
    """The actions of the active timeline with their states, oldest first."""
    form = Form(json, csv, arrow)
    _show(opened(table, storage, option).inspect.timeline(archived=archived), form)


def partitions(
    table: Where,
    option: Option = None,
    storage: Storage = None,
    json: Json = False,
    csv: Csv = False,
    arrow: Arrow = None,
) -> None:
    """The partitions, with the number and size of the files of their newest slices."""
    form = Form(json, csv, arrow)
    _show(opened(table, storage, option).inspect.partitions(), form)


def slices(
    table: Where,
    as_of: AsOf = None,
    partition: Annotated[str | None, typer.Option("--partition", help="Only of this partition, by its path.")] = None,
    option: Option = None,
    storage: Storage = None,
    json: Json = False,
    csv: Csv = False,
    arrow: Arrow = None,
) -> None:
    """The newest slice of each file group: a base file and the logs on top of it."""
    form = Form(json, csv, arrow)
    _show(opened(table, storage, option).inspect.slices(as_of, partition), form)


def files(
    table: Where,
    as_of: AsOf = None,
    option: Option = None,
    storage: Storage = None,
    json: Json = False,
    csv: Csv = False,
    arrow: Arrow = None,
) -> None:
    """The files of the newest slices: what a snapshot is read from."""
    form = Form(json, csv, arrow)
    _show(opened(table, storage, option).inspect.files(as_of), form)


def indexes(
    table: Where,
    option: Option = None,
    storage: Storage = None,
    json: Json = False,
    csv: Csv = False,
    arrow: Arrow = None,
) -> None:
    """The partitions of the metadata table, and what they are about."""
    form = Form(json, csv, arrow)
    _show(opened(table, storage, option).inspect.indexes(), form)


def metadata(
    table: Where,
    partition: Annotated[
        str, typer.Argument(metavar="PARTITION", help="One of those that hudini indexes lists, or all.")
    ] = "files",
    option: Option = None,
    storage: Storage = None,
    json: Json = False,
    csv: Csv = False,
    arrow: Arrow = None,
) -> None:
    """The records of the metadata table, deleted ones left out."""
    form = Form(json, csv, arrow)
    found = opened(table, storage, option).inspect.metadata(None if partition == "all" else partition)
    if json or csv or arrow:
        reader = found.reader()
        show_rows(rows_with_dicts(reader), reader.schema.names, found, form)
    else:
        lines = map(_told, rows_with_dicts(found.reader()))
        show_rows(lines, ["key", "type", "holds"], found, form)


def _told(row: dict[str, Any]) -> dict[str, Any]:
    """A record is null but for the one thing that it tells."""
    [*holds] = (value for name, value in row.items() if name not in ("key", "type") and value is not None)
    return {"key": row["key"], "type": row["type"], "holds": _without_null(holds[0]) if holds else None}


def _without_null(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {name: _without_null(member) for name, member in value.items() if member is not None}


def _show(found: Rows, form: Form) -> None:
    show_rows(found, found.columns, found, form)


def schema(
    table: Where,
    option: Option = None,
    storage: Storage = None,
    json: Json = False,
    csv: Csv = False,
    arrow: Arrow = None,
) -> None:
    """The table's columns."""
    form = Form(json, csv, arrow)
    fields = [
        {"name": f.name, "type": str(f.type), "nullable": f.nullable} for f in opened(table, storage, option).schema
    ]
    found = Rows(fields, {"name": "string not null", "type": "string not null", "nullable": "boolean not null"})
    show_rows(found, found.columns, found, form)


def properties(
    table: Where, storage: Storage = None, json: Json = False, csv: Csv = False, arrow: Arrow = None
) -> None:
    """The table's hoodie.properties, also of a table that cannot be opened."""
    form = Form(json, csv, arrow)
    files = codec.loads(_core.inspect_properties(table, storage_options(storage)))
    whole = [file for file in files if file["error"] is None]
    readable = whole or [file for file in files if "properties" in file]
    for file in files:
        if file["error"] is not None:
            note(f"damaged: {file['error']}")
    if readable:
        if readable[0] is not files[0]:
            note(f"shown is {readable[0]['path']}")
        show_record(dict(sorted(readable[0]["properties"].items())), form)
    if not whole:
        raise typer.Exit(1)
