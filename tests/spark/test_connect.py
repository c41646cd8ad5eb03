"""The whole way on Spark Connect, in a process of its own: a classic session and a Connect session can't share one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.spark.conftest import CHECKOUT


def test_connect(java: None, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.spark.test_connect", str(tmp_path / "t")],
        cwd=CHECKOUT,
        env={key: value for key, value in os.environ.items() if key != "SPARK_REMOTE"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout.splitlines()[-1] == "done"


def story(path: str) -> None:
    import pytest
    from pyspark.sql import SparkSession

    import hudini
    import hudini.spark as hs

    builder = SparkSession.builder.remote("local[2]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.sql.shuffle.partitions", "3").getOrCreate()
    job = {
        "hoodie.table.name": "t",
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.precombine.field": "ts",
        "hoodie.bucket.index.num.buckets": "2",
    }
    rows = spark.range(100).selectExpr("concat('k', id) as id", "1L as ts", "'old' as note")
    assert hs.bulk_insert(rows, path, job).inserted == 100
    rows.write.format("hudini").options(**job).mode("overwrite").save(path + "-source")
    assert hudini.open(path + "-source").read().count() == 100
    ties = [("k1", 2, "first"), ("k1", 2, "second"), ("k2", 0, "late"), ("k100", 1, "new")]
    result = hs.upsert(spark.createDataFrame(ties, "id string, ts long, note string").coalesce(1), path, job)
    assert (result.inserted, hudini.open(path).read().count()) == (1, 101)
    kept = {row["id"]: row["note"] for row in hs.read(spark, path, columns=["id", "note"], meta=False).collect()}
    assert (kept["k1"], kept["k2"], kept["k100"]) == ("second", "old", "new")
    with pytest.raises(hudini.SchemaMismatch):
        hs.upsert(rows.drop("id"), path)
    for index in ("BLOOM", "RECORD_INDEX"):
        without_buckets = f"{path}-{index}"
        job = {key: value for key, value in job.items() if "bucket" not in key} | {"hoodie.index.type": index}
        hs.bulk_insert(rows, without_buckets, job)
        result = hs.upsert(
            spark.range(90, 110).selectExpr("concat('k', id) as id", "2L as ts", "'new' as note"), without_buckets
        )
        assert (result.inserted, result.updated) == (10, 10)
        assert hs.delete(spark.range(95, 200).selectExpr("concat('k', id) as id"), without_buckets).deleted == 15
        assert hs.read(spark, without_buckets, columns=["id"]).count() == 95
        with pytest.raises(hudini.InvalidOption, match="query_id="):
            hs.stream_upsert(without_buckets)(rows, 0)
        write = hs.stream_upsert(without_buckets, query_id="q")
        assert write(rows, 0).instant == write(rows, 0).instant
    spark.stop()
    print("done")


if __name__ == "__main__":
    story(sys.argv[1])
