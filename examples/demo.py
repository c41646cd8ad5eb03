"""The story of a table on Spark: filled, changed, compacted, read now and as it was, cleaned.

Run by `make demo`, or by hand: `python examples/demo.py [FOLDER]`. Needs Java 17 and PySpark 4.1 or later;
without them it says how to get them and tells the story without Spark. The story itself is `hudini.cli.story`, which is
the same for both; `demo_engine.py` says what Spark has to do in it.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import hudini
from hudini.cli import story

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TRIPS = 100_000


def main() -> int:
    missing = what_is_missing()
    if missing:
        print(f"Spark can't run here: {missing}\nSo here is the story without Spark.\n", flush=True)
        return subprocess.run([sys.executable, "-m", "hudini", "demo"], check=False).returncode
    from demo_engine import SparkEngine

    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.mkdtemp(prefix="hudini-demo-"))
    path = str(folder / "trips")
    spark = session()
    try:
        print(f"hudini {hudini.__version__} on Spark {spark.version}. The table will be {path}\n", flush=True)
        story.tell(SparkEngine(spark, path), TRIPS)
    finally:
        spark.stop()
    return 0


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


if __name__ == "__main__":
    sys.exit(main())
