"""One Apache Hudi and one PySpark for all interop tests."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator

import pytest

from .engines import pyspark
from .oracle import Oracle, OracleUnavailable

# Tests with many cases, each of which takes Apache Hudi many seconds: by day one in so many runs, and all with
# HUDINI_INTEROP=all (`make interop-nightly`).
ONE_IN = {
    "test_compaction.py": 5,
    "test_expression_indexes.py": 5,
    "test_indexes.py": 5,
    "test_jobs.py": 5,
    # A number that goes through the kinds of tables, indexes and engines.
    "test_matrix.py": 11,
    "test_metadata_table.py": 5,
    "test_missing_files.py": 5,
    # The releases.
    "test_odd_keys.py": 4,
    "test_properties.py": 9,
    "test_roundtrip.py": 5,
    "test_shared_lock.py": 5,
}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if os.environ.get("HUDINI_INTEROP") == "all":
        return
    cases: Counter[str] = Counter()
    left: list[pytest.Item] = []
    for item in items:
        test = item.nodeid.split("[")[0]
        if cases[test] % ONE_IN.get(item.path.name, 1):
            left.append(item)
        cases[test] += 1
    config.hook.pytest_deselected(items=left)
    items[:] = [item for item in items if item not in left]


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
    session = pyspark()
    yield session
    session.stop()
