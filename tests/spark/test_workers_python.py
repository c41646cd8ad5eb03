"""Workers run `python3` from PATH unless `PYSPARK_PYTHON` says otherwise, and that one may have no hudini."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.spark.conftest import CHECKOUT


def test_a_python_without_hudini_is_named(java: None, tmp_path: Path) -> None:
    # What the environment was made of: a Python of the same version that has nothing installed.
    bare = Path(sys.base_prefix) / "bin" / "python3"
    done = subprocess.run(
        [sys.executable, "-m", "tests.spark.test_workers_python", str(tmp_path / "t")],
        cwd=CHECKOUT,
        env=os.environ | {"PYSPARK_PYTHON": str(bare)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines() == ["refused", "0 instants, 0 files"], done.stderr[-4000:]


def story(path: str) -> None:
    from pyspark.sql import SparkSession

    import hudini
    import hudini.spark as hs

    spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    schema = {"id": "string not null", "ts": "long not null"}
    table = hudini.create(path, schema, record_key="id", ordering="ts")
    try:
        hs.upsert(spark.createDataFrame([("a", 1)], "id string, ts long"), path)
    except hudini.HudiniError as error:
        assert "PYSPARK_PYTHON" in (error.hint or ""), error
        print("refused")
    left = [row for row in table.inspect.timeline() if row["action"] != "rollback"]
    print(f"{len(left)} instants, {len(list(Path(path).rglob('*.parquet')))} files")


if __name__ == "__main__":
    story(sys.argv[1])
