"""The data source: `spark.read.format("hudini")`."""

from __future__ import annotations

import datetime as dt
import decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import hudini
import hudini.spark as hs
from hudini.spark.source import SplitReader
from tests.support.compare import difference
from tests.support.rows import SCHEMA, Rows, to_arrow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

OPTIONS = {"hoodie.bucket.index.num.buckets": 2}


@pytest.fixture(params=["cow", "mor"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> hudini.Table:
    made = hudini.create(
        tmp_path / "t",
        SCHEMA,
        record_key="id",
        ordering="ts",
        partition_by="city",
        table_type=request.param,
        options=OPTIONS,
    )
    rows = Rows(seed=7)
    made.bulk_insert(to_arrow(rows.batch(range(200), ts=1)))
    made.upsert(to_arrow(rows.batch(range(50, 250), ts=2)))
    return made


def load(spark: SparkSession, table: hudini.Table, **options: str) -> DataFrame:
    return spark.read.format("hudini").options(**options).load(table.path)


def arrow(frame: DataFrame) -> pa.Table:
    return frame.toArrow()


def in_utc(table: pa.Table) -> pa.Table:
    """Spark labels an instant with the session's zone; the instant is the same."""
    fields = [
        field.with_type(pa.timestamp("us", tz="UTC")) if pa.types.is_timestamp(field.type) and field.type.tz else field
        for field in table.schema
    ]
    return table.cast(pa.schema(fields))


def test_spark_finds_the_source_and_reads_the_rows(spark: SparkSession, table: hudini.Table) -> None:
    assert difference(in_utc(arrow(load(spark, table))), table.read().to_arrow()) is None


def test_the_schema_is_the_tables(spark: SparkSession, table: hudini.Table) -> None:
    fields = {field.name: (field.dataType.simpleString(), field.nullable) for field in load(spark, table).schema}
    assert list(fields)[:5] == [name for name in table.read().schema.names if name.startswith("_hoodie_")]
    assert fields["id"] == ("string", False)
    assert fields["amount"] == ("decimal(10,2)", True)
    assert fields["seen"] == ("timestamp", True)


def test_a_frame_keeps_to_the_snapshot_that_it_was_loaded_from(spark: SparkSession, table: hudini.Table) -> None:
    frame = load(spark, table)
    table.upsert(to_arrow(Rows(seed=8).batch([1000], ts=3)))
    assert frame.count() == 250
    assert frame.filter("id = 'key-01000'").count() == 0
    assert load(spark, table).count() == 251


def test_time_travel(spark: SparkSession, table: hudini.Table) -> None:
    first = table.history()[-1]["instant"]
    frame = load(spark, table, **{"AS.OF.instant": first})
    assert frame.count() == 200
    assert load(spark, table, as_of=first).count() == 200
    assert hs.read(spark, table.path, as_of=first).count() == 200
    assert hs.read(spark, table.path, options={"as.of.instant": first}).count() == 200


def test_incremental(spark: SparkSession, table: hudini.Table) -> None:
    last, first = table.history()
    options = {
        "hoodie.datasource.query.type": "incremental",
        "hoodie.datasource.read.begin.instanttime": first["completed"],
        "hoodie.datasource.read.end.instanttime": last["completed"],
    }
    frame = load(spark, table, **options)
    expected = table.incremental(first, last).to_arrow()
    assert expected.num_rows == 200
    assert difference(in_utc(arrow(frame)), expected) is None
    assert hs.incremental(spark, table.path, start=last).count() == 0
    helped = hs.incremental(spark, table.path, end=first, columns=["id"])
    assert (helped.columns, helped.count()) == (["id"], 200)


def test_changes(spark: SparkSession, table: hudini.Table) -> None:
    last, first = table.history()
    frame = hs.changes(spark, table.path, first, last)
    assert difference(in_utc(arrow(frame)), table.changes(first, last).to_arrow()) is None
    options = {
        "hoodie.datasource.query.type": "incremental",
        "hoodie.datasource.query.incremental.format": "cdc",
        "hoodie.datasource.read.begin.instanttime": first["completed"],
    }
    texts = table.changes(first, images="json").to_arrow()
    assert difference(arrow(load(spark, table, **options)), texts, ("before", "after")) is None


def test_read_optimized(spark: SparkSession, table: hudini.Table) -> None:
    frame = load(spark, table, **{"hoodie.datasource.query.type": "read_optimized"})
    expected = table.read(mode="read_optimized").to_arrow()
    assert difference(in_utc(arrow(frame)), expected) is None
    assert difference(in_utc(arrow(hs.read(spark, table.path, mode="read_optimized"))), expected) is None
    old = {"hoodie.datasource.view.type": "read_optimized"}
    assert difference(in_utc(arrow(load(spark, table, **old))), expected) is None
    assert difference(in_utc(arrow(hs.read(spark, table.path, options=old))), expected) is None


def test_the_helper_reads_only_the_columns_asked_for(spark: SparkSession, table: hudini.Table) -> None:
    frame = hs.read(spark, table.path, columns=["note", "id"], meta=False)
    assert frame.columns == ["note", "id"]
    assert difference(arrow(frame), table.read(columns=["note", "id"], meta=False).to_arrow()) is None


def test_the_helpers_filter_before_spark_does(spark: SparkSession, table: hudini.Table) -> None:
    first = table.history()[-1]
    wanted = "id < 'key-00100' and amount is not null"
    frame = hs.read(spark, table.path, columns=["id"], filter=wanted)
    assert sorted(row["id"] for row in frame.collect()) == sorted(
        table.read(columns=["id"], filter=wanted).to_arrow().column("id").to_pylist()
    )
    assert 0 < frame.count() < table.read().count()
    helped = hs.incremental(spark, table.path, end=first, columns=["id"], filter=[("id", "=", "key-00007")])
    assert [row["id"] for row in helped.collect()] == ["key-00007"]


def test_a_table_without_rows(spark: SparkSession, tmp_path: Path) -> None:
    empty = hudini.create(tmp_path / "empty", SCHEMA, record_key="id", options=OPTIONS)
    assert load(spark, empty).collect() == []


def test_a_schema_of_the_callers(spark: SparkSession, table: hudini.Table) -> None:
    frame = spark.read.format("hudini").schema("ts long, id string").load(table.path)
    assert difference(arrow(frame), table.read(columns=["ts", "id"], meta=False).to_arrow()) is None
    with pytest.raises(Exception, match="the table has no column nope"):
        spark.read.format("hudini").schema("nope string").load(table.path).collect()


@pytest.mark.parametrize(
    "declared, message",
    [
        ("amount decimal(10,2) not null", "the column amount is declared NOT NULL"),
        ("amount decimal(18,4)", "the column amount is decimal"),
        ("ts string", "the column ts is string, and bigint in the table"),
        ("ts int", "the column ts is int, and bigint in the table"),
    ],
)
def test_a_schema_that_the_table_does_not_have(
    spark: SparkSession, table: hudini.Table, declared: str, message: str
) -> None:
    with pytest.raises(Exception, match=message):
        spark.read.format("hudini").schema(declared).load(table.path).collect()


def test_what_is_not_there_says_so(spark: SparkSession, table: hudini.Table) -> None:
    with pytest.raises(Exception, match="readStream"):
        stream = spark.readStream.format("hudini").load(table.path)
        stream.writeStream.format("noop").start().processAllAvailable()
    with pytest.raises(Exception, match="two different folders"):
        spark.read.format("hudini").load("file:///some/where%20else")


def test_nested_types_and_instants_before_1970(spark: SparkSession, tmp_path: Path) -> None:
    schema = {
        "id": "string not null",
        "tags": "map<string,long>",
        "steps": "array<struct<at: timestamp, cost: decimal(20,4) not null>>",
        "raw": "binary",
        "local": "timestamp_ntz",
    }
    when = dt.datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=dt.timezone.utc)
    row = {
        "id": "a",
        "tags": {"x": 1, "y": None},
        "steps": [{"at": when, "cost": decimal.Decimal("1234567890123456.7891")}, None],
        "raw": b"\x00\xff",
        "local": dt.datetime(1900, 1, 1, 0, 0, 0, 1),
    }
    made = hudini.create(tmp_path / "nested", schema, record_key="id", options=OPTIONS)
    made.upsert([row, {"id": "b"}])
    rows = hs.read(spark, made.path, meta=False).toArrow().to_pylist()
    got = {found["id"]: found | {"tags": found["tags"] and dict(found["tags"])} for found in rows}
    assert got["a"] == row
    assert got["b"] == {"id": "b", "tags": None, "steps": None, "raw": None, "local": None}


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"hoodie.datasource.query.type": "incremental"}, "begin.instanttime"),
        ({"hoodie.datasource.query.type": "incremental", "as.of.instant": "2026"}, "as.of.instant"),
        ({"hoodie.datasource.query.type": "incremntal"}, "(?s)=incremntal .*snapshot, read_optimized, incremental"),
        ({"hoodie.datasource.read.begin.instanttime": "000"}, "query.type=incremental"),
        ({"hoodie.datasource.view.type": "snapshot", "hoodie.datasource.read.end.instanttime": "9"}, "end.instanttime"),
        (
            {
                "hoodie.datasource.query.type": "incremental",
                "hoodie.datasource.read.begin.instanttime": "000",
                "hoodie.datasource.query.incremental.format": "nothing",
            },
            "incremental.format=nothing",
        ),
        ({"hoodie.bogus.key": "1"}, "hoodie.bogus.key"),
        ({"as.of.instant": "not a time"}, "not a time"),
    ],
)
def test_an_option_that_cannot_be_followed_is_named(
    spark: SparkSession, table: hudini.Table, options: dict[str, str], what: str
) -> None:
    with pytest.raises(Exception, match=what):
        load(spark, table, **options)


def test_there_is_no_table(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(Exception, match="HUDINI-101"):
        spark.read.format("hudini").load(str(tmp_path / "nothing"))


def test_the_helpers_raise_errors_of_their_own_kind(spark: SparkSession, table: hudini.Table, tmp_path: Path) -> None:
    for read in (hs.read, hs.incremental, hs.changes):
        with pytest.raises(hudini.TableNotFound) as missing:
            read(spark, tmp_path / "nothing")
        assert missing.value.path == str(tmp_path / "nothing")
        with pytest.raises(hudini.InvalidOption, match=r"hoodie\.bogus\.key"):
            read(spark, table.path, options={"hoodie.bogus.key": "1"})
    for since in (hs.incremental, hs.changes):
        with pytest.raises(hudini.InvalidOption, match="not a time"):
            since(spark, table.path, "not a time")


def test_a_path_may_be_a_path(spark: SparkSession, table: hudini.Table) -> None:
    path, first = Path(table.path), table.history()[-1]
    assert hs.read(spark, path).count() == 250
    assert hs.read(spark, path, filter="id = 'key-00001'").count() == 1
    assert hs.incremental(spark, path, first).count() == 200
    assert hs.changes(spark, path, first).count() == table.changes(first).count()


def test_frames_of_the_helpers_keep_to_their_state(spark: SparkSession, table: hudini.Table) -> None:
    first = table.history()[-1]
    frames = [
        hs.read(spark, table.path, filter="ts > 0"),
        hs.incremental(spark, table.path, first),
        hs.changes(spark, table.path, first),
    ]
    before = [frame.count() for frame in frames]
    table.upsert(to_arrow(Rows(seed=8).batch(range(1000, 1010), ts=3)))
    assert [frame.count() for frame in frames] == before
    assert hs.incremental(spark, table.path, first).count() == before[1] + 10


def test_a_local_table_has_no_options_of_a_storage(spark: SparkSession, table: hudini.Table) -> None:
    named = {"hudini.storage.aws_region": "eu-west-1"}
    with pytest.raises(Exception, match='unknown storage option "aws_region"'):
        load(spark, table, **named)
    with pytest.raises(Exception, match='unknown storage option "aws_region"'):
        load(spark, table).write.format("hudini").options(**named).mode("append").save(table.path)
    with pytest.raises(hudini.InvalidOption, match='unknown storage option "aws_region"'):
        hs.read(spark, table.path, storage_options={"aws_region": "eu-west-1"})


def test_another_name(spark: SparkSession, table: hudini.Table) -> None:
    hs.register(spark, alias="hudi")
    assert spark.read.format("hudi").load(table.path).count() == 250


def test_streams_through_the_source_name_the_helper(spark: SparkSession, table: hudini.Table, tmp_path: Path) -> None:
    stream = spark.readStream.format("rate").load().writeStream.format("hudini")
    with pytest.raises(Exception, match="stream_upsert"):
        stream.option("checkpointLocation", str(tmp_path / "checkpoint")).start(table.path).awaitTermination()
    assert len(table.history()) == 2


def test_filters_stay_with_spark() -> None:
    # Spark refuses a reader that offers to take filters unless a configuration says so.
    defined: dict[str, Any] = vars(SplitReader)
    assert "pushFilters" not in defined


def test_two_filters_on_one_frame(spark: SparkSession, table: hudini.Table) -> None:
    """A source that takes filters loses rows here: the second query goes by the first one's."""
    frame = load(spark, table)
    counts = {city: frame.filter(f"city = '{city}'").count() for city in ("sf", "ny")}
    assert counts == {city: table.read(filter=f"city = '{city}'").count() for city in ("sf", "ny")}
    assert frame.count() == 250


def test_a_table_of_the_catalog_is_refused_when_it_is_made(spark: SparkSession, table: hudini.Table) -> None:
    """Queries get none of its options, its path neither. Without a path Spark asks as it does in queries."""
    try:
        for where, what in ((f"LOCATION '{table.path}'", "createOrReplaceTempView"), ("", "path is missing|TempView")):
            with pytest.raises(Exception, match=what):
                spark.sql(f"CREATE TABLE hudini_trips USING hudini {where}")
    finally:
        spark.sql("DROP TABLE IF EXISTS hudini_trips")
