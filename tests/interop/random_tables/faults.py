"""What Apache Hudi does wrong, by the plans that meet it: there its answer is no measure."""

from __future__ import annotations

from .plan import SCHEMA_ON_READ, VIRTUAL, Plan

# Steps behind which files have other columns than the table.
EVOLVING = ("add_column", "rename_column", "drop_column", "widen")


def compares_texts_of_other_rows(plan: Plan) -> bool:
    """docs/differences.md: where texts order rows."""
    by_text = "text" in plan.ordering and merges_by_event_time(plan)
    evolved = plan.has({SCHEMA_ON_READ: "true"}) and any(step.verb in EVOLVING for step in plan.steps)
    return by_text and (evolved or plan.options.get("hoodie.logfile.data.block.format") == "parquet")


def loses_deletes(plan: Plan) -> bool:
    """Without meta columns 1.1 and later spell the one key of the complex generator in two ways."""
    is_complex = len(plan.key) == 1 and len(plan.partition) > 1
    is_of_newer = bool(plan.writers & {"1.1.1", "1.2.0"})
    return plan.table_type == "mor" and plan.has(VIRTUAL) and is_complex and _deletes(plan) and is_of_newer


def orders_deletes_by_chance(plan: Plan) -> bool:
    """docs/differences.md, "Ranges with partial updates": deletes with a date that 1.1 wrote."""
    has_dates = "1.1.1" in plan.writers and "date" in plan.ordering and len(plan.ordering) > 1
    return has_dates and merges_by_event_time(plan) and _deletes(plan)


def hashes_keys_in_two_ways(plan: Plan) -> bool:
    """docs/apache-hudi-notes.md: 0.15 puts keys with colons and commas into other buckets than those after it."""
    is_bucketed = plan.options.get("hoodie.index.type") == "BUCKET"
    return is_bucketed and "text" in plan.key and "0.15.0" in plan.writers and len(plan.writers) > 1


def merges_by_event_time(plan: Plan) -> bool:
    return plan.table_type == "mor" and plan.merge_mode == "EVENT_TIME_ORDERING" and bool(plan.ordering)


def _deletes(plan: Plan) -> bool:
    """Whether there are deletes of rows, not of partitions alone."""
    deletes = {"delete", "delete_sql", "remove"}
    return any(deletes & {step.verb, *step.words} for step in plan.steps)
