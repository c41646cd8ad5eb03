"""Draws plans. What is left out of them is named where it is left out, with the reason."""

from __future__ import annotations

from hypothesis import strategies as st

from . import data
from .plan import SCHEMA_ON_READ, VIRTUAL, Plan, Step
from .player import ARCHIVE_NOW, CLEAN_NOW, DROPPED, EVOLUTION, INDEXES_OF, NON_BLOCKING, ON_SPARK

EVENT, COMMIT = "EVENT_TIME_ORDERING", "COMMIT_TIME_ORDERING"
WRITERS = (("1.2.0", 9), ("1.2.0", 9), ("1.2.0", 9), ("1.0.2", 8), ("1.2.0", 8), ("1.2.0", 6))
# Of what is seldom drawn, to begin with.
MORE_WRITERS = (("0.15.0", 6), ("1.1.1", 9), ("1.1.1", 8), ("1.0.2", 8), ("1.2.0", 9))
# Where a table goes from there: to newer releases and higher versions, and back.
NEXT = {
    ("0.15.0", 6): (("1.0.2", 8), ("1.0.2", 6), ("1.1.1", 9), ("1.2.0", 6), ("1.2.0", 9)),
    ("1.0.2", 6): (("1.0.2", 8), ("1.2.0", 6), ("1.2.0", 9), ("0.15.0", 6)),
    ("1.2.0", 6): (("0.15.0", 6), ("1.2.0", 8), ("1.2.0", 9)),
    ("1.0.2", 8): (("1.1.1", 8), ("1.1.1", 9), ("1.2.0", 8), ("1.2.0", 9)),
    ("1.1.1", 8): (("1.0.2", 8), ("1.1.1", 9), ("1.2.0", 9)),
    ("1.2.0", 8): (("1.0.2", 8), ("1.2.0", 9)),
    ("1.1.1", 9): (("1.2.0", 9),),
    ("1.2.0", 9): (("1.1.1", 9), ("1.2.0", 8), ("1.0.2", 8), ("1.2.0", 6), ("0.15.0", 6)),
}
KEYS = (("text",), ("long",), ("text", "int"), ("date",), ("decimal", "text"), ("timestamp",))
PARTITIONS = ((), ("text",), ("text", "int"), ("nullable_text",), ("slashed",), ("date",), ("date", "text"))
INDEXES = ("SIMPLE", "BLOOM", "BUCKET", "GLOBAL_SIMPLE", "RECORD_INDEX")
HIVE, ENCODED = "hoodie.datasource.write.hive_style_partitioning", "hoodie.datasource.write.partitionpath.urlencode"
LISTS = {"array", "structs"}


def probably(chance: float) -> st.SearchStrategy[bool]:
    """True that often; what hypothesis tries first is the plain thing."""
    return st.integers(0, 99).map(lambda number: number >= 100 * (1 - chance))


@st.composite
def plans(draw: st.DrawFn, widely: bool) -> Plan:
    writer, version = draw(st.sampled_from(MORE_WRITERS if widely and draw(probably(0.7)) else WRITERS))
    table_type = draw(st.sampled_from(("mor", "mor", "cow")))
    merge_mode = draw(st.sampled_from((EVENT, COMMIT)))
    partition = draw(st.sampled_from(PARTITIONS))
    plan = Plan(
        writer=writer,
        version=version,
        table_type=table_type,
        merge_mode=merge_mode,
        key=draw(st.sampled_from(KEYS)),
        ordering=draw(orderings(writer, version, merge_mode)),
        partition=partition,
        columns=tuple(draw(st.lists(st.sampled_from(kinds(writer)), min_size=1, max_size=5, unique=True))),
        options=draw(options(writer, version, table_type, partition))
        | (draw(odd_options(version, table_type, partition)) if widely else {}),
        steps=(),
    )
    if "date" in plan.key and plan.has(VIRTUAL):
        # Apache Hudi deletes no such rows: docs/differences.md.
        del plan.options[next(iter(VIRTUAL))]
    if len(plan.ordering) == 1 and version > 6 and draw(probably(0.15)):
        # With several ordering fields ALTER TABLE looks for one of the name "o0,o1".
        plan.options.update(EVOLUTION)
    return Plan(**{**vars(plan), "steps": draw(steps(plan, widely))})


def kinds(writer: str) -> list[str]:
    """1.0.2 cannot write timestamps without a zone."""
    return [kind for kind in data.KINDS if kind != "ntz" or writer == "1.2.0"]


@st.composite
def orderings(draw: st.DrawFn, writer: str, version: int, merge_mode: str) -> tuple[str, ...]:
    chosen = list(data.ORDERINGS)
    if writer != "1.2.0":
        chosen.remove("nullable_int")  # older releases refuse to write them
    # By commit time Apache Hudi 1.2 fails to read deletes that have two ordering values.
    several = 2 if version == 9 and merge_mode == EVENT else 1
    least = 1 if merge_mode == EVENT or version == 6 else 0
    count = draw(st.sampled_from([count for count in (1, 2, 0) if least <= count <= several]))
    return tuple(draw(st.lists(st.sampled_from(chosen), min_size=count, max_size=count, unique=True)))


@st.composite
def options(draw: st.DrawFn, writer: str, version: int, table_type: str, partition: tuple[str, ...]) -> dict[str, str]:
    index = draw(st.sampled_from(INDEXES))
    chosen = {"hoodie.index.type": index}
    if index == "BUCKET":
        chosen["hoodie.bucket.index.num.buckets"] = "3"
    if partition and draw(probably(0.4)):
        chosen[HIVE] = "true"
    # What a folder's name does not tell apart from another folder is not written.
    if "slashed" in partition or (partition and draw(probably(0.2))):
        chosen[ENCODED] = "true"
    chosen |= draw(metadata_options(index))
    if table_type == "mor":
        chosen |= draw(log_options(version))
        chosen |= NON_BLOCKING if version > 6 and draw(probably(0.2)) else {}
    if draw(probably(0.3)):
        chosen["hoodie.table.cdc.enabled"] = "true"
        mode = draw(st.sampled_from(("data_before_after", "data_before", "op_key_only")))
        chosen["hoodie.table.cdc.supplemental.logging.mode"] = mode
    if draw(probably(0.3)):
        chosen.update({"hoodie.parquet.small.file.limit": "104857600"})  # inserts go into files that are there
    if draw(probably(0.15)):
        chosen |= {"hoodie.clean.automatic": "true", **CLEAN_NOW, **ARCHIVE_NOW}
    return chosen


@st.composite
def odd_options(draw: st.DrawFn, version: int, table_type: str, partition: tuple[str, ...]) -> dict[str, str]:
    """What seldom anybody asks for: small pieces of files, tables without meta columns or partition columns."""
    rare = [
        {"hoodie.parquet.compression.codec": draw(st.sampled_from(("snappy", "zstd", "uncompressed")))},
        {"hoodie.parquet.block.size": "2048", "hoodie.parquet.page.size": "512"},
        {"hoodie.metadata.compact.max.delta.commits": "2"},
        {"hoodie.datasource.write.row.writer.enable": "false"},
        {"hoodie.combine.before.insert": "true"},
        VIRTUAL,
    ]
    if table_type == "mor":
        rare += [{"hoodie.logfile.max.size": "2048"}, {"hoodie.logfile.data.block.max.size": "1024"}]
    if partition:
        rare += [DROPPED]
    chosen: dict[str, str] = {}
    for each in rare:
        chosen |= each if draw(probably(0.15)) else {}
    return chosen


@st.composite
def metadata_options(draw: st.DrawFn, index: str) -> dict[str, str]:
    needed = index == "RECORD_INDEX"
    if not needed and draw(probably(0.3)):
        return {"hoodie.metadata.enable": "false"}
    names = ("index.column.stats.enable", "index.partition.stats.enable", "index.bloom.filter.enable")
    chosen = {f"hoodie.metadata.{name}": str(draw(probably(0.3))).lower() for name in names}
    if chosen["hoodie.metadata.index.partition.stats.enable"] == "true":
        chosen["hoodie.metadata.index.column.stats.enable"] = "true"
    chosen["hoodie.metadata.record.index.enable"] = str(needed or draw(probably(0.2))).lower()
    return {"hoodie.metadata.enable": "true", **chosen}


@st.composite
def log_options(draw: st.DrawFn, version: int) -> dict[str, str]:
    chosen = {}
    if draw(probably(0.4)):
        chosen["hoodie.logfile.data.block.format"] = draw(st.sampled_from(("parquet", "avro")))
    if version > 6:
        chosen["hoodie.write.record.positions"] = str(draw(probably(0.5))).lower()
    if draw(probably(0.2)):
        chosen |= {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "2"}
    return chosen


@st.composite
def steps(draw: st.DrawFn, plan: Plan, widely: bool) -> tuple[Step, ...]:
    # 1.0.2 loses the lists that its row writer wrote when it rewrites the file with a column more.
    # Releases before 1.2 lose all rows that they write without partition columns.
    loses = plan.writer != "1.2.0" and (LISTS & {*plan.columns} or plan.has(DROPPED))
    first = draw(st.sampled_from(("insert", "upsert") if loses else ("insert", "upsert", "bulk_insert")))
    numbers, seed = tuple(range(draw(st.integers(12, 40)))), draw(st.integers(0, 999))
    # The properties of a new table of ours are those of the newest release.
    can_begin = "ours" in verbs_of_hudini(plan) and plan.writer == "1.2.0" and first in operations_of_hudini(plan)
    begins = widely and can_begin and draw(probably(0.4))
    made = [Step("ours", numbers, seed, words=draw(by_hudini(first))) if begins else Step(first, numbers, seed)]
    known = len(made[0].numbers)
    for _ in range(draw(st.integers(2, 7))):
        verb = draw(st.sampled_from(verbs(plan)))
        if widely and draw(probably(0.4)):
            # A write that is under way does not go from release to release.
            others = "slow_upsert" if plan.has(NON_BLOCKING) else "move_on"
            verb = draw(st.sampled_from((others, *verbs_of_hudini(plan))))
        made.append(draw(step(plan, verb, known)))
        if verb == "move_on":
            plan = plan.moved_on(made[-1])
        if verb == "fail":  # a service that completes before it is rolled back would keep it from ever being so
            made.append(draw(step(plan, "upsert", known)))
        known = max([known, *(number + 1 for each in made for number in each.numbers)])
    if draw(probably(0.15)):
        # Nothing follows: Apache Hudi refuses to write over what a pending clustering holds.
        last = ("fail", "schedule_clean", *(["schedule_clustering"] if can_cluster(plan) else []))
        made.append(Step(draw(st.sampled_from(last)), tuple(range(9)), 1))
    return tuple(made)


def can_cluster(plan: Plan) -> bool:
    """Simple buckets cannot be moved, and Apache Hudi's clustering loses the values of columns that were renamed."""
    return plan.options["hoodie.index.type"] != "BUCKET" and SCHEMA_ON_READ not in plan.options


def verbs_of_hudini(plan: Plan) -> list[str]:
    """What it is likely to do. What else it declines is told with the outcome."""
    refused = {"hoodie.table.cdc.enabled", SCHEMA_ON_READ} & {*plan.options}
    blooms = plan.options.get("hoodie.metadata.index.bloom.filter.enable") == "true"
    if plan.version == 6 or refused or blooms or plan.has(VIRTUAL) or plan.has(DROPPED):
        return []
    chosen = ["our_service"] * (2 if plan.table_type == "mor" else 1)
    writes = plan.options["hoodie.index.type"] != "GLOBAL_SIMPLE" and not plan.has(NON_BLOCKING)
    return chosen + ["ours"] * 4 if writes else chosen


def by_hudini(operation: str) -> st.SearchStrategy[tuple[str, ...]]:
    return st.sampled_from(((operation,), (operation,), (operation, ON_SPARK)))


def operations_of_hudini(plan: Plan) -> list[str]:
    """For each time that it is to be likely."""
    chosen = ["upsert"] * 5 + ["remove"] * 2 + ["insert"] * 2 + ["insert_overwrite", "insert_overwrite_table"]
    # Apache Hudi's bulk inserts spell keys of timestamps in another way than its other writes: docs/differences.md.
    chosen += [] if "timestamp" in plan.key else ["bulk_insert"]
    return chosen + (["delete_partition"] if plan.partition else [])


def verbs(plan: Plan) -> list[str]:
    """A verb for each time that it is to be likely."""
    chosen = ["upsert"] * 8 + ["delete"] * 3 + ["insert"] * 2 + ["fail", "clean", "archive", "rollback"]
    chosen += ["savepoint", "restore", "add_column", "widen", "insert_overwrite", "insert_overwrite_table"]
    chosen += ["rename_column", "drop_column"] * 2 if SCHEMA_ON_READ in plan.options else []
    # SQL looks for one ordering field of the name "o0,o1".
    chosen += ["update_sql", "delete_sql"] if len(plan.ordering) < 2 else []
    if can_cluster(plan):
        chosen += ["cluster", "cluster"]
    if plan.partition:
        chosen += ["delete_partition", "insert_overwrite"]
    if plan.table_type == "mor":
        chosen += ["compact", "compact", "schedule_compaction"]
        chosen += ["log_compact"] if plan.version > 6 else []
        # 1.1.1 writes parts of rows that are not there, and nobody but hudini reads those.
        chosen += ["merge_into", "merge_into"] if plan.version > 6 and plan.writer != "1.1.1" else []
    if plan.has({"hoodie.metadata.enable": "true"}) and plan.version > 6 and plan.writer == "1.2.0":
        chosen += ["create_index", "create_index"]
    if plan.has(NON_BLOCKING):
        # What makes an index waits for all writes that are under way.
        chosen = [verb for verb in chosen if not verb.startswith(("insert_overwrite", "create_index"))]
        chosen += ["slow_upsert"] * 6 + ["compact", "clean", *verbs_of_hudini(plan)]
    return chosen


@st.composite
def step(draw: st.DrawFn, plan: Plan, verb: str, known: int) -> Step:
    seed, words = draw(st.integers(0, 999)), ()
    if verb == "ours":
        operation = draw(st.sampled_from(operations_of_hudini(plan)))
        words = draw(by_hudini(operation))
        if operation == "delete_partition":
            return Step(verb, (0,), seed, words=words)
        if operation not in ("upsert", "remove"):
            return Step(verb, tuple(range(known, known + draw(st.integers(1, 9)))), seed, words=words)
    if verb == "create_index":
        secondary = ["secondary"] if plan.has({"hoodie.metadata.record.index.enable": "true"}) else []
        return Step(verb, seed=seed, words=(draw(st.sampled_from(secondary * 3 + [*INDEXES_OF][1:])),))
    if verb == "our_service":
        compactions = ("compact", "compact") if plan.table_type == "mor" else ()
        return Step(verb, words=(draw(st.sampled_from((*compactions, "clean", "archive"))),))
    if verb == "slow_upsert":
        words = (str(draw(st.integers(0, 3))),)
    if verb in ("upsert", "slow_upsert", "merge_into", "fail", "ours"):
        numbers = draw(st.lists(st.integers(0, known + 3), min_size=1, max_size=16))
        if verb == "merge_into":  # a row may be matched once
            return Step(verb, tuple(dict.fromkeys(numbers)), seed)
        if draw(probably(0.3)):
            words += ("delete",)
        if plan.partition and draw(probably(0.1)):
            words += ("moved",)
        return Step(verb, tuple(numbers), seed, words=words)
    if verb == "delete":
        return Step(verb, tuple(draw(st.lists(st.integers(0, known + 1), min_size=1, max_size=8, unique=True))), seed)
    if verb in ("insert", "insert_overwrite", "insert_overwrite_table"):
        # Inserted again, a key would be there twice, by Apache Hudi's own doing.
        return Step(verb, tuple(range(known, known + draw(st.integers(1, 9)))), seed)
    if verb == "move_on":
        # The services of older releases lose the type of timestamps without a zone, or the fraction too.
        spoil = ("0.15.0", "1.0.2") if "ntz" in plan.columns else ()
        onward = [each for each in NEXT[plan.writer, plan.version] if each[0] not in spoil]
        release, version = draw(st.sampled_from(onward))
        return Step(verb, words=(release, str(version)))
    if verb == "add_column":
        return Step(verb, words=(draw(st.sampled_from([kind for kind in kinds(plan.writer) if kind != "ntz"])),))
    return Step(verb, (0,) if verb == "delete_partition" else (), seed)
