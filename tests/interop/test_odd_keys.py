"""Keys with colons and commas, which stand between the parts of composite keys, and the buckets that they fall into."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hudini

from .oracle import Oracle

pytestmark = pytest.mark.interop

BUCKETS = 1000
VALUES = ("plain", "x,y", "a:b", "a:b,c", "a:b,c:d", "a:b,c,d", "c,a:b", "k0:x", "k0:x,y")
KEYS = {"simple": ["k0"], "complex": ["k0", "k1"]}
GENERATORS = {
    "simple": "org.apache.hudi.keygen.SimpleKeyGenerator",
    "complex": "org.apache.hudi.keygen.ComplexKeyGenerator",
}
ROWS = pa.table(
    {"k0": VALUES, "k1": ["z"] * len(VALUES), "ts": pa.array([1] * len(VALUES), pa.int64()), "p": ["p"] * len(VALUES)}
)


def options(keys: str, version: int) -> dict[str, str]:
    return {
        "hoodie.table.name": "t",
        "hoodie.datasource.write.recordkey.field": ",".join(KEYS[keys]),
        "hoodie.datasource.write.keygenerator.class": GENERATORS[keys],
        "hoodie.datasource.write.partitionpath.field": "p",
        "hoodie.datasource.write.precombine.field": "ts",
        "hoodie.datasource.write.operation": "upsert",
        "hoodie.index.type": "BUCKET",
        "hoodie.bucket.index.num.buckets": str(BUCKETS),
        "hoodie.write.table.version": str(version),
    }


def buckets_in(path: Path) -> dict[str, int]:
    found = {}
    for file in path.glob("p/*.parquet"):
        (keys,) = pq.read_table(file, columns=["_hoodie_record_key"], partitioning=None).columns
        found |= dict.fromkeys(keys.to_pylist(), int(file.name[:8]))
    return found


def buckets_of_hudini(path: Path, keys: str) -> dict[str, int]:
    stored = {"hoodie.bucket.index.num.buckets": BUCKETS}
    hudini.create(path, ROWS.schema, KEYS[keys], "ts", ["p"], "cow", options=stored).upsert(ROWS)
    return buckets_in(path)


@pytest.mark.parametrize("version", ["1.2.0", "1.1.1", "1.0.2", "0.15.0"])
def test_they_fall_into_the_buckets_of_apache_hudi(oracle: Oracle, tmp_path: Path, version: str) -> None:
    with nullcontext(oracle) if version == oracle.version else Oracle.start(tmp_path, version) as apache:
        for keys in KEYS:
            apache.write(tmp_path / f"apache-{keys}", ROWS, options(keys, 8 if version > "1" else 6))
    for keys in KEYS:
        path = tmp_path / f"apache-{keys}"
        is_same = buckets_in(path) == buckets_of_hudini(tmp_path / f"hudini-{keys}", keys)
        assert is_same == (version != "0.15.0"), keys
        if not is_same:
            check_that_hudini_does_not_write_twice(path, oracle, keys)


def check_that_hudini_does_not_write_twice(path: Path, oracle: Oracle, keys: str) -> None:
    """Which Apache Hudi 1.2 does. It takes the table to version 9, where hudini writes too."""
    again = ROWS.slice(VALUES.index("a:b,c"), 1)
    oracle.write(path, again, options(keys, 9))
    assert oracle.read(path)["k0"].to_pylist().count("a:b,c") == 2
    chosen = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": BUCKETS}
    table = hudini.open(path, options=chosen)
    if keys == "simple":
        # The file that is looked at before a write has a key in a bucket that is wrong today.
        with pytest.raises(hudini.InvalidOption, match="belongs to bucket"):
            table.upsert(again)
    else:
        with pytest.raises(hudini.UnsupportedFeature, match="the key 'k0:a:b,c,k1:z' to buckets"):
            table.upsert(again)
        table.upsert(ROWS.slice(VALUES.index("plain"), 1))
    rows = hudini.open(path).read().to_arrow()["k0"].to_pylist()
    assert sorted(rows) == sorted([*VALUES, "a:b,c"])
