"""One read of a table from Python, timed, with hudini or with the wheel of hudi-rs: `reading_python.py LIBRARY TABLE`.

Takes what hudini's example `read` takes, and prints what it prints. Streamed, hudini is the only package imported.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import time
from collections.abc import Callable
from typing import Any


class ArrowArray(ctypes.Structure):
    """A batch, as Arrow's C data interface lays it out."""


Release = ctypes.CFUNCTYPE(None, ctypes.POINTER(ArrowArray))
ArrowArray._fields_ = [
    *((name, ctypes.c_int64) for name in ("length", "null_count", "offset", "n_buffers", "n_children")),
    *((name, ctypes.c_void_p) for name in ("buffers", "children", "dictionary")),
    ("release", Release),
    ("private_data", ctypes.c_void_p),
]


class ArrowArrayStream(ctypes.Structure):
    _fields_ = (
        ("get_schema", ctypes.c_void_p),
        ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ArrowArray))),
    )


def rows_let_go(stream: Any) -> int:
    """Takes the batches of an Arrow stream one by one and lets each go, as a consumer in C would."""
    capsule = stream.__arrow_c_stream__()
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    address = pointer(capsule, b"arrow_array_stream")
    get_next, rows = ArrowArrayStream.from_address(address).get_next, 0
    while True:
        batch = ArrowArray()
        if get_next(address, ctypes.byref(batch)):
            raise RuntimeError("the stream failed")
        if not batch.release:
            return rows
        rows += batch.length
        batch.release(ctypes.byref(batch))


Answer = tuple[int, list[Any]]


def with_hudini(chosen: argparse.Namespace) -> Callable[[], Answer]:
    import hudini

    def read() -> Answer:
        options = dict(option.split("=", 1) for option in chosen.option)
        scan = hudini.open(chosen.table, options=options, threads=chosen.threads).read(columns=chosen.columns)
        if chosen.count:
            return scan.count(), []
        if chosen.streamed:
            return rows_let_go(scan), []
        batches = scan.to_batches()
        return sum(batch.num_rows for batch in batches), batches

    if not (chosen.count or chosen.streamed):
        import pyarrow  # noqa: F401  (so that its import is not in the time)
    return read


def with_hudi(chosen: argparse.Namespace) -> Callable[[], Answer]:
    from hudi import HudiReadOptions, HudiTable

    def read() -> Answer:
        options = HudiReadOptions(projection=chosen.columns) if chosen.columns else None
        batches = HudiTable(chosen.table).read(options)
        return sum(batch.num_rows for batch in batches), batches

    return read


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library", choices=["hudini", "hudi"])
    parser.add_argument("table")
    parser.add_argument("--columns", type=lambda text: text.split(","))
    parser.add_argument("--option", action="append", default=[])
    parser.add_argument("--threads", type=int)
    parser.add_argument("--count", action="store_true")
    parser.add_argument("--streamed", action="store_true")
    parser.add_argument("--out")
    chosen = parser.parse_args()
    read = (with_hudini if chosen.library == "hudini" else with_hudi)(chosen)
    started, before = time.perf_counter(), time.process_time()
    rows, batches = read()
    cpu, wall = time.process_time() - before, time.perf_counter() - started
    print(json.dumps({"rows": rows, "cpu": cpu, "wall": wall}), flush=True)
    if chosen.out:
        import pyarrow as pa

        with pa.ipc.new_file(chosen.out, batches[0].schema) as file:
            for batch in batches:
                file.write_batch(batch)


if __name__ == "__main__":
    main()
