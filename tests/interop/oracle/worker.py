"""The oracle's side of the pipe: runs in its own environment, so it uses nothing of this project.

Arguments: the file descriptor for replies, the version of Apache Hudi, the path of its bundle jar.
"""

import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pyarrow.parquet as pq
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.utils import CapturedException

JAVA = (
    "-Duser.timezone=UTC",
    # To size its maps, Apache Hudi would have a debugger halt this very process, for seconds or a minute.
    "-Djol.skipHotspotSAAttach=true",
    "-Djol.skipInstallAttach=true",
    # Much code, each piece run a few times: the thorough compiler would cost more than it gives.
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
)


def open_session(jar):
    settings = {
        "spark.jars": jar,
        "spark.driver.extraClassPath": jar,
        "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
        "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
        "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
        "spark.sql.session.timeZone": "UTC",
        "spark.driver.extraJavaOptions": " ".join(JAVA),
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "2g",
        "spark.sql.shuffle.partitions": "2",
        "spark.default.parallelism": "2",
        "spark.ui.enabled": "false",
    }
    builder = SparkSession.builder.master("local[4]").appName("oracle")
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def collect(frame):
    """All rows as Arrow, which keeps what Python objects would blur: decimals, microseconds, 32-bit numbers."""
    schema = to_arrow_schema(frame.schema)
    batches = [pa.RecordBatch.from_arrays(b.columns, schema=schema) for b in frame._collect_as_arrow()]
    return pa.Table.from_batches(batches, schema=schema)


def waiting_for(gate):
    """What gives rows as they are, when a file is there."""

    def wait(batches):
        while not os.path.exists(gate):
            time.sleep(0.05)
        yield from batches

    return wait


class Worker:
    def __init__(self, version, jar):
        # Beside this script only: the generator of the golden tables imports what is below from the package.
        from files import Files
        from services import Services

        self.version = version
        self.spark = open_session(jar)
        self.files = Files(self.spark)
        self.services = Services
        self.slow = {}

    def write(self, path, rows, options, mode):
        # One partition, so that "the later row of the batch" means the same on both sides.
        frame = self.spark.read.parquet(rows).coalesce(1)
        frame.write.format("hudi").options(**options).mode(mode).save(path)

    def begin_write(self, path, rows, options, mode, gate):
        """A write that was asked for, and does not complete before its gate is there."""
        frame = self.spark.read.parquet(rows).coalesce(1)
        frame = frame.mapInArrow(waiting_for(gate), frame.schema)
        pool = ThreadPoolExecutor(1)
        save = frame.write.format("hudi").options(**options).mode(mode).save
        before, self.slow[gate] = self._requests(path), pool.submit(save, path)
        pool.shutdown(wait=False)
        while self._requests(path) == before and not self.slow[gate].done():
            time.sleep(0.05)

    def end_write(self, gate):
        with open(gate, "w"):
            self.slow.pop(gate).result()

    def read(self, path, options, condition, columns, answer):
        frame = self.spark.read.format("hudi").options(**options).load(path)
        if condition is not None:
            frame = frame.where(condition)
        if columns is not None:
            frame = frame.select(*columns)
        pq.write_table(collect(frame), answer)

    def sql(self, statement):
        return [row.asDict(recursive=True) for row in self.spark.sql(statement).collect()]

    def timeline(self, path):
        instants = self._meta_client(path).getActiveTimeline().getInstants()
        return [self._instant(instants.get(i)) for i in range(instants.size())]

    def properties(self, path):
        properties = self._meta_client(path).getTableConfig().getProps()
        return {name: properties.getProperty(name) for name in properties.stringPropertyNames()}

    def file(self, kind, folder):
        return getattr(self.files, kind)(folder)

    def service(self, path, verb, arguments, options):
        return getattr(self.services(self.spark, self.version, path, options), verb)(*arguments)

    def is_dead(self):
        """Whether the JVM has ended, or is about to."""
        try:
            self.spark.sparkContext._gateway.proc.wait(timeout=2)
        except subprocess.TimeoutExpired:
            return False
        return True

    def _requests(self, path):
        return sum(
            1
            for name in os.listdir(f"{path}/.hoodie/timeline")
            if name.endswith((".deltacommit.requested", ".commit.requested"))
        )

    def _meta_client(self, path):
        return self.services(self.spark, self.version, path, {}).meta_client()

    def _instant(self, instant):
        old = self.version.startswith("0.")
        return {
            "requested": instant.getTimestamp() if old else instant.requestedTime(),
            "completed": instant.getStateTransitionTime() if old else instant.getCompletionTime(),
            "action": instant.getAction(),
            "state": instant.getState().toString().lower(),
        }


def messages(error):
    """What went wrong, outermost first, without the stack."""
    if isinstance(error, Py4JJavaError):
        chain, throwable = [], error.java_exception
        while throwable is not None and len(chain) < 12:
            chain.append(throwable.toString())
            throwable = throwable.getCause()
        return chain
    if isinstance(error, CapturedException):
        return [str(error)]
    return [f"{type(error).__name__}: {error}"]


def main():
    descriptor, version, jar = sys.argv[1:]
    with open(int(descriptor), "w", encoding="utf-8") as replies:
        worker = Worker(version, jar)
        for line in sys.stdin:
            request = json.loads(line)
            try:
                reply = {"result": getattr(worker, request["verb"])(**request["arguments"])}
            except Exception as error:
                if not isinstance(error, (Py4JJavaError, CapturedException)) and worker.is_dead():
                    sys.exit(f"the JVM is gone: {error}")
                reply = {"error": messages(error)}
            print(json.dumps(reply, default=str), file=replies, flush=True)
        worker.spark.stop()


if __name__ == "__main__":
    main()
