"""How far a long read is: told to a function, or shown as a bar on the terminal."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TextIO

from hudini.actions import human_bytes

# What takes less shows no bar.
_PATIENCE = 1.0
_WIDTH = 24


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a read is. File slices are done one by one; what is left of them says how much is to come."""

    done: int
    """File slices that were read; of `verify()`, things that were looked at."""
    total: int
    """All of them that are known so far."""
    rows: int
    bytes: int
    """Read from storage."""
    seconds: float

    def __str__(self) -> str:
        return f"{self.done} of {self.total}, {self.rows} rows, {human_bytes(self.bytes)}, {self.seconds:.1f} s"


Wanted = bool | Callable[[Progress], object] | None
"""`progress=` of a long call: True shows a bar on the terminal, a function is called a few times a second."""

Told = Callable[[int, int, int, int], None]
"""What the compiled core calls: done, total, rows, bytes."""


@contextlib.contextmanager
def watching(wanted: Wanted) -> Iterator[Told | None]:
    """What to hand to the core, while something is read."""
    if wanted is None or wanted is False:
        yield None
        return
    bar = Bar(sys.stderr) if wanted is True else None
    tell: Callable[[Progress], object] = bar.show if bar is not None else wanted  # type: ignore[assignment]
    started = time.monotonic()

    def told(done: int, total: int, rows: int, size: int) -> None:
        tell(Progress(done, total, rows, size, time.monotonic() - started))

    try:
        yield told
    finally:
        if bar is not None:
            bar.clear()


class Bar:
    """One line on a terminal, redrawn; nothing where there is no terminal."""

    def __init__(self, target: TextIO) -> None:
        self._target = target if target.isatty() else None
        self._shown = 0

    def show(self, progress: Progress) -> None:
        """Draws the line, if the call takes long."""
        if self._target is None or progress.seconds < _PATIENCE:
            return
        share = progress.done / progress.total if progress.total else 0.0
        filled = round(share * _WIDTH)
        line = f"[{'#' * filled}{'.' * (_WIDTH - filled)}] {progress}"
        self._target.write("\r" + line.ljust(self._shown))
        self._target.flush()
        self._shown = len(line)

    def clear(self) -> None:
        """Leaves an empty line for what follows."""
        if self._target is not None and self._shown:
            self._target.write("\r" + " " * self._shown + "\r")
            self._target.flush()
            self._shown = 0
