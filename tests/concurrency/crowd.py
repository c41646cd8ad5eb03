"""Many processes on one table: writers and services, some paused, some killed and replaced, and one that reads."""

from __future__ import annotations

import json
import queue
import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import hudini
from tests.support.compare import difference

from .processes import Inbox, Process, Said
from .worker import SERVICES
from .workload import MOST_WRITERS, SCHEMA, Commit, Expected, commits, is_done

MODULE = "tests.concurrency.worker"
BUCKETS = 2

# A writer is silent for longer than its heartbeat allows.
PATIENCE_SECONDS = 1.0
HEARTBEAT = {
    "hoodie.client.heartbeat.interval_in_ms": f"{PATIENCE_SECONDS * 1000:.0f}",
    "hoodie.client.heartbeat.tolerable.misses": "1",
}
PAUSE_SECONDS = 2.5

# What a writer is warned of that was silent for so long within the compaction after its write, as a paused one may be:
# the write stands, and the plan is there for the next one. Nobody is who was quicker than that.
OUT_OF_TIME = "the compaction after the write failed: this compaction was taken for dead"

# So small that each service has something to do all the time.
SMALL_LIMITS = {
    "hoodie.clean.commits.retained": "2",
    "hoodie.keep.min.commits": "4",
    "hoodie.keep.max.commits": "6",
    "hoodie.compact.inline": "true",
    "hoodie.compact.inline.max.delta.commits": "3",
    "hoodie.metadata.compact.max.delta.commits": "4",
    "hoodie.timeline.compaction.batch.size": "3",
}

# So soon after a killed writer somebody commits who began after that, whoever is stopped just then.
MENDED_SECONDS = 10.0

# How often services are killed after something that they did.
SERVICES_DIE = 0.1

# A writer that is to be killed does not come to its end before that.
ENDLESS = 50

# Nobody has to wait for so long, whatever becomes of the others; longer than a test may take means: it hangs.
LONGEST_SILENCE = 120.0


@dataclass(frozen=True)
class Scene:
    """Who does what to which table."""

    seed: int
    writers: int
    commits: int
    table_type: str
    index: str
    """`bucket`, `simple`, `bloom`, or `record_index`, which is a part of the metadata table."""
    metadata: bool
    kills: int = 0
    pauses: int = 0
    version: int = 9

    def __str__(self) -> str:
        metadata = "metadata" if self.metadata else "plain"
        kind = f"{self.table_type}-v{self.version}-{self.index}-{metadata}"
        return f"{self.writers}x{self.commits}-{kind}-{self.seed}"

    @property
    def options(self) -> dict[str, str]:
        metadata = {"hoodie.metadata.enable": str(self.metadata).lower()}
        return {**HEARTBEAT, **SMALL_LIMITS, **self._index, **metadata}

    @property
    def beside(self) -> list[str]:
        """What goes on beside the writers, by what is said of it."""
        return [*SERVICES[self.table_type], "read"]

    @property
    def _index(self) -> dict[str, str]:
        return {"hoodie.index.type": self.index.upper()}

    def create(self, path: Path) -> None:
        index = self._index
        if self.index == "bucket":
            index["hoodie.bucket.index.num.buckets"] = str(BUCKETS)
        hudini.create(path, SCHEMA, "id", "ts", "part", self.table_type, table_version=self.version, options=index)


@dataclass
class Writer:
    """A writer and what came back to it."""

    process: Process
    number: int
    first: int
    count: int
    kill_after: int | None = None
    pause_after: int | None = None
    acknowledged: int = 0
    killed: bool = False
    ended: bool = False

    def planned(self, seed: int) -> list[Commit]:
        return list(commits(seed, self.number, self.first, self.count))


class Crowd:
    """Plays a scene. Afterwards `writers` tell what came back, `told` counts what else was said."""

    def __init__(self, scene: Scene, path: Path) -> None:
        self.scene = scene
        self.path = path
        self.writers: list[Writer] = []
        self.told: Counter[str] = Counter()
        self.warnings: list[str] = []
        self.mended: list[float] = []
        self._chance = random.Random(str(scene))
        self._inbox: Inbox = queue.Queue()
        self._processes: list[Process] = []
        self._timetable: list[tuple[float, Callable[[], None]]] = []
        self._kills = self._service_kills = scene.kills
        self._beside: dict[str, Process] = {}
        self._killed_at: float | None = None

    def play(self) -> None:
        """Until every writer has come to its end."""
        self.scene.create(self.path)
        try:
            for role in ("services", "read"):
                self._beside[role] = self._start(role, role)
            for _ in range(self.scene.writers):
                self._hire(first=0)
            for writer in self._chance.sample(self.writers, self.scene.pauses):
                writer.pause_after = self._chance.randrange(1, max(2, self.scene.commits // 2))
            for _ in self._processes:
                process, said = self._inbox.get(timeout=LONGEST_SILENCE)
                assert said == {"ready": True}, f"{process}: {said}\n{process.complaint()}"
            for process in self._processes:
                process.go()
            while not all(writer.ended for writer in self.writers):
                self._step()
            self._see_the_others_through()
            self._timetable.clear()
            for process in self._beside.values():
                process.hush()
                assert process.exit_code == 0, f"{process}: {process.complaint()}"
        finally:
            for process in self._processes:
                process.close()

    def _see_the_others_through(self) -> None:
        """On a busy machine a few commits are made before a service that conflicts, or was killed, has come to its end
        once: whoever stands in nobody's way is waited for."""
        deadline = time.monotonic() + LONGEST_SILENCE
        while missing := [name for name in self.scene.beside if not self.told[name]]:
            assert time.monotonic() < deadline, f"{missing} never came to an end: {self.told}"
            self._step()

    def _start(self, name: str, role: str, *numbers: int) -> Process:
        process = Process(self._inbox, name, MODULE, role, self.path, json.dumps(self.scene.options), *numbers)
        self._processes.append(process)
        return process

    def _hire(self, first: int) -> None:
        number, count, kill_after = len(self.writers), max(self.scene.commits - first, 1), None
        if self._kills:
            self._kills -= 1
            kill_after = self._chance.randrange(1, max(count, 2))
            count += ENDLESS
        process = self._start(f"writer {number}", "write", self.scene.seed, number, first, count)
        self.writers.append(Writer(process, number, first, count, kill_after))

    def _step(self) -> None:
        """Waits for the next thing that is said or due."""
        self._timetable.sort(key=lambda entry: entry[0])
        wait = self._timetable[0][0] - time.monotonic() if self._timetable else LONGEST_SILENCE
        if wait <= 0:
            self._timetable.pop(0)[1]()
            return
        try:
            process, said = self._inbox.get(timeout=wait)
        except queue.Empty:
            assert self._timetable, f"nobody has said anything for {LONGEST_SILENCE} s"
            return
        writer = next((writer for writer in self.writers if writer.process is process), None)
        if said is None:
            self._has_ended(process, writer)
        elif said == {"ready": True}:
            process.go()  # a writer that came later
        elif "acknowledged" in said and writer is not None:
            self._has_committed(writer, said)
        else:
            self.told.update(said.get("served", name) for name in said if name != "message")
            if "served" in said and self._service_kills and self._chance.random() < SERVICES_DIE:
                self._service_kills -= 1
                self._at(self._soon(), self._replace_services)

    def _has_committed(self, writer: Writer, said: Said) -> None:
        assert said["acknowledged"] == writer.first + writer.acknowledged, f"{writer.process}: {said}"
        writer.acknowledged += 1
        now = time.monotonic()
        if self._killed_at is not None and said["seconds"] < now - self._killed_at:
            self.mended.append(now - self._killed_at)
            self._killed_at = None
        may_be_out_of_time = said["seconds"] > PATIENCE_SECONDS
        self.warnings += [w for w in said["warnings"] if not (may_be_out_of_time and w.startswith(OUT_OF_TIME))]
        soon = self._soon()
        if writer.acknowledged == writer.pause_after:
            self._at(soon, writer.process.pause)
            self._at(soon + PAUSE_SECONDS, writer.process.go_on)
        if writer.acknowledged == writer.kill_after:
            self._at(soon, lambda: self._kill(writer))

    def _soon(self) -> float:
        """Anywhere within what the process does next, or the thing after it."""
        return self._chance.uniform(0.0, 0.3)

    def _at(self, seconds: float, action: Callable[[], None]) -> None:
        self._timetable.append((time.monotonic() + seconds, action))

    def _kill(self, writer: Writer) -> None:
        if not writer.ended:
            writer.killed = True
            writer.process.kill()
            self._killed_at = self._killed_at or time.monotonic()

    def _replace_services(self) -> None:
        killed = self._beside["services"]
        self._beside["services"] = self._start("services", "services")
        killed.kill()
        self.told["services killed"] += 1

    def _has_ended(self, process: Process, writer: Writer | None) -> None:
        assert process not in self._beside.values(), f"{process} ended by itself: {process.complaint()}"
        if writer is None:
            return  # services that were killed
        writer.ended = True
        if writer.acknowledged == writer.count:
            return
        assert writer.killed, f"{process} ended after {writer.acknowledged} commits: {process.complaint()}"
        self.told["killed"] += 1
        self._hire(writer.first + writer.acknowledged)


def expected(crowd: Crowd, keys: set[str]) -> tuple[Expected, int]:
    """The rows that must be there, and by how many commits: those acknowledged, and those that a killed writer could
    not tell of and that are there, by the keys of the table."""
    rows, count = Expected(), 0
    for writer in crowd.writers:
        planned = writer.planned(crowd.scene.seed)
        in_doubt = planned[writer.acknowledged : writer.acknowledged + 1] if writer.killed else []
        done = planned[: writer.acknowledged] + [commit for commit in in_doubt if is_done(commit, keys)]
        count += len(done)
        for commit in done:
            rows.take(commit)
    return rows, count


def check(crowd: Crowd) -> None:
    """Nothing acknowledged is lost, nothing is there twice, and the table is whole for the next one."""
    table = hudini.open(str(crowd.path), options=crowd.scene.options)
    # Whoever comes next finds nothing in the way, and leaves nothing of the dead behind.
    [last] = commits(crowd.scene.seed, MOST_WRITERS - 1, 0, 1)
    table.upsert(last.arrow)

    found = table.read(columns=SCHEMA.names, meta=False).to_arrow()
    rows, count = expected(crowd, set(found["id"].to_pylist()))
    rows.take(last)
    problem = difference(found, rows.arrow())
    assert problem is None, f"{problem}\n{table.inspect.timeline(archived=True)}"

    timeline = table.inspect.timeline(archived=True)
    written = [row["requested"] for row in timeline if row["operation"] in ("upsert", "insert", "delete")]
    assert len(set(written)) == len(written) == count + 1
    pending = [row for row in timeline if row["state"] != "completed"]
    assert pending == []
    report = table.verify(deep=True)
    assert report.ok and not report.findings, str(report)
