"""Runs inside Apache Hudi's environment: plays what one release can play of the cases named.

Arguments: the release, its bundle jar, the work folder, then names of cases. Each case keeps its table, its answers and
`state.json` in `<work folder>/<case>`; a case that fails is marked there and leaves the others alone.
"""

from __future__ import annotations

import json
import sys
import time
import traceback
from pathlib import Path
from typing import Any

from tests.interop.oracle.worker import open_session

from . import answers, case
from .table import Table

# What the player itself says begins with this; everything else is Spark's.
MARK = "golden: "


def play(spark: Any, release: str, chosen: case.Case, folder: Path) -> None:
    """Every step in a row that is this release's, then the answers that it owes."""
    kept = folder / "state.json"
    state = json.loads(kept.read_text()) if kept.exists() else {"step": 0, "turns": 0}
    folder.mkdir(parents=True, exist_ok=True)
    table = Table(spark, release, chosen.name, folder, state)
    before = state["step"]
    while state["step"] < len(chosen.steps) and chosen.steps[state["step"]][0] == release:
        chosen.steps[state["step"]][1](table)
        state["step"] += 1
    if state["step"] == len(chosen.steps):
        with table.settings(state.get("read_conf", {})):
            for read in state["reads"]:
                answers.record(table, read)
        if release == case.JUDGE:
            state["inside"] = answers.inside(table)
    # The judge's turn after the last step, too, is one of `Case.releases`.
    state["turns"] += state["step"] - before or 1
    kept.write_text(json.dumps(state, indent=1))


def main() -> None:
    release, jar, work, *names = sys.argv[1:]
    cases = case.load()
    spark = open_session(jar)
    for name in names:
        started, failure = time.monotonic(), Path(work) / name / "failure.txt"
        try:
            play(spark, release, cases[name], Path(work) / name)
            said = f"{time.monotonic() - started:.0f} s"
            failure.unlink(missing_ok=True)
        except Exception:
            failure.write_text(traceback.format_exc())
            said = f"failed, see {failure}"
        print(f"{MARK}{release} {name}: {said}", file=sys.stderr, flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
