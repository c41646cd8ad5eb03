"""Errors of workers, on the driver."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

from hudini.errors import HudiniError, restored

# One without hudini mostly has no pyarrow, and is asked for that first.
_MISSING = re.compile(r"No module named '(hudini|pyarrow)\b")
_WORKERS_PYTHON = (
    "set PYSPARK_PYTHON to the Python that hudini is installed in before Spark starts; "
    "a wheel handed out by addPyFile or --py-files is not installed: Python loads no library from inside it"
)


@contextlib.contextmanager
def typed_errors() -> Iterator[None]:
    """A worker's error reaches the driver as text inside one of Spark's errors; callers get its class back."""
    try:
        with restored():
            yield
    except Exception as error:
        missing = _MISSING.search(str(error))
        if missing is None:
            raise
        raise HudiniError(f"Spark's workers run a Python without {missing[1]}", hint=_WORKERS_PYTHON) from error
