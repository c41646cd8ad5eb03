"""What `import hudini` offers: a name that appears or goes does so on purpose."""

from __future__ import annotations

import inspect
import types

import hudini


def test_public_names() -> None:
    assert hudini.__all__ == [
        "CommitConflict",
        "CommitResult",
        "CorruptFile",
        "DuplicateKey",
        "Finding",
        "HudiniError",
        "InstantCleaned",
        "InstantNotFound",
        "InvalidFilter",
        "InvalidOption",
        "LockUnavailable",
        "MemoryLimit",
        "Progress",
        "Report",
        "Scan",
        "Schema",
        "SchemaMismatch",
        "Split",
        "StorageFailure",
        "Table",
        "TableExists",
        "TableNotFound",
        "UnsupportedFeature",
        "__version__",
        "create",
        "is_table",
        "open",
        "read_split",
        "register_merger",
        "write",
    ]


def test_nothing_else_is_visible() -> None:
    visible = {
        name
        for name, value in vars(hudini).items()
        if not name.startswith("_") and not isinstance(value, types.ModuleType)
    }
    assert visible | {"__version__"} == set(hudini.__all__)


def test_every_public_name_has_a_docstring() -> None:
    bare = [name for name in hudini.__all__ if name != "__version__" and not inspect.getdoc(getattr(hudini, name))]
    assert bare == []


def test_every_public_method_has_a_docstring() -> None:
    bare = [
        f"{cls.__name__}.{name}"
        for cls in (hudini.Table, hudini.Scan, hudini.Split, hudini.Schema, hudini.CommitResult)
        for name, member in inspect.getmembers(cls)
        if not name.startswith("_")
        and (callable(member) or isinstance(member, property))
        and not inspect.getdoc(member)
    ]
    assert bare == []
