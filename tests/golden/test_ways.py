"""The rows of an answer do not depend on the way it is read: batch size, threads, metadata table, other processes.

`test_golden` asks every question once, in the plain way; here each is asked in all the others.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product, repeat
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pytest

import hudini

from . import catalogue

PROCESSES = 2
FEW_ROWS = 2
# From too little for the keys of changed rows to more than golden tables need: between these, rows go to disk.
MEMORY = [0, 4_000, 8_000, 16_000, 64_000]


class Way(NamedTuple):
    """How a scan is read within one process."""

    batch_size: int | None
    threads: int
    metadata: bool


BATCH_SIZES = (1, 1000, 65536)
METADATA = (True, False)
WAYS = [Way(*way) for way in product(BATCH_SIZES, (1, 2), METADATA)]


class Pieces(NamedTuple):
    """How a scan is read by other processes: how large its splits are, and their batches."""

    target: int | None
    batch_size: int
    metadata: bool


# A split for each slice, and as few as there may be.
PIECES = [Pieces(*how, metadata) for how in ((1, 1), (1, 1000), (None, 65536)) for metadata in METADATA]


def questions() -> dict[str, list[catalogue.Read]]:
    """The questions that have a right answer and are answered by a scan, by their case."""
    found: dict[str, list[catalogue.Read]] = {}
    for read in catalogue.reads():
        if read.facts["query"] != "metadata" and str(read) not in catalogue.not_yet():
            found.setdefault(read.case, []).append(read)
    return found


@pytest.fixture(scope="module")
def processes() -> Iterator[ProcessPoolExecutor]:
    """Processes that share nothing with this one: they get a split as bytes and give its rows."""
    with ProcessPoolExecutor(PROCESSES, mp_context=get_context("spawn")) as pool:
        yield pool


def rows_of(pickled: bytes, batch_size: int) -> list[pa.RecordBatch]:
    """What a worker does."""
    return hudini.read_split(pickle.loads(pickled), batch_size=batch_size).to_batches()


def in_this_process(read: catalogue.Read, path: Path, way: Way) -> pa.Table:
    size = way.batch_size if read.takes_batch_size else None
    scan = read.ask(path, listing(way.metadata), way.threads, **({"batch_size": size} if size else {}))
    # Changes are looked for in folders.
    is_used = way.metadata and read.case in catalogue.with_metadata_table() and read.facts["query"] != "cdc"
    assert scan.explain()["listing"] == ("metadata table" if is_used else "storage")
    return scan.to_arrow()


def listing(metadata: bool) -> dict[str, str]:
    return {"hoodie.metadata.enable": str(metadata).lower()}


def in_others(read: catalogue.Read, path: Path, pieces: Pieces, pool: ProcessPoolExecutor) -> pa.Table:
    scan = read.ask(path, listing(pieces.metadata))
    splits = map(pickle.dumps, scan.splits(pieces.target))
    read_ones = pool.map(rows_of, splits, repeat(pieces.batch_size))
    return pa.Table.from_batches([batch for one in read_ones for batch in one], pa.schema(scan.schema))


class Judge:
    """Says whether rows are a right answer. Most come exactly as they came before, which is quickly seen."""

    def __init__(self, read: catalogue.Read) -> None:
        self._read, self._right = read, list[pa.Table]()

    def holds(self, ask: Callable[[], pa.Table], way: object) -> None:
        if self._read.wants_error:
            with pytest.raises(self._read.error):
                ask()
            return
        rows = ask()
        if any(rows.equals(known) for known in self._right):
            return
        problem = self._read.problem(rows)
        assert problem is None, f"{self._read}, {way}:\n{problem}"
        self._right.append(rows)


@pytest.mark.parametrize("case", questions())
def test_no_way_of_reading_changes_an_answer(case: str, processes: ProcessPoolExecutor, tmp_path: Path) -> None:
    path = catalogue.unpack(case, tmp_path)
    for read in questions()[case]:
        judge = Judge(read)
        ways = WAYS if read.takes_batch_size else {way._replace(batch_size=None) for way in WAYS}
        for way in ways:
            judge.holds(partial(in_this_process, read, path, way), way)
        for pieces in PIECES:
            judge.holds(partial(in_others, read, path, pieces, processes), pieces)


@pytest.mark.parametrize("case", questions())
def test_no_batch_is_larger_than_asked_for(case: str, tmp_path: Path) -> None:
    path = catalogue.unpack(case, tmp_path)
    for read in questions()[case]:
        if read.wants_error:
            continue
        for split in read.ask(path).splits():
            assert all(batch.num_rows <= FEW_ROWS for batch in hudini.read_split(split, batch_size=FEW_ROWS)), read


@pytest.mark.parametrize("case", questions())
def test_no_memory_limit_changes_an_answer(case: str, tmp_path: Path) -> None:
    path = catalogue.unpack(case, tmp_path)
    for read in questions()[case]:
        judge = Judge(read)
        for limit in MEMORY:
            options = {"hoodie.memory.merge.max.size": str(limit)}
            try:
                judge.holds(lambda options=options: read.ask(path, options, 1).to_arrow(), options)  # noqa: B023
            except hudini.MemoryLimit:
                assert limit < max(MEMORY), read
