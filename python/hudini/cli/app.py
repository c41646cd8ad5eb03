"""The commands, put together."""

from __future__ import annotations

from typing import Annotated

import typer

import hudini
from hudini.cli import check, compact, demo, files, look, rows, upkeep

app = typer.Typer(
    help="Look into Apache Hudi tables, and keep them healthy: hudini VERB TABLE.",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"hudini {hudini.__version__}")
        raise typer.Exit


@app.callback()
def _hudini(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_print_version, help="Print the version.")
    ] = False,
) -> None:
    pass


for command in (
    look.describe,
    look.history,
    look.timeline,
    look.schema,
    look.properties,
    look.partitions,
    look.slices,
    look.files,
    look.indexes,
    look.metadata,
    rows.read,
    rows.head,
    rows.count,
    rows.incremental,
    rows.changes,
    rows.diff,
    rows.sql,
    files.log,
    files.hfile,
    files.instant,
    check.verify,
    compact.compact,
    upkeep.clean,
    upkeep.archive,
    upkeep.rollback,
    demo.demo,
):
    app.command()(command)
