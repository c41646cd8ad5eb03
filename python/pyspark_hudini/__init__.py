"""Lets Spark find the data source `hudini` by itself.

Spark imports every top-level module named `pyspark_*` on its Python path and registers the `DefaultSource` in it.
"""

from hudini.spark.source import DefaultSource

__all__ = ["DefaultSource"]
