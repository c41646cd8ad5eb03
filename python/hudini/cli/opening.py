"""The arguments that every verb shares: which table, and what its storage needs."""

from __future__ import annotations

from typing import Annotated

import typer

import hudini

Where = Annotated[str, typer.Argument(metavar="TABLE", help="The table: a folder or an object-store URL.")]
Storage = Annotated[
    list[str] | None,
    typer.Option(
        "--storage", metavar="KEY=VALUE", help="An option of the storage, such as region=eu-west-1; repeat it."
    ),
]
AsOf = Annotated[str | None, typer.Option("--as-of", help="The state of then: an instant or an ISO time.")]


def opened(where: str, storage: list[str] | None) -> hudini.Table:
    """The table, opened."""
    return hudini.open(where, storage_options=storage_options(storage))


def storage_options(storage: list[str] | None) -> dict[str, str]:
    """What `--storage` says."""
    return pairs(storage, "--storage")


def pairs(given: list[str] | None, name: str) -> dict[str, str]:
    """What an option that takes KEY=VALUE again and again says."""
    options = {}
    for pair in given or []:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise typer.BadParameter(f"{pair!r} is no KEY=VALUE", param_hint=name)
        options[key] = value
    return options
