"""The verb compact: logs folded into base files."""

from __future__ import annotations

from typing import Annotated

import typer

from hudini.cli.opening import Option, Storage, Where, opened
from hudini.cli.output import Form, Json, note, show_record


def compact(
    table: Where,
    schedule: Annotated[bool, typer.Option("--schedule/--no-schedule", help="Plan all slices with logs.")] = True,
    execute: Annotated[bool, typer.Option("--execute/--no-execute", help="Do what is planned, by whomever.")] = True,
    where: Annotated[
        str | None, typer.Option("--where", "-w", help="Plan only partitions for which this holds.")
    ] = None,
    option: Option = None,
    storage: Storage = None,
    json: Json = False,
) -> None:
    """Folds the logs of a merge-on-read table into new base files. No row changes."""
    result = opened(table, storage, option).services.compact(schedule, execute, where)
    if json:
        show_record(result.to_dict(), Form(True, False, None))
    else:
        note(repr(result) if result else "nothing to compact")
