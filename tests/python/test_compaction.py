"""`Table.services` and the verbs that go with it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import hudini
from hudini.cli.app import app


@pytest.fixture
def table(tmp_path: Path) -> hudini.Table:
    pa = pytest.importorskip("pyarrow")
    schema = pa.schema([("id", pa.string()), ("city", pa.string()), ("ts", pa.int64())])
    table = hudini.create(
        str(tmp_path / "t"), schema, record_key="id", ordering="ts", partition_by="city", table_type="mor"
    )
    for ts in range(3):
        rows = [{"id": f"{city}{n}", "city": city, "ts": ts} for city in ("sf", "la") for n in range(3)]
        table.upsert(pa.Table.from_pylist(rows, schema=schema))
    return table


def test_compaction_changes_no_row(table: hudini.Table) -> None:
    before = sorted(table.read(meta=False).to_arrow().to_pylist(), key=str)
    result = table.services.compact()
    assert (result.operation, result.action) == ("compact", "commit")
    assert result.files_added == result.files_removed > 0
    assert sorted(table.read(meta=False).to_arrow().to_pylist(), key=str) == before
    assert sorted(table.read(meta=False, mode="read_optimized").to_arrow().to_pylist(), key=str) == before
    assert not table.services.compact()


def test_a_plan_waits(table: hudini.Table) -> None:
    planned = table.services.compact(execute=False)
    assert (planned.action, planned.completed, planned.files_added) == ("compaction", None, 0)
    assert not table.services.compact(execute=False)
    done = table.services.compact(schedule=False)
    assert (done.instant, done.action) == (planned.instant, "commit")


def test_partitions_can_be_chosen(table: hudini.Table) -> None:
    assert table.services.compact(where="city = 'sf'")
    assert {row["partition"] for row in table.inspect.slices() if row["log_files"]} == {"la"}
    with pytest.raises(hudini.InvalidOption):
        table.services.compact(where="ts > 0")


def test_options_are_checked(table: hudini.Table) -> None:
    strategy = "org.apache.hudi.table.action.compact.strategy.DayBasedCompactionStrategy"
    with pytest.raises(hudini.UnsupportedFeature, match="DayBased"):
        table.services.compact(options={"hoodie.compaction.strategy": strategy})


def test_a_write_may_be_followed_by_a_compaction(table: hudini.Table) -> None:
    rows = [{"id": "sf0", "city": "sf", "ts": 9}]
    options = {"hoodie.compact.inline": True, "hoodie.compact.inline.max.delta.commits": 4}
    result = table.upsert(rows, options=options)
    assert result.warnings == ()
    assert [row["action"] for row in table.inspect.timeline()] == ["deltacommit"] * 4 + ["commit"]


def test_the_verb(table: hudini.Table) -> None:
    runner = CliRunner()
    planned = runner.invoke(app, ["compact", table.path, "--no-execute", "--json"])
    assert planned.exit_code == 0, planned.output
    instant = json.loads(planned.stdout)["instant"]
    done = runner.invoke(app, ["compact", table.path, "--json", "-o", "hoodie.compaction.target.io=1"])
    assert json.loads(done.stdout)["instant"] == instant
    again = runner.invoke(app, ["compact", table.path])
    assert "nothing to compact" in again.output
