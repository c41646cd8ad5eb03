"""The whole way on Spark Connect, in a process of its own: a classic session and a Connect session can't share one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tests.spark.conftest import CHECKOUT

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


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
    from hudini.spark.sessions import check_seen

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
    with pytest.raises(hudini.StorageFailure, match="does not see") as refused:
        check_seen(spark, hudini.open(path)._core, "20000101000000000")
    assert (refused.value.instant, refused.value.path) == ("20000101000000000", path)
    frames_keep_to_their_state(spark, path + "-pinned")
    the_other_helpers(spark, path + "-others")
    spark.stop()
    print("done")


def frames_keep_to_their_state(spark: SparkSession, path: str) -> None:
    """Spark makes the source anew for each query whose plan it has forgotten."""
    import pytest

    import hudini
    import hudini.spark as hs

    schema = {"id": "string not null", "tags": "map<string,long>", "steps": "array<struct<at: timestamp>>"}
    table = hudini.create(path, schema, "id", table_type="mor", options={"hoodie.bucket.index.num.buckets": 2})
    table.upsert([{"id": f"k{n}", "tags": {"x": n}, "steps": [None]} for n in range(20)])
    first = table.upsert([{"id": f"k{n}"} for n in range(10)])
    spark.conf.set("spark.connect.session.planCache.enabled", "false")
    large = "spark.sql.execution.arrow.useLargeVarTypes"
    for width in ("false", "true"):
        spark.conf.set(large, width)
        frames = [
            hs.read(spark, Path(path)),
            hs.read(spark, path, filter="id >= 'k'", columns=["id"]),
            hs.incremental(spark, path),
            hs.incremental(spark, path, first),
            hs.changes(spark, path),
            hs.changes(spark, path, first, images="json"),
        ]
        before = [len(frame.collect()) for frame in frames]
        assert before[3:6:2] == [0, 0]
        assert {row["tags"]["x"] for row in frames[0].collect() if row["tags"]} == set(range(10, 20))
        last = table.upsert([{"id": f"{width}{n}"} for n in range(5)])
        assert [len(frame.collect()) for frame in frames] == before
        assert hs.incremental(spark, path, first).count() == 5
        first = last
    spark.conf.unset(large)
    for read in (hs.read, hs.incremental, hs.changes):
        with pytest.raises(hudini.TableNotFound):
            read(spark, path + "-nothing")


def the_other_helpers(spark: SparkSession, path: str) -> None:
    import hudini
    import hudini.spark as hs

    def rows(first: int, last: int, note: str) -> DataFrame:
        columns = ["concat('k', id) as id", "1L as ts", "if(id % 2 = 0, 'a', 'b') as city", f"'{note}' as note"]
        return spark.range(first, last).selectExpr(*columns)

    schema = {"id": "string", "ts": "long", "city": "string", "note": "string"}
    table = hudini.create(path, schema, "id", "ts", ["city"], table_type="mor")
    assert hs.insert(rows(0, 20, "first"), path).inserted == 20
    assert hs.upsert(rows(0, 4, "newer"), path).updated == 4
    replaced = hs.insert_overwrite(rows(0, 6, "over").where("city = 'a'"), path)
    assert (replaced.operation, table.read().count()) == ("insert_overwrite", 13)
    last = hs.upsert(rows(0, 20, "last"), path)
    assert last.inserted + last.updated == 20
    assert hs.compact(spark, path)
    assert hs.clean(spark, path, retain=1).files
    assert {row["note"] for row in hs.read(spark, path).collect()} == {"last"}
    assert table.read().count() == 20
    assert table.verify(deep=True).ok
    hs.register(spark, "tables")
    assert spark.read.format("tables").load(path).count() == 20


if __name__ == "__main__":
    story(sys.argv[1])
