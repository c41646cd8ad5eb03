"""The distributed write: control steps here, tasks on Spark's executors.

    begin   ─ driver ─  Action
    locate  ─ tasks  ─  rows + where they go            (kept: Spark would compute them twice)
    look up ─ tasks  ─  keys + file groups that have them; in tables without buckets, by their files or the record index
    profile ─ tasks  ─  how many rows go where
    place   ─ driver ─  one task for each place
    settle  ─ tasks  ─  new keys + their places; in tables without buckets
    run     ─ tasks  ─  one file for each task
    commit  ─ driver ─  all files become visible at once

Nothing on the driver grows with the number of rows. The storage must be reachable from the driver and the executors.
"""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hudini import _core
from hudini.actions import CommitResult
from hudini.errors import CommitConflict, HudiniError, InstantCleaned, StorageFailure
from hudini.spark import frames
from hudini.spark.batches import arrow_schema
from hudini.spark.compaction import after_write
from hudini.spark.errors import typed_errors
from hudini.spark.sessions import check_seen, is_connect

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class Wish:
    """What the caller of a write says besides the rows."""

    operation: str
    options: dict[str, str] = field(default_factory=dict)
    metadata: dict[str, str] = field(default_factory=dict)
    schema_mode: str = "evolve"
    idempotency_key: str | None = None


class Write:
    """One write, planned again when another writer was quicker."""

    def __init__(self, df: DataFrame, table: _core.Table, wish: Wish) -> None:
        self.df = df
        self.table = table
        self.wish = wish
        self.locator: bytes | None = None
        self.rows: DataFrame | None = None
        self.homes: list[DataFrame] = []
        self.retries = 0

    def execute(self) -> CommitResult:
        done = self.committed()
        if done is not None:
            return CommitResult.from_core(done, callers=3)
        try:
            for attempt in itertools.count():
                try:
                    result = CommitResult.from_core(self.attempt() | {"retries": attempt}, callers=3)
                    return after_write(self.df.sparkSession, self.table, self.wish.options, result, callers=3)
                except CommitConflict:
                    if attempt >= self.retries:
                        raise
                finally:
                    self.forget_homes()
            raise AssertionError("the last attempt returns or raises")
        finally:
            if self.rows is not None:
                self.rows.unpersist()

    def committed(self) -> dict[str, Any] | None:
        """What the same write did before, however long ago."""
        key = self.wish.idempotency_key
        return None if key is None else self.table.committed(self.wish.operation, key)

    def attempt(self) -> dict[str, Any]:
        wish, schema = self.wish, arrow_schema(self.df.schema)
        action = self.table.begin(
            wish.operation, schema, wish.options, wish.metadata, None, wish.schema_mode, wish.idempotency_key
        )
        self.retries = action.conflict_retries
        spark = self.df.sparkSession
        try:
            done = action.done_before()
            if done is not None:
                action.abort()
                return done
            try:
                with typed_errors():
                    if is_connect(spark):
                        check_seen(spark, self.table, action.instant)
                    statuses = self.write(action)
            except (StorageFailure, InstantCleaned):
                # Whoever takes a write for dead takes files away under its tasks.
                action.check_heart()
                raise
            return action.commit(statuses)
        except BaseException as error:
            _abort(action, error)
            raise

    def write(self, action: _core.Action) -> list[bytes]:
        """All stages between begin and commit."""
        rows = self.locate(action)
        if action.looks_up:
            rows = self.look_up(action, rows)
        elif action.combines_partitions:
            rows = self.reunite(action, rows, frames.scattered(rows))
        profile = frames.profile(rows)
        placed = action.place(profile)
        tasks = {(partition, slot): task for partition, slot, _, task in placed}
        if not tasks:
            return []
        if action.adds_keys:
            rows = frames.settled(rows, action.new_slots())
        # A delete names rows that no file group has.
        done = frames.run(rows, dict.fromkeys((partition, slot) for partition, slot, *_ in profile) | tasks)
        _check_complete(placed, done, by_partition=action.adds_keys)
        idle = sorted(tasks.keys() - {(partition, slot) for partition, slot, _, _ in done})
        statuses = [status for _, _, _, status in sorted(done)]
        if idle:
            # New keys are shared out by their hashes, and of few keys a file group may get none.
            left = [tasks[place] for place in idle]
            statuses += frames.run_without_rows(self.df.sparkSession, left, frames.data_schema(rows))
        return statuses

    def locate(self, action: _core.Action) -> DataFrame:
        """The located rows, kept; a second attempt finds them where the first left them if they would not move."""
        locator = action.locator()
        if self.rows is not None and locator == self.locator:
            return self.rows
        source = self.df if self.rows is None else self.rows.drop(*frames.CARRIED)
        rows = frames.located(source, locator, with_keys=action.adds_keys).persist()
        stale, self.rows, self.locator = self.rows, rows, locator
        if stale is not None:
            rows.count()
            stale.unpersist()
        return rows

    def look_up(self, action: _core.Action, rows: DataFrame) -> DataFrame:
        """The located rows with the slots of the file groups that have their keys."""
        lookup = action.record_lookup()
        if lookup is None:
            return self.look_up_in_files(action, rows)
        groups, index = lookup
        return self.look_up_records(action, rows, index, groups)

    def look_up_in_files(self, action: _core.Action, rows: DataFrame) -> DataFrame:
        """Each key is looked for in its own partition."""
        keys = rows.select(frames.PARTITION, frames.KEY).distinct()
        for found in action.lookups(frames.partitions(rows)):
            tasks = {(partition, slot): task for partition, slot, task in found}
            homes = frames.look_up(keys, tasks).persist()
            self.homes.append(homes)
            # What one round found is not looked for in the next.
            keys = keys.join(homes, [frames.PARTITION, frames.KEY], "left_anti")
        if not self.homes:
            return rows
        homes = functools.reduce(lambda some, more: some.union(more), self.homes)
        return frames.at_home(rows, homes, [frames.PARTITION, frames.KEY])

    def look_up_records(self, action: _core.Action, rows: DataFrame, index: bytes, groups: int) -> DataFrame:
        """A key has one place in the whole table, and its rows go there, whatever partition they name."""
        found = frames.recorded(rows, index, groups).persist()
        self.homes.append(found)
        rows = self.reunite(action, rows, frames.lost(found))
        files = frames.files(found)
        slots = zip(files, action.recorded_slots(files), strict=True)
        homes = frames.with_slots(found, [(partition, file, slot) for (partition, file, _), slot in slots])
        return frames.at_home(rows, homes, [frames.KEY])

    def reunite(self, action: _core.Action, rows: DataFrame, keys: DataFrame) -> DataFrame:
        """The located rows, those of each of these keys in one partition."""
        if keys.isEmpty():
            return rows
        columns, choice = action.choice()
        chosen = frames.chosen(rows, keys, choice, columns).persist()
        self.homes.append(chosen)
        return frames.at_home(rows, chosen, [frames.KEY])

    def forget_homes(self) -> None:
        while self.homes:
            self.homes.pop().unpersist()


def _check_complete(placed: list[tuple[str, int, int, bytes]], done: list[frames.Done], *, by_partition: bool) -> None:
    """As many rows as were counted for a place were written there, or where new keys find their places later, in its
    partition: else Spark's two looks at the rows differ."""
    counted: Counter[tuple[str, int | None]] = Counter()
    written: Counter[tuple[str, int | None]] = Counter()
    for partition, slot, rows, _ in placed:
        counted[partition, None if by_partition else slot] += rows
    for partition, slot, rows, _ in done:
        written[partition, None if by_partition else slot] += rows
    if counted != written:
        raise HudiniError(
            f"{counted.total()} rows in {len(counted)} groups were counted, "
            f"{written.total()} rows in {len(written)} groups were written",
            hint="Spark read its source twice and got different rows: write the DataFrame to files first",
        )


def _abort(action: _core.Action, error: BaseException) -> None:
    try:
        action.abort()
    except HudiniError as failed:
        if hasattr(error, "add_note"):
            error.add_note(f"taking back instant {action.instant} failed as well: {failed}")
