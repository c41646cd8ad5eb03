"""Verbs that open one file of a table: log, hfile, instant."""

from __future__ import annotations

import json as codec
from collections.abc import Callable, Iterable, Iterator
from typing import Annotated, Any, Protocol

import typer

from hudini import _core
from hudini.actions import human_bytes
from hudini.cli.opening import Storage, storage_options
from hudini.cli.output import Json, counted, note, plain_text, record_text, table_text, write_lines
from hudini.errors import HudiniError

File = Annotated[str, typer.Argument(metavar="FILE", help="The file: a path or an object-store URL.")]
Limit = Annotated[
    int | None,
    typer.Option("--limit", "-n", min=0, help="At most so many records a block; 10 unless --json, which gives all."),
]

SHOWN = 10
# A schema has thousands of characters. A person wants to know that it is there; --json gives all of it.
WIDEST = 120


def log(file: File, limit: Limit = None, storage: Storage = None, json: Json = False) -> None:
    """The blocks of a log file: offsets, headers, records; damage and where it is."""
    shown = _JsonPieces(many=True) if json else _LogForPeople()
    _show(shown, lambda emit: _core.inspect_log(file, storage_options(storage), _limit(limit, json), emit))


def hfile(
    file: File,
    key: Annotated[str | None, typer.Option("--key", help="Only the entry of this key.")] = None,
    prefix: Annotated[str | None, typer.Option("--prefix", help="Only entries whose keys start so.")] = None,
    limit: Annotated[
        int | None,
        typer.Option("--limit", "-n", min=0, help="At most so many entries; 10 unless --json, which gives all."),
    ] = None,
    storage: Storage = None,
    json: Json = False,
) -> None:
    """An HFile: its trailer, blocks and info, and its entries."""
    if key is not None and prefix is not None:
        raise typer.BadParameter("--key and --prefix exclude each other")
    shown = _JsonPieces(many=False) if json else _HfileForPeople()
    options = storage_options(storage)
    _show(shown, lambda emit: _core.inspect_hfile(file, options, key, prefix, _limit(limit, json), emit))


def instant(file: File, storage: Storage = None, json: Json = False) -> None:
    """What a file of the timeline says: any action in any state, active or archived."""
    found = _core.inspect_instant(file, storage_options(storage))
    if json:
        write_lines([found])
        return
    head = codec.loads(found)
    content = head.pop("content")
    write_lines([*record_text(head).splitlines(), ""])
    write_lines([codec.dumps(content, ensure_ascii=False, indent=2) if content is not None else "(empty)"])


class _Pieces(Protocol):
    """Makes lines of the pieces of a file, which come in the order of the file."""

    def block(self, head: dict[str, Any]) -> Iterable[str]: ...
    def records(self, records: list[str]) -> Iterable[str]: ...
    def end(self, outcome: dict[str, Any]) -> Iterable[str]: ...
    def damaged(self, stretch: dict[str, Any]) -> Iterable[str]: ...

    def over(self, error: HudiniError | None) -> Iterable[str]:
        """Behind the last piece."""


def _show(pieces: _Pieces, inspect: Callable[[Callable[[str, str], None]], None]) -> None:
    def emit(kind: str, text: str) -> None:
        # By nothing but the line feed: a text inside may have other ends of lines in it.
        write_lines(getattr(pieces, kind)(text.split("\n") if kind == "records" else codec.loads(text)))

    try:
        inspect(emit)
    except HudiniError as error:
        write_lines(pieces.over(error))
        raise
    write_lines(pieces.over(None))


class _JsonPieces:
    """An array with all blocks, or the one block as an object. It is whole even where the file is not."""

    def __init__(self, many: bool) -> None:
        self.many = many
        self.before = "[" if many else ""
        self.inside = ""

    def _item(self, text: str) -> str:
        before, self.before = self.before, ","
        return before + text

    def block(self, head: dict[str, Any]) -> Iterator[str]:
        self.inside = ""
        yield self._item(codec.dumps(head, ensure_ascii=False)[:-1] + ', "records": [')

    def records(self, records: list[str]) -> Iterator[str]:
        for record in records:
            yield self.inside + record
            self.inside = ","

    def end(self, outcome: dict[str, Any]) -> Iterator[str]:
        yield f'], "count": {outcome["count"]}, "error": {codec.dumps(outcome["error"], ensure_ascii=False)}}}'

    def damaged(self, stretch: dict[str, Any]) -> Iterator[str]:
        yield self._item(codec.dumps({"offset": stretch["from"], "kind": "damaged", "end": stretch["to"]}))

    def over(self, error: HudiniError | None) -> Iterator[str]:
        if self.many:
            if error is not None:
                failed = {"offset": error.offset, "kind": "error", "error": {"message": str(error), "code": error.code}}
                yield self._item(codec.dumps(failed, ensure_ascii=False))
            yield "[]" if self.before == "[" else "]"


class _LogForPeople:
    def __init__(self) -> None:
        self.blocks = self.total = self.damages = self.shown = 0

    def block(self, head: dict[str, Any]) -> Iterator[str]:
        self.blocks += 1
        self.shown = 0
        size = human_bytes(head["content_length"])
        yield f"offset {head['offset']}: {head['kind']} block, {size} of content at {head['content_offset']}"
        headers = {name: _short(value) for name, value in head["headers"].items()}
        if head["positions"] is not None:
            headers["positions"] = plain_text(head["positions"])
        yield from _indented(record_text(headers).splitlines())

    def records(self, records: list[str]) -> Iterator[str]:
        self.shown += len(records)
        return _indented(records)

    def end(self, outcome: dict[str, Any]) -> Iterator[str]:
        count, error = outcome["count"], outcome["error"]
        self.total += count
        if count > self.shown:
            yield f"  … {count - self.shown} more"
        if error is not None:
            self.damages += 1
            yield f"  damaged: {error['message']}"
        yield ""

    def damaged(self, stretch: dict[str, Any]) -> Iterator[str]:
        self.damages += 1
        yield f"offset {stretch['from']}: damaged up to {stretch['to']}, passed over"
        yield ""

    def over(self, error: HudiniError | None) -> Iterator[str]:
        damages = f", {counted(self.damages, 'damage')}" if self.damages else ""
        if error is None or self.blocks:
            note(f"{counted(self.blocks, 'block')}, {counted(self.total, 'record')}{damages}")
        return iter(())


class _HfileForPeople:
    def __init__(self) -> None:
        self.entries = 0

    def block(self, head: dict[str, Any]) -> Iterator[str]:
        self.entries = head["entries"]
        info, blocks, meta = head.pop("info"), head.pop("blocks"), head.pop("meta_blocks")
        yield from record_text(head).splitlines()
        for title, places in (("data block", blocks), ("meta block", meta)):
            rows = [{title: place["offset"], "bytes": place["length"], "from": place["first_key"]} for place in places]
            if rows:
                yield ""
                yield from table_text(rows[:SHOWN], [title, "bytes", "from"]).splitlines()
            if len(rows) > SHOWN:
                yield f"… {len(rows) - SHOWN} more"
        yield ""
        yield from record_text({name: _short(value) for name, value in info.items()}).splitlines()
        yield ""

    def records(self, records: list[str]) -> Iterator[str]:
        for record in records:
            entry = codec.loads(record)
            value = entry["value"]
            if isinstance(value, dict):
                # Records of the metadata table are null but for the one thing that they tell.
                value = {name: member for name, member in value.items() if member is not None}
            yield f"{entry['key']}  {plain_text(value)}"

    def end(self, outcome: dict[str, Any]) -> Iterator[str]:
        note(f"{outcome['count']} of {counted(self.entries, 'entry', 'entries')} shown")
        return iter(())

    def damaged(self, stretch: dict[str, Any]) -> Iterator[str]:
        return iter(())

    def over(self, error: HudiniError | None) -> Iterator[str]:
        return iter(())


def _limit(limit: int | None, json: bool) -> int | None:
    return SHOWN if limit is None and not json else limit


def _indented(lines: Iterable[str]) -> Iterator[str]:
    return (f"  {line}" for line in lines)


def _short(value: Any) -> str:
    text = plain_text(value)
    return text if len(text) <= WIDEST else f"{text[:WIDEST]}… ({len(text)} characters)"
