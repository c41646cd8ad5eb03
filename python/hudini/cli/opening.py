"""The arguments that every verb shares: which table, and what its storage needs."""

from __future__ import annotations

from typing import Annotated

import typer

import hudini

Where = Annotated[str, typer.Argument(metavar="TABLE", help="The table: a folder or an object-store URL.")]
Storage = Annotated[
    list[str] | None,
    typer.Option(
        "--storage",
        metavar="KEY=VALUE",
        help="An option of the storage (Python's storage_options), such as region=eu-west-1; may be repeated. What is "
        "not given, such as secrets, is taken from the environment.",
    ),
]
Option = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        "-o",
        metavar="KEY=VALUE",
        help="An option of Apache Hudi, such as hoodie.metadata.enable=false; may be repeated.",
    ),
]
AsOf = Annotated[
    str | None,
    typer.Option(
        "--as-of",
        help="The state of then: an instant or an ISO time. Not given: as the option as.of.instant says, or else now.",
    ),
]


def opened(where: str, storage: list[str] | None, option: list[str] | None = None) -> hudini.Table:
    """The table, opened with what `--storage` and `--option` say."""
    return hudini.open(where, storage_options=storage_options(storage), options=hudi_options(option))


def storage_options(storage: list[str] | None) -> dict[str, str]:
    """What `--storage` says."""
    return _pairs(storage, "--storage")


def hudi_options(option: list[str] | None) -> dict[str, str]:
    """What `--option` says."""
    return _pairs(option, "--option")


def _pairs(given: list[str] | None, name: str) -> dict[str, str]:
    """What an option that takes KEY=VALUE again and again says."""
    options = {}
    for pair in given or []:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise typer.BadParameter(f"{pair!r} is no KEY=VALUE", param_hint=name)
        options[key] = value
    return options
