"""The golden cases as values: what to ask of which table, what to expect, and what is not built yet."""

from __future__ import annotations

import json
import sys
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import hudini
from tests.support.compare import columns_difference, difference

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path(__file__).parent
CASES = HERE / "cases"
JSON_COLUMNS = {"cdc": ("before", "after")}
# Release 0.15 hands a plain read of base files to Spark's reader of files, which puts partition columns last. In the
# table's schema, and in what later releases give, they stand where they were written; so they do in hudini's answers.
OTHER_ORDER = frozenset(
    {
        "cow_evolve_add_column_v6::snapshot",
        "cow_evolve_add_column_v6::time_travel_0",
        "cow_evolve_add_column_v6::time_travel_2",
        "cow_virtual_keys_complex_v6::snapshot",
        "mor_types_all_v6::read_optimized",
    }
)
NO_OPTIONS: Mapping[str, str] = {}


@dataclass(frozen=True)
class Read:
    """One question to one case."""

    case: str
    facts: dict[str, Any]
    session: dict[str, str]

    def __str__(self) -> str:
        return f"{self.case}::{self.facts['id']}"

    @property
    def wants_error(self) -> bool:
        return self.facts["expected"] == "error"

    @property
    def error(self) -> type[hudini.HudiniError]:
        """A state that was cleaned away is one thing, asking for the unknown another; damage says its own."""
        if "error" in self.facts:
            return getattr(hudini, self.facts["error"])
        return hudini.InstantCleaned if self.facts["query"] == "time_travel" else hudini.UnsupportedFeature

    @property
    def json_columns(self) -> tuple[str, ...]:
        return JSON_COLUMNS.get(self.facts["query"], ())

    def answers(self) -> list[pa.Table]:
        """The right answer; more than one where the versions disagree and neither is preferred."""
        files = [self.facts.get("judge", self.facts["expected"])]
        if self.facts.get("versions_disagree"):
            files += [answer for answer in self.facts.get("other_answers", {}).values() if answer.endswith(".parquet")]
        return [pq.read_table(CASES / self.case / file) for file in files]

    def problem(self, rows: pa.Table) -> str | None:
        """What keeps the rows from being a right answer: columns, their order, their types, or the rows themselves."""
        ordered = str(self) not in OTHER_ORDER
        problems = [
            columns_difference(rows, answer, ordered) or difference(rows, answer, self.json_columns)
            for answer in self.answers()
        ]
        return None if None in problems else "\n".join(map(str, problems))

    def run(self, folder: Path) -> pa.Table:
        """Asks hudini, of a fresh copy of the table in `folder`."""
        return self.ask(unpack(self.case, folder)).to_arrow()

    @property
    def takes_batch_size(self) -> bool:
        """Whether the call that answers it has that argument."""
        return self.facts["query"] in ("snapshot", "read_optimized", "time_travel")

    def ask(self, path: Path, options: Mapping[str, str] = NO_OPTIONS, threads: int | None = None, **how: Any) -> Any:
        """Asks hudini, of the table at `path`; `options` come on top of the question's own, `how` is for `read`."""
        query, params = self.facts["query"], self.facts["params"]
        options = {**self.session, **params.get("options", {}), **bootstrap_options(path), **options}
        chosen: dict[str, Any] = {"columns": self.facts["columns"], "filter": self.facts.get("filter")}
        table = hudini.open(path, options=options, threads=threads)
        if query == "metadata":
            return table.inspect.metadata(None)
        if query == "cdc":
            return table.changes(params.get("start"), params.get("end"), images="json")
        if query == "incremental":
            return table.incremental(params.get("start"), params.get("end"), **chosen)
        mode = "read_optimized" if query == "read_optimized" else "snapshot"
        return table.read(**chosen, mode=mode, as_of=params.get("as_of"), meta=self.facts["columns"] is None, **how)


def bootstrap_options(path: Path) -> dict[str, str]:
    """Where the files are of which the table at `path` was made, if it was."""
    source = path.parent / "bootstrap_source"
    return {"hoodie.bootstrap.base.path": str(source)} if source.exists() else {}


def opened(case: str, folder: Path) -> hudini.Table:
    """The case's table, a copy of the test's own."""
    path = unpack(case, folder)
    return hudini.open(path, options=bootstrap_options(path))


def unpack(case: str, folder: Path) -> Path:
    """The folder of the case's table, a copy of the test's own."""
    with tarfile.open(CASES / case / "table.tar.gz") as archive:
        archive.extractall(folder)  # our own data, so no filter for foreign archives
    return folder / "table"


@cache
def facts() -> dict[str, dict[str, Any]]:
    """Every `case.json`, by the name of its case."""
    return {file.parent.name: json.loads(file.read_text()) for file in sorted(CASES.glob("*/case.json"))}


def reads() -> list[Read]:
    """All reads that say something about a reader."""
    return [
        Read(name, read, case.get("read_conf", {}))
        for name, case in facts().items()
        for read in case["reads"]
        if not read.get("do_not_judge")
    ]


def archives() -> list[str]:
    """The cases of which Apache Hudi listed the whole archived timeline."""
    return [name for name, facts in facts().items() if facts.get("archived_timeline")]


def timelines() -> list[str]:
    """The cases whose timeline hudini can open: `<case>::timeline`. An unknown table version is refused as a whole."""
    return [f"{name}::timeline" for name, case in facts().items() if case["table_version"] in (6, 8, 9)]


def with_metadata_table() -> list[str]:
    """The cases whose table has a list of its files in a metadata table."""
    return [name for name, case in facts().items() if "files" in case.get("metadata", {}).get("partitions", [])]


@cache
def not_yet() -> dict[str, dict[str, Any]]:
    """What is known to fail: `case::read` to the group of `not_yet.toml` that lists it."""
    groups = tomllib.loads((HERE / "not_yet.toml").read_text()).get("group", [])
    listed = [(entry, group) for group in groups for entry in group["entries"]]
    twice = len(listed) - len(dict(listed))
    if twice:
        raise ValueError(f"not_yet.toml lists {twice} entries twice")
    return dict(listed)
