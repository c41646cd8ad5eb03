"""Rows of random tables. A row follows from the plan, its number and its step's seed, and from nothing else."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa

from .plan import Plan, Step

DELETED = "_hoodie_is_deleted"
CITIES = ("sf", "st louis", "köln")
EPOCH = dt.datetime(1970, 1, 1)
DAY = dt.date(1970, 1, 1)
WORDS = ("", "plain", "naïve 日本 🛶", 'a "quoted"\nline, and more', "x" * 80, "null", "nul\0byte")

Draw = Callable[[random.Random], Any]


def _moment(draw: random.Random) -> dt.datetime:
    return EPOCH + dt.timedelta(microseconds=draw.choice([0, -1, draw.randrange(-(10**15), 4 * 10**15)]))


def _double(draw: random.Random) -> float:
    return draw.choice([0.0, -0.0, 0.1, float("inf"), float("-inf"), float("nan"), 5e-324, draw.uniform(-1e6, 1e6)])


def _float(draw: random.Random) -> float:
    return draw.choice([0.0, -0.0, 0.5, float("inf"), float("nan"), draw.randrange(-(10**6), 10**6) / 8])


# Data columns: what they hold by type, and how a value is drawn.
KINDS: dict[str, tuple[pa.DataType, Draw]] = {
    "int": (pa.int32(), lambda draw: draw.choice([0, -1, 2**31 - 1, -(2**31), draw.randrange(1000)])),
    "long": (pa.int64(), lambda draw: draw.choice([0, -1, 2**63 - 1, -(2**63), draw.randrange(10**12)])),
    "float": (pa.float32(), _float),
    "double": (pa.float64(), _double),
    "text": (pa.string(), lambda draw: draw.choice([*WORDS, f"n{draw.randrange(1000)}"])),
    "decimal": (pa.decimal128(10, 2), lambda draw: Decimal(draw.choice([0, -1, 9999999999, 12345])).scaleb(-2)),
    "decimal25": (pa.decimal128(25, 5), lambda draw: Decimal(draw.choice([0, -1, 10**19 + 7, -(10**19)])).scaleb(-5)),
    "date": (pa.date32(), lambda draw: DAY + dt.timedelta(days=draw.choice([0, -1, draw.randrange(-20000, 30000)]))),
    "timestamp": (pa.timestamp("us", tz="UTC"), lambda draw: _moment(draw).replace(tzinfo=dt.timezone.utc)),
    "ntz": (pa.timestamp("us"), _moment),
    "bool": (pa.bool_(), lambda draw: draw.choice([True, False])),
    "binary": (pa.binary(), lambda draw: draw.randbytes(draw.randrange(5))),
    "struct": (
        pa.struct([("x", pa.int32()), ("deep", pa.struct([("y", pa.string()), ("z", pa.decimal128(5, 1))]))]),
        lambda draw: {
            "x": draw.choice([None, 1, -7]),
            "deep": draw.choice([None, {"y": draw.choice(WORDS), "z": draw.choice([None, Decimal("1.5")])}]),
        },
    ),
    # The writer's lists have two levels, which hold no nulls.
    "array": (pa.list_(pa.int64()), lambda draw: [draw.randrange(9) for _ in range(draw.randrange(4))]),
    "structs": (
        pa.list_(pa.struct([("p", pa.int64()), ("q", pa.string())])),
        lambda draw: [{"p": n, "q": draw.choice([None, "q"])} for n in range(draw.randrange(3))],
    ),
    "map": (
        pa.map_(pa.string(), pa.float64()),
        lambda draw: [(key, draw.choice([None, 0.0, 1.5])) for key in draw.sample(["a", "", "é", "k"], 2)],
    ),
}

PRINTED_AS_CLASSES = {"decimal", "decimal25", "binary", "struct", "array", "structs", "map"}

# Key columns: a value for each number.
KEYS: dict[str, tuple[pa.DataType, Callable[[int], Any]]] = {
    "text": (pa.string(), lambda n: (f"k{n}", f"k:{n},é", f" {n}/")[n % 3]),
    "long": (pa.int64(), lambda n: n * 1_000_003 - 5_000_000),
    "int": (pa.int32(), lambda n: n % 7),
    "date": (pa.date32(), lambda n: DAY + dt.timedelta(days=n)),
    "decimal": (pa.decimal128(10, 2), lambda n: Decimal(n).scaleb(-2)),
    "timestamp": (
        pa.timestamp("us", tz="UTC"),
        lambda n: (EPOCH + dt.timedelta(seconds=n)).replace(tzinfo=dt.timezone.utc),
    ),
}

# Ordering columns: ten values that ascend.
ORDERINGS: dict[str, tuple[pa.DataType, Callable[[int], Any]]] = {
    "long": (pa.int64(), lambda t: t - 3),
    "int": (pa.int32(), lambda t: t - 3),
    "nullable_int": (pa.int32(), lambda t: None if t % 5 == 4 else t - 3),
    "text": (pa.string(), lambda t: ("", "a", "b", "ba", "c", "z", "é", "ü", "日", "🛶")[t]),
    "double": (pa.float64(), lambda t: (float("-inf"), -1.5, -0.5, 0.0, 0.5, 1.0, 2.5, 1e9, 1e300, float("inf"))[t]),
    "date": (pa.date32(), lambda t: DAY + dt.timedelta(days=t - 3)),
    "timestamp": (
        pa.timestamp("us", tz="UTC"),
        lambda t: (EPOCH + dt.timedelta(microseconds=t - 3)).replace(tzinfo=dt.timezone.utc),
    ),
    "decimal": (pa.decimal128(8, 3), lambda t: Decimal(t - 3).scaleb(-3)),
}

PARTITIONS: dict[str, tuple[pa.DataType, Callable[[int], Any]]] = {
    "text": (pa.string(), lambda n: CITIES[n % 3]),
    "nullable_text": (pa.string(), lambda n: (None, "sf", "la")[n % 3]),
    "slashed": (pa.string(), lambda n: ("a/b", "50%", "x=y")[n % 3]),
    "int": (pa.int32(), lambda n: n % 2),
    "date": (pa.date32(), lambda n: DAY + dt.timedelta(days=20_000 + n % 3)),
}


def names(prefix: str, kinds: tuple[str, ...]) -> list[str]:
    return [f"{prefix}{number}" for number in range(len(kinds))]


def columns_of(kinds: tuple[str, ...]) -> dict[str, str]:
    """Data columns by name; the name tells the kind with which the column began."""
    return {f"c_{kind}": kind for kind in kinds}


def schema(plan: Plan, columns: dict[str, str]) -> pa.Schema:
    fixed = [
        *zip(names("k", plan.key), (KEYS[kind][0] for kind in plan.key), strict=True),
        *zip(names("o", plan.ordering), (ORDERINGS[kind][0] for kind in plan.ordering), strict=True),
        *zip(names("p", plan.partition), (PARTITIONS[kind][0] for kind in plan.partition), strict=True),
    ]
    # Apache Hudi looks for the delete mark of a partial update where it stands in a whole row, and falls over it.
    marked = [] if any(step.verb == "merge_into" for step in plan.steps) else [(DELETED, pa.bool_())]
    return pa.schema([*fixed, *((name, KINDS[kind][0]) for name, kind in columns.items()), *marked])


# Stands before the name of a column that was renamed.
RENAMED = "r_"


def printed_as_classes(plan: Plan) -> set[str]:
    """The columns that Apache Hudi shows in JSON as its own classes print them (docs/differences.md)."""
    fixed = [*_named("k", plan.key), *_named("o", plan.ordering), *_named("p", plan.partition)]
    columns = [name for kind in KINDS for name in (f"c_{kind}", f"n_{kind}") if kind in PRINTED_AS_CLASSES]
    return {*columns, *(name for name, kind in fixed if kind in PRINTED_AS_CLASSES)}


def rows(plan: Plan, step: Step, columns: dict[str, str]) -> pa.Table:
    """The rows of a step, with the columns that the table has by then."""
    made = [row(plan, number, random.Random(f"{step.seed}/{at}"), columns) for at, number in enumerate(step.numbers)]
    if "delete" in step.words:
        made = [{**each, DELETED: at % 2 == 0} for at, each in enumerate(made)]
    if "moved" in step.words:
        moved = [row(plan, number + 1, random.Random(step.seed), {}) for number in step.numbers]
        homes = names("p", plan.partition)
        made = [{**each, **{home: other[home] for home in homes}} for each, other in zip(made, moved, strict=True)]
    return pa.Table.from_pylist(made, schema(plan, columns))  # which leaves a mark out that the table does not have


def row(plan: Plan, number: int, draw: random.Random, columns: dict[str, str]) -> dict[str, Any]:
    """A version of a record: its key and its partition follow from its number, all else is drawn."""
    times = {name: ORDERINGS[kind][1](draw.randrange(10)) for name, kind in _named("o", plan.ordering)}
    values = {name: None if draw.random() < 0.15 else KINDS[kind][1](draw) for name, kind in columns.items()}
    return {
        **{name: KEYS[kind][1](number) for name, kind in _named("k", plan.key)},
        **times,
        **{name: PARTITIONS[kind][1](number) for name, kind in _named("p", plan.partition)},
        **values,
        DELETED: False,
    }


def _named(prefix: str, kinds: tuple[str, ...]) -> list[tuple[str, str]]:
    return list(zip(names(prefix, kinds), kinds, strict=True))
