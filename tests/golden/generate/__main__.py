"""The command `python -m tests.golden.generate [CASE ...]`: makes the cases named, or all, anew."""

from __future__ import annotations

import argparse
import gzip
import io
import itertools
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.golden import listing
from tests.interop.oracle import install

from . import case, player

ROOT = Path(__file__).resolve().parents[3]
CASES = listing.CASES


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.golden.generate", description=__doc__)
    parser.add_argument("case", nargs="*", help="a case; without one, all cases of the generator")
    parser.add_argument("--list", action="store_true", help="name the cases and make none")
    parser.add_argument("--out", type=Path, default=CASES, help="the folder that holds the cases")
    parser.add_argument(
        "--work", type=Path, help="work here instead of in a temporary folder, and go on from what is there"
    )
    chosen = parser.parse_args()
    cases = case.load()
    if chosen.list:
        print("\n".join(cases))
        return 0
    unknown = set(chosen.case) - set(cases)
    if unknown:
        parser.error(f"no such case: {', '.join(sorted(unknown))}")
    with tempfile.TemporaryDirectory(prefix="golden-") as temporary:
        work = chosen.work or Path(temporary)
        failed = make([cases[name] for name in chosen.case or cases], work.resolve(), chosen.out)
    if chosen.out == CASES:
        listing.update()
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def make(cases: list[case.Case], work: Path, out: Path) -> list[str]:
    """Plays the cases, one JVM at a time, and packs each that comes to its end; the names of those that do not."""
    pending, failed = {chosen.name: chosen for chosen in cases}, []
    for name, chosen in pending.items():
        begin(chosen, work / name)
    while pending:
        turns = {name: remaining(chosen, work / name) for name, chosen in pending.items()}
        # The release that most cases wait for has the next turn; what is at its end already needs none.
        waiting = [left[0] for left in turns.values() if left] or [case.JUDGE]
        release = max(set(waiting), key=lambda candidate: (waiting.count(candidate), candidate))
        names = [name for name, left in turns.items() if left[:1] == [release]]
        done = [name for name, left in turns.items() if not left]
        for name in itertools.chain(done, play(release, names, work) if names else ()):
            left = remaining(pending[name], work / name)
            if not left:
                pack(pending.pop(name), work / name, out / name)
            elif left == turns[name]:
                failed.append(name)
                del pending[name]
    return failed


def begin(chosen: case.Case, folder: Path) -> None:
    """Keeps what an earlier run in this folder came to, unless a writing step broke off in the middle of it."""
    kept = folder / "state.json"
    whole = kept.exists() and json.loads(kept.read_text())["step"] == len(chosen.steps)
    if not whole and (not kept.exists() or (folder / "failure.txt").exists()):
        shutil.rmtree(folder, ignore_errors=True)


def remaining(chosen: case.Case, folder: Path) -> list[str]:
    """The releases whose turns are still to come."""
    kept = folder / "state.json"
    return chosen.releases[json.loads(kept.read_text())["turns"] if kept.exists() else 0 :]


def play(release: str, names: list[str], work: Path) -> Iterator[str]:
    """One session of one release; the names as it comes to their ends. Its chatter goes to a file."""
    installation = install.ensure(release)
    work.mkdir(parents=True, exist_ok=True)
    command = [installation.python, "-m", "tests.golden.generate.player", release, installation.jar, work, *names]
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("SPARK_", "PYSPARK_", "PYTHON"))}
    environment = kept | {
        "PYTHONPATH": str(ROOT),
        "PYSPARK_PYTHON": str(installation.python),
        "PYSPARK_DRIVER_PYTHON": str(installation.python),
        "TZ": "UTC",
    }
    told: list[str] = []
    with (work / f"spark-{release}.log").open("a") as log:
        process = subprocess.Popen(
            [str(part) for part in command], cwd=work, env=environment, stderr=subprocess.PIPE, stdout=log, text=True
        )
        for line in process.stderr or ():
            log.write(line)
            if line.startswith(player.MARK):
                print(line.removeprefix(player.MARK), end="", file=sys.stderr)
                told.append(line.removeprefix(player.MARK).split()[1].rstrip(":"))
                yield told[-1]
        process.wait()
    yield from (name for name in names if name not in told)


def pack(chosen: case.Case, folder: Path, target: Path) -> None:
    """The finished case, as the runner wants it."""
    state = json.loads((folder / "state.json").read_text())
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    extras = {key: state[key] for key in ("read_conf", "failed_write", "remarks") if key in state}
    inside = state["inside"]
    facts: dict[str, Any] = {
        "name": chosen.name,
        "written_by": "+".join(dict.fromkeys(release for release, _ in chosen.steps)),
        "table_version": inside.pop("table_version"),
        "table_type": inside.pop("table_type"),
        "features": list(chosen.features),
        "notes": [chosen.note],
        "generated_by": "tests.golden.generate",
        **extras,
        "reads": state["reads"],
        **inside,
    }
    # Messages of errors name the folder of this run.
    text = json.dumps(facts, indent=1, ensure_ascii=False).replace(str(folder), "{folder}")
    (target / "case.json").write_text(text + "\n")
    shutil.copytree(folder / "expected", target / "expected")
    names = ["table", *(["bootstrap_source"] if (folder / "bootstrap_source").exists() else [])]
    (target / "table.tar.gz").write_bytes(tarball(folder, names))


def tarball(folder: Path, names: list[str]) -> bytes:
    """The folders, in the order of names and owned by nobody; Hadoop's checksum files stay out."""

    def plain(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
        name = Path(member.name).name
        if name.startswith(".") and name.endswith(".crc"):
            return None
        member.uid = member.gid = 0
        member.uname = member.gname = ""
        member.mode = 0o755 if member.isdir() else 0o644
        return member

    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name in names:
            archive.add(folder / name, name, filter=plain)
    return gzip.compress(raw.getvalue(), compresslevel=9, mtime=0)


sys.exit(main())
