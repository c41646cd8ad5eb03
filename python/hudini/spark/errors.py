"""Errors of workers, on the driver."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from hudini.errors import HudiniError, restored

_WORKERS_PYTHON = "set PYSPARK_PYTHON to the Python that hudini is installed in before Spark starts"


@contextlib.contextmanager
def typed_errors() -> Iterator[None]:
    """A worker's error reaches the driver as text inside one of Spark's errors; callers get its class back."""
    try:
        with restored():
            yield
    except Exception as error:
        if "No module named 'hudini'" not in str(error):
            raise
        raise HudiniError("Spark's workers run a Python without hudini", hint=_WORKERS_PYTHON) from error
