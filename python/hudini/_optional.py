"""Packages that hudini uses when they are there: imported late, missed with the command that brings them."""

from __future__ import annotations

import importlib
import sys
from typing import Any


def need(package: str, purpose: str) -> Any:
    """The package, imported now; if it is missing, an error that says what for and how to get it."""
    try:
        return importlib.import_module(package)
    except ModuleNotFoundError as error:
        top = package.partition(".")[0]
        if error.name is None or error.name.partition(".")[0] != top:
            raise
        message = f"{purpose} needs the package {top}, which is not installed: pip install {top}"
        raise ModuleNotFoundError(message, name=top) from error


def is_instance(value: object, package: str, name: str) -> bool:
    """Whether `value` is a `package.name`, without importing the package: if nobody did, it can't be one."""
    module = sys.modules.get(package)
    cls = getattr(module, name, None)
    return isinstance(cls, type) and isinstance(value, cls)
