"""One Spark that does jobs: `spark_session.py ENGINE DESCRIPTOR [JAR]`, for `spark.py`.

ENGINE is `hudini` or `hudi`, Apache Hudi from that bundle. Each has its own environment, with the PySpark that it works
with; the settings are the same. Requests are JSON lines on the standard input, a verb of `Session` and its arguments;
answers are JSON lines on a pipe.
"""

from __future__ import annotations

import json
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession

SETTINGS = {
    "spark.driver.memory": "4g",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "4",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
}
BUNDLE = {
    "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
    "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
}


class Session(ABC):
    """What both engines are asked for."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        builder = SparkSession.builder.master("local[2]").appName("bench")
        for key, value in (SETTINGS | dict(settings)).items():
            builder = builder.config(key, value)
        self.spark = builder.getOrCreate()
        self.spark.sparkContext.setLogLevel("ERROR")

    def write(self, path: str, rows: str, operation: str, table_type: str, options: dict[str, str]) -> None:
        self._write(self.spark.read.parquet(rows), path, operation, table_type, options)

    def digest(self, path: str, columns: list[str]) -> int:
        """Every value is hashed, so that no column is left out and no row is only counted."""
        return self._digest(self._read(path, columns), columns)

    def digest_parquet(self, path: str, columns: list[str]) -> int:
        """The same of plain Parquet files."""
        return self._digest(self.spark.read.option("recursiveFileLookup", "true").parquet(path), columns)

    def _digest(self, frame: DataFrame, columns: list[str]) -> int:
        [[digest]] = frame.selectExpr(f"sum(hash({', '.join(columns)}))").collect()
        return digest

    @abstractmethod
    def compact(self, path: str) -> None: ...

    @abstractmethod
    def _read(self, path: str, columns: list[str]) -> DataFrame: ...

    @abstractmethod
    def _write(self, rows: DataFrame, path: str, operation: str, table_type: str, options: dict[str, str]) -> None: ...


class Hudini(Session):
    def _write(self, rows: DataFrame, path: str, operation: str, table_type: str, options: dict[str, str]) -> None:
        import hudini.spark as hs

        write = {"bulk_insert": hs.bulk_insert, "upsert": hs.upsert}[operation]
        write(rows, path, options | {"hoodie.datasource.write.table.type": table_type})

    def compact(self, path: str) -> None:
        import hudini.spark as hs

        hs.compact(self.spark, path)

    def _read(self, path: str, columns: list[str]) -> DataFrame:
        import hudini.spark as hs

        return hs.read(self.spark, path, columns=columns)


class ApacheHudi(Session):
    def __init__(self, jar: str) -> None:
        super().__init__(BUNDLE | {"spark.jars": jar, "spark.driver.extraClassPath": jar})

    def _write(self, rows: DataFrame, path: str, operation: str, table_type: str, options: dict[str, str]) -> None:
        told = {
            "hoodie.datasource.write.operation": operation,
            "hoodie.datasource.write.table.type": table_type,
            "hoodie.bulkinsert.shuffle.parallelism": "4",
        }
        mode = "overwrite" if operation == "bulk_insert" else "append"
        rows.write.format("hudi").options(**options, **told).mode(mode).save(path)

    def compact(self, path: str) -> None:
        options = "hoodie.compact.inline.max.delta.commits=1"  # by default it would wait for five
        call = f"CALL run_compaction(op => 'scheduleAndExecute', path => '{path}', options => '{options}')"
        self.spark.sql(call).collect()

    def _read(self, path: str, columns: list[str]) -> DataFrame:
        return self.spark.read.format("hudi").load(path).select(*columns)


ENGINES: dict[str, Callable[..., Session]] = {"hudini": lambda: Hudini({}), "hudi": ApacheHudi}


def answer(session: Session, request: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"result": getattr(session, request["verb"])(**request["arguments"])}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"[:500]}


def main() -> None:
    engine, descriptor, *jar = sys.argv[1:]
    with open(int(descriptor), "w", encoding="utf-8") as answers:
        session = ENGINES[engine](*jar)
        for line in sys.stdin:
            print(json.dumps(answer(session, json.loads(line))), file=answers, flush=True)
        session.spark.stop()


if __name__ == "__main__":
    main()
