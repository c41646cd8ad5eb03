"""A server between a client and an object store that fails once for each object, in one way."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

FAULTS = ("says that it is busy", "hangs up", "hangs", "stops half way", "hangs half way")
# More than the time that clients of tests are told to wait, where they are to lose patience.
LONG = 5.0


def patience(fault: str) -> str:
    """What such a client is told. Where nothing hangs, a busy machine must not look like another fault."""
    return "300ms" if fault in ("hangs", "hangs half way") else "30s"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    upstream = ""
    fault = ""
    lists_too = False
    failed: set[str]
    ended: threading.Event

    def log_message(self, *_: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self.answer(whole=True)

    def do_GET(self) -> None:
        is_list = "list-type" in self.path
        whole = self.path in self.failed or (is_list and not self.lists_too)
        self.failed.add(self.path)
        self.answer(whole)

    def answer(self, whole: bool) -> None:
        if not whole and self.fault in ("hangs up", "hangs"):
            self.leave(after=LONG if self.fault == "hangs" else 0)
            return
        if not whole and self.fault == "says that it is busy":
            self.send_response(503)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        connection = http.client.HTTPConnection(urlsplit(self.upstream).netloc)
        connection.request(self.command, self.path, headers=dict(self.headers))
        found = connection.getresponse()
        body = found.read()
        connection.close()
        self.send_response(found.status)
        for name, value in found.getheaders():
            if name.lower() not in ("transfer-encoding", "connection", "content-length"):
                self.send_header(name, value)
        length = found.getheader("Content-Length") if self.command == "HEAD" else str(len(body))
        self.send_header("Content-Length", length or "0")
        self.end_headers()
        if whole:
            self.wfile.write(body)
        else:
            self.wfile.write(body[: len(body) // 2])
            self.leave(after=LONG if self.fault == "hangs half way" else 0)

    def leave(self, after: float) -> None:
        self.wfile.flush()
        self.ended.wait(after)
        self.close_connection = True


@contextmanager
def flaky(upstream: str, fault: str, lists_too: bool = False) -> Iterator[tuple[str, set[str]]]:
    """Its URL, and the paths that it failed for. Lists fail too if told so."""
    failed: set[str] = set()
    ended = threading.Event()
    told = {"upstream": upstream, "fault": fault, "lists_too": lists_too, "failed": failed, "ended": ended}
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), told))
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", failed
    finally:
        ended.set()
        server.shutdown()
        server.server_close()
