"""A tour of hudini on Spark: a table is filled, changed, and read back, with Apache Hudi's own option names.

Run by `make demo`, or by hand: `python examples/demo.py [FOLDER]`. Needs Java 17 and PySpark 4.1 or later;
without them it says how to get them and takes the tour without Spark.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

EVENTS = 100_000
OPTIONS = {
    "hoodie.table.name": "trips",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.datasource.write.partitionpath.field": "city",
    "hoodie.datasource.write.table.type": "COPY_ON_WRITE",
    "hoodie.bucket.index.num.buckets": "2",
}
WATCHED = {
    "trip-1": "an update with a newer ts",
    "trip-2": "an update that came late: the newer row stays",
    "trip-3": "twice in one batch: the newer one",
    f"trip-{EVENTS}": "a new trip",
}


def main() -> int:
    missing = what_is_missing()
    if missing:
        print(f"Spark can't run here: {missing}\nSo here is the tour without Spark.\n", flush=True)
        return subprocess.run([sys.executable, "-m", "hudini", "demo"], check=False).returncode
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.mkdtemp(prefix="hudini-demo-"))
    spark = session()
    try:
        tour(spark, str(folder / "trips"))
    finally:
        spark.stop()
    return 0


def tour(spark: SparkSession, path: str) -> None:
    import hudini
    import hudini.spark as hs

    print(f"hudini {hudini.__version__} on Spark {spark.version}; the table will be {path}\n")

    written = hs.bulk_insert(events(spark), path, OPTIONS)
    show("1. Bulk insert: Spark makes events, its executors write the files", [result_row(written)])

    start = time.perf_counter()
    before = spark.read.format("hudini").load(path)
    per_city = before.groupBy("city").count().orderBy("city").collect()
    seconds = time.perf_counter() - start
    show(f"2. Read: spark.read.format('hudini').load(path), {seconds:.1f} s", [row.asDict() for row in per_city])

    changed = hs.upsert(changes(spark), path, OPTIONS)
    show("3. Upsert: updates, late rows, duplicates and a new trip", [result_row(changed)])

    now = hs.read(spark, path, columns=["id", "ts", "city", "fare"], meta=False)
    rows = {row["id"]: row.asDict() for row in now.where(now["id"].isin(list(WATCHED))).collect()}
    show("4. What became of them", [rows[key] | {"why": why} for key, why in WATCHED.items()])
    show(
        "5. Two frames, two snapshots: a frame keeps to the state that it was loaded from",
        [{"loaded before the upsert": before.count(), "loaded after": now.count()}],
    )

    kept = ("instant", "action", "operation", "inserted", "updated", "files", "seconds")
    history = hudini.open(path).history()
    show("6. History, newest first", [{name: cell(row[name]) for name in kept} for row in history])

    print(
        "Look around:\n"
        f"  hudini describe {path}\n"
        f"  hudini head {path} --as-of {written.instant}\n"
        f"  python -c \"import hudini; print(hudini.open('{path}').read().to_pandas())\"\n"
        "Read on: README.md, and help(hudini.Table)."
    )


def events(spark: SparkSession) -> DataFrame:
    """Trips of four cities, all with ts 1."""
    return spark.range(EVENTS).selectExpr(
        "concat('trip-', id) as id",
        "1L as ts",
        "element_at(array('amsterdam', 'lima', 'nairobi', 'seoul'), cast(id % 4 as int) + 1) as city",
        "cast(5 + id % 40 as decimal(8, 2)) as fare",
    )


def changes(spark: SparkSession) -> DataFrame:
    """Rows with ts 0 come late; trip-3 comes twice, the newer one first."""
    rows = [
        ("trip-1", 2, "lima", 50),
        ("trip-2", 0, "nairobi", 99),
        ("trip-3", 3, "seoul", 30),
        ("trip-3", 2, "seoul", 20),
        (f"trip-{EVENTS}", 1, "amsterdam", 7),
    ]
    frame = spark.createDataFrame(rows, "id string, ts long, city string, fare int")
    return frame.selectExpr("id", "ts", "city", "cast(fare as decimal(8, 2)) as fare")


def session() -> SparkSession:
    """A small local Spark that runs its workers with this very Python and keeps quiet."""
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    from pyspark.sql import SparkSession

    with tempfile.NamedTemporaryFile("w", suffix=".properties", delete=False) as quiet:
        quiet.write("rootLogger.level = error\nrootLogger.appenderRef.stderr.ref = console\n")
        quiet.write("appender.console.type = Console\nappender.console.name = console\n")
        quiet.write("appender.console.target = SYSTEM_ERR\nappender.console.layout.type = PatternLayout\n")
    spark = (
        SparkSession.builder.master("local[2]")
        .appName("hudini demo")
        .config("spark.driver.extraJavaOptions", f"-Dlog4j2.configurationFile=file:{quiet.name}")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    os.unlink(quiet.name)
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def what_is_missing() -> str | None:
    """What Spark lacks here and how to get it; None if nothing."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    version = ""
    if java and shutil.which(java):
        version = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    found = re.search(r'version "(\d+)', version)
    if found is None or int(found[1]) < 17:
        return "there is no Java 17 or newer.\n  apt install openjdk-17-jdk-headless, or: brew install openjdk@17"
    if importlib.util.find_spec("pyspark") is None:
        return "there is no PySpark.\n  pip install 'hudini[spark]'"
    return None


def result_row(result: Any) -> dict[str, Any]:
    return {
        "operation": result.operation,
        "inserted": result.inserted,
        "updated": result.updated,
        "files": result.files_added,
        "kB": result.bytes_written // 1000,
        "seconds": cell(result.seconds),
    }


def cell(value: Any) -> str:
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def show(title: str, rows: Iterable[Mapping[str, Any]]) -> None:
    table = [[str(value) for value in row.values()] for row in rows]
    names = list(next(iter(rows), {}))
    widths = [max(map(len, column)) for column in zip(names, *table, strict=True)]
    print(title)
    for line in [names, ["-" * width for width in widths], *table]:
        print("  " + "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip())
    print(flush=True)


if __name__ == "__main__":
    sys.exit(main())
