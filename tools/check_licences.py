"""Checks that every crate hudini links has a licence and a source that deny.toml allows, without asking the network.

A licence is an SPDX expression: `AND` needs both sides, `OR` one of them, `WITH` makes one licence of a licence and its
exception. Old crates write `/` for `OR`.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent


def is_allowed(expression: str, allowed: Collection[str]) -> bool:
    """Whether the terms of an SPDX expression can be met with the `allowed` licences alone."""
    return _Terms(expression, allowed).met()


class _Terms:
    """Recursive descent over `or := and (OR and)*; and := one (AND one)*; one := '(' or ')' | id [WITH id]`."""

    def __init__(self, expression: str, allowed: Collection[str]) -> None:
        self.expression = expression
        self.allowed = allowed
        self.words = re.findall(r"[()]|[\w.+:-]+|\S", expression.replace("/", " OR "))
        self.words.reverse()  # the next word is the last of the list

    def met(self) -> bool:
        result = self._any()
        if self.words:
            raise self._malformed()
        return result

    def _any(self) -> bool:
        result = self._all()
        while self._take("OR"):
            result = self._all() or result
        return result

    def _all(self) -> bool:
        result = self._one()
        while self._take("AND"):
            result = self._one() and result
        return result

    def _one(self) -> bool:
        if self._take("("):
            result = self._any()
            if not self._take(")"):
                raise self._malformed()
            return result
        licence = self._identifier()
        if self._take("WITH"):
            licence = f"{licence} WITH {self._identifier()}"
        return licence in self.allowed

    def _identifier(self) -> str:
        if not self.words or not re.fullmatch(r"[\w.+:-]+", self.words[-1]) or self.words[-1] in {"AND", "OR", "WITH"}:
            raise self._malformed()
        return self.words.pop()

    def _take(self, word: str) -> bool:
        if self.words and self.words[-1] == word:
            self.words.pop()
            return True
        return False

    def _malformed(self) -> ValueError:
        return ValueError(f"not an SPDX expression: {self.expression!r}")


def breaches(
    packages: Iterable[Mapping[str, Any]], allowed: Collection[str], registries: Collection[str]
) -> Iterator[str]:
    """What is wrong in the `packages` of `cargo metadata`."""
    sources = {f"registry+{registry}" for registry in registries}
    for package in packages:
        name = f"{package['name']} {package['version']}"
        source = package["source"]
        # A crate of the workspace has no source.
        if source is not None and source not in sources:
            yield f"{name}: comes from {source}"
        licence = package["license"]
        try:
            if not licence:
                yield f"{name}: names no licence"
            elif not is_allowed(licence, allowed):
                yield f"{name}: {licence} is not allowed"
        except ValueError as error:
            yield f"{name}: {error}"


def main() -> int:
    rules = tomllib.loads((ROOT / "deny.toml").read_text(encoding="utf-8"))
    command = ["cargo", "metadata", "--format-version", "1", "--locked"]
    listing = subprocess.run(command, cwd=ROOT, check=False, stdout=subprocess.PIPE)
    if listing.returncode != 0:
        return 1  # cargo has said why, most often that Cargo.lock is behind a Cargo.toml
    packages = json.loads(listing.stdout)["packages"]
    found = list(breaches(packages, rules["licenses"]["allow"], rules["sources"]["allow-registry"]))
    for breach in found:
        print(breach)
    print(f"licences: {len(found)} breaches in {len(packages)} crates")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
