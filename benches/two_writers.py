"""Two real processes write to one copy-on-write table at the same time: how many of the acknowledged rows are there?

    python benches/two_writers.py [--commits 20] [--rows 1000] [--peer PROGRAM]

Both bring rows with keys of their own, all into the same file group, so each commit has to build upon the other one's
last. A commit that is refused is done again and counts once. hudini counts the rows of either table.

A peer is a program that does the same; without `--peer` it is left out. It is called as

    PROGRAM two-writers TABLE WRITER COMMITS ROWS

twice at the same time, as writer 0 and writer 1, on a table that is there and empty: key `id` (string), ordering `ts`
(long), `payload` (string), no partitions, no buckets. It prints a line `ready`, waits for a line on its standard input,
and then upserts COMMITS times ROWS rows with the ids `WRITER-COMMIT-ROW`, ts = COMMIT; it prints a line `acknowledged`
whenever a commit has come back well, and does again what was refused. This very file is hudini's peer.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import hudini

SCHEMA = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("ts", pa.int64(), nullable=False),
        pa.field("payload", pa.string()),
    ]
)
WRITERS = 2
READY, ACKNOWLEDGED = "ready", "acknowledged"
OURSELVES = [sys.executable, str(Path(__file__).resolve())]


def rows(writer: int, commit: int, count: int) -> pa.Table:
    ids = [f"{writer}-{commit}-{row}" for row in range(count)]
    return pa.table([ids, [commit] * count, [f"payload of {key}" for key in ids]], schema=SCHEMA)


def write(path: str, writer: int, commits: int, count: int) -> None:
    """The peer's part."""
    batches = [rows(writer, commit, count) for commit in range(commits)]
    print(READY, flush=True)
    sys.stdin.readline()
    for batch in batches:
        while True:
            try:
                hudini.open(path).upsert(batch)
            except hudini.CommitConflict:
                continue
            break
        print(ACKNOWLEDGED, flush=True)


def race(program: list[str], path: Path, commits: int, count: int) -> dict[str, object]:
    """Lets two of them write, and counts."""
    hudini.create(path, SCHEMA, "id", "ts", options={"hoodie.index.type": "SIMPLE"})
    numbers = [str(commits), str(count)]
    writers = [
        subprocess.Popen(
            [*program, "two-writers", str(path), str(writer), *numbers],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for writer in range(WRITERS)
    ]
    for writer in writers:
        if writer.stdout.readline().strip() != READY:
            raise SystemExit(f"{program[0]} did not get {READY}")
    start = time.perf_counter()
    for writer in writers:
        writer.stdin.write("go\n")
        writer.stdin.flush()
    told = [writer.communicate()[0].split() for writer in writers]
    seconds = time.perf_counter() - start
    acknowledged = sum(words.count(ACKNOWLEDGED) for words in told) * count
    keys, is_whole = keys_of(path)
    return {
        "failed": sum(writer.returncode != 0 for writer in writers),
        "rows acknowledged": acknowledged,
        "rows there": len(keys),
        "lost": max(acknowledged - len(keys), 0),
        "readable": "yes" if is_whole else "no, a file of the newest state is gone",
        "s": f"{seconds:.1f}",
    }


def keys_of(path: Path) -> tuple[set[str], bool]:
    """The keys in the newest state, and whether that can be read; if not, those in any file that is there."""
    try:
        return set(hudini.open(path).read(columns=["id"], meta=False).to_arrow()["id"].to_pylist()), True
    except hudini.StorageFailure:
        files = path.glob("*.parquet")
        return {key for file in files for key in pq.read_table(file, columns=["id"])["id"].to_pylist()}, False


def main() -> None:
    if sys.argv[1:2] == ["two-writers"]:
        path, *numbers = sys.argv[2:]
        return write(path, *map(int, numbers))
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--commits", type=int, default=20, help="of each writer")
    parser.add_argument("--rows", type=int, default=1000, help="of each commit")
    parser.add_argument("--peer", type=Path, help="another engine's program")
    given = parser.parse_args()
    programs = {"hudini": OURSELVES} | ({given.peer.name: [str(given.peer)]} if given.peer else {})
    lost = {}
    with tempfile.TemporaryDirectory(prefix="two-writers-") as folder:
        for name, program in programs.items():
            found = race(program, Path(folder) / name, given.commits, given.rows)
            print(f"{name:12}", ", ".join(f"{what}: {value}" for what, value in found.items()), flush=True)
            lost[name] = found["lost"] or found["failed"]
    if given.peer is None:
        print("no --peer given: nothing to compare with")
    sys.exit(1 if lost["hudini"] else 0)


if __name__ == "__main__":
    main()
