"""Tables in an object store: moto's server, which speaks S3's language, on a port of this machine."""

from __future__ import annotations

import gc
import os
import pickle
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import boto3
import pyarrow as pa
import pytest

import hudini
from tests.golden import catalogue
from tests.support.compare import difference
from tests.support.flaky import FAULTS, flaky, patience
from tests.support.s3 import served

SECRETS = {"aws_access_key_id": "who", "aws_secret_access_key": "what", "aws_region": "us-east-1"}


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with served() as url:
        yield url


@pytest.fixture(scope="module")
def bucket(endpoint: str) -> Any:
    keys = {"aws_access_key_id": "who", "aws_secret_access_key": "what", "region_name": "us-east-1"}
    made = boto3.resource("s3", endpoint_url=endpoint, **keys).Bucket("lake")
    made.create()
    return made


@pytest.fixture
def options(endpoint: str) -> dict[str, str]:
    return {**SECRETS, "endpoint_url": endpoint}


def upload(bucket: Any, table: hudini.Table, prefix: str) -> str:
    root = Path(table.path)
    for file in root.rglob("*"):
        if file.is_file():
            bucket.upload_file(str(file), f"{prefix}/{file.relative_to(root)}")
    return f"s3://lake/{prefix}"


@pytest.fixture
def local(tmp_path: Path) -> hudini.Table:
    schema = {"id": "string not null", "ts": "long not null", "city": "string not null"}
    places = {"hoodie.bucket.index.num.buckets": 2}
    table = hudini.create(
        tmp_path / "t", schema, record_key="id", ordering="ts", partition_by="city", table_type="mor", options=places
    )
    cities = ["oslo", "st louis", "são paulo"]
    table.upsert([{"id": f"k{n}", "ts": 1, "city": cities[n % 3]} for n in range(30)])
    table.upsert([{"id": f"k{n}", "ts": 2, "city": cities[n % 3]} for n in range(0, 30, 4)])
    return table


def test_reads_are_those_of_the_files(bucket: Any, options: dict[str, str], local: hudini.Table) -> None:
    remote = hudini.open(upload(bucket, local, "some where/trips"), storage_options=options)
    assert difference(remote.read().to_arrow(), local.read().to_arrow()) is None
    first = local.history()[-1]
    assert difference(remote.read(as_of=first).to_arrow(), local.read(as_of=first).to_arrow()) is None
    assert difference(remote.incremental(first).to_arrow(), local.incremental(first).to_arrow()) is None
    assert difference(remote.changes(first).to_arrow(), local.changes(first).to_arrow()) is None
    assert list(remote.history()) == list(local.history())
    assert remote.properties == local.properties


# Partitions with `=` and `%` in their names, indexes, an archived timeline, the older layout.
GOLDEN = [
    "cow_hive_style_url_encoded_v8",
    "mor_metadata_all_indexes_v9",
    "timeline_archived_v8",
    "mor_core_v6",
]


@pytest.mark.parametrize("metadata", ["true", "false"])
@pytest.mark.parametrize("case", GOLDEN)
def test_tables_of_apache_hudi(case: str, metadata: str, bucket: Any, options: dict[str, str], tmp_path: Path) -> None:
    settings = {"hoodie.metadata.enable": metadata}
    here = hudini.open(catalogue.unpack(case, tmp_path), options=settings)
    there = hudini.open(upload(bucket, here, f"golden/{metadata}/{case}"), options=settings, storage_options=options)
    start = here.history()[1]
    for ask in (lambda table: table.read(), lambda table: table.incremental(start), lambda table: table.changes(start)):
        assert difference(ask(there).to_arrow(), ask(here).to_arrow()) is None
    assert list(there.inspect.files()) == list(here.inspect.files())


def test_a_folder_is_listed_to_its_end(bucket: Any, options: dict[str, str], local: hudini.Table) -> None:
    path = upload(bucket, local, "many/trips")
    # A page has a thousand names, and these come before all others.
    for n in range(1100):
        bucket.put_object(Key=f"many/trips/oslo/+{n}", Body=b"")
    for metadata in ("true", "false"):
        remote = hudini.open(path, options={"hoodie.metadata.enable": metadata}, storage_options=options)
        assert difference(remote.read().to_arrow(), local.read().to_arrow()) is None


def count(split: hudini.Split) -> int:
    return sum(batch.num_rows for batch in hudini.read_split(split))


def test_splits_are_read_elsewhere(bucket: Any, options: dict[str, str], local: hudini.Table) -> None:
    remote = hudini.open(upload(bucket, local, "split"), storage_options=options)
    assert remote.read().count() == 30
    splits = [pickle.loads(pickle.dumps(split)) for split in remote.read().splits()]
    # A forked child must not use its parent's connections.
    with ProcessPoolExecutor(2, mp_context=get_context("fork")) as pool:
        assert sum(pool.map(count, splits)) == 30
    assert remote.read().count() == 30


def test_a_forked_child_lets_go_of_its_parents_store(bucket: Any, options: dict[str, str], local: hudini.Table) -> None:
    remote = hudini.open(upload(bucket, local, "forked"), storage_options=options)
    assert remote.read().count() == 30
    child = os.fork()
    if child == 0:
        del remote
        gc.collect()
        os._exit(0)
    deadline = time.monotonic() + 30
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            pytest.fail("the child hangs")
        time.sleep(0.05)


def test_names_of_fsspec(bucket: Any, endpoint: str, local: hudini.Table) -> None:
    path = upload(bucket, local, "fsspec")
    options = {"key": "who", "secret": "what", "endpoint_url": endpoint, "region": "us-east-1"}
    table = hudini.open(path.replace("s3://", "s3a://"), storage_options=options)
    assert pa.table(table).num_rows == 30


def test_a_dict_for_the_client_as_fsspec_has_it(bucket: Any, endpoint: str, local: hudini.Table) -> None:
    path = upload(bucket, local, "clients")
    client = {"endpoint_url": endpoint, "region_name": "us-east-1"}
    options = {"key": "who", "secret": "what", "token": None, "use_ssl": False, "client_kwargs": client}
    assert pa.table(hudini.open(path, storage_options=options)).num_rows == 30
    with pytest.raises(hudini.InvalidOption, match="two things of 'endpoint_url'"):
        hudini.open(path, storage_options={"endpoint_url": "http://127.0.0.1:1", "client_kwargs": client})
    with pytest.raises(hudini.InvalidOption, match="favourite"):
        hudini.open(path, storage_options={"client_kwargs": {"favourite": "blue"}})


@pytest.fixture
def profiles(tmp_path: Path, endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = "aws_access_key_id = who\naws_secret_access_key = what\n"
    config = f"[profile lake]\nregion = us-east-1\nendpoint_url = {endpoint}\n[profile sso]\nsso_session = work\n"
    for variable, text in {"AWS_SHARED_CREDENTIALS_FILE": f"[lake]\n{keys}", "AWS_CONFIG_FILE": config}.items():
        (tmp_path / variable).write_text(text)
        monkeypatch.setenv(variable, str(tmp_path / variable))


@pytest.mark.usefixtures("profiles")
def test_profiles_of_the_aws_tools(bucket: Any, local: hudini.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    path = upload(bucket, local, "profiles")
    assert pa.table(hudini.open(path, storage_options={"profile": "lake"})).num_rows == 30
    with pytest.raises(hudini.InvalidOption, match="no AWS profile 'elsewhere'"):
        hudini.open(path, storage_options={"profile": "elsewhere"})
    with pytest.raises(hudini.UnsupportedFeature, match="sso_session"):
        hudini.open(path, storage_options={"profile": "sso"})
    monkeypatch.setenv("AWS_PROFILE", "lake")
    assert pa.table(hudini.open(path)).num_rows == 30


def test_an_environment_that_is_no_text(
    bucket: Any, options: dict[str, str], local: hudini.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = upload(bucket, local, "environment")
    monkeypatch.setitem(os.environb, b"NO_TEXT", b"\xff")
    assert pa.table(hudini.open(path, storage_options=options)).num_rows == 30


def test_what_is_not_there(bucket: Any, options: dict[str, str], endpoint: str) -> None:
    assert not hudini.is_table("s3://lake/nothing", storage_options=options)
    with pytest.raises(hudini.TableNotFound):
        hudini.open("s3://lake/nothing", storage_options=options)
    with pytest.raises(hudini.InvalidOption, match="aws_regoin"):
        hudini.open("s3://lake/nothing", storage_options={"aws_regoin": "x"})


def test_a_lost_file_is_an_error(bucket: Any, options: dict[str, str], local: hudini.Table) -> None:
    path = upload(bucket, local, "lost")
    scan = hudini.open(path, storage_options=options).read()
    for item in bucket.objects.filter(Prefix="lost/oslo/"):
        item.delete()
    with pytest.raises(hudini.StorageFailure):
        scan.to_arrow()


@pytest.mark.parametrize("fault", FAULTS)
def test_a_store_that_fails_once_is_asked_again(
    bucket: Any, options: dict[str, str], local: hudini.Table, fault: str
) -> None:
    url = upload(bucket, local, f"once/{FAULTS.index(fault)}")
    with flaky(options["endpoint_url"], fault) as (endpoint, failed):
        remote = hudini.open(url, storage_options=options | {"endpoint_url": endpoint, "timeout": patience(fault)})
        assert difference(remote.read().to_arrow(), local.read().to_arrow()) is None
    assert any(".parquet" in path for path in failed) and any(".log." in path for path in failed)


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault.endswith("half way")])
def test_a_list_that_fails_is_an_error(bucket: Any, options: dict[str, str], local: hudini.Table, fault: str) -> None:
    url = upload(bucket, local, f"lists/{FAULTS.index(fault)}")
    with flaky(options["endpoint_url"], fault, lists_too=True) as (endpoint, _):
        remote = hudini.open(url, storage_options=options | {"endpoint_url": endpoint, "timeout": patience(fault)})
        with pytest.raises(hudini.StorageFailure) as raised:
            remote.read()
        assert raised.value.path == ".hoodie/timeline"
        while True:
            try:
                found = remote.read().to_arrow()
            except hudini.StorageFailure:
                continue
            break
        assert difference(found, local.read().to_arrow()) is None


def test_nothing_is_written(bucket: Any, options: dict[str, str], local: hudini.Table) -> None:
    table = hudini.open(upload(bucket, local, "written"), storage_options=options)
    before = {item.key for item in bucket.objects.all()}
    with pytest.raises(hudini.UnsupportedFeature, match="writing to an object store"):
        table.upsert([{"id": "x", "ts": 1, "city": "oslo"}])
    with pytest.raises(hudini.UnsupportedFeature, match="writing to an object store"):
        hudini.create("s3://lake/new", {"id": "string"}, record_key="id", storage_options=options)
    assert {item.key for item in bucket.objects.all()} == before
