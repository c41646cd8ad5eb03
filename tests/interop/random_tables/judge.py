"""Asks Apache Hudi 1.2 and hudini the same questions about a table, and tells what they do not agree on."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

import hudini
from tests.interop.oracle import Oracle, OracleError
from tests.interop.oracle.queries import query_options
from tests.support.changes import unexplained
from tests.support.compare import difference, multiset
from tests.support.filters import Filters

from . import data, faults
from .plan import SCHEMA_ON_READ, VIRTUAL, Plan
from .player import CLEAN_NOW, DROPPED, cause

LISTINGS = {"with the metadata table": "true", "without it": "false"}
# Spark answers by what it reads: its statistics hide rows, and ranges over cleaned files fall back to the newest state.
PLAIN = {
    "hoodie.enable.data.skipping": "false",
    "hoodie.datasource.read.incr.fallback.fulltablescan.enable": "false",
}
# docs/differences.md, "Changes add up": the releases that log nothing where an upsert leaves nothing of a file group.
SILENT = {"0.15.0", "1.0.2"}
WRITES = ("commit", "deltacommit", "replacecommit")
# What Apache Hudi says to every range of a table without meta columns: no question of chance.
NO_RANGES = "not supported when meta fields are disabled"


@dataclass
class Verdict:
    """What came of one table."""

    problems: list[str]
    unanswered: list[str]  # by Apache Hudi


@dataclass(frozen=True)
class Question:
    """One question, to both."""

    name: str
    query: str
    ours: Callable[[hudini.Table], Any]
    asked: dict[str, Any]
    filter: str | None = None
    columns: tuple[str, ...] | None = None
    json_columns: tuple[str, ...] = ()
    # Rows of commits from then on are asked for.
    since: str = ""


def disagreements(judge: Oracle, path: Path, plan: Plan, refused: list[str]) -> Verdict:
    """Every question, to both. `refused` are steps that Apache Hudi did not take."""
    verdict = Verdict([], [])
    if not (path / ".hoodie").exists() or not writes(judge, path):
        return verdict  # without a write Apache Hudi knows no columns
    tables = {name: hudini.open(path, options={"hoodie.metadata.enable": on}) for name, on in LISTINGS.items()}
    # docs/differences.md: it compares texts of other rows, or finds no row for a delete.
    is_muddled = faults.compares_texts_of_other_rows(plan) or faults.loses_deletes(plan)
    by_chance = ("snapshot", "time_travel", "incremental") if faults.orders_deletes_by_chance(plan) else ()
    for question in questions(judge, path, plan):
        if is_muddled or question.query in by_chance:
            continue
        _ask(question, judge, path, plan, tables, verdict)
    if _is_rolled_back_too_far(path, plan):
        return verdict
    # A rollback or restore that failed midway leaves a commit without its files.
    is_torn = any("Failed to rollback" in reason or "Failed to restore" in reason for reason in refused)
    for check in (_filters,) if is_torn else (_filters, _verified, _changes_add_up):
        try:
            verdict.problems += check(path, plan)
        except hudini.HudiniError as error:
            verdict.problems.append(f"{check.__name__}: {type(error).__name__}: {error}")
    return verdict


def questions(judge: Oracle, path: Path, plan: Plan) -> Iterator[Question]:
    """What this table can be asked, as its timeline is now."""
    draw = random.Random(plan.to_json())
    timeline = writes(judge, path)
    yield Question("snapshot", "snapshot", lambda table: table.read(), {})
    if plan.table_type == "mor":
        yield Question("read-optimised", "read_optimized", lambda table: table.read(mode="read_optimized"), {})
    for row in draw.sample(timeline, min(3, len(timeline))):
        yield _time_travel(row["requested"])
    # Before version 8 the completion time is a file's modification time, and ranges go by requested times. The plan may
    # want that version in vain.
    is_of_version_6 = hudini.open(path).properties["hoodie.table.version"] == "6"
    times = sorted(row["requested" if is_of_version_6 else "completed"] for row in timeline)
    for question in _ranges(plan, times, draw, is_of_version_6=is_of_version_6):
        if is_of_version_6 or not _hides_a_slow_write(judge.timeline(path), **question.asked):
            yield question


def _hides_a_slow_write(timeline: list[dict[str, Any]], start: str, end: str | None) -> bool:
    """docs/differences.md, "Ranges of one slow write": it completed over a compaction planned after the range."""
    done = [row for row in timeline if row["state"] == "completed" and row["action"] in WRITES]
    told = [row for row in done if start < row["completed"] and (end is None or row["completed"] <= end)]
    newest = max((row["requested"] for row in told), default="")
    compactions = [row["requested"] for row in timeline if row["action"] in ("compaction", "commit")]
    return any(newest < planned < row["completed"] for row in told for planned in compactions)


def writes(judge: Oracle, path: Path) -> list[dict[str, Any]]:
    """The completed writes that the active timeline has."""
    return [row for row in judge.timeline(path) if row["state"] == "completed" and row["action"] in WRITES]


def _time_travel(instant: str) -> Question:
    return Question(f"as of {instant}", "time_travel", lambda t: t.read(as_of=instant), {"as_of": instant})


def _ranges(plan: Plan, times: list[str], draw: random.Random, *, is_of_version_6: bool) -> Iterator[Question]:
    ranges: list[tuple[str, str | None]] = [("000", None)]
    if len(times) > 1:
        ranges += [(times[-2], None)]
    if len(times) > 2:
        start, end = sorted(draw.sample(times, 2))
        ranges.append((start, end))
    # docs/differences.md: of what was archived there Apache Hudi gives nothing.
    since = times[0] if is_of_version_6 and times else ""
    for start, end in dict.fromkeys(ranges):
        asked = {"start": start, "end": end}
        yield Question(
            f"from {start} to {end}",
            "incremental",
            lambda t, asked=asked: t.incremental(**asked),
            asked,
            since=since,
        )
        # Of merge-on-read tables, `_changes_add_up` asks: docs/differences.md, "Changes add up".
        if "hoodie.table.cdc.enabled" in plan.options and plan.table_type == "cow":
            yield Question(
                f"changes from {start} to {end}",
                "cdc",
                lambda t, asked=asked: t.changes(**asked, images="json"),
                asked,
                json_columns=("before", "after"),
            )


def _ask(
    question: Question, judge: Oracle, path: Path, plan: Plan, tables: dict[str, hudini.Table], verdict: Verdict
) -> None:
    try:
        options = PLAIN | schema_on_read(plan) | query_options(question.query, **question.asked)
        expected = judge.read(path, options)
    except OracleError as error:
        if not (plan.has(VIRTUAL) and NO_RANGES in str(error)):
            verdict.unanswered.append(f"{question.name}: {cause(error)}")
        expected = None
    for name, table in tables.items():
        try:
            scan = question.ours(table)
            actual = scan.to_arrow()
        except hudini.HudiniError as error:
            if expected is not None and not _is_refused(error, question, plan):
                verdict.problems.append(f"{question.name}, {name}: {type(error).__name__}: {error}")
            continue
        problem = None
        if expected is not None:
            ours, theirs = (comparable(answer, question, plan) for answer in (actual, expected))
            if question.query == "cdc" and plan.writers & SILENT:
                ours = _without_more_deletes(ours, theirs, question)
            problem = _difference(ours, theirs, question)
        if problem is not None:
            verdict.problems.append(f"{question.name}, {name}: {problem}")
        verdict.problems += [f"{question.name}, {name}: {warning}" for warning in scan.explain()["warnings"]]


def schema_on_read(plan: Plan) -> dict[str, str]:
    """hudini finds columns by their ids whether it is told to or not; Apache Hudi only if it is."""
    return {key: value for key, value in plan.options.items() if key == SCHEMA_ON_READ}


def comparable(answer: pa.Table, question: Question, plan: Plan) -> pa.Table:
    """The answer without what docs/differences.md says to be otherwise in it."""
    if question.query == "incremental":
        return _of_range(answer, question, plan)
    for at, name in enumerate(answer.column_names):
        if name in question.json_columns:
            images = [_spelled_alike(image, plan) for image in answer.column(name).to_pylist()]
            answer = answer.set_column(at, name, pa.array(images, pa.string()))
    return answer


def _of_range(answer: pa.Table, question: Question, plan: Plan) -> pa.Table:
    answer = answer.filter(pc.greater_equal(answer["_hoodie_commit_time"], question.since))
    if plan.table_type == "mor" and any(step.verb == "merge_into" for step in plan.steps):
        if faults.merges_by_event_time(plan):
            answer = _without_parts(answer, plan)
        # Of parts of rows Apache Hudi gives what happened to be in memory for the others.
        return answer.select([name for name in answer.column_names if name.startswith("_hoodie_")])
    homes = data.names("p", plan.partition) if "slashed" in plan.partition else []
    return answer.select([name for name in answer.column_names if name not in homes])  # shown as folders spell them


def _without_parts(answer: pa.Table, plan: Plan) -> pa.Table:
    """Without the records of partial updates, which Apache Hudi orders by what stands elsewhere in a whole row."""
    keys = data.names("k", plan.key)
    updates = [data.rows(plan, step, {}).select(keys) for step in plan.steps if step.verb == "merge_into"]
    parts = {tuple(row.values()) for update in updates for row in update.to_pylist()}
    are_whole = [tuple(row.values()) not in parts for row in answer.select(keys).to_pylist()]
    return answer.filter(pa.array(are_whole, pa.bool_()))


def _without_more_deletes(ours: pa.Table, theirs: pa.Table, question: Question) -> pa.Table:
    known = multiset(theirs, theirs.column_names, question.json_columns)

    def is_told(at: int, operation: str) -> bool:
        row = ours.slice(at, 1)
        return operation != "d" or bool(multiset(row, theirs.column_names, question.json_columns) & known)

    return ours.filter(pa.array([is_told(*each) for each in enumerate(ours["op"].to_pylist())], pa.bool_()))


def _spelled_alike(image: str | None, plan: Plan) -> str | None:
    """An image without the values that Apache Hudi prints by its own classes."""
    values = None if image is None else json.loads(image)
    if values is None:
        return None
    otherwise = data.printed_as_classes(plan)
    # docs/differences.md: images of files alone, though an index of the whole table keeps a row that moved in its old
    # folder, and no values for columns that were renamed since.
    if plan.has(DROPPED) or (_has_global_index(plan) and _moves(plan)):
        otherwise |= set(data.names("p", plan.partition))
    return json.dumps({k: value for k, value in values.items() if not (k in otherwise or k.startswith(data.RENAMED))})


def _is_refused(error: hudini.HudiniError, question: Question, plan: Plan) -> bool:
    """What Apache Hudi answers from what is left: changes that were cleaned away, parts of rows that are elsewhere."""
    if _rolls_back_too_far(plan) and isinstance(error, hudini.InstantCleaned):
        return True
    if plan.has(VIRTUAL) and isinstance(error, hudini.UnsupportedFeature):
        return question.query == "incremental"  # its rows tell no commit
    if question.query == "incremental" and any(step.verb == "merge_into" for step in plan.steps):
        return isinstance(error, hudini.UnsupportedFeature | hudini.InstantCleaned)
    return isinstance(error, hudini.InstantCleaned) and question.query in ("incremental", "cdc")


def _rolls_back_too_far(plan: Plan) -> bool:
    """Cleans that keep one commit leave the state before it, and none to which a second rollback could lead."""
    verbs = [step.verb for step in plan.steps]
    is_cleaned = plan.has(CLEAN_NOW) or "clean" in verbs or "our_service" in verbs
    return is_cleaned and verbs.count("rollback") > 1


def _is_rolled_back_too_far(path: Path, plan: Plan) -> bool:
    """Whether its newest state lacks files, as a plan of that kind may leave it."""
    if not _rolls_back_too_far(plan):
        return False
    try:
        hudini.open(path).read().to_arrow()
    except hudini.InstantCleaned:
        return True
    return False


def _difference(actual: pa.Table, expected: pa.Table, question: Question) -> str | None:
    ours, theirs = ([(field.name, plain(field.type)) for field in each.schema] for each in (actual, expected))
    if ours != theirs:
        return f"columns {[c for c in ours if c not in theirs]}, expected {[c for c in theirs if c not in ours]}" + (
            "" if set(ours) != set(theirs) else f": order {ours} / {theirs}"
        )
    return narrowed(actual, expected, question.json_columns)


def narrowed(actual: pa.Table, expected: pa.Table, json_columns: tuple[str, ...] = ()) -> str | None:
    """The difference, shown in the columns that differ and those that name the row."""
    problem = difference(actual, expected, json_columns)
    if problem is None or set(actual.column_names) != set(expected.column_names):
        return problem
    differing = {
        name
        for name in expected.column_names
        if multiset(actual, [name], json_columns) != multiset(expected, [name], json_columns)
    }
    if actual.num_rows == expected.num_rows and differing:
        names = [name for name in expected.column_names if name in differing | {"_hoodie_record_key"}]
        return difference(actual.select(names), expected.select(names), json_columns)
    return problem


def plain(kind: pa.DataType) -> pa.DataType:
    """The type without what Arrow leaves to its writer: width of offsets, names of items, nullability."""
    types = pa.types
    if types.is_large_string(kind) or types.is_string_view(kind):
        return pa.string()
    if types.is_large_binary(kind) or types.is_binary_view(kind):
        return pa.binary()
    if types.is_list(kind) or types.is_large_list(kind):
        return pa.list_(plain(kind.value_type))
    if types.is_map(kind):
        return pa.map_(plain(kind.key_type), plain(kind.item_type))
    if types.is_struct(kind):
        return pa.struct([(kind.field(at).name, plain(kind.field(at).type)) for at in range(kind.num_fields)])
    return kind


# ---- what hudini is asked alone ----


def _filters(path: Path, plan: Plan) -> list[str]:
    """Filters give the rows that they hold for, whatever is left unread."""
    whole = hudini.open(path).read().to_arrow()
    if whole.num_rows == 0:
        return []
    tables = [hudini.open(path, options={"hoodie.enable.data.skipping": on}) for on in ("true", "false")]
    problems = []
    for condition, expected in islice(Filters(whole, plan.to_json()), 12):
        first = next(name for name in expected.column_names if not name.startswith("_hoodie_"))
        columns = list(dict.fromkeys([first, expected.column_names[-1]]))
        for table in tables:
            problem = difference(table.read(filter=condition).to_arrow(), expected)
            problem = problem or difference(table.read(columns, filter=condition).to_arrow(), expected.select(columns))
            if problem is not None:
                problems.append(f"where {condition}: {problem}")
    return problems


def _verified(path: Path, plan: Plan) -> list[str]:
    findings = hudini.open(path).verify(deep=True).findings
    return [f"verify: {found}" for found in findings if found.level == "damage" and not _is_of_apache_hudi(found, plan)]


def _is_of_apache_hudi(found: hudini.Finding, plan: Plan) -> bool:
    """Its record index loses keys of rows that outlived a delete, or that are one more in a partition they moved to.

    And of what a restore took back it goes on saying where it was.
    """
    doubled = found.check == "duplicate_key" and _moves(plan) and not _has_global_index(plan)
    is_restored = "another place" in found.message and any(step.verb == "restore" for step in plan.steps)
    return doubled or (found.check == "record_index" and (is_restored or "does not have the key" in found.message))


def _merges_in_another_way_than_before(table: hudini.Table, plan: Plan) -> bool:
    """Tables that merge by commit time, and have an ordering, are of event time once they were of version 6, or are."""
    moved = {step.words[1] for step in plan.steps if step.verb == "move_on"}
    version = int(table.properties["hoodie.table.version"])
    was_upgraded = version > 6 and ("6" in moved or table.properties.get("hoodie.table.initial.version") == "6")
    was_downgraded = version == 6 and "6" in moved and plan.merge_mode == "COMMIT_TIME_ORDERING"
    return plan.table_type == "mor" and bool(plan.ordering) and (was_upgraded or was_downgraded)


def _compaction_forgets_orderings(plan: Plan) -> bool:
    """In 1.0.2, of deletes, without meta columns (docs/apache-hudi-notes.md); or takes texts of other rows for them."""
    forgotten = plan.has(VIRTUAL) and plan.merge_mode == "EVENT_TIME_ORDERING" and "1.0.2" in plan.writers
    return plan.table_type == "mor" and (forgotten or faults.compares_texts_of_other_rows(plan))


def _has_global_index(plan: Plan) -> bool:
    return plan.options.get("hoodie.index.type") in ("RECORD_INDEX", "GLOBAL_SIMPLE", "GLOBAL_BLOOM")


def _moves(plan: Plan) -> bool:
    return any("moved" in step.words for step in plan.steps)


def _changes_add_up(path: Path, plan: Plan) -> list[str]:
    """A copy of the table that followed its change feed from the beginning is the table."""
    # Log compactions of 1.0.2 change rows of partial updates (docs/apache-hudi-notes.md).
    verbs = {step.verb for step in plan.steps}
    if {"merge_into", "log_compact"} <= verbs and "1.0.2" in plan.writers:
        return []
    table = hudini.open(path)
    is_otherwise = _merges_in_another_way_than_before(table, plan) or _compaction_forgets_orderings(plan)
    if is_otherwise or faults.loses_deletes(plan):
        return []
    try:
        feed = table.changes().to_arrow()
    except hudini.InstantCleaned:
        return []
    except hudini.InstantNotFound:
        if plan.version > 6:
            raise
        return []  # as in Apache Hudi: beside a write that has not completed
    newest = table.read(meta=False).to_arrow()
    wrong = unexplained(feed, newest.slice(0, 0), newest)
    return [f"changes do not add up: {count:+}x {row}" for row, count in list(wrong.items())[:4]]
