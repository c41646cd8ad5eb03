"""The commands, put together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

import hudini
from hudini.cli import check, compact, demo, files, look, rows, upkeep

app = typer.Typer(
    help="Look into Apache Hudi tables, and keep them healthy: hudini VERB TABLE. More of a verb: hudini VERB --help.",
    epilog="Exit codes: 0 done, 1 failed, 2 not understood, 3 damage found by verify.",
    subcommand_metavar="VERB [ARGS]...",
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


VERBS: dict[str, list[Callable[..., None]]] = {
    "What a table is": [
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
        check.verify,
    ],
    "Its rows": [rows.read, rows.head, rows.count, rows.incremental, rows.changes, rows.diff, rows.sql],
    "One file by itself: hudini VERB FILE": [files.log, files.hfile, files.instant],
    "What changes a table": [compact.compact, upkeep.clean, upkeep.archive, upkeep.rollback],
    "For a first look": [demo.demo],
}
for panel, verbs in VERBS.items():
    for verb in verbs:
        app.command(rich_help_panel=panel)(verb)
