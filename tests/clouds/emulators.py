"""Emulators of Azure and of Google's cloud on a port of this machine, each with an empty container `lake`."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from http.client import HTTPConnection
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

CONTAINER = "lake"

# The account that Azure's emulator comes with; its key is no secret.
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
VERSION = "2021-08-06"


@dataclass(frozen=True)
class Azurite:
    """https://www.npmjs.com/package/azurite"""

    port: int

    @staticmethod
    def command(program: Path, port: int) -> list[str]:
        return [
            str(program),
            "--inMemoryPersistence",
            "--disableTelemetry",
            "--skipApiVersionCheck",
            f"--blobPort={port}",
        ]

    @property
    def connection_string(self) -> str:
        place = f"http://127.0.0.1:{self.port}/{ACCOUNT}"
        return f"DefaultEndpointsProtocol=http;AccountName={ACCOUNT};AccountKey={KEY};BlobEndpoint={place};"

    def create(self) -> None:
        self._put(CONTAINER, b"", {}, "restype", "container")

    def put(self, path: str, content: bytes) -> None:
        self._put(f"{CONTAINER}/{path}", content, {"x-ms-blob-type": "BlockBlob"})

    def _put(self, path: str, content: bytes, headers: dict[str, str], *query: str) -> None:
        path = f"/{ACCOUNT}/{quote(path)}"
        signed = headers | {
            "x-ms-date": f"{datetime.now(timezone.utc):%a, %d %b %Y %H:%M:%S GMT}",
            "x-ms-version": VERSION,
        }
        length = str(len(content)) if content else ""
        lines = ["PUT", "", "", length, *[""] * 8, *(f"{name}:{signed[name]}" for name in sorted(signed))]
        text = "\n".join([*lines, f"/{ACCOUNT}{path}", *([":".join(query)] if query else [])])
        digest = hmac.new(base64.b64decode(KEY), text.encode(), hashlib.sha256).digest()
        signed["Authorization"] = f"SharedKey {ACCOUNT}:{base64.b64encode(digest).decode()}"
        _send(self.port, "PUT", path + (f"?{'='.join(query)}" if query else ""), content, signed)


@dataclass(frozen=True)
class FakeGcs:
    """https://github.com/fsouza/fake-gcs-server"""

    port: int

    @staticmethod
    def command(program: Path, port: int) -> list[str]:
        place = f"127.0.0.1:{port}"
        where = ["-host", "127.0.0.1", "-port", str(port), "-public-host", place, "-external-url", f"http://{place}"]
        return [str(program), "-scheme", "http", "-backend", "memory", *where]

    @property
    def service_account_key(self) -> str:
        nobody = {"client_email": "", "private_key": "", "private_key_id": "", "disable_oauth": True}
        return json.dumps({"gcs_base_url": f"http://127.0.0.1:{self.port}", **nobody})

    def create(self) -> None:
        _send(self.port, "POST", "/storage/v1/b", json.dumps({"name": CONTAINER}).encode(), {})

    def put(self, path: str, content: bytes) -> None:
        place = f"/upload/storage/v1/b/{CONTAINER}/o?uploadType=media&name={quote(path, safe='')}"
        _send(self.port, "POST", place, content, {"Content-Type": "application/octet-stream"})


Store = TypeVar("Store", Azurite, FakeGcs)


@contextmanager
def served(kind: type[Store], program: Path) -> Iterator[Store]:
    """One that `program` runs, as long as it is needed."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with subprocess.Popen(kind.command(program, port), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        try:
            _wait_for(port)
            store = kind(port)
            store.create()
            yield store
        finally:
            running.terminate()


def upload(store: Azurite | FakeGcs, folder: Path, prefix: str) -> None:
    for file in folder.rglob("*"):
        if file.is_file():
            store.put(f"{prefix}/{file.relative_to(folder)}", file.read_bytes())


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def _send(port: int, method: str, path: str, content: bytes, headers: dict[str, str]) -> None:
    connection = HTTPConnection("127.0.0.1", port)
    connection.request(method, path, content, headers | {"Content-Length": str(len(content))})
    answer = connection.getresponse()
    told = answer.read()
    assert answer.status < 300, (answer.status, path, told[:500])
    connection.close()
