"""The client side: one child process, one Spark session, one verb at a time.

Requests are JSON lines on the child's standard input. Replies are JSON lines on a pipe of their own, because Spark
and the JVM write to standard output whenever they like; that chatter goes to a log file, whose end is shown when the
child dies, as it does with a JVM that crashes. Then the verb has failed, and the next one finds another child. Rows
travel as Parquet files in a folder beside the log.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from . import install

WORKER = Path(__file__).with_name("worker.py")


class OracleError(Exception):
    """Apache Hudi refused or failed; `chain` holds its messages, outermost first."""

    def __init__(self, chain: list[str]) -> None:
        super().__init__("\n  caused by ".join(chain))
        self.chain = chain


@dataclass(frozen=True)
class SlowWrite:
    """A write that is under way."""

    end: Callable[[], None]


class Oracle:
    """Apache Hudi of one version on a local Spark. Close it, or use it as a context manager."""

    def __init__(self, installation: install.Installation, folder: Path) -> None:
        self.version = installation.version
        self._installation = installation
        self._folder = folder
        self._log_path = folder / "spark.log"
        self._files = 0
        self._begin()

    def _begin(self) -> None:
        installation = self._installation
        replies_read, replies_write = os.pipe()
        with self._log_path.open("wb") as log:
            self._process = subprocess.Popen(
                [installation.python, WORKER, str(replies_write), installation.version, installation.jar],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                pass_fds=[replies_write],
                cwd=self._folder,
                env=environment(installation) | {"SPARK_LOCAL_DIRS": str(self._folder / "spark")},
                text=True,
            )
        os.close(replies_write)
        self._replies = os.fdopen(replies_read, encoding="utf-8")

    @classmethod
    def start(cls, folder: Path, version: str = "1.2.0") -> Oracle:
        """Opens a session whose log and row files lie in `folder`."""
        return cls(install.ensure(version), folder)

    @property
    def pid(self) -> int:
        """The process at the top of those in which Apache Hudi runs."""
        return self._process.pid

    def write(self, path: str | Path, rows: pa.Table, options: Mapping[str, str], mode: str = "append") -> None:
        """Writes the rows, in their order, through Apache Hudi's data source."""
        source = self._new_file()
        pq.write_table(rows, source)
        self._call("write", path=str(path), rows=str(source), options=dict(options), mode=mode)

    def begin_write(self, path: str | Path, rows: pa.Table, options: Mapping[str, str]) -> SlowWrite:
        """The same, to a table of version 8 or up that is there: asked for, and under way until somebody ends it."""
        source = self._new_file()
        pq.write_table(rows, source)
        gate = str(source.with_suffix(".gate"))
        self._call("begin_write", path=str(path), rows=str(source), options=dict(options), mode="append", gate=gate)
        return SlowWrite(lambda: self._call("end_write", gate=gate))

    def read(
        self,
        path: str | Path,
        options: Mapping[str, str] | None = None,
        filter: str | None = None,
        columns: Sequence[str] | None = None,
    ) -> pa.Table:
        """The rows that Apache Hudi's data source returns; unless columns are named, the meta columns among them."""
        answer = self._new_file()
        chosen = {"condition": filter, "columns": None if columns is None else list(columns)}
        self._call("read", path=str(path), options=dict(options or {}), answer=str(answer), **chosen)
        return pq.read_table(answer)

    def sql(self, statement: str) -> list[dict[str, Any]]:
        """The rows of one Spark SQL statement, values that JSON lacks as their text."""
        return self._call("sql", statement=statement)

    def compact(self, path: str | Path, op: str = "scheduleAndExecute") -> list[dict[str, Any]]:
        """Compacts whatever has a log, with Apache Hudi's procedure; one row a compaction that it took up."""
        options = "hoodie.compact.inline.max.delta.commits=1"  # by default it would wait for five
        return self.sql(f"CALL run_compaction(op => '{op}', path => '{path}', options => '{options}')")

    def service(self, path: str | Path, verb: str, *arguments: Any, options: Mapping[str, str]) -> Any:
        """A verb of `Services` for the table, whose writes have these options."""
        return self._call("service", path=str(path), verb=verb, arguments=arguments, options=dict(options))

    def timeline(self, path: str | Path) -> list[dict[str, Any]]:
        """The active timeline, oldest first: requested, completed, action, state."""
        return self._call("timeline", path=str(path))

    def properties(self, path: str | Path) -> dict[str, str]:
        """`hoodie.properties` as Apache Hudi understands it."""
        return self._call("properties", path=str(path))

    def file(self, kind: str, folder: str | Path) -> Any:
        """What the files of a kind in this folder hold; `files` has the kinds."""
        return self._call("file", kind=kind, folder=str(folder))

    def close(self) -> None:
        """Stops Spark and waits for the child."""
        if self._process.poll() is None:
            self._process.stdin.close()
            self._process.wait()
        self._replies.close()

    def __enter__(self) -> Oracle:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _new_file(self) -> Path:
        self._files += 1
        return self._folder / f"rows-{self._files}.parquet"

    def _call(self, verb: str, /, **arguments: Any) -> Any:
        try:
            self._process.stdin.write(json.dumps({"verb": verb, "arguments": arguments}) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # the missing reply tells more
        line = self._replies.readline()
        if not line:
            code, last_words = self._process.wait(), self._last_words()
            self._replies.close()
            self._begin()
            raise OracleError([f"the oracle's process ended (code {code})", f"its last words:\n{last_words}"])
        reply = json.loads(line)
        if "error" in reply:
            raise OracleError(reply["error"])
        return reply["result"]

    def _last_words(self) -> str:
        return self._log_path.read_text(errors="replace")[-4000:]


def environment(installation: install.Installation) -> dict[str, str]:
    """Nothing of the product's own Spark or Python may leak into the oracle's."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("SPARK_", "PYSPARK_", "PYTHON"))}
    return kept | {
        "PYSPARK_PYTHON": str(installation.python),
        "PYSPARK_DRIVER_PYTHON": str(installation.python),
        "TZ": "UTC",
    }
