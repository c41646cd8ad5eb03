"""One local Spark for all tests of this folder. Without Java or PySpark they are left out, aloud; in CI they fail."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CHECKOUT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent


def what_is_missing() -> str | None:
    if importlib.util.find_spec("pyspark") is None:
        return "PySpark is not installed: pip install 'hudini[spark]'"
    java = subprocess.run([str(CHECKOUT / "tools" / "need_java.sh")], capture_output=True, text=True, check=False)
    return java.stderr.partition("\n")[0] if java.returncode else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.spark)


class WithoutPySpark(pytest.Module):
    """A module of tests that would fail at its imports."""

    def collect(self) -> Iterable[pytest.Item]:
        pytest.skip(what_is_missing() or "")


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    left_out = importlib.util.find_spec("pyspark") is None and not os.environ.get("CI")
    return WithoutPySpark.from_parent(parent, path=module_path) if left_out else None


@pytest.fixture(scope="session")
def java(tmp_path_factory: pytest.TempPathFactory) -> None:
    missing = what_is_missing()
    if missing:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(missing)
    # Workers run `python3` from the path unless told otherwise.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    # Of drivers that tests kill, too, nothing is left behind.
    os.environ.setdefault("SPARK_LOCAL_DIRS", str(tmp_path_factory.mktemp("spark")))


@pytest.fixture(scope="session")
def spark(java: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    from pyspark.sql import SparkSession

    session = (
        SparkSession.builder.master("local[2,4]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "3")
        # Timestamps must not depend on the session's zone.
        .config("spark.sql.session.timeZone", "America/Los_Angeles")
        .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
