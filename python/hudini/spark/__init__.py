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
    from hudini.spark.frames import changes, incremental, read
    from hudini.spark.upsert import bulk_insert, delete, insert, upsert
except ModuleNotFoundError as error:
    message = f"hudini.spark needs the package {error.name}, which is not installed: pip install 'hudini[spark]'"
    raise ModuleNotFoundError(message, name=error.name) from error

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["bulk_insert", "changes", "compact", "delete", "incremental", "insert", "read", "register", "upsert"]


def register(spark: SparkSession, alias: str = "hudini") -> None:
    """Registers the data source by hand, or under another name: `alias="hudi"` keeps a job's `format("hudi")`."""
    from hudini.spark.source import DefaultSource

    source = DefaultSource if alias == DefaultSource.name() else _named(DefaultSource, alias)
    spark.dataSource.register(source)


def _named(source: type, alias: str) -> type:
    return type("AliasSource", (source,), {"name": classmethod(lambda cls: alias), "__module__": __name__})
