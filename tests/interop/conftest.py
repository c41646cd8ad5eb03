"""One Apache Hudi and one PySpark for all interop tests."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import pytest

from .oracle import Oracle, OracleUnavailable


@pytest.fixture(scope="session")
def oracle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Oracle]:
    """Apache Hudi 1.2.0. Where it can't be had, the tests are skipped with the reason, but fail under CI."""
    try:
        session = Oracle.start(tmp_path_factory.mktemp("oracle"))
    except OracleUnavailable as reason:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(reason))
    with session:
        yield session


@pytest.fixture(scope="session")
def spark():
    """The product's own PySpark, without Apache Hudi."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable  # where hudini is installed
    session = (
        SparkSession.builder.master("local[2]")
        .appName("interop")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    yield session
    session.stop()
