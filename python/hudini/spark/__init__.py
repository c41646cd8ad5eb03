"""hudini on Spark: Apache Hudi tables from PySpark 4.1 and later, classic and Connect, without a JVM bundle.

>>> spark.read.format("hudini").load("/lake/trips").show()
>>> import hudini.spark as hs
>>> hs.upsert(df, "/lake/trips", {"hoodie.datasource.write.recordkey.field": "id"})

The data source `hudini` is found without registration once the wheel is installed where Spark's Python runs.
Workers run `python3` from the path unless `PYSPARK_PYTHON` names the Python that hudini is installed in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

try:
    from hudini.spark.compaction import compact
    from hudini.spark.reading import changes, incremental, read
    from hudini.spark.services import clean
    from hudini.spark.streams import stream_upsert
    from hudini.spark.writing import (
        bulk_insert,
        delete,
        delete_partitions,
        insert,
        insert_overwrite,
        overwrite_table,
        upsert,
    )
except ModuleNotFoundError as error:
    message = f"hudini.spark needs the package {error.name}, which is not installed: pip install 'hudini[spark]'"
    raise ModuleNotFoundError(message, name=error.name) from error

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = [
    "bulk_insert",
    "changes",
    "clean",
    "compact",
    "delete",
    "delete_partitions",
    "incremental",
    "insert",
    "insert_overwrite",
    "overwrite_table",
    "read",
    "register",
    "stream_upsert",
    "upsert",
]


def register(spark: SparkSession, alias: str = "hudini") -> None:
    """Registers the data source by hand, or under another name: `alias="hudi"` keeps a job's `format("hudi")`."""
    from hudini.spark.source import DefaultSource

    source = DefaultSource if alias == DefaultSource.name() else _named(DefaultSource, alias)
    spark.dataSource.register(source)


def _named(source: type, alias: str) -> type:
    return type("AliasSource", (source,), {"name": classmethod(lambda cls: alias), "__module__": __name__})
