"""What Spark has to do in the story of the demo: a PySpark job on a Hudi table, step by step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import hudini.spark as hs
from hudini.actions import CommitResult
from hudini.cli.trips import OPTIONS, ByCity, Trip

# Every fifth write through Spark would compact by itself, and leave nothing to the step that shows it.
BY_HAND = {"hoodie.compact.inline": "false"}


class SparkEngine:
    """Plans are made here on the driver, files are written and read by the executors."""

    calls: Mapping[str, str] = {
        "fill": "import hudini.spark as hs; hs.bulk_insert(events, path, options)",
        "upsert": f"hs.upsert(events, path, {BY_HAND})",
        "delete": f"hs.delete(keys, path, {BY_HAND})",
        "rows": "hs.read(spark, path, columns=['id', 'ts', 'city', 'fare'], filter=\"id in ('trip-1', …)\")",
        "compact": "hs.compact(spark, path)",
        "by_city": "spark.read.format('hudini').load(path)   hs.read(…, as_of=first)   hs.incremental(…, day_2)",
        "clean": "hudini.open(path).services.clean(policy='versions', retain=1)   ….verify(deep=True)",
        "history": "hudini.open(path).history()",
    }

    def __init__(self, spark: SparkSession, path: str) -> None:
        self.spark = spark
        self.path = path

    def fill(self, count: int) -> CommitResult:
        # What `hudini.cli.trips.first_trips` says, in Spark's words: the executors make the events.
        events = self.spark.range(count).selectExpr(
            "concat('trip-', id) as id",
            "1L as ts",
            "element_at(array('amsterdam', 'lima', 'nairobi', 'seoul'), cast(id % 4 as int) + 1) as city",
            "cast(5 + id % 40 * 0.25 as double) as fare",
        )
        return hs.bulk_insert(events, self.path, OPTIONS)

    def upsert(self, trips: list[Trip]) -> CommitResult:
        return hs.upsert(self.frame(trips), self.path, BY_HAND)

    def delete(self, trips: list[Trip]) -> CommitResult:
        return hs.delete(self.frame(trips).select("id", "city"), self.path, BY_HAND)

    def compact(self) -> CommitResult:
        return hs.compact(self.spark, self.path)

    def by_city(self, *, as_of: CommitResult | None = None, since: CommitResult | None = None) -> ByCity:
        if since is not None:
            frame = hs.incremental(self.spark, self.path, since)
        elif as_of is not None:
            frame = hs.read(self.spark, self.path, as_of=as_of)
        else:
            frame = self.spark.read.format("hudini").load(self.path)
        found = frame.groupBy("city").agg({"*": "count", "fare": "sum"}).orderBy("city").collect()
        return {row["city"]: (row["count(1)"], row["sum(fare)"]) for row in found}

    def rows(self, ids: list[str]) -> list[dict[str, Any]]:
        wanted = ", ".join(f"'{key}'" for key in ids)
        columns = ["id", "ts", "city", "fare"]
        found = hs.read(self.spark, self.path, columns=columns, filter=f"id in ({wanted})", meta=False)
        return [row.asDict() for row in found.collect()]

    def frame(self, trips: list[Trip]) -> DataFrame:
        return self.spark.createDataFrame([trip.row for trip in trips], "id string, ts long, city string, fare double")
