"""The catalogue of the golden tables, CATALOGUE.md, as it follows from the cases: `python -m tests.golden.listing`."""

from __future__ import annotations

import json
from pathlib import Path

HERE = Path(__file__).parent
CASES = HERE / "cases"
CATALOGUE = HERE / "CATALOGUE.md"
# What all golden tables together may take in a checkout.
BUDGET = 25 * 1024 * 1024

HEAD = """# The golden tables, and what each is for

Made from `cases/*/case.json` by `python -m tests.golden.listing`; README.md says how to read a case.
A case that `generate/` can make again has a star.

{tables} tables, {questions} questions.

| case | written by | version | type | features | questions | what it is for |
|---|---|---|---|---|---|---|
"""


def text() -> str:
    """The catalogue as it should be."""
    cases = [json.loads(file.read_text()) for file in sorted(CASES.glob("*/case.json"))]
    questions = sum(len(case["reads"]) for case in cases)
    return HEAD.format(tables=len(cases), questions=questions) + "".join(map(_row, cases))


def _row(case: dict) -> str:
    kind = {"COPY_ON_WRITE": "COW", "MERGE_ON_READ": "MOR"}[case["table_type"]]
    star = "*" if "generated_by" in case else ""
    cells = [case["name"] + star, case["written_by"], case["table_version"], kind, ", ".join(case["features"])]
    note = case["notes"][0].replace("|", "\\|")
    return f"| {' | '.join(map(str, cells))} | {len(case['reads'])} | {note} |\n"


def size() -> int:
    """Bytes of all files of all cases."""
    return sum(file.stat().st_size for file in CASES.rglob("*") if file.is_file())


def update() -> None:
    CATALOGUE.write_text(text())


if __name__ == "__main__":
    update()
