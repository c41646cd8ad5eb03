"""The pieces of the distributed write that need no Spark to be seen."""

from __future__ import annotations

from itertools import groupby

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from hudini.spark.frames import PARTITION, SLOT, _pieces

PLACES = st.lists(st.tuples(st.sampled_from(["", "a", "b"]), st.integers(0, 2)), max_size=30).map(sorted)


@settings(deadline=None)  # other tests run beside it
@given(PLACES, st.integers(1, 7))
def test_sorted_batches_are_cut_where_the_place_changes(places: list[tuple[str, int]], batch_size: int) -> None:
    table = pa.table(
        {
            "row": pa.array(range(len(places)), pa.int64()),
            PARTITION: pa.array([partition for partition, _ in places], pa.string()),
            SLOT: pa.array([slot for _, slot in places], pa.int32()),
        }
    )
    pieces = list(_pieces(iter(table.to_batches(max_chunksize=batch_size)), PARTITION, SLOT))
    rows = [row for _, piece in pieces for row in piece.column("row").to_pylist()]
    assert rows == list(range(len(places)))
    for place, piece in pieces:
        assert {(row[PARTITION], row[SLOT]) for row in piece.to_pylist()} == {place}
    assert [place for place, _ in groupby(pieces, key=lambda item: item[0])] == list(dict.fromkeys(places))


def test_an_empty_batch_has_no_pieces() -> None:
    empty = pa.schema([(PARTITION, pa.string()), (SLOT, pa.int32())]).empty_table().to_batches()
    none = pa.record_batch({PARTITION: pa.array([], pa.string()), SLOT: []})
    assert list(_pieces(iter([*empty, none]), PARTITION, SLOT)) == []
