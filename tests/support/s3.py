"""A server on a port of this machine that speaks S3's language: moto's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.request import Request, urlopen

from moto import server


@contextmanager
def served() -> Iterator[str]:
    """The URL of an empty one, as long as it runs.

    All servers of a process share what moto holds: a file of another module's tests would be
    there still, if this one did not begin by forgetting.
    """
    running = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    running.start()
    try:
        host, port = running.get_host_and_port()
        url = f"http://{host}:{port}"
        urlopen(Request(f"{url}/moto-api/reset", method="POST")).close()
        yield url
    finally:
        running.stop()
