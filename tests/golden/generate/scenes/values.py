"""Types and schemas: every type, deep nesting, decimals of every size, and tables whose schema grows."""

from __future__ import annotations

import datetime as dt
from decimal import Context, Decimal
from typing import Any

from ..case import scene
from ..table import WRITE, Table

V6, V8, V9 = "0.15.0", "1.0.2", "1.2.0"
UTC = dt.timezone.utc
# Off, Parquet's lists have three levels and may hold nulls.
LISTS = "parquet.avro.write-old-list-structure"

TYPES = (
    "id string not null, ts bigint not null, city string, bo boolean, i int not null, l bigint, f float, d double, "
    "dec4 decimal(4,1), dec9 decimal(9,9), dec18 decimal(18,2) not null, dec19 decimal(19,0), dec38 decimal(38,10), "
    "dt date not null, tm timestamp, bin binary, ar array<int>, ars array<struct<p: bigint, q: string>>, "
    "mp map<string, bigint>, mpst map<string, struct<x: int, y: decimal(10,2), z: timestamp>>, "
    "st struct<x: int, deep: struct<a: array<string>, m: map<string, date>>>, nul string"
)
WORDS = ["", "plain", "naïve 日本 🛶", "line\nbreak", "nul\0byte", "x" * 300]


def exact(unscaled: int, scale: int) -> Decimal:
    """A decimal of up to 38 digits; the default context rounds after 28."""
    return Decimal(unscaled).scaleb(-scale, Context(prec=38))


def typed(n: int, ts: int) -> tuple[Any, ...]:
    """A row of `TYPES`; every nullable column is null in some row."""

    def sometimes(value: Any, every: int) -> Any:
        return None if n % every == every - 1 else value

    when = dt.datetime(1970, 1, 1, tzinfo=UTC) + dt.timedelta(days=n * 400 - 5000, microseconds=n * 7 + ts)
    return (
        f"k{n:03d}",
        ts,
        ("sf", "la", "ny")[n % 3],
        sometimes(n % 2 == 0, 3),
        n * 100_000_007 - 2**31,
        sometimes(n * 900_719_925_474_099 - 2**63, 4),
        sometimes([0.1, -0.0, float("nan"), float("inf"), 3.4e38][n % 5], 6),
        sometimes([0.1, -0.0, float("nan"), float("-inf"), 5e-324][n % 5], 7),
        sometimes(exact(n * 37 - 500, 1), 5),
        sometimes(exact(n, 9), 5),
        exact(n * 12_345_678_901 - 10**17, 2),
        sometimes(exact(10**18 * (n % 19 - 9) + n, 0), 4),
        sometimes(exact(10**37 * (n % 9 - 4) + n, 10), 3),
        when.date(),
        sometimes(when, 4),
        sometimes(bytes(range(n)), 5),
        sometimes(list(range(n % 4)), 4),
        sometimes([(n * 10 + i, None if i else "q") for i in range(n % 3)], 5),
        sometimes({"a": n, "": None, "é": -n}, 3),
        sometimes({"k": (n, Decimal(n), when), "n": None}, 4),
        sometimes((n, sometimes(([WORDS[n % 6]], {"d": when.date()}), 5)), 6),
        sometimes(WORDS[n % 6], 2),
    )


def all_types(t: Table, kind: str) -> None:
    t.begin(kind)
    t.write([typed(n, 1) for n in range(20)], "insert", schema=TYPES)
    t.write([typed(n, 2) for n in range(0, 24, 3)], schema=TYPES)
    t.write([typed(n, 3) for n in range(1, 20, 9)], "delete", schema=TYPES)
    t.ask("snapshot")
    if kind == "mor":
        t.ask("read_optimized", "read_optimized")
    t.ask("some_columns", columns=["id", "dec38", "mpst", "st"])


@scene(
    "cow_types_all",
    [V8],
    "cow types decimal timestamp binary nested nulls nan",
    "Types with nulls, empty values, NaN and infinities, decimals of 4 to 38 digits, maps of structs, old dates.",
)
def cow_types_all(t: Table) -> None:
    all_types(t, "cow")


@scene(
    "mor_types_all",
    [V6],
    "mor types decimal timestamp binary nested nulls nan",
    "The types of cow_types_all in base files and logs.",
)
def mor_types_all(t: Table) -> None:
    all_types(t, "mor")


@scene(
    "mor_types_deep",
    [V9],
    "mor types decimal nested ntz three_level_lists null_elements",
    "Null elements in arrays (three-level lists), timestamps without a zone inside structs and maps, lists of lists.",
)
def mor_types_deep(t: Table) -> None:
    t.begin("mor")
    schema = (
        "id string, ts bigint, city string, ntz timestamp_ntz, ar array<int>, aa array<array<string>>, "
        "an array<struct<n: timestamp_ntz, d: decimal(38,18)>>, mn map<string, timestamp_ntz>, "
        "mm map<string, map<string, array<decimal(5,2)>>>"
    )

    def row(n: int, ts: int) -> tuple[Any, ...]:
        when = dt.datetime(1969, 12, 31, 23, 59, 59, 999_999) + dt.timedelta(days=n * 300, microseconds=n)
        return (
            f"k{n:03d}",
            ts,
            ("sf", "la")[n % 2],
            None if n % 4 == 3 else when,
            [n, None, -n][: n % 4],
            [["a", None], None, []][: n % 4],
            [(when, exact(n, 18)), (None, None), None][: n % 4],
            {"a": when, "b": None},
            None if n % 5 == 4 else {"x": {"y": [Decimal("1.50"), None]}, "n": None},
        )

    hadoop = t.spark._jsc.hadoopConfiguration()
    hadoop.set(LISTS, "false")
    try:
        t.write([row(n, 1) for n in range(16)], "insert", schema=schema)
        t.write([(*row(n, 2)[:3], *row(n + 1, 2)[3:]) for n in range(0, 16, 3)], schema=schema)
    finally:
        hadoop.unset(LISTS)
    t.ask("snapshot")
    t.ask("read_optimized", "read_optimized")


def grow(t: Table, kind: str, then: str, rows_then, later: str, rows_later) -> None:
    """A table written with one schema, then with another."""
    t.begin(kind)
    t.write([rows_then(n, 1) for n in range(18)], "insert", schema=then)
    t.write([rows_then(n, 2) for n in range(0, 18, 3)], schema=then)
    t.write([rows_later(n, 3) for n in range(1, 24, 4)], schema=later)


FEW = "id string, ts bigint, city string, v int"
MORE = FEW + ", extra string, more struct<a: int, b: array<string>>"


def add_columns(t: Table, kind: str) -> None:
    def old(n: int, ts: int) -> tuple[Any, ...]:
        return (f"k{n:03d}", ts, ("sf", "la")[n % 2], n)

    def new(n: int, ts: int) -> tuple[Any, ...]:
        return (*old(n, ts), None if n % 3 == 0 else f"e{n}", None if n % 4 == 0 else (n, ["x", "y"]))

    grow(t, kind, FEW, old, MORE, new)
    reconcile = {WRITE + "reconcile.schema": "true", "hoodie.write.set.null.for.missing.columns": "true"}
    t.write([old(n, 4) for n in range(2, 18, 5)], schema=FEW, options=reconcile)
    t.ask_usual(incremental=False, projection=False)


@scene(
    "cow_evolve_add_column",
    [V6],
    "cow schema_evolution add_column",
    "Added columns (a string and a struct), old files without them; then an old-schema batch with reconcile.",
)
def cow_evolve_add_column(t: Table) -> None:
    add_columns(t, "cow")


@scene(
    "mor_evolve_add_column",
    [V8],
    "mor schema_evolution add_column",
    "Columns added in logs over base files and logs without them; then an old-schema batch with reconcile.",
)
def mor_evolve_add_column(t: Table) -> None:
    add_columns(t, "mor")


def promote(t: Table, kind: str) -> None:
    grow(
        t,
        kind,
        "id string, ts bigint, city string, il int, fd float, ld bigint, id_ int",
        lambda n, ts: (f"k{n:03d}", ts, ("sf", "la")[n % 2], n - 9, n * 0.1, 2**53 + n, n),
        "id string, ts bigint, city string, il bigint, fd double, ld double, id_ double",
        lambda n, ts: (f"k{n:03d}", ts, ("sf", "la")[n % 2], 2**40 + n, n * 0.1, n * 0.5, n * 0.25),
    )
    t.ask_usual(incremental=False, projection=False)


@scene(
    "cow_evolve_promote",
    [V8],
    "cow schema_evolution type_promotion",
    "int to long, float to double, long to double, int to double: new files beside files of the old types.",
)
def cow_evolve_promote(t: Table) -> None:
    promote(t, "cow")


@scene(
    "mor_evolve_promote",
    [V6, V9],
    "mor schema_evolution type_promotion",
    "int to long, float to double, long to double, int to double: logs of the new types over files of the old.",
)
def mor_evolve_promote(t: Table) -> None:
    promote(t, "mor")
