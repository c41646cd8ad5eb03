"""What hudini does not understand, or cannot have, is an error that names it: golden tables, changed in one thing."""

from __future__ import annotations

import re
import shutil
import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import hudini
from tests.support.compare import difference

from . import catalogue

READABLE = "hudini reads table versions 6, 8 and 9"
LOG_VERSION = slice(14, 18)
# The trailer of an HFile up to the number of its codec, which comes behind the comparator.
HFILE_CODEC = re.compile(rb'(TRABLK"\$.{1,200}?Comparator\x60).', re.DOTALL)
PARQUET_IS_ENCRYPTED = b"PARE"

Change = Callable[[Path], None]
Ask = Callable[[hudini.Table], object]


@dataclass(frozen=True)
class Refusal:
    """A table changed in one thing, and the error that must come of it."""

    name: str
    case: str
    change: Change
    says: str
    path: str  # the end of it; "" is the table itself
    error: type[hudini.HudiniError] = hudini.UnsupportedFeature
    hint: str | None = None
    ask: Ask = lambda table: table.read().to_arrow()

    def __str__(self) -> str:
        return f"{self.name}-{self.case}"

    def raised(self, folder: Path) -> hudini.HudiniError:
        path = catalogue.unpack(self.case, folder)
        self.change(path)
        with pytest.raises(self.error) as caught:
            self.ask(hudini.open(path, options=catalogue.bootstrap_options(path)))
        return caught.value


# ---- changes ----


def nothing(table: Path) -> None:
    """The table is refused as Apache Hudi, or the generator of the golden tables, left it."""


def properties(table: Path, **changed: str | None) -> None:
    """Sets properties, their dots written as `__`; None takes one away."""
    file = table / ".hoodie" / "hoodie.properties"
    new = {key.replace("__", "."): value for key, value in changed.items()}
    kept = [line for line in file.read_text().splitlines() if line.split("=")[0] not in new]
    file.write_text("\n".join([*kept, *(f"{key}={value}" for key, value in new.items() if value is not None)]) + "\n")


def having(**changed: str | None) -> Change:
    return partial(properties, **changed)


def rewrite(pattern: str, change: Callable[[bytes], bytes], table: Path) -> None:
    """Changes the bytes of all files that fit."""
    files = list(table.glob(pattern))
    assert files, f"no {pattern}"
    for file in files:
        before = file.read_bytes()
        after = change(before)
        assert after != before
        file.write_bytes(after)


def rewriting(pattern: str, change: Callable[[bytes], bytes]) -> Change:
    return partial(rewrite, pattern, change)


def hfile_codec(number: int) -> Callable[[bytes], bytes]:
    return lambda data: HFILE_CODEC.sub(lambda trailer: trailer[1] + bytes([number]), data)


def log_version(data: bytes) -> bytes:
    return data[: LOG_VERSION.start] + struct.pack(">i", 9) + data[LOG_VERSION.stop :]


def encrypted(data: bytes) -> bytes:
    return data[: -len(PARQUET_IS_ENCRYPTED)] + PARQUET_IS_ENCRYPTED


# ---- what is refused ----


def version(case: str, number: str) -> Refusal:
    return Refusal(
        f"version_{number}", case, having(hoodie__table__version=number), f"version {number}", "", hint=READABLE
    )


def layout(case: str, number: str) -> Refusal:
    change = having(hoodie__timeline__layout__version=number)
    return Refusal(f"layout_{number}", case, change, f"hoodie.timeline.layout.version={number}", "")


def payload(case: str, mode: str | None) -> Refusal:
    change = having(
        hoodie__compaction__payload__class="com.example.Mine",
        hoodie__record__merge__mode=mode,
        hoodie__record__merge__strategy__id="00000000-0000-0000-0000-000000000000",
    )
    return Refusal("payload", case, change, "hoodie.compaction.payload.class=com.example.Mine", "")


# Tables with one, and where it is.
REPLACING = {"cow_clustering_v6": "", "cow_clustering_v9": "timeline/", "cow_insert_overwrite_v9": "timeline/"}


def says_nothing_of_what_it_replaced(case: str, folder: str) -> Refusal:
    """Apache Hudi shows the rows that were replaced, too."""
    change = rewriting(f".hoodie/{folder}*.replacecommit", lambda _: b"")
    says = "an empty file where it should say which file groups were replaced"
    return Refusal("empty_replacecommit", case, change, says, ".replacecommit", error=hudini.CorruptFile)


VERSIONS_AND_LAYOUTS = [
    *(version(case, number) for case in ("mor_core_v6", "mor_core_v9") for number in ("0", "5", "7", "10", "11")),
    Refusal("version_text", "mor_core_v9", having(hoodie__table__version="nine"), "hoodie.table.version=nine", ""),
    Refusal("no_version", "mor_core_v9", having(hoodie__table__version=None), "hoodie.table.version", ""),
    Refusal("version_of_apache", "refuse_table_version_10", nothing, "version 10", "", hint=READABLE),
    *(layout("mor_core_v9", number) for number in ("1", "3")),
    *(layout("mor_core_v6", number) for number in ("0", "2")),
    Refusal("table_type", "mor_core_v9", having(hoodie__table__type="READ_ON_MERGE"), "type=READ_ON_MERGE", ""),
    Refusal("base_format", "cow_core_v9", having(hoodie__table__base__file__format="ORC"), "format ORC", ""),
    Refusal("table_format", "cow_core_v9", having(hoodie__table__format="iceberg"), "table format 'iceberg'", ""),
]
MERGING = [
    Refusal("mode", "mor_core_v9", having(hoodie__record__merge__mode="NEWEST_WINS"), "merge.mode=NEWEST_WINS", ""),
    Refusal(
        "merger",
        "mor_core_v9",
        having(hoodie__record__merge__mode="CUSTOM", hoodie__record__merge__strategy__id="not-registered"),
        "merge strategy not-registered",
        "",
        hint="register_merger",
    ),
    Refusal(
        "merger_of_apache", "refuse_custom_merger", nothing, "merge strategy 11111111-", "", hint="register_merger"
    ),
    Refusal(
        "no_merger",
        "mor_core_v9",
        having(hoodie__record__merge__mode="CUSTOM", hoodie__record__merge__strategy__id=None),
        "CUSTOM without a strategy",
        "",
    ),
    payload("mor_core_v6", None),
    payload("mor_core_v8", "CUSTOM"),
    payload("mor_core_v9", "CUSTOM"),
    Refusal(
        "partial_update", "mor_core_v9", having(hoodie__table__partial__update__mode="SOMEHOW"), "mode=SOMEHOW", ""
    ),
    Refusal(
        "key_generator",
        "mor_virtual_keys_v8",
        having(hoodie__table__keygenerator__type="MINE"),
        "key generator 'MINE'",
        "",
        hint="known are",
    ),
]
FILES = [
    Refusal("block_type", "refuse_unknown_log_block_type", nothing, "log block type 9 is unknown", "0-6314-12157"),
    Refusal("log_version", "mor_log_unknown_log_version_v9", nothing, "log format version 9", "0-1037-2448"),
    Refusal("log_header", "mor_log_unknown_header_key_v9", nothing, "log block header 99 is unknown", "0-974-2376"),
    Refusal(
        "no_log", "mor_log_no_magic_v9", nothing, "magic #HUDI# is missing", "0-762-2123", error=hudini.CorruptFile
    ),
    Refusal(
        "unknown_codec",
        "mor_hfile_log_v9",
        rewriting(".*.log.*", hfile_codec(9)),
        "HFile compression codec 9 is unknown",
        "0-363-771",
    ),
    Refusal(
        "codec",
        "mor_hfile_log_v9",
        rewriting(".*.log.*", hfile_codec(0)),
        "HFile compressed with LZO",
        "0-363-771",
        hint="hoodie.hfile.compression.algorithm",
    ),
    *(says_nothing_of_what_it_replaced(case, folder) for case, folder in REPLACING.items()),
    Refusal("encrypted", "cow_core_v9", rewriting("la/*.parquet", encrypted), "encrypted Parquet", ".parquet"),
    Refusal(
        "metadata_partition",
        "mor_core_v9",
        having(hoodie__table__metadata__partitions="files,crystal_ball"),
        "metadata table's partition crystal_ball",
        "",
        ask=lambda table: table.inspect.metadata(None).to_arrow(),
    ),
]


def cleaned(says: str, ask: Ask, name: str, hint: str, path: str = "") -> Refusal:
    return Refusal(name, "cow_cleaned", nothing, says, path, error=hudini.InstantCleaned, hint=hint, ask=ask)


def first(table: hudini.Table) -> Any:
    return table.history()[-1]


TIMES = [
    cleaned("was cleaned away", lambda t: t.read(as_of=first(t)), "time_travel", "are kept"),
    cleaned("was cleaned away", lambda t: t.incremental(None, t.history()[-3]), "range", "start later", ".parquet"),
    cleaned("was cleaned away", lambda t: t.changes(), "changes", "start later", "la"),
    Refusal(
        "before_all",
        "cow_cleaned",
        nothing,
        "no commit at or before 2001",
        "",
        error=hudini.InstantNotFound,
        ask=lambda table: table.read(as_of="2001"),
    ),
]
REFUSALS = [*VERSIONS_AND_LAYOUTS, *MERGING, *FILES, *TIMES]


@pytest.mark.parametrize("refusal", REFUSALS, ids=str)
def test_what_is_not_understood_is_refused_by_name(refusal: Refusal, tmp_path: Path) -> None:
    error = refusal.raised(tmp_path)
    assert refusal.says in error.message
    assert refusal.hint is None or refusal.hint in str(error.hint)
    assert error.code == refusal.error.code


@pytest.mark.parametrize("refusal", REFUSALS, ids=str)
def test_a_refusal_says_where(refusal: Refusal, tmp_path: Path) -> None:
    assert str(refusal.raised(tmp_path).path).endswith(refusal.path or str(tmp_path / "table"))


# ---- files that are gone ----

LISTINGS = ["metadata table", "storage"]
KINDS = ["base", "log"]


def without_newest(kind: str, table: Path) -> str:
    """Takes the newest base or log file of a slice away that has an older slice to fall back on."""
    slices = hudini.open(table).inspect.slices()
    [chosen] = [each for each in slices if each["partition"].endswith("la")]
    name = chosen["base_file"] if kind == "base" else chosen["log_files"][-1]
    (table / chosen["partition"] / name).unlink()
    return str(name)


def by_listing() -> list[Any]:
    cases = [("cow_core_v6", "base"), ("cow_core_v8", "base"), ("cow_core_v9", "base")]
    cases += [(case, kind) for case in ("mor_core_v6", "mor_core_v8", "mor_core_v9") for kind in KINDS]
    return [
        pytest.param(*each, id="-".join(each))
        for each in ((case, kind, listing) for case, kind in cases for listing in LISTINGS)
    ]


@pytest.mark.parametrize(("case", "kind", "listing"), by_listing())
def test_a_file_that_is_gone_does_not_bring_back_older_rows(case: str, kind: str, listing: str, tmp_path: Path) -> None:
    """Apache Hudi answers from the older slice where it lists."""
    path = catalogue.unpack(case, tmp_path)
    name = without_newest(kind, path)
    table = hudini.open(path, options={"hoodie.metadata.enable": str(listing == "metadata table").lower()})
    with pytest.raises(hudini.StorageFailure, match=f"{kind} file of the snapshot is gone") as gone:
        table.read().to_arrow()
    assert str(gone.value.path).endswith(name)
    assert "cleaned, or removed" in str(gone.value.hint)


def test_a_source_of_bootstrap_that_is_gone_is_named(tmp_path: Path) -> None:
    table = catalogue.opened("cow_bootstrap_metadata_only_v9", tmp_path)
    shutil.rmtree(tmp_path / "bootstrap_source")
    with pytest.raises(hudini.StorageFailure, match="base file of the snapshot is gone") as gone:
        table.read(as_of=first(table)).to_arrow()
    assert str(gone.value.path).endswith(".snappy.parquet")


# ---- metadata tables that are not understood: they cost no row, and the read says why it lists ----


def in_metadata(change: Change) -> Change:
    return lambda table: change(table / ".hoodie" / "metadata")


METADATA = {
    "version 10": in_metadata(having(hoodie__table__version="10")),
    "version 7": in_metadata(having(hoodie__table__version="7")),
    "layout.version=3": in_metadata(having(hoodie__timeline__layout__version="3")),
    "base files of format 'orc'": in_metadata(having(hoodie__table__base__file__format="orc")),
    "HFile compressed with LZO": in_metadata(rewriting("files/*.hfile", hfile_codec(0))),
    "HFile compression codec 9": in_metadata(rewriting("files/*.hfile", hfile_codec(9))),
    "log format version 9": in_metadata(rewriting("files/.*.log.*", log_version)),
}


@pytest.mark.parametrize("says", METADATA)
def test_a_metadata_table_that_is_not_understood_costs_no_row(says: str, tmp_path: Path) -> None:
    path = catalogue.unpack("mor_hfile_log_v9", tmp_path)
    whole = hudini.open(path).read().to_arrow()
    METADATA[says](path)
    table = hudini.open(path)
    scan = table.read()
    assert difference(scan.to_arrow(), whole) is None
    plan = scan.explain()
    assert plan["listing"] == "storage"
    assert any(says in warning for warning in plan["warnings"])
    with pytest.raises(hudini.UnsupportedFeature, match=re.escape(says)) as refused:
        table.inspect.metadata(None).to_arrow()
    assert ".hoodie/metadata" in str(refused.value.path)


@pytest.mark.parametrize(
    ("index", "case", "condition"),
    [
        pytest.param("secondary_index", "mor_secondary_index_v9", "name = 'None'"),
        pytest.param("column_stats", "mor_metadata_all_indexes_v9", "n = 3"),
        pytest.param("record_index", "mor_metadata_all_indexes_v9", "id = 'k00100'"),
    ],
)
def test_an_index_of_an_unknown_version_is_not_used(index: str, case: str, condition: str, tmp_path: Path) -> None:
    path = catalogue.unpack(case, tmp_path)
    known = hudini.open(path).read(filter=condition)
    assert index in known.explain()["pruned"]["by"]
    definitions = path / ".hoodie" / ".index_defs" / "index.json"
    definitions.write_text(re.sub(r'("version"\s*:\s*)"V\d+"', r'\1"V99"', definitions.read_text()))
    scan = hudini.open(path).read(filter=condition)
    plan = scan.explain()
    assert index not in plan["pruned"]["by"]
    assert any("'V99'" in warning for warning in plan["warnings"])
    assert difference(scan.to_arrow(), known.to_arrow()) is None
