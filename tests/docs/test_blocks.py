"""Runs every example of the README and the docs, and follows their links."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

from .blocks import blocks, without_blocks

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINKED = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def may_run_spark() -> bool:
    """CI must run all blocks: there a missing Java shows as a failure."""
    return "CI" in os.environ or subprocess.run([ROOT / "tools" / "need_java.sh"], check=False).returncode == 0


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_example_runs(
    page: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    # One that outlives the test: Spark's Java, and the workers that it starts for other pages, stay where they began.
    folder = tmp_path_factory.mktemp("page")
    monkeypatch.chdir(folder)
    # What an activated environment gives a reader: Spark's workers run the Python that has hudini.
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    names: dict[str, Any] = {"__name__": "__main__"}
    try:
        for block in blocks(page):
            if "spark" in block.flags and not may_run_spark():
                warnings.warn(f"{name(page)}:{block.line} needs Java and was left out", stacklevel=1)
                continue
            block.run(names, folder)
    finally:
        if "spark" in names:
            names["spark"].stop()


def headings(page: Path) -> set[str]:
    """The anchors of a page, as its readers' sites make them."""
    titles = re.findall(r"^#+ +(.*?) *$", without_blocks(page.read_text(encoding="utf-8")), re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def dead_links(page: Path, text: str) -> list[str]:
    """The links of a page whose file or heading is not there."""
    dead = []
    prose = re.sub(r"`[^`\n]*`", "", without_blocks(text))
    for link in re.findall(r"\]\(([^)\s]+)\)", prose):
        if re.match(r"[a-z]+:", link):
            continue  # the network is another test's business
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in headings(target)):
            dead.append(link)
    return dead


@pytest.mark.parametrize("page", LINKED, ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    assert dead_links(page, page.read_text(encoding="utf-8")) == []


# ---- the runner itself ----

PAGE = """\
# A Page

```python
shared = 1
```

- in a list:

  ```python
  assert shared == 1
  open("made", "w").write(str(shared))
  ```

```python no-run
raise AssertionError("only read")
```

```console
$ hudini --version
hudini 0.1.0
$ hudini \\
    --help
```

```sql
select 1
```
"""


def run(text: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    names: dict = {}
    for block in blocks(Path("page.md"), text):
        block.run(names, folder)


def test_blocks_share_names_and_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(PAGE, tmp_path, monkeypatch)
    assert (tmp_path / "made").read_text() == "1"


def test_only_what_can_be_run_is_taken() -> None:
    found = [(b.language, b.line) for b in blocks(Path("page.md"), PAGE)]
    assert found == [("python", 4), ("python", 10), ("console", 19)]


def test_a_failing_example_names_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        run("text\n\n```python\nx = 1\n1 / 0\n```\n", tmp_path, monkeypatch)
    assert caught.traceback[-1].lineno + 1 == 5


def test_a_failing_command_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AssertionError, match="exit code 2"):
        run("```console\n$ hudini no-such-verb\n```\n", tmp_path, monkeypatch)


def test_a_mistyped_flag_is_an_error() -> None:
    with pytest.raises(ValueError, match="norun"):
        list(blocks(Path("page.md"), "```python norun\n```\n"))


def test_dead_links_are_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# The `one` title\n\n[a](page.md) [b](nowhere.md) [c](#the-one-title) [d](page.md#none)\n"
        "`[e](code.md)` [f](https://x.example)\n\n```text\n[g](block.md)\n```\n"
    )
    assert dead_links(page, page.read_text()) == ["nowhere.md", "page.md#none"]
