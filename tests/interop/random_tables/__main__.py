"""`python -m tests.interop.random_tables`: random tables until something disagrees, or the plans in files again."""

from __future__ import annotations

import argparse
import random
import sys
import time
from pathlib import Path

from . import hunt
from .plan import Plan


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.interop.random_tables", description=__doc__)
    parser.add_argument("plan", nargs="*", type=Path, help="files with plans as a failing run printed them")
    parser.add_argument("--tables", type=int, default=20, help="how many tables to draw if no plan is named")
    parser.add_argument("--seed", type=int, help="of the draw; another one each time by default")
    parser.add_argument("--widely", action="store_true", help="draw more releases of Apache Hudi, some of them in turn")
    parser.add_argument("--reduce", action="store_true", help="leave out of a bad plan what it does not need")
    parser.add_argument("--keep", type=Path, help="a folder for bad plans")
    parser.add_argument("--work", type=Path, help="a folder, empty or new, where the tables stay")
    chosen = parser.parse_args()
    bad = 0
    with hunt.ground(chosen.work) as ground:

        def visit(plan: Plan) -> None:
            nonlocal bad
            began = time.monotonic()
            outcome = ground.play(plan)
            print(f"---- {time.monotonic() - began:.0f} s\n{outcome}", flush=True)
            if outcome.verdict.problems:
                bad += 1
                keep(plan, f"{plan.writer}-{bad}")

        def keep(plan: Plan, name: str) -> None:
            if chosen.keep:
                chosen.keep.mkdir(parents=True, exist_ok=True)
                (chosen.keep / f"{name}.json").write_text(plan.to_json())

        for file in chosen.plan:
            plan = Plan.from_json(file.read_text())
            if chosen.reduce:
                plan = hunt.reduce(plan, lambda each: bool(ground.play(each).verdict.problems))
            visit(plan)
        if not chosen.plan:
            seed = chosen.seed if chosen.seed is not None else random.randrange(1 << 32)
            print(f"seed {seed}", flush=True)
            for plan in hunt.drawn(chosen.tables, seed, widely=chosen.widely):
                visit(plan)
    return 1 if bad else 0


sys.exit(main())
