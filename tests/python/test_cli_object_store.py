"""The command line on a table in an object store: moto's server, which speaks S3's language."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest

import hudini
from tests.support.s3 import served

from .test_cli import run
from .test_object_store import SECRETS, upload


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> hudini.Table:
    schema = {"id": "string not null", "v": "long"}
    made = hudini.create(tmp_path_factory.mktemp("local") / "t", schema, record_key="id", table_type="mor")
    made.insert([{"id": "a", "v": 1}, {"id": "b", "v": 1}])
    made.upsert([{"id": "a", "v": 2}])
    return made


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with served() as url:
        yield url


@pytest.fixture(scope="module")
def url(endpoint: str, table: hudini.Table) -> str:
    """Where the table is in the store."""
    keys = {"aws_access_key_id": "who", "aws_secret_access_key": "what", "region_name": "us-east-1"}
    bucket = boto3.resource("s3", endpoint_url=endpoint, **keys).Bucket("lake")
    bucket.create()
    return upload(bucket, table, "t")


@pytest.fixture(scope="module")
def storage(endpoint: str) -> list[str]:
    options = {**SECRETS, "endpoint_url": endpoint}
    return [word for key, value in options.items() for word in ("--storage", f"{key}={value}")]


@pytest.mark.parametrize(
    "verb",
    [
        ["read"],
        ["count"],
        ["incremental"],
        ["changes"],
        ["sql", "from t order by id"],
        ["history"],
        ["timeline"],
        ["schema"],
        ["properties"],
        ["partitions"],
        ["slices"],
        ["files"],
        ["indexes"],
        ["metadata"],
    ],
)
def test_verbs_take_options_of_the_storage(url: str, table: hudini.Table, storage: list[str], verb: list[str]) -> None:
    name, *rest = verb
    assert run(name, url, *rest, *storage, "--json")[0] == run(name, table.path, *rest, "--json")[0]


def test_verify_takes_options_of_the_storage(url: str, storage: list[str]) -> None:
    assert json.loads(run("verify", url, *storage, "--json")[0])["ok"]


def test_files_of_a_store_are_opened_by_themselves(url: str, table: hudini.Table, storage: list[str]) -> None:
    [log] = (row["name"] for row in table.inspect.files() if row["kind"] == "log")
    shown = run("log", f"{url}/{log}", *storage)[0]
    assert shown == run("log", str(Path(table.path) / log))[0]
