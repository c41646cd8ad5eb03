"""A server on a port of this machine that speaks S3's language: moto's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from moto import server


@contextmanager
def served() -> Iterator[str]:
    """Its URL, as long as it runs."""
    running = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    running.start()
    try:
        host, port = running.get_host_and_port()
        yield f"http://{host}:{port}"
    finally:
        running.stop()
