"""Tables in emulators of Azure and of Google's cloud; `tests/python/test_object_store.py` has what all stores share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import hudini
from tests.support.compare import difference

from .emulators import ACCOUNT, CONTAINER, KEY, Azurite, FakeGcs, served, upload

CLOUDS = Path(__file__).parents[2] / ".cache" / "clouds"
PREFIX = "some where/t"
CITIES = ["oslo", "são paulo", "st louis"]


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> hudini.Table:
    schema = {"id": "string not null", "ts": "long not null", "city": "string not null"}
    path = tmp_path_factory.mktemp("clouds") / "t"
    table = hudini.create(path, schema, record_key="id", ordering="ts", partition_by="city", table_type="mor")
    for ts in (1, 2, 3):
        table.upsert([{"id": f"k{n}", "ts": ts, "city": CITIES[n % 3]} for n in range(0, 30, ts)])
    return table


def fetched(program: str) -> Path:
    path = CLOUDS / program
    if not path.exists():
        pytest.skip(f"{path.name} is not there: make clouds")
    return path


@pytest.fixture(scope="module")
def azure(local: hudini.Table) -> Iterator[Azurite]:
    with served(Azurite, fetched("node_modules/.bin/azurite-blob")) as store:
        upload(store, Path(local.path), PREFIX)
        yield store


@pytest.fixture(scope="module")
def google(local: hudini.Table) -> Iterator[FakeGcs]:
    with served(FakeGcs, fetched("bin/fake-gcs-server")) as store:
        upload(store, Path(local.path), PREFIX)
        yield store


def check(remote: hudini.Table, local: hudini.Table) -> None:
    first = local.history()[-1]
    assert difference(remote.read().to_arrow(), local.read().to_arrow()) is None
    assert difference(remote.read(as_of=first).to_arrow(), local.read(as_of=first).to_arrow()) is None
    assert difference(remote.incremental(first).to_arrow(), local.incremental(first).to_arrow()) is None
    assert difference(remote.changes().to_arrow(), local.changes().to_arrow()) is None
    assert remote.read(filter=f"city = '{CITIES[1]}'").count() == 10
    assert remote.verify(deep=True).ok


@pytest.mark.parametrize(
    "url",
    [
        f"az://{CONTAINER}/{PREFIX}",
        f"abfs://{CONTAINER}/some%20where/t",
        f"abfss://{CONTAINER}@{ACCOUNT}.dfs.core.windows.net/{PREFIX}",
    ],
)
def test_azure(azure: Azurite, local: hudini.Table, url: str) -> None:
    endpoint = f"http://127.0.0.1:{azure.port}/{ACCOUNT}"
    check(hudini.open(url, storage_options={"connection_string": azure.connection_string}), local)
    keyed = {"account_name": ACCOUNT, "azure_storage_account_key": KEY, "azure_endpoint": endpoint}
    check(hudini.open(url, storage_options=keyed), local)
    wrong = {**keyed, "azure_storage_account_key": "bm9ib2R5"}
    with pytest.raises(hudini.StorageFailure, match="refused access"):
        hudini.open(url, storage_options=wrong).read()
    with pytest.raises(hudini.TableNotFound):
        hudini.open(f"az://{CONTAINER}/nowhere", storage_options=keyed).read()


@pytest.mark.parametrize("scheme", ["gs", "gcs"])
def test_google(google: FakeGcs, local: hudini.Table, scheme: str) -> None:
    options = {"google_service_account_key": google.service_account_key}
    check(hudini.open(f"{scheme}://{CONTAINER}/{PREFIX}", storage_options=options), local)
    with pytest.raises(hudini.TableNotFound):
        hudini.open(f"{scheme}://{CONTAINER}/nowhere", storage_options=options).read()
