"""One write from Python, timed: `writing_python.py LIBRARY TABLE --operation O [--rows FILE] [--create TYPE]`.

Takes what hudini's example `write` takes, and prints what it prints. `--operation read` puts the table's rows into
`--out`. Each library has its own environment at hand, so it is imported when it is asked for.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

Work = Callable[[], Any]


def with_hudini(chosen: argparse.Namespace, rows: pa.Table | None) -> Work:
    import hudini

    options = dict(option.split("=", 1) for option in chosen.option)
    if chosen.create:
        hudini.create(chosen.table, rows.schema, table_type=chosen.create, options=options)
    return {
        "bulk_insert": lambda: hudini.open(chosen.table, options=options).bulk_insert(rows),
        "upsert": lambda: hudini.open(chosen.table, options=options).upsert(rows),
        "compact": lambda: hudini.open(chosen.table, options=options).services.compact(),
        "read": lambda: hudini.open(chosen.table).read().to_arrow(),
    }[chosen.operation]


def with_pyarrow(chosen: argparse.Namespace, rows: pa.Table | None) -> Work:
    import numpy as np
    import pyarrow.parquet as pq

    # hudini's levels: pyarrow's own for gzip is 9, which takes six times as long.
    codec, level = ("gzip", 6) if any(option.endswith("=gzip") for option in chosen.option) else ("zstd", 1)

    def write(some: pa.Table, path: Path | str) -> None:
        pq.write_table(some, path, compression=codec, compression_level=level)

    def write_in_four() -> None:
        for first in range(4):
            write(rows.take(pa.array(np.arange(first, rows.num_rows, 4))), Path(chosen.table, f"{first}.parquet"))

    if chosen.operation == "plain_in_four":
        Path(chosen.table).mkdir()
        return write_in_four
    return {"plain": lambda: write(rows, chosen.table)}[chosen.operation]


def with_deltalake(chosen: argparse.Namespace, rows: pa.Table | None) -> Work:
    from deltalake import DeltaTable, write_deltalake

    def merge() -> None:
        merger = DeltaTable(chosen.table).merge(rows, "t.id = s.id", source_alias="s", target_alias="t")
        merger.when_matched_update_all().when_not_matched_insert_all().execute()

    return {
        "bulk_insert": lambda: write_deltalake(chosen.table, rows),
        "upsert": merge,
        "read": lambda: DeltaTable(chosen.table).to_pyarrow_table(),
    }[chosen.operation]


def with_pyiceberg(chosen: argparse.Namespace, rows: pa.Table | None) -> Work:
    from pyiceberg.catalog.sql import SqlCatalog

    folder = Path(chosen.table)
    folder.mkdir(exist_ok=True)
    catalog = SqlCatalog("local", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}")
    if chosen.create:
        catalog.create_namespace("bench")
        catalog.create_table("bench.trips", schema=rows.schema)
    table = catalog.load_table("bench.trips")
    return {
        "bulk_insert": lambda: table.append(rows),
        "upsert": lambda: table.upsert(rows, join_cols=["id"]),
        "read": lambda: table.scan().to_arrow(),
    }[chosen.operation]


LIBRARIES = {
    "hudini": with_hudini,
    "pyarrow": with_pyarrow,
    "deltalake": with_deltalake,
    "pyiceberg": with_pyiceberg,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library", choices=LIBRARIES)
    parser.add_argument("table")
    parser.add_argument("--operation", required=True)
    parser.add_argument("--rows", help="in Arrow's file format")
    parser.add_argument("--create", help="make the table first, of this type")
    parser.add_argument("--option", action="append", default=[])
    parser.add_argument("--out")
    chosen = parser.parse_args()
    rows = pa.ipc.open_file(chosen.rows).read_all() if chosen.rows else None
    work = LIBRARIES[chosen.library](chosen, rows)
    started, before = time.perf_counter(), time.process_time()
    done = work()
    print(json.dumps({"cpu": time.process_time() - before, "wall": time.perf_counter() - started}), flush=True)
    if chosen.out:
        with pa.ipc.new_file(chosen.out, done.schema) as file:
            file.write_table(done)


if __name__ == "__main__":
    main()
