"""Workers run `python3` from PATH unless `PYSPARK_PYTHON` says otherwise, and that one may have no hudini."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import zipfile
from pathlib import Path

import hudini
from tests.spark.conftest import CHECKOUT

# What the environment was made of: a Python of the same version that has nothing installed.
BARE = Path(sys.base_prefix) / "bin" / "python3"


def test_a_python_without_hudini_is_named(java: None, tmp_path: Path) -> None:
    said = told(BARE, tmp_path / "t")
    assert "without pyarrow | set PYSPARK_PYTHON" in said[0]
    assert said[1:] == ["No module named 'pyarrow'", "0 instants, 0 files"]


def test_a_wheel_is_not_shipped_by_addpyfile(java: None, tmp_path: Path) -> None:
    """Python loads a compiled library from a file of its own, not from inside a zip."""
    wheel = zipped(Path(hudini.__file__).parent, tmp_path / "hudini.whl.zip")
    said = told(with_arrow_alone(tmp_path), tmp_path / "t", wheel)
    assert "without hudini | set PYSPARK_PYTHON" in said[0] and "addPyFile" in said[0]
    assert said[1:] == ["No module named 'hudini._core'", "0 instants, 0 files"]


def with_arrow_alone(folder: Path) -> Path:
    """A Python that has all that Spark needs of its workers, and no hudini."""
    import pyarrow

    libraries, installed = folder / "libraries", Path(pyarrow.__file__).parents[1]
    libraries.mkdir()
    for found in installed.iterdir():
        if not found.name.startswith(("hudini", "_", "pyspark")) and found.suffix != ".pth":
            (libraries / found.name).symlink_to(found)
    script = folder / "python3"
    script.write_text(f'#!/bin/sh\nPYTHONPATH="$PYTHONPATH":{shlex.quote(str(libraries))} exec {BARE} "$@"\n')
    script.chmod(0o755)
    return script


def zipped(package: Path, file: Path) -> Path:
    with zipfile.ZipFile(file, "w") as wheel:
        for path in package.rglob("*"):
            wheel.write(path, path.relative_to(package.parent))
    return file


def told(python: Path, table: Path, *shipped: Path) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.spark.test_workers_python", str(table), *map(str, shipped)],
        cwd=CHECKOUT,
        env=os.environ | {"PYSPARK_PYTHON": str(python)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout.splitlines()


def story(path: str, *shipped: str) -> None:
    from pyspark.sql import SparkSession

    import hudini.spark as hs

    spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    for file in shipped:
        spark.sparkContext.addPyFile(file)
    schema = {"id": "string not null", "ts": "long not null"}
    table = hudini.create(path, schema, record_key="id", ordering="ts")
    try:
        hs.upsert(spark.createDataFrame([("a", 1)], "id string, ts long"), path)
    except hudini.HudiniError as error:
        print(f"{error.message} | {error.hint}")
        print(*sorted(set(re.findall(r"No module named '[^']+'", str(error.__cause__)))))
    left = [row for row in table.inspect.timeline() if row["action"] != "rollback"]
    print(f"{len(left)} instants, {len(list(Path(path).rglob('*.parquet')))} files")


if __name__ == "__main__":
    story(*sys.argv[1:])
