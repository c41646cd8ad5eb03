"""Streams into tables, each micro-batch once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from hudini.actions import CommitResult
from hudini.errors import InvalidOption
from hudini.spark.writing import upsert

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_QUERY_ID = "sql.streaming.queryId"


def stream_upsert(
    path: str, options: Mapping[str, Any] | None = None, *, query_id: str | None = None, **more: Any
) -> Callable[[DataFrame, int], CommitResult]:
    """Upserts the micro-batches of a stream, each exactly once: a function for `foreachBatch`.

    The commit of a batch keeps the query's id and the batch's number. A batch that Spark hands over again, after a
    failure or a restart from the checkpoint, is found there and not written twice. On Spark Connect the query's id is
    not to be had, and `query_id` names the stream instead: the same name after each restart from one checkpoint, and
    another for another checkpoint. Other arguments as for `upsert`.

    >>> frame.writeStream.option("checkpointLocation", where).foreachBatch(hs.stream_upsert("/lake/trips")).start()
    """
    if "idempotency_key" in more:
        raise InvalidOption(
            "idempotency_key= of a stream is made of the query and the batch", hint="query_id= names it"
        )

    def write(batch: DataFrame, batch_id: int) -> CommitResult:
        name = query_id or _query_of(batch)
        return upsert(batch, path, options, idempotency_key=f"stream {name} batch {batch_id}", **more)

    return write


def _query_of(batch: DataFrame) -> str:
    """The id that the query keeps through restarts from its checkpoint."""
    context = getattr(batch.sparkSession, "_sc", None)
    found: str | None = None if context is None else context.getLocalProperty(_QUERY_ID)
    if found is None:
        raise InvalidOption(
            "the stream's query has no id that can be seen here",
            hint="stream_upsert(path, query_id=…) names it: on Spark Connect, and outside of foreachBatch",
        )
    return found
