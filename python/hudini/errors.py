"""What can go wrong, one class for each thing the caller would do next.

    HudiniError
    ├── TableNotFound        FileNotFoundError     HUDINI-101  there is no table at the path
    ├── TableExists          FileExistsError       HUDINI-102  there is one already
    ├── UnsupportedFeature   NotImplementedError   HUDINI-201  the table, file or option needs what hudini does not do
    ├── CorruptFile          ValueError            HUDINI-301  a file's bytes contradict its format
    ├── SchemaMismatch       ValueError            HUDINI-401  rows and table do not fit
    ├── InvalidOption        ValueError            HUDINI-402  an option is unknown, malformed or contradicts another
    ├── InvalidFilter        ValueError            HUDINI-403  a filter could not be understood
    ├── InstantNotFound      LookupError           HUDINI-501  no such instant
    ├── InstantCleaned       LookupError           HUDINI-502  the files of that state are gone
    ├── CommitConflict       RuntimeError          HUDINI-601  another writer changed the same files first
    ├── LockUnavailable      TimeoutError          HUDINI-602  the table's lock was not to be had in time
    ├── DuplicateKey         ValueError            HUDINI-603  a record key stands twice where it must not
    ├── StorageFailure       OSError               HUDINI-701  the storage failed, or answered what it must not
    └── MemoryLimit          MemoryError           HUDINI-702  the memory limit was reached

Each class inherits the built-in exception that fits as well, so `except FileNotFoundError` works too.
The text of a message may change between releases; the classes and their codes may not.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

__all__ = [
    "CommitConflict",
    "CorruptFile",
    "DuplicateKey",
    "HudiniError",
    "InstantCleaned",
    "InstantNotFound",
    "InvalidFilter",
    "InvalidOption",
    "LockUnavailable",
    "MemoryLimit",
    "SchemaMismatch",
    "StorageFailure",
    "TableExists",
    "TableNotFound",
    "UnsupportedFeature",
]


class HudiniError(Exception):
    """The base of every error of hudini; raised itself only for a defect of hudini.

    Attributes:
        message: what happened, one sentence.
        code: stable name of the cause, `HUDINI-nnn`.
        path: the file or table concerned, if any.
        instant: the instant concerned, if any.
        offset: the byte offset in `path`, if any.
        hint: what to do about it, if there is something to do.
    """

    code: str = "HUDINI-000"

    def __init__(
        self,
        message: str = "",
        *,
        code: str | None = None,
        path: str | None = None,
        instant: str | None = None,
        offset: int | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or type(self).code
        self.path = path
        self.instant = instant
        self.offset = offset
        self.hint = hint

    def __str__(self) -> str:
        lines = [f"{self.message} [{self.code}]"]
        for name in ("path", "instant", "offset", "hint"):
            value = getattr(self, name)
            if value is not None:
                lines.append(f"  {name}: {value}")
        lines.extend(f"  caused by: {_one_line(cause)}" for cause in _causes(self))
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.message!r}, code={self.code!r})"

    def __reduce__(self) -> tuple[object, ...]:
        # OSError and MemoryError rebuild themselves from `args` alone, which would lose the fields and the cause.
        return _rebuild, (type(self), self.message), _portable_state(self)


class TableNotFound(HudiniError, FileNotFoundError):
    """There is no Hudi table at the path."""

    code = "HUDINI-101"


class TableExists(HudiniError, FileExistsError):
    """There is a Hudi table at the path already."""

    code = "HUDINI-102"


class UnsupportedFeature(HudiniError, NotImplementedError):
    """The table, a file or an option needs something that hudini does not do; the message names it."""

    code = "HUDINI-201"


class CorruptFile(HudiniError, ValueError):
    """A file's bytes contradict its format; `path` and `offset` say where."""

    code = "HUDINI-301"


class SchemaMismatch(HudiniError, ValueError):
    """Rows and table do not fit together."""

    code = "HUDINI-401"


class InvalidOption(HudiniError, ValueError):
    """An option is unknown, malformed, or contradicts another one or the table."""

    code = "HUDINI-402"


class InvalidFilter(HudiniError, ValueError):
    """A filter could not be understood."""

    code = "HUDINI-403"


class InstantNotFound(HudiniError, LookupError):
    """The table has no such instant."""

    code = "HUDINI-501"


class InstantCleaned(HudiniError, LookupError):
    """The files of the state asked for were cleaned away."""

    code = "HUDINI-502"


class CommitConflict(HudiniError, RuntimeError):
    """Another writer changed the same files first; nothing of this call is visible, so it can be repeated."""

    code = "HUDINI-601"


class LockUnavailable(HudiniError, TimeoutError):
    """The table's lock was not to be had in time."""

    code = "HUDINI-602"


class DuplicateKey(HudiniError, ValueError):
    """A record key stands twice where it must stand once."""

    code = "HUDINI-603"


class StorageFailure(HudiniError, OSError):
    """The storage failed, or answered what it must not."""

    code = "HUDINI-701"


class MemoryLimit(HudiniError, MemoryError):
    """The memory limit was reached."""

    code = "HUDINI-702"


def from_text(text: str) -> HudiniError | None:
    """The last hudini error printed inside `text`, such as the traceback of a worker process; None if there is none.

    Errors cross some borders as text only: from worker processes, and through Arrow's C streams. What `str` prints is
    enough to build the error again.
    """
    found = list(_PRINTED.finditer(text))
    if not found:
        return None
    last = found[-1]
    cls = globals().get(last["kind"])
    if not (isinstance(cls, type) and issubclass(cls, HudiniError)):
        return None
    fields = {name: value for name, value in _FIELD.findall(last["fields"]) if name != "caused by"}
    offset = fields.get("offset", "")
    return cls(
        last["message"],
        code=last["code"],
        path=fields.get("path"),
        instant=fields.get("instant"),
        offset=int(offset) if offset.isdecimal() else None,
        hint=fields.get("hint"),
    )


@contextlib.contextmanager
def restored() -> Iterator[None]:
    """Gives an error of hudini its class back when it arrives as text inside another library's exception.

    So with what ended a stream from outside, such as a KeyboardInterrupt.
    """
    try:
        yield
    except HudiniError:
        raise
    except Exception as error:
        from hudini import _core

        interruption = _core.taken_exception(str(error))
        if interruption is not None:
            raise interruption from None
        found = from_text(str(error))
        if found is None:
            raise
        raise found from error


_PRINTED = re.compile(
    r"hudini\.errors\.(?P<kind>\w+): (?P<message>.*?) \[(?P<code>HUDINI-\d{3})\]"
    r"(?P<fields>(?:\n  (?:path|instant|offset|hint|caused by): .*)*)",
    re.DOTALL,
)
_FIELD = re.compile(r"\n  (path|instant|offset|hint|caused by): (.*)")


def _causes(error: BaseException) -> list[BaseException]:
    chain: list[BaseException] = []
    seen = {id(error)}
    cause = error.__cause__
    while cause is not None and id(cause) not in seen:
        chain.append(cause)
        seen.add(id(cause))
        # A hudini error prints the rest of the chain itself, one line each is enough here.
        cause = cause.__cause__
    return chain


def _one_line(error: BaseException) -> str:
    if isinstance(error, HudiniError):
        return f"{type(error).__name__}: {error.message} [{error.code}]"
    # Other libraries put whole stack traces into a message; its first line says what happened.
    text = str(error).strip().partition("\n")[0].rstrip()
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _rebuild(cls: type[HudiniError], message: str) -> HudiniError:
    return cls(message)


def _portable_state(error: HudiniError) -> dict[str, object]:
    state: dict[str, object] = dict(error.__dict__)
    if error.__cause__ is not None:
        state["__cause__"] = _portable_cause(error.__cause__)
    return state


def _portable_cause(cause: BaseException) -> BaseException:
    """The cause itself if it survives pickling, else its text: many exceptions of other libraries do not."""
    import pickle

    try:
        pickle.loads(pickle.dumps(cause))
    except Exception:
        return RuntimeError(_one_line(cause))
    return cause
