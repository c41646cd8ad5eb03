"""What kind of session it is. On Spark Connect control steps run in the client, and tasks where the server is."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import hudini
from hudini.errors import StorageFailure

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from hudini import _core


def is_connect(spark: SparkSession) -> bool:
    """Whether a frame is only a plan, so that one query may get another source than the next."""
    return type(spark).__module__.startswith("pyspark.sql.connect.")


def check_seen(spark: SparkSession, table: _core.Table, instant: str) -> None:
    """An error if the executors do not see what was begun here: their table of that path is another one, or none."""
    from hudini.spark.frames import run_each

    [seen] = run_each(spark, [json.dumps([table.path, instant]).encode()], _sees)
    if not seen:
        raise StorageFailure(
            "the Spark server does not see the write that its client began",
            path=table.path,
            instant=instant,
            hint="client and server must reach the table by the same path: run the client where the storage is mounted",
        )


def _sees(asked: bytes) -> bytes:
    path, instant = json.loads(asked)
    instants = hudini.open(path).inspect.timeline() if hudini.is_table(path) else []
    return b"1" if any(row["requested"] == instant for row in instants) else b""
