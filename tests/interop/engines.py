"""hudini behind the verbs of the interop tests: on this machine's threads, and on PySpark."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

import hudini
import hudini.spark as hs
from tests.support.rows import SCHEMA, Row, to_arrow

from .apache import INDEX, Layout

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def pyspark() -> SparkSession:
    """The product's own, without Apache Hudi."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable  # where hudini is installed
    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
    }
    builder = SparkSession.builder.master("local[2]")
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


class Local:
    """hudini on threads. Every call opens the table anew, as another process would."""

    def __init__(self, path: Path, options: Mapping[str, str] | None = None) -> None:
        self._path, self._options = str(path), dict(options or {})

    def bulk_insert(self, rows: Iterable[Row]) -> None:
        hudini.open(self._path).bulk_insert(to_arrow(rows), options=self._options)

    def upsert(self, rows: Iterable[Row]) -> None:
        hudini.open(self._path).upsert(to_arrow(rows), options=self._options)

    def delete(self, rows: Iterable[Row]) -> None:
        hudini.open(self._path).delete(to_arrow(rows), options=self._options)

    def compact(self) -> None:
        hudini.open(self._path).services.compact(options=self._options)

    def clean_and_archive(self, few: Mapping[str, str]) -> None:
        """With such limits."""
        services = hudini.open(self._path).services
        services.clean(options=self._options | few)
        services.archive(options=self._options | few)

    def read(self) -> pa.Table:
        return pa.table(hudini.open(self._path).read())


class OnSpark:
    """hudini with its tasks on PySpark's executors."""

    def __init__(self, spark, path: Path, options: Mapping[str, str] | None = None) -> None:
        self._spark, self._path, self._options = spark, str(path), dict(options or {})

    def bulk_insert(self, rows: Iterable[Row]) -> None:
        hs.bulk_insert(self._frame(rows), self._path, options=self._options)

    def upsert(self, rows: Iterable[Row]) -> None:
        hs.upsert(self._frame(rows), self._path, options=self._options)

    def delete(self, rows: Iterable[Row]) -> None:
        hs.delete(self._frame(rows), self._path, options=self._options)

    def compact(self) -> None:
        hs.compact(self._spark, self._path, options=self._options)

    def clean_and_archive(self, few: Mapping[str, str]) -> None:
        hs.clean(self._spark, self._path, options=self._options | few)
        # It has no tasks for executors.
        hudini.open(self._path).services.archive(options=self._options | few)

    def read(self) -> pa.Table:
        return hs.read(self._spark, self._path).toArrow()

    def _frame(self, rows: Iterable[Row]):
        # One partition: the order of the batch is part of what is tested.
        return self._spark.createDataFrame(to_arrow(rows)).coalesce(1)


def create(path: Path, layout: Layout, index: Mapping[str, str] = INDEX) -> None:
    """An empty table made by hudini, with the bucket index in its properties, or another index."""
    hudini.create(
        str(path),
        SCHEMA,
        record_key="id",
        ordering="ts",
        partition_by=["city"] if layout.partitioned else (),
        table_type=layout.table_type,
        name="trips",
        options=index,
    )
