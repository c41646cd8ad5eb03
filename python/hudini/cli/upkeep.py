"""Verbs that keep a table healthy: clean, archive, rollback. Each asks first, or takes --yes."""

from __future__ import annotations

import json as codec
from typing import Annotated, Any

import typer

from hudini.cli.opening import Option, Storage, Where, opened
from hudini.cli.output import Json, counted, note, write_lines

DryRun = Annotated[bool, typer.Option("--dry-run", help="Only tell what would be done.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


def clean(
    table: Where,
    policy: Annotated[
        str | None,
        typer.Option(
            "--policy",
            help="What is kept: commits, hours or versions (of each file group). Not given: as the option "
            "hoodie.clean.policy says.",
        ),
    ] = None,
    retain: Annotated[
        int | None, typer.Option("--retain", min=1, help="How many of them. Not given: as the option for them says.")
    ] = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    option: Option = None,
    storage: Storage = None,
    json: Json = False,
) -> None:
    """Deletes files that no state to be kept needs any more."""
    services = opened(table, storage, option).services
    chosen: Any = policy
    would = services.clean(dry_run=True, policy=chosen, retain=retain)
    if dry_run:
        _tell(would.to_dict(), would.files, json)
        note(f"{counted(len(would.files), 'file')} would be deleted")
        return
    if would.files:
        _ask(f"Delete {counted(len(would.files), 'file')}?", yes)
    done = services.clean(policy=chosen, retain=retain)
    _tell(done.to_dict(), [], json)
    note(f"{counted(len(done.files), 'file')} deleted" if done.instant else "nothing to clean")


def archive(
    table: Where,
    dry_run: DryRun = False,
    yes: Yes = False,
    option: Option = None,
    storage: Storage = None,
    json: Json = False,
) -> None:
    """Moves old instants from the active timeline into its history.

    With more than hoodie.keep.max.commits commits there, all but the newest hoodie.keep.min.commits may go.
    """
    services = opened(table, storage, option).services
    would = services.archive(dry_run=True)
    if dry_run:
        _tell(would.to_dict(), would.instants, json)
        note(f"{counted(len(would.instants), 'instant')} would be archived")
        return
    if would.instants:
        _ask(f"Archive {counted(len(would.instants), 'instant')}?", yes)
    done = services.archive()
    _tell(done.to_dict(), [], json)
    note(f"{counted(len(done.instants), 'instant')} archived" if done.instants else "nothing to archive")


def rollback(
    table: Where,
    instant: Annotated[
        str, typer.Argument(metavar="INSTANT", help="The write, by its requested time: hudini timeline lists them.")
    ],
    dry_run: DryRun = False,
    yes: Yes = False,
    option: Option = None,
    storage: Storage = None,
    json: Json = False,
) -> None:
    """Takes back a write that did not complete, and whose writer is dead."""
    services = opened(table, storage, option).services
    would = services.rollback(instant, dry_run=True)
    if dry_run:
        _tell(would.to_dict(), would.files, json)
        note(f"{would.action} {would.instant} would be rolled back, with {counted(len(would.files), 'file')}")
        return
    _ask(f"Roll back {would.action} {would.instant}, with {counted(len(would.files), 'file')}?", yes)
    done = services.rollback(instant)
    _tell(done.to_dict(), [], json)
    note(f"{done.action} {done.instant} rolled back, {counted(len(done.files), 'file')} deleted")


def _ask(question: str, yes: bool) -> None:
    if not yes:
        typer.confirm(question, abort=True, err=True)


def _tell(values: dict[str, Any], lines: list[str], json: bool) -> None:
    write_lines([codec.dumps(values, ensure_ascii=False, indent=2)] if json else lines)
