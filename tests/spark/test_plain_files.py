"""`hudini.spark.read` hands whole files to Spark's own reader: the rows are those of the data source all the same."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import hudini
import hudini.spark as hs
from tests.spark.test_source import in_utc
from tests.support.compare import difference
from tests.support.rows import SCHEMA, Rows, to_arrow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS = Rows(seed=9)
FIRST = ROWS.batch(range(200), ts=1)
# "sf" is CITIES[0]: of a merge-on-read table only its slices get logs.
SECOND = ROWS.batch(range(0, 100, 4), ts=2)


@pytest.fixture(params=["cow", "mor"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> hudini.Table:
    options = {"hoodie.bucket.index.num.buckets": 2}
    made = hudini.create(tmp_path / "t", SCHEMA, "id", "ts", "city", request.param, options=options)
    made.bulk_insert(to_arrow(FIRST))
    made.upsert(to_arrow(SECOND))
    return made


def by_spark(frame: DataFrame) -> int:
    """How many files Spark's own reader takes."""
    return len(frame.inputFiles())


def agree(frame: DataFrame, scan: hudini.Scan) -> None:
    expected = scan.to_arrow()
    assert frame.columns == expected.column_names
    assert difference(in_utc(frame.toArrow()), expected) is None


def types(frame: DataFrame) -> list[tuple[str, str]]:
    return frame.dtypes


def test_rows_columns_and_types_are_those_of_the_data_source(spark: SparkSession, table: hudini.Table) -> None:
    frame, first = hs.read(spark, table.path), table.history()[-1]["instant"]
    slices = list(table.inspect.slices())
    whole = [row for row in slices if not row["log_files"]]
    assert by_spark(frame) == len(whole)
    assert (len(whole) < len(slices)) == (table.table_type == "mor")
    assert types(frame) == types(spark.read.format("hudini").load(table.path))
    agree(frame, table.read())
    names = ["note", "city", "amount"]
    agree(hs.read(spark, table.path, columns=names, meta=False), table.read(columns=names, meta=False))
    agree(hs.read(spark, table.path, as_of=first), table.read(as_of=first))
    optimized = hs.read(spark, table.path, mode="read_optimized")
    assert by_spark(optimized) == len(slices)
    agree(optimized, table.read(mode="read_optimized"))
    filtered = hs.read(spark, table.path, filter="city = 'sf' and ts = 2")
    assert by_spark(filtered) == 0
    agree(filtered, table.read(filter="city = 'sf' and ts = 2"))


def test_spark_prunes_columns_and_pushes_filters_down(
    spark: SparkSession, table: hudini.Table, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = hs.read(spark, table.path).where("ts = 2").select("id")
    frame.explain()
    plan = capsys.readouterr().out
    assert "EqualTo(ts,2)" in plan, plan
    assert "ReadSchema: struct<id:string,ts:bigint>" in plan, plan
    assert sorted(row[0] for row in frame.collect()) == sorted(row["id"] for row in SECOND)


def test_texts_may_be_large(spark: SparkSession, table: hudini.Table) -> None:
    large = "spark.sql.execution.arrow.useLargeVarTypes"
    spark.conf.set(large, "true")
    try:
        frame = hs.read(spark, table.path)
        assert by_spark(frame) > 0
        rows = frame.collect()
    finally:
        spark.conf.unset(large)
    expected = table.read(columns=["id", "note"]).to_arrow().to_pylist()
    assert sorted((row["id"], row["note"]) for row in rows) == sorted((row["id"], row["note"]) for row in expected)


def test_a_frame_stays_with_its_snapshot(spark: SparkSession, table: hudini.Table) -> None:
    frame, before = hs.read(spark, table.path), table.read()
    table.upsert(to_arrow(ROWS.batch(range(150, 250), ts=3)))
    agree(frame, before)
    assert hs.read(spark, table.path).count() == 250


def test_a_file_that_a_clean_took_is_missed(spark: SparkSession, tmp_path: Path) -> None:
    table = hudini.create(tmp_path / "t", SCHEMA, "id", "ts", options={"hoodie.bucket.index.num.buckets": 1})
    table.upsert(to_arrow(FIRST))
    frame = hs.read(spark, table.path)
    for ts in (2, 3):
        table.upsert(to_arrow(ROWS.batch(range(10), ts=ts)))
    table.services.clean(retain=1)
    with pytest.raises(Exception, match=r"FILE_NOT_EXIST|does not exist"):
        frame.collect()


def test_old_files_lack_new_columns(spark: SparkSession, table: hudini.Table) -> None:
    wider = to_arrow(ROWS.batch([1000], ts=4))
    table.upsert(wider.append_column("extra", pa.array(["x"])))
    frame = hs.read(spark, table.path, columns=["id", "extra"], meta=False)
    assert by_spark(frame) > 0
    agree(frame, table.read(columns=["id", "extra"], meta=False))


@pytest.mark.parametrize(
    ("field", "values", "taken"),
    [
        pytest.param(pa.field("p", pa.string()), ["a", None, "b c"], 2, id="a folder may stand for null or nothing"),
        pytest.param(pa.field("p", pa.string()), ["a b", "ü"], 1, id="a path may need escapes"),
        pytest.param(pa.field("p", pa.string()), ["a,b", "a@b", "a*b", "[a]"], 2, id="or be a pattern"),
        pytest.param(pa.field("p", pa.int64()), [1, -5], 2, id="numbers"),
        pytest.param(pa.field("p", pa.date32()), [0, 20_000], 2, id="days"),
    ],
)
def test_partition_columns_have_the_values_of_their_folders(
    spark: SparkSession, tmp_path: Path, field: pa.Field, values: list[Any], taken: int
) -> None:
    schema = pa.schema([pa.field("id", pa.string(), False), field])
    table = hudini.create(tmp_path / "t", schema, "id", None, "p", options={"hoodie.bucket.index.num.buckets": 1})
    table.insert(pa.table([[f"k{n}" for n in range(len(values))], pa.array(values, field.type)], schema=schema))
    frame = hs.read(spark, table.path, meta=False)
    assert by_spark(frame) == taken
    agree(frame, table.read(meta=False))


@pytest.mark.parametrize("hive_style", ["true", "false"])
def test_partitions_may_be_encoded(spark: SparkSession, tmp_path: Path, hive_style: str) -> None:
    schema, values = {"id": "string not null", "p": "string"}, ["50%", "a/b", "a:b", "a*b"]
    options = {
        "hoodie.bucket.index.num.buckets": "1",
        "hoodie.datasource.write.hive_style_partitioning": hive_style,
        "hoodie.datasource.write.partitionpath.urlencode": "true",
    }
    table = hudini.create(tmp_path / "t", schema, "id", None, "p", options=options)
    table.insert([{"id": f"k{number}", "p": value} for number, value in enumerate(values)])
    frame = hs.read(spark, table.path, meta=False)
    assert by_spark(frame) == len(values)
    agree(frame, table.read(meta=False))


def test_the_folder_of_a_table_may_have_any_name(spark: SparkSession, tmp_path: Path) -> None:
    for name, taken in (("trips, +@~(1) & 50%25#;'!$=:^|<>", 1), ("trips {1}", 0), ("trips*", 0)):
        table = hudini.create(tmp_path / name, SCHEMA, "id", "ts", options={"hoodie.bucket.index.num.buckets": 1})
        table.insert(to_arrow(FIRST))
        frame = hs.read(spark, table.path)
        assert by_spark(frame) == taken, name
        agree(frame, table.read())


def test_columns_of_several_forms_are_left_to_the_data_source(spark: SparkSession, tmp_path: Path) -> None:
    schema = {"id": "string not null", "tags": "array<string>", "n": "long"}
    table = hudini.create(tmp_path / "t", schema, record_key="id", options={"hoodie.bucket.index.num.buckets": 1})
    table.insert([{"id": "a", "tags": ["x", None], "n": 1}, {"id": "b"}])
    assert by_spark(hs.read(spark, table.path)) == 0
    assert by_spark(hs.read(spark, table.path, columns=["id", "n"])) == 1
    agree(hs.read(spark, table.path, columns=["id", "n"]), table.read(columns=["id", "n"]))
