"""Every file that Apache Hudi wrote can be looked into: log files, HFiles, timeline files, properties, base files."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hudini import HudiniError, _core

from . import catalogue

INSTANT = re.compile(r"\d{14,17}(_\d{17})?\.")
# Markers, heartbeats, rings of buckets: nothing that the command line opens.
OTHERS = re.compile(r"/\.(temp|heartbeat|bucket_index)/")
# Made by changing what Apache Hudi wrote: what it says of them is in the case's notes.
DAMAGED = {
    name
    for name, facts in catalogue.facts().items()
    if name.startswith("refuse_") or "damage" in " ".join(facts["features"])
}


def pieces(inspect: Callable[..., None], file: Path, *arguments: Any) -> list[tuple[str, Any]]:
    """What a file shows, by kind."""
    found: list[tuple[str, Any]] = []

    def emit(kind: str, text: str) -> None:
        values = [json.loads(line) for line in text.split("\n")] if kind == "records" else json.loads(text)
        found.append((kind, values))

    inspect(str(file), {}, *arguments, emit)
    return found


def shown(found: list[tuple[str, Any]]) -> int:
    return sum(len(values) for kind, values in found if kind == "records")


def counted(found: list[tuple[str, Any]]) -> int:
    return sum(outcome["count"] for kind, outcome in found if kind == "end")


def check_log(file: Path) -> None:
    found = pieces(_core.inspect_log, file, None)
    assert [kind for kind, _ in found if kind == "damaged"] == []
    assert [outcome["error"] for kind, outcome in found if kind == "end" and outcome["error"]] == []
    assert shown(found) == counted(found)


def check_hfile(file: Path) -> None:
    found = pieces(_core.inspect_hfile, file, None, None, None)
    head = found[0][1]
    assert shown(found) == counted(found) == head["entries"]
    first = next((values[0]["key"] for kind, values in found if kind == "records"), None)
    if first is not None:
        assert shown(pieces(_core.inspect_hfile, file, first, None, None)) >= 1


def check_instant(file: Path) -> None:
    found = json.loads(_core.inspect_instant(str(file), {}))
    assert found["file"] != "unknown"
    if file.stat().st_size:
        assert found["content"] is not None


def check_properties(file: Path) -> None:
    files = json.loads(_core.inspect_properties(str(file.parent.parent), {}))
    assert [found["error"] for found in files] == [None] * len(files)


def checks(folder: Path) -> Iterator[tuple[Callable[[Path], None], Path]]:
    for file in sorted(folder.rglob("*")):
        name, place = file.name, file.relative_to(folder).as_posix()
        if not file.is_file() or name.endswith(".crc") or OTHERS.search(place):
            continue
        if ".log." in name or name.startswith(".commits_.archive."):
            yield check_log, file
        if name.startswith((".commits_.archive.", "manifest_", "_version_")) or INSTANT.match(name):
            yield check_instant, file
        if "/history/" in place and name.endswith(".parquet"):
            yield check_instant, file
        if name.endswith(".hfile"):
            yield check_hfile, file
        if name == "hoodie.properties":
            yield check_properties, file


@pytest.mark.parametrize("case", sorted(catalogue.facts()))
def test_every_file_shows_what_it_holds(case: str, tmp_path: Path) -> None:
    looked = 0
    for check, file in checks(catalogue.unpack(case, tmp_path)):
        try:
            check(file)
        except (AssertionError, HudiniError) as error:
            if case not in DAMAGED:
                raise AssertionError(f"{file}: {error}") from error
            continue
        looked += 1
    assert looked > 1
