"""`import hudini` is cheap: it brings none of the libraries that it can work with, and no weight of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import zlib
from pathlib import Path

OPTIONAL = {"duckdb", "numpy", "pandas", "polars", "pyarrow", "pyspark", "rich", "typer"}
# Processor time of the process itself, so that a busy machine does not count.
PROBE = """
import json, sys, time
begin = time.process_time()
import hudini
seconds = time.process_time() - begin
print(json.dumps({"seconds": seconds, "modules": sorted(sys.modules)}))
"""


def probe() -> dict:
    done = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_import_brings_no_optional_library() -> None:
    assert {name.partition(".")[0] for name in probe()["modules"]} & OPTIONAL == set()


def test_import_takes_less_than_50_milliseconds() -> None:
    assert min(probe()["seconds"] for _ in range(5)) < 0.050


def test_the_wheel_is_smaller_than_15_megabytes() -> None:
    from hudini import _core

    # A wheel is a zip file, and the extension is nearly all of it.
    assert len(zlib.compress(Path(_core.__file__).read_bytes())) < 15_000_000
