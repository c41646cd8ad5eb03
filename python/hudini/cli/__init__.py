"""The command line. `typer` and `rich` are imported here and nowhere else."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from typing import Any


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; returns its exit code: 0 done, 1 failed, 2 not understood, 3 damage found by verify."""
    try:
        from hudini.cli.app import app
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("typer", "rich"):
            raise
        return _fail(f"the command line needs the package {error.name}: pip install {error.name}")
    from hudini.errors import HudiniError

    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _warn
            app(args=given or ["--help"], prog_name="hudini")
    except SystemExit as done:
        code = done.code if isinstance(done.code, int) else int(done.code is not None)
        # Nothing asked for is help given, but not what a script can have meant.
        return code if given else 2
    except KeyboardInterrupt:
        return _fail("interrupted")
    except (HudiniError, OSError, ModuleNotFoundError) as error:
        return _fail(str(error))
    return 0


def _warn(message: Warning | str, *where: Any, **more: Any) -> None:
    """Where in the code a warning was given tells nobody here anything."""
    print(f"warning: {message}", file=sys.stderr)


def _fail(message: str) -> int:
    print(f"error: {message}", file=sys.stderr)
    return 1
