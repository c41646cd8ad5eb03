"""Change feeds must add up: a state, less the rows before and plus those after, is the newest state."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from .compare import multiset


def unexplained(feed: pa.Table, state: pa.Table, newest: pa.Table) -> dict[Any, int]:
    """The rows that a copy of the state which followed the feed would have too often, or too rarely."""
    names = newest.column_names
    rows = multiset(state, names)
    rows.subtract(images(feed, "before", newest.schema))
    rows.update(images(feed, "after", newest.schema))
    rows.subtract(multiset(newest, names))
    return {row: count for row, count in rows.items() if count}


def images(feed: pa.Table, side: str, schema: pa.Schema) -> Counter[Any]:
    rows = feed.filter(pc.is_valid(feed[side]))[side].combine_chunks()
    return multiset(pa.Table.from_arrays(rows.flatten(), names=schema.names), schema.names)
