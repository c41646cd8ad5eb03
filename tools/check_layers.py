"""Checks the rules of the house that no compiler knows: floors, file sizes, leftovers, machine paths, tests unplayed.

Reads the files that git tracks or would track, prints a line for each breach, and exits 1 if there is one.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent

# Each crate, and the crates of the house that it may use: only floors below its own.
FLOORS: Mapping[str, frozenset[str]] = {
    "hudini-format": frozenset(),
    "hudini-table": frozenset({"hudini-format"}),
    "hudini-python": frozenset({"hudini-format", "hudini-table"}),
    "hudini-fuzz": frozenset({"hudini-format"}),
}
# Foreign crates that belong to some floors only.
RESERVED: Mapping[str, frozenset[str]] = {
    "pyo3": frozenset({"hudini-python"}),
    "object_store": frozenset({"hudini-table"}),
    "rayon": frozenset({"hudini-table"}),
    "tempfile": frozenset({"hudini-table"}),
    "tokio": frozenset({"hudini-table"}),
}

# What the lowest floor must not reach for, as a path (`std::fs::read`) or in a group (`use std::{fs, io}`).
AMBIENT = re.compile(
    r"\bstd::(?:fs|net|thread|process|env)\b"
    r"|\bstd::\{[^;]*?\b(?:fs|net|thread|process|env)\b"
    r"|\bstd::time::(?:\{[^}]*?)?\b(?:SystemTime|Instant)\b"
)
# `NotImplementedError` may be the parent of an error class, but nobody raises it.
LEFTOVER = re.compile(r"\b(?:TODO|FIXME|XXX)\b|\braise NotImplementedError\b|\b(?:todo|unimplemented)!")
MACHINE_PATH = re.compile(r"(?<![\w.$}~-])/(?:work|root)/")
TEMPORARY_PATH = re.compile(r"(?<![\w.$}~-])/(?:tmp)\b")

LONGEST = 600
SOURCES = re.compile(r"(?:rust/\w+/src|python)/.*\.(?:rs|py)")
# The folder of a crate's tests, and the name of a file in it.
TESTS_OF_CRATE = re.compile(r"(rust/\w+/tests/)(\w+)\.rs")
TESTS = re.compile(r"(?:^|/)tests(?:/|\.rs$)|^rust/.*_tests\.rs$")
# Not our words: a licence, a lock file, tables that Apache Hudi wrote.
NOT_OURS = re.compile(r"^(?:LICENSE|Cargo\.lock|tests/golden/cases/.*)$")


def dependency_breaches(packages: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """What is wrong in the `packages` of `cargo metadata --no-deps`."""
    for package in packages:
        name = package["name"]
        if name not in FLOORS:
            yield f"{name}: a crate without a floor; give it one in {Path(__file__).name}"
            continue
        for dependency in sorted({d["name"] for d in package["dependencies"] if d["kind"] != "dev"}):
            if dependency in FLOORS and dependency not in FLOORS[name]:
                yield f"{name}: depends on {dependency}, which is not below it"
            if name not in RESERVED.get(dependency, {name}):
                yield f"{name}: depends on {dependency}, which belongs to {', '.join(sorted(RESERVED[dependency]))}"


def file_breaches(path: str, text: str) -> Iterator[str]:
    """What is wrong in one file; `path` is relative to the checkout and has forward slashes."""
    if NOT_OURS.search(path):
        return
    of_tests = TESTS.search(path) is not None
    if SOURCES.fullmatch(path) and not of_tests:
        if (lines := text.count("\n")) > LONGEST:
            yield f"{path}: {lines} lines, more than {LONGEST}: maybe two rooms in one"
        yield from _found(path, text, LEFTOVER, "left over")
    if path.startswith("rust/format/src/") and not of_tests:
        yield from _found(path, _without_test_module(text), AMBIENT, "the format floor has no I/O, clock or threads")
    yield from _found(path, text, MACHINE_PATH, "a path of one machine")
    if not of_tests:
        yield from _found(path, text, TEMPORARY_PATH, "a path of one machine")


def forgotten_tests(files: Mapping[str, str]) -> Iterator[str]:
    """The tests in Rust that are in none of `files`' programs: a crate's `tests/main.rs` names all that are played."""
    for match in filter(None, map(TESTS_OF_CRATE.fullmatch, files)):
        naming = f"\nmod {match[2]};\n"
        program = files.get(f"{match[1]}main.rs", naming)  # without it, each file is a program of its own
        if match[2] != "main" and naming not in program:
            yield f"{match[0]}: never played, for {match[1]}main.rs does not name it"


def _without_test_module(text: str) -> str:
    """Unit tests stand last in a file and may do what the code above them may not."""
    return re.split(r"^#\[cfg\(test\)\]\s*mod tests \{", text, maxsplit=1, flags=re.MULTILINE)[0]


def _found(path: str, text: str, pattern: re.Pattern[str], why: str) -> Iterator[str]:
    for match in pattern.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        yield f"{path}:{line}: {match.group().strip()}: {why}"


def _files() -> Iterator[tuple[str, str]]:
    listing = _output("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    for path in sorted(filter(None, listing.split("\0"))):
        try:
            yield path, (ROOT / path).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # binary
        except FileNotFoundError:
            continue  # removed, and git not told yet


def _output(*command: str) -> str:
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def main() -> int:
    metadata = json.loads(_output("cargo", "metadata", "--format-version", "1", "--no-deps"))
    breaches = list(dependency_breaches(metadata["packages"]))
    files = dict(_files())
    for path, text in files.items():
        breaches.extend(file_breaches(path, text))
    breaches.extend(forgotten_tests(files))
    for breach in breaches:
        print(breach)
    print(f"layers: {len(breaches)} breaches in {len(files)} files")
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
