"""Expression indexes of Apache Hudi leave out files of hudini's reads, and no row that either engine would find."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import hudini

from .oracle import Oracle

pytestmark = pytest.mark.interop

LOCK = "org.apache.hudi.client.transaction.lock.InProcessLockProvider"
SETTINGS = {
    "hoodie.write.lock.provider": LOCK,
    "hoodie.metadata.enable": "true",
    "hoodie.metadata.index.column.stats.enable": "false",  # it would leave out the same files
    "hoodie.compact.inline": "false",
    # hudini filters in UTC, and nothing says in which zone an index was made. Apache Hudi in UTC misses rows by it.
    "spark.sql.session.timeZone": "Asia/Tokyo",
}
COLUMNS = "id string, name string, day date, at timestamp, ts bigint, p string"
# Half an hour before the day's end in Tokyo; the seconds are those of six hours later: of the same day in UTC, and in
# Tokyo of the next one.
ROWS = [
    ("Oslo", "2024-01-05", 1704486600),
    ("Rome", "2024-02-05", 1707165000),
    ("Århus", "2024-03-05", 1709670600),
    ("bonn", "2026-05-05", 1778013000),
]
# Indexes, with conditions and how many of the four files are left out for each.
BY_STATISTICS = [
    {
        "lower": (
            "name) options(expr='lower'",
            {"lower(name) = 'rome0'": 3, "name = 'Rome1'": 3, "lower(name) is null": 0},
        ),
        "unixtime": (
            "ts) options(expr='from_unixtime', format='yyyy-MM-dd'",
            {
                "from_unixtime(ts, 'yyyy-MM-dd') = '2024-03-05'": 3,
                "from_unixtime(ts, 'yyyy-MM-dd') >= '2024-02-05'": 1,
            },
        ),
    },
    {
        "short": ("name) options(expr='substring', pos='1', len='2'", {"substring(name, 1, 2) > 'S'": 2}),
        "year": ("day) options(expr='year'", {"year(day) = 2026": 3}),
        "year_at": ("at) options(expr='year'", {"year(at) = 2024": 1}),
    },
    {
        "day_at": ("at) options(expr='to_date'", {"to_date(at) = date'2024-02-05'": 3}),
        "month": ("at) options(expr='date_format', format='yyyy-MM'", {"date_format(at, 'yyyy-MM') = '2026-05'": 3}),
    },
]
BY_BLOOM_FILTERS = {"upper(id) = 'ROME0'": 3, "id in ('Rome1', 'bonn1')": 2, "upper(id) = 'NOBODY'": 4}


class Made:
    """A table of four files in SQL of Apache Hudi, with expression indexes."""

    def __init__(self, oracle: Oracle, path: Path, kind: str) -> None:
        self.oracle, self.path, self.name = oracle, path, f"t_{path.name}"
        stored = {**SETTINGS, "type": kind, "primaryKey": "id", "orderingFields": "ts"}
        properties = ", ".join(f"'{key}'='{value}'" for key, value in stored.items() if not key.startswith("spark"))
        oracle.sql(
            f"create table {self.name} ({COLUMNS}) using hudi tblproperties({properties}) "
            f"partitioned by (p) location '{path}'"
        )
        rows = [
            f"('{city}{n}', '{city}{n}', date'{day}', timestamp '{day} 23:30:00', {seconds}, 'p{file}')"
            for file, (city, day, seconds) in enumerate(ROWS)
            for n in range(2)
        ]
        oracle.sql(f"insert into {self.name} values {', '.join(rows)}")

    def index(self, form: str, indexes: dict[str, str]) -> None:
        for name, what in indexes.items():
            self.oracle.sql(f"create index {self.path.name}_{name} on {self.name} using {form}({what})")

    def left_out(self, condition: str) -> int:
        """By hudini's reads, which must find what it finds without indexes, and Apache Hudi in UTC."""
        asked = hudini.open(str(self.path))
        plain = hudini.open(str(self.path), options={"hoodie.enable.data.skipping": "false"})
        scan = asked.read(filter=condition)
        plan = scan.explain()
        assert plan["warnings"] == []
        found = ids(scan.to_arrow())
        assert found == ids(plain.read(filter=condition).to_arrow()), condition
        self.oracle.sql("set spark.sql.session.timeZone=UTC")
        unskipped = {"hoodie.enable.data.skipping": "false"}
        assert found == ids(self.oracle.read(self.path, unskipped, filter=condition)), condition
        self.oracle.sql("set spark.sql.session.timeZone=Asia/Tokyo")
        assert set(plan["pruned"]["by"]) <= {"expression_index"}, condition
        return plan["pruned"]["by"].get("expression_index", 0)


def ids(rows: pa.Table) -> list[str]:
    return sorted(rows.column("id").to_pylist())


@pytest.fixture
def session(oracle: Oracle):
    for key, value in SETTINGS.items():
        oracle.sql(f"set {key}={value}")
    yield oracle
    for key in SETTINGS:
        oracle.sql(f"reset {key}")


@pytest.mark.parametrize("indexes", BY_STATISTICS, ids=" ".join)
def test_statistics_of_expressions_leave_files_out(
    indexes: dict[str, tuple[str, dict[str, int]]], session: Oracle, tmp_path: Path
) -> None:
    made = Made(session, tmp_path / f"by_{next(iter(indexes))}", "mor")
    made.index("column_stats", {name: what for name, (what, _) in indexes.items()})
    wanted = {condition: count for _, conditions in indexes.values() for condition, count in conditions.items()}
    assert {condition: made.left_out(condition) for condition in wanted} == wanted
    if "lower" in indexes:
        session.sql(f"update {made.name} set name = 'Zagreb' where id = 'Rome0'")
        assert made.left_out("lower(name) = 'zagreb'") == 3, "a log brought it"
        assert made.left_out("name = 'Rome1'") == 3
        session.sql(f"delete from {made.name} where id = 'Oslo1'")
        assert made.left_out("lower(name) = 'nobody'") == 3, "a log that only deletes tells nothing"


def test_bloom_filters_of_expressions_leave_files_out(session: Oracle, tmp_path: Path) -> None:
    made = Made(session, tmp_path / "by_filters", "cow")
    made.index("bloom_filters", {"upper": "id) options(expr='upper'", "id": "id"})
    assert {condition: made.left_out(condition) for condition in BY_BLOOM_FILTERS} == BY_BLOOM_FILTERS
