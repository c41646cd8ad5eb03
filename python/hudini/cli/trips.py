"""The trips of the demo's story: which events come when, and what a table must hold once they came.

Everything follows from the number of a trip, so that any engine makes the same events, and any reader knows the answer.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, NamedTuple

CITIES = ("amsterdam", "lima", "nairobi", "seoul")
SCHEMA = {"id": "string not null", "ts": "long not null", "city": "string not null", "fare": "double"}
OPTIONS = {
    "hoodie.table.name": "trips",
    "hoodie.datasource.write.table.type": "MERGE_ON_READ",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.datasource.write.partitionpath.field": "city",
    "hoodie.bucket.index.num.buckets": "2",
}
DAYS = (1, 2, 3)
NEW_EACH_DAY = 100

ByCity = dict[str, tuple[int, float]]
"""City → how many trips, and the sum of their fares."""


class Trip(NamedTuple):
    """An event; its city follows from its number. Fares are multiples of a quarter: their sums are exact."""

    number: int
    ts: int
    fare: float

    @property
    def row(self) -> dict[str, Any]:
        return {"id": f"trip-{self.number}", "ts": self.ts, "city": CITIES[self.number % 4], "fare": self.fare}


def first_fare(number: int) -> float:
    """What a trip costs, as long as no later event says something else."""
    return 5.0 + number % 40 * 0.25


def first_trips(count: int) -> list[Trip]:
    """The events of the first load."""
    return [Trip(number, 1, first_fare(number)) for number in range(count)]


def day(number: int, count: int) -> list[Trip]:
    """The events of a later day, of a table that began with `count` trips: updates, late ones that change nothing,
    trips that come twice with the newer event first, and new trips."""
    ts = 10 * number
    updated = [Trip(trip, ts, first_fare(trip) + number) for trip in range(number, count, 50)]
    late = [Trip(trip, 0, -1.0) for trip in range(20 + number, count, 50)]
    twice = range(30 + number, count, 100)
    new = range(count + (number - 1) * NEW_EACH_DAY, count + number * NEW_EACH_DAY)
    return [
        *updated,
        *late,
        *(Trip(trip, ts + 1, 77.0) for trip in twice),
        *(Trip(trip, ts, 66.0) for trip in twice),
        *(Trip(trip, ts, first_fare(trip)) for trip in new),
    ]


def deleted(count: int) -> list[Trip]:
    """Trips that never took place."""
    return [Trip(trip, 0, 0.0) for trip in range(5, count, 100)]


def watched(count: int) -> dict[str, str]:
    """Ids to look at, and what became of them."""
    return {
        "trip-1": "updated on day 1",
        "trip-21": "a late event on day 1: the newer one stays",
        "trip-31": "came twice on day 1: the newer of the two",
        f"trip-{count}": "new on day 1",
        "trip-5": "deleted",
    }


class Expected:
    """What the table must hold."""

    def __init__(self) -> None:
        self._trips: dict[int, Trip] = {}

    def upsert(self, trips: Iterable[Trip]) -> None:
        for trip in trips:
            stored = self._trips.get(trip.number)
            if stored is None or trip.ts >= stored.ts:
                self._trips[trip.number] = trip

    def delete(self, trips: Iterable[Trip]) -> None:
        for trip in trips:
            self._trips.pop(trip.number, None)

    def by_city(self, since: int = 0) -> ByCity:
        """Only of trips with an event from `since` on, if that is given."""
        fares: dict[str, list[float]] = defaultdict(list)
        for trip in self._trips.values():
            if trip.ts >= since:
                fares[trip.row["city"]].append(trip.fare)
        return {city: (len(each), sum(each)) for city, each in sorted(fares.items())}

    def rows(self, ids: Iterable[str]) -> dict[str, dict[str, Any]]:
        """Those of the rows that are there."""
        found = (self._trips.get(int(key.removeprefix("trip-"))) for key in ids)
        return {trip.row["id"]: trip.row for trip in found if trip is not None}
