"""A process of ours at the other end of two pipes: it says lines of JSON, and waits for a line before it begins.

What it says is read by a thread, so that nobody has to wait for one process while another has something to say.
"""

from __future__ import annotations

import contextlib
import json
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).resolve().parents[2]
Said = dict[str, Any]
Inbox = queue.Queue[tuple["Process", Said | None]]


class Process:
    """`python -m <module> <arguments>`. What it says goes into `inbox`, and None once its output has ended."""

    def __init__(self, inbox: Inbox, name: str, module: str, *arguments: object) -> None:
        self.name = name
        self._complaint = tempfile.TemporaryFile("w+")  # noqa: SIM115 (closed with the process)
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._complaint,
            text=True,
            cwd=CHECKOUT,
        )
        self._reader = threading.Thread(target=self._read, args=(inbox,), daemon=True)
        self._reader.start()

    def go(self) -> None:
        """Lets it begin."""
        self._process.stdin.write("go\n")
        self._process.stdin.flush()

    def hush(self) -> None:
        """Ends its input."""
        self._process.stdin.close()

    def pause(self) -> None:
        self._process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """SIGKILL: nothing in the process can tidy up."""
        self._process.kill()

    def assert_alive(self) -> None:
        """A process that stops by itself is a failure, and says why."""
        assert self._process.poll() is None, self.complaint()

    @property
    def exit_code(self) -> int:
        return self._process.wait()

    def complaint(self) -> str:
        """What it wrote to standard error."""
        self._complaint.seek(0)
        return self._complaint.read()

    def close(self) -> None:
        """Leaves no process, no pipe and no thread behind."""
        self._process.kill()
        self._process.wait()
        self._reader.join()
        for pipe in (self._process.stdin, self._process.stdout, self._complaint):
            with contextlib.suppress(BrokenPipeError):  # what was not sent to a dead process
                pipe.close()

    def __repr__(self) -> str:
        return self.name

    def _read(self, inbox: Inbox) -> None:
        for line in self._process.stdout:
            if line.endswith("}\n"):  # a killed process may leave half a line
                inbox.put((self, json.loads(line)))
        inbox.put((self, None))
