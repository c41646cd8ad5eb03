"""Writers that are killed in the middle of a commit; afterwards all of a batch may be seen, or nothing of it."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa

import hudini
from tests.support.compare import difference
from tests.support.rows import Model

from .writing import Writer, batches

# More commits than a writer comes to before it is killed.
ENDLESS = 50


def files_below(folder: Path) -> set[str]:
    """All files, temporary ones among them; files may vanish while we look."""
    return {os.path.join(parent, name) for parent, _, names in os.walk(folder) for name in names}


def crash(path: Path, number: int, first: int, new_files: int, model: Model) -> None:
    """Runs a writer and kills it once so many new files were seen after its first commit came back.

    Counting files places the kill in every stage of a commit, without a clock. The model takes what was acknowledged,
    and the batch in doubt if the table shows it whole.
    """
    writer = Writer(path, number, ENDLESS, first)
    try:
        writer.go()
        writer.first_acknowledgement()
        before = files_below(path)
        seen: set[str] = set()
        while len(seen) < new_files:
            writer.assert_alive()
            seen |= files_below(path) - before
        writer.assert_alive()
        writer.kill()
        done = 1 + writer.acknowledged()
    finally:
        writer.close()
    planned = batches(number, ENDLESS, first)
    for batch in planned[:done]:
        model.upsert(batch)
    if mismatch(path, model) is not None:
        model.upsert(planned[done])
    problem = mismatch(path, model)
    assert problem is None, f"writer {number}, killed after {done} commits and {new_files} files: {problem}"


def mismatch(path: Path, model: Model) -> str | None:
    """What sets the table apart from the model, None if nothing does."""
    expected = model.expected()
    return difference(pa.table(hudini.open(str(path)).read()).select(expected.column_names), expected)
