"""The verb verify: whether a table is whole."""

from __future__ import annotations

import json as codec
from typing import Annotated

import typer

from hudini.cli.opening import Option, Storage, Where, opened
from hudini.cli.output import Arrow, Csv, Form, Json, note, show_rows, write_lines

DAMAGED = 3


def verify(
    table: Where,
    deep: Annotated[bool, typer.Option("--deep", help="Read all rows, and hold the indexes against them.")] = False,
    option: Option = None,
    storage: Storage = None,
    json: Json = False,
    csv: Csv = False,
    arrow: Arrow = None,
) -> None:
    """Looks whether the table is whole; exit code 3 if it is damaged."""
    form = Form(json, csv, arrow)
    report = opened(table, storage, option).verify(deep, progress=True)
    if json:
        write_lines([codec.dumps(report.to_dict(), ensure_ascii=False, indent=2)])
    elif report.findings or csv or arrow:
        show_rows(report.rows, report.rows.columns, report, form)
    note(report.summary())
    if not report.ok:
        raise typer.Exit(DAMAGED)
