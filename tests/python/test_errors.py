"""The error tree: classes, codes, what is printed, and that nothing is lost on the way to another process."""

from __future__ import annotations

import copy
import inspect
import pickle

import pytest

import hudini
from hudini import errors

CLASSES = [getattr(errors, name) for name in errors.__all__]
BUILT_INS = {
    "CommitConflict": RuntimeError,
    "CorruptFile": ValueError,
    "DuplicateKey": ValueError,
    "HudiniError": Exception,
    "InstantCleaned": LookupError,
    "InstantNotFound": LookupError,
    "InvalidFilter": ValueError,
    "InvalidOption": ValueError,
    "LockUnavailable": TimeoutError,
    "MemoryLimit": MemoryError,
    "SchemaMismatch": ValueError,
    "StorageFailure": OSError,
    "TableExists": FileExistsError,
    "TableNotFound": FileNotFoundError,
    "UnsupportedFeature": NotImplementedError,
}


def full(cls: type[hudini.HudiniError]) -> hudini.HudiniError:
    return cls("it broke", path="/t/x.parquet", instant="20261121084838673", offset=17, hint="mend it")


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_a_class_is_a_hudini_error_and_the_fitting_built_in(cls: type[hudini.HudiniError]) -> None:
    assert issubclass(cls, hudini.HudiniError)
    assert issubclass(cls, BUILT_INS[cls.__name__])
    assert getattr(hudini, cls.__name__) is cls


def test_codes_are_stable_and_different() -> None:
    assert {cls.__name__: cls("x").code for cls in CLASSES} == {
        "CommitConflict": "HUDINI-601",
        "CorruptFile": "HUDINI-301",
        "DuplicateKey": "HUDINI-603",
        "HudiniError": "HUDINI-000",
        "InstantCleaned": "HUDINI-502",
        "InstantNotFound": "HUDINI-501",
        "InvalidFilter": "HUDINI-403",
        "InvalidOption": "HUDINI-402",
        "LockUnavailable": "HUDINI-602",
        "MemoryLimit": "HUDINI-702",
        "SchemaMismatch": "HUDINI-401",
        "StorageFailure": "HUDINI-701",
        "TableExists": "HUDINI-102",
        "TableNotFound": "HUDINI-101",
        "UnsupportedFeature": "HUDINI-201",
    }


def test_every_class_is_documented_and_listed() -> None:
    defined = {
        name for name, value in vars(errors).items() if inspect.isclass(value) and issubclass(value, hudini.HudiniError)
    }
    assert defined == set(errors.__all__)
    assert all(cls.__doc__ for cls in CLASSES)


def test_what_is_printed() -> None:
    error = full(errors.CorruptFile)
    error.__cause__ = ValueError("bad magic\nand a stack trace")
    assert str(error) == (
        "it broke [HUDINI-301]\n"
        "  path: /t/x.parquet\n"
        "  instant: 20261121084838673\n"
        "  offset: 17\n"
        "  hint: mend it\n"
        "  caused by: ValueError: bad magic"
    )


def test_the_whole_cause_chain_is_printed() -> None:
    outer, middle, inner = errors.StorageFailure("no"), errors.CorruptFile("why"), KeyError("k")
    outer.__cause__, middle.__cause__ = middle, inner
    lines = str(outer).splitlines()
    assert lines[1:] == ["  caused by: CorruptFile: why [HUDINI-301]", "  caused by: KeyError: 'k'"]


def test_a_cause_that_leads_back_ends_the_chain() -> None:
    first, second = errors.StorageFailure("a"), errors.StorageFailure("b")
    first.__cause__, second.__cause__ = second, first
    assert str(first).count("caused by") == 1


@pytest.mark.parametrize("copied", [lambda e: pickle.loads(pickle.dumps(e)), copy.copy], ids=["pickle", "copy"])
@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_an_error_keeps_everything_on_its_way(cls: type[hudini.HudiniError], copied: object) -> None:
    error = full(cls)
    error.__cause__ = OSError(5, "device")
    error.extra = "kept"  # type: ignore[attr-defined]
    other = copied(error)  # type: ignore[operator]
    assert type(other) is cls
    assert (other.message, other.code, other.path, other.instant, other.offset, other.hint, other.extra) == (
        error.message, error.code, error.path, error.instant, error.offset, error.hint, "kept",
    )  # fmt: skip
    assert other.args == ("it broke",)
    assert str(other) == str(error)
    assert type(other.__cause__) is OSError


def test_a_cause_that_does_not_pickle_travels_as_text() -> None:
    class Local(Exception):
        pass

    error = errors.StorageFailure("no")
    error.__cause__ = Local("detail")
    other = pickle.loads(pickle.dumps(error))
    assert str(other.__cause__) == "Local: detail"


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_an_error_is_found_in_a_workers_traceback(cls: type[hudini.HudiniError]) -> None:
    error = full(cls)
    error.__cause__ = ValueError("bad magic")
    text = (
        "Job aborted: Traceback (most recent call last):\n"
        '  File "worker.py", line 1, in main\n'
        f"hudini.errors.{cls.__name__}: {error}\n\n\tat org.apache.spark.Thing\n"
    )
    found = errors.from_text(text)
    assert type(found) is cls
    assert (found.message, found.code, found.path, found.instant, found.offset, found.hint) == (
        error.message, error.code, error.path, error.instant, error.offset, error.hint,
    )  # fmt: skip


def test_the_last_error_of_a_text_counts() -> None:
    text = f"hudini.errors.StorageFailure: {errors.StorageFailure('first')}\n\nThe above exception …\n\n"
    found = errors.from_text(text + f"hudini.errors.CorruptFile: {errors.CorruptFile('second')}\n")
    assert isinstance(found, errors.CorruptFile)
    assert found.message == "second"


@pytest.mark.parametrize("text", ["", "ValueError: x", "hudini.errors.re: x [HUDINI-101]", "hudini.errors.Nope: x"])
def test_a_text_without_an_error_of_hudini(text: str) -> None:
    assert errors.from_text(text) is None
