"""Mergers of your own: for tables whose merge mode is CUSTOM, a function that decides about two versions of a row."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from hudini import _core
from hudini._optional import need
from hudini.data import as_input

if TYPE_CHECKING:
    import pyarrow


def register_merger(strategy_id: str, function: Callable[[pyarrow.RecordBatch, pyarrow.RecordBatch], Any]) -> None:
    """Merges rows of tables that name this merge strategy with `function`, in this process.

    Args:
        strategy_id: what `hoodie.record.merge.strategy.id` of the tables says.
        function: takes the older rows and the newer ones, each pair of one key at the same place, with all columns of
            the table and its meta columns. It returns as many rows, in that order and with those columns, as a record
            batch or anything else that holds Arrow rows. A row whose `_hoodie_is_deleted` is true is gone.

    Rows are handed over in batches: log rows that meet earlier ones of the same key, then base rows that meet the
    outcome. Deletes are not: whether one counts depends on the table's ordering fields alone.

    >>> def newer_but_for_null_names(old, new):
    ...     name = pyarrow.compute.coalesce(new["name"], old["name"])
    ...     return new.set_column(new.schema.get_field_index("name"), "name", name)
    >>> hudini.register_merger("11111111-2222-3333-4444-555555555555", newer_but_for_null_names)
    """
    if not callable(function):
        raise TypeError(f"a merger is a function of two record batches, not {function!r}")
    arrow = need("pyarrow", "register_merger()")

    def as_batch(rows: Any) -> pyarrow.RecordBatch:
        return arrow.RecordBatchReader.from_stream(rows).read_all().combine_chunks().to_batches()[0]

    def merge(old: Any, new: Any) -> pyarrow.Table:
        merged = as_input(function(as_batch(old), as_batch(new)))
        return arrow.RecordBatchReader.from_stream(merged).read_all().combine_chunks()

    _core.register_merger(strategy_id, merge)
