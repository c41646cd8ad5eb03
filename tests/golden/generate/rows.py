"""The rows of most scenes: `id` decides the city, everything else is the caller's or follows from the number."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

SCHEMA = "id string, name string, v double, ts bigint, city string"
CITIES = ("sf", "la", "ny")


def people(
    numbers: Iterable[int], ts: int | None = 1, tag: str = "a", cities: tuple[str, ...] = CITIES
) -> list[tuple[Any, ...]]:
    """Rows of `SCHEMA`; a name in eleven is null."""
    return [
        (
            f"k{n:05d}",
            None if n % 11 == 10 else f"{tag}{n}",
            n * 1.5 + (ts or 0),
            ts,
            cities[n % len(cities)],
        )
        for n in numbers
    ]
