"""Long reads: Ctrl-C ends them soon and leaves no thread behind; progress is told while they go on."""

from __future__ import annotations

import contextlib
import gc
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pyarrow as pa
import pytest

import hudini

CHECKOUT = Path(__file__).resolve().parents[2]
SCHEMA = {"id": "string not null", "ts": "long not null", "text": "string"}
BUCKETS = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "4"}
CALLS = ["to_arrow", "batches", "capsule", "count", "verify", "polars"]
# A read that is not ended takes longer than anybody waits.
DEADLINE = 60


def filled(path: Path, table_type: str) -> hudini.Table:
    table = hudini.create(path, SCHEMA, record_key="id", ordering="ts", table_type=table_type, options=BUCKETS)
    for ts, step in ((1, 1), (2, 2)):
        ids = range(0, 60_000, step)
        rows = {"id": [f"k{n:06}" for n in ids], "ts": [ts] * len(ids), "text": [f"text {n}" for n in ids]}
        table.upsert(pa.table(rows))
    return table


@pytest.fixture(scope="module", params=["cow", "mor"])
def table(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> hudini.Table:
    return filled(tmp_path_factory.mktemp("long") / request.param, request.param)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("call", CALLS)
def test_ctrl_c_ends_a_read(call: str, threads: int, table: hudini.Table) -> None:
    """The child reads again and again, so that the signal comes in the middle of a read whatever the machine."""
    interrupt("tests.python.test_long_reads", call, str(threads), table.path)


def interrupt(module: str, *arguments: str) -> None:
    """Runs a scene in a process of its own, and sends Ctrl-C once it is at work."""
    child = subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        cwd=CHECKOUT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "at work\n"
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=DEADLINE)
    assert (out, child.returncode) == ("interrupted\n", 0), err


def scene(call: str, threads: int, path: str) -> None:
    """Reads until it is interrupted, and then looks whether a thread of hudini is left."""
    table = hudini.open(path, threads=threads)
    calls = {
        "to_arrow": lambda: table.read().to_arrow(),
        "batches": lambda: list(table.read()),
        "capsule": lambda: pa.table(table.read()),
        "count": lambda: table.read().count(),
        "verify": lambda: table.verify(deep=True),
        "polars": lambda: table.read().to_polars(),
    }
    calls[call]()
    try:
        print("at work", flush=True)
        while True:
            calls[call]()
    except BaseException as error:
        # Who takes the bare stream may raise an error of its own, with the text of ours.
        assert isinstance(error, KeyboardInterrupt) or (call == "capsule" and "interrupted" in str(error)), error
        assert threads_of_hudini() == []
        # What of the signal is still to come, comes now.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        print("interrupted", flush=True)


def threads_of_hudini() -> list[str]:
    """Those that stay. Linux lists a thread for a moment after it was joined."""
    patience = time.monotonic() + 2
    while (names := threads_listed()) and time.monotonic() < patience:
        time.sleep(0.01)
    return names


def threads_listed() -> list[str]:
    names = []
    for comm in Path("/proc/self/task").glob("*/comm"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            names.append(comm.read_text())
    return [name for name in names if name.startswith("hudini")]


@pytest.mark.parametrize("call", ["to_arrow", "to_batches", "to_pandas", "to_polars"])
def test_progress_is_told(call: str, table: hudini.Table) -> None:
    told: list[hudini.Progress] = []
    getattr(table.read(), call)(progress=told.append)
    last = told[-1]
    assert (last.done, last.total, last.rows) == (4, 4, 60_000)
    assert last.bytes > 0
    assert last.seconds >= 0


def test_progress_of_counting_and_verifying(table: hudini.Table) -> None:
    told: list[hudini.Progress] = []
    assert table.read().count(progress=told.append) == 60_000
    assert (told[-1].done, told[-1].total) == (4, 4)
    table.verify(deep=True, progress=told.append)
    assert told[-1].done == told[-1].total > 4


@pytest.mark.parametrize("call", ["to_arrow", "count", "verify"])
def test_what_the_listener_raises_ends_the_call(call: str, table: hudini.Table) -> None:
    def refuse(progress: hudini.Progress) -> None:
        raise LookupError("enough")

    target = table if call == "verify" else table.read()
    with pytest.raises(LookupError, match="enough"):
        getattr(target, call)(progress=refuse)
    assert threads_of_hudini() == []


def test_the_listener_may_read(table: hudini.Table) -> None:
    """pyarrow lets go of the GIL while it takes rows, here in the midst of a call."""
    counted: list[int] = []

    def read(progress: hudini.Progress) -> None:
        counted.append(pa.table(table.read()).num_rows)
        table.read().to_arrow(progress=lambda _: None)

    table.read().count(progress=read)
    assert set(counted) == {60_000}


def test_streams_may_be_let_go_while_the_listener_runs(table: hudini.Table) -> None:
    """The garbage collector runs in the midst of a call, and pyarrow lets go of the GIL to end a stream."""

    def leave_a_stream() -> None:
        stream = table.read()._watched(lambda *_: None)
        reader = pa.RecordBatchReader._import_from_c_capsule(stream.__arrow_c_stream__())
        reader.read_next_batch()
        cycle: list[object] = [reader]
        cycle.append(cycle)

    collected: list[int] = []
    for _ in range(8):
        leave_a_stream()
        table.verify(deep=True, progress=lambda _: collected.append(gc.collect()))
    assert sum(collected) > 0
    assert threads_of_hudini() == []


def test_explain_tells_of_a_run(table: hudini.Table) -> None:
    plan = table.read().explain()
    assert "ran" not in plan
    assert list(plan["seconds"]) == ["timeline", "listing", "pruning"]
    assert all(0 <= seconds < 60 for seconds in plan["seconds"].values())
    ran = table.read().explain(run=True)["ran"]
    assert ran["rows"] == 60_000
    assert ran["bytes"] > 0
    assert list(ran["stages"]) == ["survey", "logs", "base_files", "merging"]
    assert 0 < sum(ran["stages"].values()) < 60
    logged = 4 if table.table_type == "mor" else 0
    assert ran["log_blocks"] == ran["merged_by_position"] + ran["merged_by_key"] == logged
    assert ran["log_blocks_by_kind"] == ({"avro": logged} if logged else {})
    assert ran["corrupt_log_blocks"] == 0


def test_a_bar_is_for_terminals(table: hudini.Table, capsys: pytest.CaptureFixture[str]) -> None:
    table.read().to_arrow(progress=True)
    assert capsys.readouterr().err == ""


def test_an_abandoned_stream_leaves_no_thread(table: hudini.Table) -> None:
    reader = table.read(batch_size=100).reader()
    reader.read_next_batch()
    del reader
    assert threads_of_hudini() == []
    limited = table.read(limit=3).to_arrow()
    assert limited.num_rows == 3
    assert threads_of_hudini() == []


def test_a_read_on_another_thread_is_whole(table: hudini.Table) -> None:
    found: list[int] = []
    reader = threading.Thread(target=lambda: found.append(table.read().to_arrow().num_rows))
    reader.start()
    reader.join()
    assert found == [60_000]


if __name__ == "__main__":
    # Whoever runs the tests in the background may have it ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    scene(sys.argv[1], int(sys.argv[2]), sys.argv[3])
