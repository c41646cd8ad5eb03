"""Writing through the data source: `df.write.format("hudini")`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark.sql import types as st

import hudini
import hudini.spark as hs
from hudini.spark.batches import spark_schema
from hudini.spark.sink import StagingWriter
from tests.support.compare import difference
from tests.support.rows import Model, Row, Rows, to_arrow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

OPERATION = "hoodie.datasource.write.operation"
JOB = {
    "hoodie.table.name": "trips",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.bucket.index.num.buckets": "3",
}


LAYOUTS = [
    ("COPY_ON_WRITE", "BUCKET", ""),
    ("MERGE_ON_READ", "BUCKET", "city"),
    ("COPY_ON_WRITE", "SIMPLE", "city"),
    ("MERGE_ON_READ", "BLOOM", ""),
]


@pytest.fixture(params=LAYOUTS, ids="-".join)
def job(request: pytest.FixtureRequest) -> dict[str, str]:
    table_type, index, partition = request.param
    return JOB | {
        "hoodie.datasource.write.table.type": table_type,
        "hoodie.index.type": index,
        "hoodie.datasource.write.partitionpath.field": partition,
    }


def frame(spark: SparkSession, rows: list[Row], partitions: int = 3) -> DataFrame:
    """A frame whose partitions hold the rows in their order. A literal frame would be folded into one partition."""
    table = to_arrow(rows)

    def rows_of(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield from table.take(batch.column(0)).combine_chunks().to_batches()

    return spark.range(0, table.num_rows, numPartitions=partitions).mapInArrow(rows_of, spark_schema(table.schema))


def save(df: DataFrame, path: Path, options: dict[str, str] | None = None, mode: str = "append", **more: str) -> None:
    df.write.format("hudini").options(**(options or {}), **more).mode(mode).save(str(path))


def saved(df: DataFrame, path: Path, operation: str, options: dict[str, str] | None = None) -> None:
    save(df, path, (options or {}) | {OPERATION: operation})


def held(path: Path) -> pa.Table:
    return hudini.open(path).read(meta=False).to_arrow()


def pairs(path: Path) -> list[tuple[str, int]]:
    return sorted((row["id"], row["ts"]) for row in held(path).to_pylist())


def done(path: Path) -> list[tuple[str, str]]:
    """Action and operation of the commits, oldest first."""
    return [(row["action"], row["operation"]) for row in reversed(hudini.open(path).history())]


def leftovers(path: Path) -> list[str]:
    return [name for name in os.listdir(path / ".hoodie" / ".temp") if name.startswith("hudini")]


def is_whole(path: Path) -> bool:
    report = hudini.open(path).verify(deep=True)
    return report.ok and not report.findings and not leftovers(path)


def test_upserts_make_a_table_and_merge(spark: SparkSession, tmp_path: Path, job: dict[str, str]) -> None:
    rows, model = Rows(seed=1), Model(partitioned=job["hoodie.datasource.write.partitionpath.field"] != "")
    first = rows.batch(range(200), ts=5)
    second = rows.shuffled([*rows.batch(range(0, 300, 3), ts=6), *rows.batch(range(100), ts=4)])
    for batch in (first, second):
        save(frame(spark, batch), tmp_path / "t", job)
        model.upsert(batch)
    expected = model.expected()
    got = hudini.open(tmp_path / "t").read().to_arrow()
    assert difference(got.select(expected.column_names), expected) is None
    assert [operation for _, operation in done(tmp_path / "t")] == ["upsert", "upsert"]
    assert is_whole(tmp_path / "t")


def few(spark: SparkSession, text: str, ts: int = 1) -> DataFrame:
    """A row for each letter, all in one city unless it is a capital."""
    rows = [(letter.lower(), "ny" if letter.isupper() else "sf", ts) for letter in text]
    return spark.createDataFrame(rows, "id string, city string, ts long").repartition(2)


@pytest.mark.parametrize("job", LAYOUTS[1:2], indirect=True, ids="-".join)
def test_each_operation_is_the_helpers(spark: SparkSession, tmp_path: Path, job: dict[str, str]) -> None:
    source, helper = tmp_path / "source", tmp_path / "helper"
    steps: list[tuple[str, str, int, Callable[..., Any]]] = [
        ("bulk_insert", "abC", 1, hs.bulk_insert),
        ("insert", "deF", 2, hs.insert),
        ("upsert", "aCg", 3, hs.upsert),
        ("delete", "bF", 0, hs.delete),
        ("insert_overwrite", "xy", 4, hs.insert_overwrite),
        ("insert_overwrite_table", "zA", 5, hs.overwrite_table),
    ]
    for operation, text, ts, helped in steps:
        df = few(spark, text, ts)
        saved(df, source, operation, job)
        helped(df, str(helper), job)
        assert pairs(source) == pairs(helper), operation
        if operation == "insert_overwrite":
            assert pairs(source) == [("c", 3), ("x", 4), ("y", 4)]
    assert pairs(source) == [("a", 5), ("z", 5)]
    assert done(source) == done(helper)
    assert [operation for _, operation in done(source)] == [operation for operation, *_ in steps]
    assert is_whole(source)


@pytest.mark.parametrize("job", LAYOUTS[2:], indirect=True, ids="-".join)
def test_an_overwrite_replaces_all_rows_and_keeps_the_history(
    spark: SparkSession, tmp_path: Path, job: dict[str, str]
) -> None:
    path = tmp_path / "t"
    save(few(spark, "abC"), path, job, mode="overwrite")
    [first] = hudini.open(path).history()
    save(few(spark, "cD", ts=2).unionAll(few(spark, "ccc", ts=1)), path, job, mode="overwrite")
    # An upsert into an empty table holds one row a key.
    assert pairs(path) == [("c", 2), ("d", 2)]
    then = spark.read.format("hudini").option("as.of.instant", first["instant"]).load(str(path))
    assert sorted(row["id"] for row in then.collect()) == ["a", "b", "c"]
    save(few(spark, "ee"), path, job, mode="overwrite", **{OPERATION: "bulk_insert"})
    assert pairs(path) == [("e", 1), ("e", 1)]
    save(few(spark, "f"), path, job, mode="overwrite")
    save(few(spark, "f").limit(0), path, job, mode="overwrite")
    assert pairs(path) == []
    # What there was nothing of cannot be replaced, and so is no commit before the first rows.
    assert [action for action, _ in done(path)][1:] == ["replacecommit"] * 4
    assert is_whole(path)


def test_partitions_are_replaced_in_the_mode_append_and_all_of_the_table_in_the_mode_overwrite(
    spark: SparkSession, tmp_path: Path
) -> None:
    path, job = tmp_path / "t", JOB | {"hoodie.datasource.write.partitionpath.field": "city"}
    save(few(spark, "abC"), path, job)
    save(few(spark, "d"), path, job, **{OPERATION: "insert_overwrite"})
    assert pairs(path) == [("c", 1), ("d", 1)]
    save(few(spark, "e"), path, job, mode="overwrite", **{OPERATION: "insert_overwrite"})
    assert pairs(path) == [("e", 1)]


def test_partitions_are_deleted_by_name(spark: SparkSession, tmp_path: Path) -> None:
    path, job = tmp_path / "t", JOB | {"hoodie.datasource.write.partitionpath.field": "city"}
    save(few(spark, "abC"), path, job)
    [gone] = {row["city"] for row in few(spark, "a").collect()}
    named = {OPERATION: "delete_partition", "hoodie.datasource.write.partitions.to.delete": gone}
    save(few(spark, "C"), path, job, **named)
    assert pairs(path) == [("c", 1)]
    with pytest.raises(Exception, match="HUDINI-101"):
        save(few(spark, "C"), tmp_path / "nothing", job, **named)
    assert not (tmp_path / "nothing").exists()


def test_a_verb_does_nothing_else_than_the_operation_of_the_job(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    hs.upsert(few(spark, "ab"), str(path), JOB | {OPERATION: "upsert"})
    with pytest.raises(hudini.InvalidOption, match="delete, and this is upsert"):
        hs.upsert(few(spark, "a"), str(path), JOB | {OPERATION: "delete"})
    assert (pairs(path), len(done(path))) == ([("a", 1), ("b", 1)], 1)


def test_no_rows_are_no_commit(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    save(few(spark, "a").limit(0), path, JOB)
    save(few(spark, "a"), path)
    save(few(spark, "b").filter("false"), path)
    assert (pairs(path), len(done(path))) == ([("a", 1)], 1)
    assert not leftovers(path)


def test_a_table_is_rewritten_from_itself(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    save(few(spark, "abc"), path, JOB)
    rows = spark.read.format("hudini").load(str(path))
    save(rows.filter("id <> 'b'").withColumn("ts", rows["ts"] + 1), path, mode="overwrite")
    assert pairs(path) == [("a", 2), ("c", 2)]
    assert is_whole(path)


def test_keys_in_lower_case_are_found(spark: SparkSession, tmp_path: Path) -> None:
    """Spark hands all keys over so."""
    path = tmp_path / "t"
    save(few(spark, "ab"), path, {"primaryKey": "id", "preCombineField": "ts", "type": "mor", "_Job": "night"})
    table = hudini.open(path)
    assert (table.record_key, table.ordering, table.table_type) == (["id"], ["ts"], "mor")
    assert table.history()[0]["metadata"]["_job"] == "night"


def test_types_and_large_batches_come_as_they_are(spark: SparkSession, tmp_path: Path) -> None:
    large = "spark.sql.execution.arrow.useLargeVarTypes"
    text = "id string, tags map<string,bigint>, steps array<struct<at: timestamp, cost: decimal(20,4)>>, raw binary"
    rows = [("a", {"x": 1}, [], b"\x00"), ("b", None, None, None)]
    frame = spark.createDataFrame(rows, text)
    for path, value in ((tmp_path / "plain", "false"), (tmp_path / "large", "true")):
        spark.conf.set(large, value)
        try:
            save(frame, path, {"hoodie.datasource.write.recordkey.field": "id"})
        finally:
            spark.conf.unset(large)
    assert difference(held(tmp_path / "plain"), held(tmp_path / "large")) is None
    assert sorted(held(tmp_path / "plain").column("raw").to_pylist(), key=str) == [None, b"\x00"]


def test_two_jobs_at_once(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    save(few(spark, "a"), path, JOB)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda text: save(few(spark, text, ts=2), path), ("abc", "ade")))
    assert pairs(path) == [(letter, 2) for letter in "abcde"]
    assert len(done(path)) == 3
    assert is_whole(path)


@pytest.mark.parametrize(
    ("given", "mode", "what"),
    [
        ({"hoodie.bogus.key": "1"}, "append", "hoodie.bogus.key"),
        ({OPERATION: "delete_partition"}, "append", "HUDINI-201"),
        ({OPERATION: "delete"}, "overwrite", "HUDINI-402"),
        ({OPERATION: "delete_partition"}, "overwrite", "HUDINI-402"),
        ({"hoodie.table.name": "another"}, "append", "hoodie.table.name is 'another'"),
        ({"hoodie.datasource.write.hive_style_partitioning": "true"}, "append", "hive_style_partitioning is 'true'"),
        (
            {"hoodie.datasource.write.payload.class": "org.apache.hudi.common.model.OverwriteWithLatestAvroPayload"},
            "append",
            "payload.class is 'COMMIT_TIME_ORDERING'",
        ),
        ({"hoodie.datasource.write.recordkey.field": "city"}, "append", "recordkey.field is 'city'"),
        ({"hoodie.datasource.write.recordkey.field": "city"}, "overwrite", "recordkey.field is 'city'"),
        ({"hoodie.bucket.index.num.buckets": "9"}, "append", "HUDINI-402"),
    ],
)
def test_what_cannot_be_followed_is_refused_before_any_task_runs(
    spark: SparkSession, tmp_path: Path, given: dict[str, str], mode: str, what: str
) -> None:
    path = tmp_path / "t"
    save(few(spark, "a"), path, JOB)
    with pytest.raises(Exception, match=what) as refused:
        save(untouched(spark), path, given, mode=mode)
    assert "was computed" not in str(refused.value)
    assert (pairs(path), len(done(path)), leftovers(path)) == ([("a", 1)], 1, [])


def untouched(spark: SparkSession, schema: str = "id string, city string, ts long") -> DataFrame:
    """A frame that must not be computed."""

    def computed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        raise RuntimeError("the frame was computed")
        yield from batches

    return spark.range(4, numPartitions=2).mapInArrow(computed, schema)


def test_columns_that_do_not_fit_are_refused_before_any_task_runs(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    save(few(spark, "a"), path, JOB)
    for schema in ("city string, ts long", "id string, city string, ts string"):
        with pytest.raises(Exception, match="HUDINI-401"):
            save(untouched(spark, schema), path)
    assert not leftovers(path)


@pytest.mark.parametrize(
    "given",
    [
        {"hoodie.index.type": "INMEMORY"},
        {"hoodie.datasource.write.partitions.to.delete": "a"},
        {"hoodie.datasource.write.schema.allow.auto.evolution.column.drop": "true"},
    ],
)
def test_no_table_is_made_for_a_write_that_is_refused(
    spark: SparkSession, tmp_path: Path, given: dict[str, str]
) -> None:
    path = tmp_path / "t"
    with pytest.raises(Exception, match=r"HUDINI-(201|402)"):
        save(untouched(spark), path, JOB | given)
    with pytest.raises((hudini.UnsupportedFeature, hudini.InvalidOption)):
        hs.upsert(untouched(spark), str(path), JOB | given)
    with pytest.raises(hudini.InvalidOption, match="and this is upsert"):
        hs.upsert(untouched(spark), str(path), JOB, **{OPERATION: "insert"})
    assert not path.exists()


def test_there_is_nothing_to_delete_from(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(Exception, match="HUDINI-101"):
        saved(untouched(spark), tmp_path / "t", "delete", JOB)
    assert not (tmp_path / "t").exists()


@pytest.mark.parametrize("mode", ["error", "ignore"])
def test_modes_that_spark_does_not_hand_over(spark: SparkSession, tmp_path: Path, mode: str) -> None:
    with pytest.raises(Exception, match="UNSUPPORTED_DATA_SOURCE_SAVE_MODE"):
        save(few(spark, "a"), tmp_path / "t", JOB, mode=mode)
    assert not (tmp_path / "t").exists()


def test_a_name_in_the_catalog_is_refused(spark: SparkSession) -> None:
    with pytest.raises(Exception, match=r"path is missing|TempView"):
        few(spark, "a").write.format("hudini").options(**JOB).mode("append").saveAsTable("hudini_written")
    assert not spark.catalog.tableExists("hudini_written")


def test_a_commit_that_is_refused_leaves_nothing(spark: SparkSession, tmp_path: Path) -> None:
    """A null key is seen only when rows are."""
    path = tmp_path / "t"
    save(few(spark, "a"), path, JOB)
    before = sorted(file for file in path.rglob("*") if file.parent.name != ".locks")
    rows = few(spark, "bc").selectExpr("if(id = 'c', null, id) as id", "city", "ts")
    with pytest.raises(Exception, match="has no record key"):
        save(rows, path)
    assert sorted(file for file in path.rglob("*") if file.parent.name != ".locks") == before
    assert pairs(path) == [("a", 1)]


def test_the_schema_that_changed_under_a_job_is_told_by_its_commit(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    save(few(spark, "a"), path, JOB)

    def meanwhile(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            hudini.open(path).upsert([{"id": "a", "city": "sf", "ts": 2, "fare": "much"}])
            yield batch.append_column("fare", pa.array([1.5] * batch.num_rows))

    rows = few(spark, "b").coalesce(1).mapInArrow(meanwhile, "id string, city string, ts long, fare double")
    with pytest.raises(Exception, match="HUDINI-401"):
        save(rows, path)
    assert pairs(path) == [("a", 2)]
    assert is_whole(path)


def test_another_name_writes_too(spark: SparkSession, tmp_path: Path) -> None:
    hs.register(spark, alias="hudi")
    few(spark, "ab").write.format("hudi").options(**JOB).mode("append").save(str(tmp_path / "t"))
    assert pairs(tmp_path / "t") == [("a", 1), ("b", 1)]


def fails(times: int) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Rows whose first task fails so often, when it has given all of them."""

    def passed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        yield from batches
        if context.partitionId() == 0 and context.attemptNumber() < times:
            raise RuntimeError("the executor is lost")

    return passed


def test_a_task_that_is_tried_again_brings_its_rows_once(spark: SparkSession, tmp_path: Path) -> None:
    """The session tries a task up to four times."""
    path = tmp_path / "t"
    rows = spark.range(60, numPartitions=3).selectExpr("concat('k', id) as id", "1L as ts")
    saved(rows.mapInArrow(fails(1), rows.schema), path, "insert", JOB)
    assert hudini.open(path).read().count() == 60
    with pytest.raises(Exception, match="the executor is lost"):
        saved(rows.mapInArrow(fails(4), rows.schema), path, "insert", JOB)
    assert len(done(path)) == 1
    assert is_whole(path)


def test_an_attempt_whose_work_was_in_vain_leaves_nothing(spark: SparkSession, tmp_path: Path) -> None:
    """It had staged its rows when its executor was lost."""
    path = tmp_path / "t"
    hudini.create(path, {"id": "string", "ts": "long"}, record_key="id")
    writer = StagingWriter.begun(str(path), {}, st.StructType().add("id", "string").add("ts", "long"), overwrites=False)
    batch = pa.RecordBatch.from_pydict({"id": ["a", "b"], "ts": [1, 1]})
    lost, first, second = (writer.write(iter([batch])) for _ in range(3))
    assert lost != first
    writer.commit([first])
    assert pairs(path) == [("a", 1), ("b", 1)]
    assert is_whole(path)
    for late in (lambda: writer.write(iter([batch])), lambda: writer.commit([second])):
        with pytest.raises(hudini.CommitConflict, match="has ended"):
            late()
    writer.abort([None])
    assert len(done(path)) == 1
    assert is_whole(path)
