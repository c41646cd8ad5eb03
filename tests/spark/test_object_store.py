"""Tables in an object store, moto's server: what a reader must say of the storage comes to the executors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import boto3
import pytest

import hudini
import hudini.spark as hs
from tests.support.s3 import served

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PATH = "s3://lake/trips"
SECRETS = {"aws_access_key_id": "who", "aws_secret_access_key": "what"}


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """What opens the table at `PATH`: nothing of it is in the environment."""
    local = tmp_path_factory.mktemp("local") / "t"
    schema = {"id": "string not null", "ts": "long not null"}
    buckets = {"hoodie.bucket.index.num.buckets": 2}
    table = hudini.create(local, schema, "id", "ts", table_type="mor", options=buckets)
    table.upsert([{"id": f"k{n}", "ts": 1} for n in range(30)])
    table.upsert([{"id": f"k{n}", "ts": 2} for n in range(0, 30, 4)])
    with served() as endpoint:
        bucket = boto3.resource("s3", endpoint_url=endpoint, region_name="us-east-1", **SECRETS).Bucket("lake")
        bucket.create()
        for file in local.rglob("*"):
            if file.is_file():
                bucket.upload_file(str(file), f"trips/{file.relative_to(local)}")
        yield {**SECRETS, "endpoint_url": endpoint, "region": "us-east-1"}


def test_the_helpers_take_options_of_the_storage(spark: SparkSession, told: dict[str, str]) -> None:
    first = hudini.open(PATH, storage_options=told).history()[-1]
    assert hs.read(spark, PATH, storage_options=told).filter("ts = 2").count() == 8
    assert hs.incremental(spark, PATH, first, storage_options=told).count() == 8
    assert hs.changes(spark, PATH, first, storage_options=told).count() == 8


def test_as_fsspec_has_them(spark: SparkSession, told: dict[str, str]) -> None:
    client = {"endpoint_url": told["endpoint_url"], "region_name": "us-east-1"}
    options = {"key": "who", "secret": "what", "token": None, "client_kwargs": client}
    assert hs.read(spark, PATH, storage_options=options).count() == 30


def test_the_source_takes_them_behind_a_prefix(spark: SparkSession, told: dict[str, str]) -> None:
    options = {f"hudini.storage.{key.upper()}": value for key, value in told.items()}
    frame = spark.read.format("hudini").options(**options).load(PATH)
    assert frame.count() == 30
    with pytest.raises(Exception, match="writing to an object store"):
        frame.write.format("hudini").options(**options).mode("append").save(PATH)
    with pytest.raises(Exception, match=r'unknown storage option \\?"regoin'):
        spark.read.format("hudini").options(**options).option("hudini.storage.regoin", "x").load(PATH)
