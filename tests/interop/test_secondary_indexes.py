"""Secondary indexes that Apache Hudi keeps and does not keep."""

from __future__ import annotations

from pathlib import Path

import pytest

import hudini

from .oracle import Oracle

pytestmark = pytest.mark.interop

# Without a lock Apache Hudi makes no index.
SETTINGS = {
    "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.InProcessLockProvider",
    "hoodie.cleaner.policy.failed.writes": "LAZY",
}


@pytest.mark.parametrize("table_type", ["cow", "mor"])
def test_of_several_one_is_kept_and_no_row_is_missed(oracle: Oracle, tmp_path: Path, table_type: str) -> None:
    path, name = tmp_path / "t", f"secondary_{table_type}"
    properties = {
        "type": table_type,
        "primaryKey": "id",
        "preCombineField": "ts",
        "hoodie.metadata.record.index.enable": "true",
        "hoodie.compact.inline": "false",
    }
    stated = ", ".join(f"'{key}'='{value}'" for key, value in properties.items())
    for key, value in SETTINGS.items():
        oracle.sql(f"set {key}={value}")
    try:
        for statement in (
            f"create table {name} (id string, a string, b string, ts bigint) using hudi tblproperties ({stated}) "
            f"location '{path}'",
            f"insert into {name} values ('1', 'ann', 'old', 1), ('2', 'bob', 'old', 1)",
            f"create index by_a on {name} (a)",
            f"create index by_b on {name} (b)",
            f"update {name} set a = 'eve', b = 'new', ts = 2 where id = '2'",
        ):
            oracle.sql(statement)
    finally:
        for key in SETTINGS:
            oracle.sql(f"reset {key}")
    table = hudini.open(path)
    assert table.read(["id"], filter="a = 'eve'").to_arrow().to_pylist() == [{"id": "2"}]
    assert table.read(["id"], filter="b = 'new'").to_arrow().to_pylist() == [{"id": "2"}]
    # Should it keep all one day, docs/filters.md is no longer true.
    found = oracle.read(
        path, {"hoodie.metadata.enable": "true", "hoodie.enable.data.skipping": "true"}, filter="b = 'new'"
    ).num_rows
    assert found == (1 if table_type == "cow" else 0)
    assert table.verify(deep=True).ok == (table_type == "cow")
