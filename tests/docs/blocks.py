"""The fenced blocks of a Markdown page that a reader would type in, and how to run them.

    ```python          runs; the blocks of one page share their names, like one session
    ```python spark    the same, but needs Java
    ```python no-run   is only read
    ```console         each line `$ hudini …` runs, with the lines that a trailing `\\` asks for, and must succeed

Blocks run in page order in one folder, so that a command may show the table that the code above it made.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_FENCED = re.compile(
    r"^(?P<indent> *)(?P<fence>```+)(?P<info>[^`\n]*)\n(?P<body>.*?)^(?P=indent)(?P=fence) *$", re.M | re.S
)
_COMMAND = re.compile(r"^\$ (hudini\b(?:.*\\\n)*.*)$", re.M)
_FLAGS = {"python": {"spark", "no-run"}, "console": {"no-run"}}


@dataclass(frozen=True)
class Block:
    """One block that can be run: where it stands, in what language, and what it says."""

    page: Path
    line: int
    language: str
    flags: frozenset[str]
    body: str

    def run(self, names: dict[str, Any], folder: Path) -> None:
        """Runs the block in `folder`, which must be the current one; raises if anything fails."""
        if self.language == "python":
            # Blank lines before the code make tracebacks name the line of the page.
            source = "\n" * (self.line - 1) + self.body
            exec(compile(source, str(self.page), "exec"), names)
        else:
            for command in _COMMAND.findall(self.body):
                self._command(command, folder)

    def _command(self, command: str, folder: Path) -> None:
        beside_python = str(Path(sys.executable).parent)
        path = os.pathsep.join([beside_python, os.environ.get("PATH", "")])
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=folder,
            env={**os.environ, "PATH": path},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise AssertionError(f"{self.page}:{self.line}: $ {command}\nexit code {done.returncode}\n{done.stdout}")


def blocks(page: Path, text: str | None = None) -> Iterator[Block]:
    """The blocks of a page that can be run, in order. A flag that is none of ours is an error: a slip of the pen."""
    text = page.read_text(encoding="utf-8") if text is None else text
    for match in _FENCED.finditer(text):
        language, *flags = match["info"].split() or [""]
        if language not in _FLAGS:
            continue
        line = text.count("\n", 0, match.start("body")) + 1
        if unknown := set(flags) - _FLAGS[language]:
            raise ValueError(f"{page}:{line}: {language} blocks know no flag {', '.join(sorted(unknown))}")
        if "no-run" not in flags:
            yield Block(page, line, language, frozenset(flags), textwrap.dedent(match["body"]))


def without_blocks(text: str) -> str:
    """The prose of a page: what is left without its fenced blocks."""
    return _FENCED.sub("", text)
