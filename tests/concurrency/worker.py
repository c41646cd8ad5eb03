"""The processes of a crowd: a writer, one that runs the services, and one that reads.

    python -m tests.concurrency.worker write    <table> <options> <seed> <writer> <first> <commits>
    python -m tests.concurrency.worker services <table> <options>
    python -m tests.concurrency.worker read     <table> <options>

Each says `{"ready": true}` and waits for a line. A writer then says `{"acknowledged": n}` after each commit that has
come back, or `{"conflict": n}` when it lost to others too often and does it again. The other two go
on until their input ends. What was a warning after a commit is told as well.
"""

from __future__ import annotations

import itertools
import json
import select
import sys
import time
import warnings
from collections import Counter
from typing import Any, TextIO

import hudini

from .workload import OWN_ROWS, commits

PAUSE_SECONDS = 0.05

# What keeps a table of each type small.
SERVICES = {"cow": ("clean", "archive"), "mor": ("compact", "clean", "archive")}


def say(**message: Any) -> None:
    print(json.dumps(message), flush=True)


def ready() -> None:
    say(ready=True)
    sys.stdin.readline()


def write(path: str, options: dict[str, str], seed: int, writer: int, first: int, count: int) -> None:
    planned = [(commit, commit.arrow) for commit in commits(seed, writer, first, count)]
    ready()
    for commit, rows in planned:
        while True:
            start = time.monotonic()
            try:
                table = hudini.open(path, options=options)
                result = getattr(table, commit.operation)(rows)
            except hudini.CommitConflict as error:
                say(conflict=commit.number, message=str(error))
            else:
                seconds = time.monotonic() - start
                say(acknowledged=commit.number, instant=result.instant, seconds=seconds, warnings=result.warnings)
                break


def services(path: str, options: dict[str, str]) -> None:
    ready()
    for name in itertools.cycle(SERVICES[hudini.open(path).table_type]):
        if has_ended(sys.stdin):
            return
        try:
            getattr(hudini.open(path, options=options).services, name)()
        except hudini.CommitConflict as error:
            say(conflict=name, message=str(error))
        else:
            say(served=name)


def read(path: str, options: dict[str, str]) -> None:
    """Whenever one looks, each key is there once, and of each commit all rows or none."""
    ready()
    while not has_ended(sys.stdin):
        try:
            keys = hudini.open(path, options=options).read(columns=["id"], meta=False).to_arrow()["id"].to_pylist()
        except hudini.InstantCleaned as error:
            say(cleaned=True, message=str(error))  # so short a time are files kept here
            continue
        assert len(set(keys)) == len(keys), [key for key, count in Counter(keys).items() if count > 1]
        own = Counter(key.rpartition("-")[0] for key in keys if key.startswith("own-"))
        halves = {commit: count for commit, count in own.items() if count < OWN_ROWS - 1}
        assert not halves, halves
        say(read=len(keys))


def has_ended(stream: TextIO) -> bool:
    """An input that has ended is readable. The wait leaves the machine to the writers."""
    return bool(select.select([stream], [], [], PAUSE_SECONDS)[0])


def main() -> None:
    warnings.simplefilter("ignore")  # they are told with the result
    role, path, options, *numbers = sys.argv[1:]
    given = json.loads(options)
    if role == "write":
        write(path, given, *map(int, numbers))
    else:
        {"services": services, "read": read}[role](path, given)


if __name__ == "__main__":
    main()
