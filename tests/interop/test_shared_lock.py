"""Apache Hudi and hudini write one table at the same time, kept apart by the lock file that both ask for."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

import hudini
from tests.support.rows import CITIES, Model, Row, Rows, to_arrow

from .apache import INDEX, Apache, Layout
from .engines import Local, create
from .oracle import Oracle, OracleError
from .scenes import holds

pytestmark = pytest.mark.interop

LOCK = {
    "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider",
}
# Apache Hudi waits five seconds between two looks at the lock unless it is told otherwise.
IMPATIENT = {
    "hoodie.write.lock.client.wait_time_ms_between_retry": "100",
    "hoodie.write.lock.client.num_retries": "600",
}
KEYS = 40
THEIR_COMMITS = 4
# Of keys that both write: so many of ours in each of theirs.
OURS_BESIDE_EACH = 3


class Crowd:
    """The writers of one table, and what they were told was committed."""

    def __init__(self, oracle: Oracle, path: Path, table_type: str) -> None:
        self.layout = Layout(table_type, partitioned=True)
        self.path = path
        create(path, self.layout)
        self.model = Model(partitioned=True)
        self.apache = Apache(oracle, path, self.layout, {**INDEX, **LOCK, **IMPATIENT})
        self.commits = 0
        self._rows = Rows(seed=11)
        # Of two that both began before any commit Apache Hudi refuses the later one if its schema is not the very same,
        # down to what may be null.
        first = self.batch(list(range(KEYS)))
        self.ours(first)
        self.model.upsert(first)

    def batch(self, numbers: list[int]) -> list[Row]:
        """A newer version of these keys than any before."""
        self.commits += 1
        return self._rows.batch(numbers, ts=1000 + self.commits)

    def ours(self, rows: list[Row]) -> None:
        # Apache Hudi fails where an instant is archived that it has just listed, whoever archives it.
        options = {**LOCK, "hoodie.table.services.enabled": "false"}
        hudini.open(self.path).upsert(to_arrow(rows), options=options)

    def is_whole(self) -> None:
        holds(self.model, self.apache, Local(self.path))
        table = hudini.open(self.path)
        assert [found for found in table.verify(deep=True).findings if found.level == "damage"] == []
        assert not (self.path / ".hoodie" / "lock").exists()


@pytest.fixture(params=["cow", "mor"])
def crowd(request: pytest.FixtureRequest, oracle: Oracle, tmp_path: Path) -> Crowd:
    return Crowd(oracle, tmp_path / "table", request.param)


def in_city(city: str) -> list[int]:
    return [number for number in range(KEYS) if CITIES[number % len(CITIES)] == city]


def test_no_commit_of_either_is_lost(crowd: Crowd) -> None:
    theirs = [crowd.batch(in_city("sf")) for _ in range(THEIR_COMMITS)]
    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(lambda: [crowd.apache.upsert(rows) for rows in theirs])
        while not writing.done():
            rows = crowd.batch(in_city("ny"))
            crowd.ours(rows)
            crowd.model.upsert(rows)
        writing.result()
    for rows in theirs:
        crowd.model.upsert(rows)
    assert crowd.commits > 2 * THEIR_COMMITS, "hudini wrote while Apache Hudi did"
    crowd.is_whole()


def test_of_two_that_write_the_same_file_groups_one_gives_way(crowd: Crowd) -> None:
    def committed(writing: Future[None]) -> bool:
        try:
            writing.result()
        except OracleError as refused:
            assert "Conflict" in str(refused), refused
            return False
        return True

    everything = list(range(KEYS))
    for _ in range(THEIR_COMMITS):
        theirs = crowd.batch(everything)
        with ThreadPoolExecutor(1) as pool:
            writing = pool.submit(crowd.apache.upsert, theirs)
            for _ in range(OURS_BESIDE_EACH):
                rows = crowd.batch(everything)
                crowd.ours(rows)
                crowd.model.upsert(rows)
        if committed(writing):
            crowd.model.upsert(theirs)
        crowd.is_whole()
