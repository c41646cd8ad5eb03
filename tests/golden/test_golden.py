"""Every golden table must give the rows that Apache Hudi gave (README.md); not_yet.toml names what is not built yet."""

from pathlib import Path

import pytest

import hudini
from tests.support.compare import difference

from . import catalogue

# How a listed read fails: a refusal is honest, wrong rows are a defect, and a crash of the core is never accepted.
FAILURES = {"refused": (hudini.HudiniError, AttributeError), "wrong": AssertionError}


def parameters(subjects):
    """The subjects; one that not_yet.toml lists must fail, and in the way that is written there."""
    return [pytest.param(subject, id=str(subject), marks=marks(str(subject))) for subject in subjects]


def marks(subject: str) -> list[pytest.MarkDecorator]:
    group = catalogue.not_yet().get(subject)
    return [pytest.mark.xfail(reason=group["why"], raises=FAILURES[group["how"]], strict=True)] if group else []


@pytest.mark.parametrize("read", parameters(catalogue.reads()))
def test_rows(read: catalogue.Read, tmp_path: Path) -> None:
    if read.wants_error:
        try:
            rows = read.run(tmp_path)
        except read.error:
            return
        raise AssertionError(f"{rows.num_rows} rows where {read.error.__name__} was due")
    rows = read.run(tmp_path)
    problem = read.problem(rows)
    assert problem is None, problem
    # What is listed as of another order must be so: else the list grows old.
    orders = [answer.column_names for answer in read.answers()]
    assert (rows.column_names not in orders) == (str(read) in catalogue.OTHER_ORDER)


@pytest.mark.parametrize("subject", parameters(catalogue.timelines()))
def test_timeline(subject: str, tmp_path: Path) -> None:
    case = subject.removesuffix("::timeline")
    expected = catalogue.facts()[case]["timeline"]
    # Before table version 8 the completion time is a file's modification time, which no archive keeps.
    completed = catalogue.facts()[case]["table_version"] >= 8
    timeline = hudini.open(catalogue.unpack(case, tmp_path)).inspect.timeline()
    assert [
        (row["requested"], row["completed"] if completed else None, row["action"], row["state"]) for row in timeline
    ] == [
        (row["requested"], row["completion"] if completed else None, row["action"], row["state"].lower())
        for row in expected
    ]


@pytest.mark.parametrize("case", catalogue.archives())
def test_archived_timeline(case: str, tmp_path: Path) -> None:
    facts = catalogue.facts()[case]
    # Archives of layout 1 list each state; and of some actions, that they began is all they know.
    archived = [row for row in facts["archived_timeline"] if row["state"] == "COMPLETED"]
    table = hudini.open(catalogue.unpack(case, tmp_path))
    inspect = table.inspect
    active = list(inspect.timeline())
    found = [row for row in inspect.timeline(archived=True) if row not in active]
    completed = facts["table_version"] >= 8
    assert [(row["requested"], row["completed"] if completed else None, row["action"]) for row in found] == [
        (row["requested"], row["completion"] if completed else None, row["action"]) for row in archived
    ]
    assert {row["state"] for row in found} == {"completed"}
    done = [row["requested"] for row in inspect.timeline(archived=True) if row["state"] == "completed"]
    assert [row["instant"] for row in table.history()] == done[::-1]


@pytest.mark.parametrize("case", catalogue.with_metadata_table())
def test_the_metadata_table_changes_no_answer(case: str, tmp_path: Path) -> None:
    path, facts = catalogue.unpack(case, tmp_path), catalogue.facts()[case]
    options = [{**facts.get("read_conf", {}), "hoodie.metadata.enable": enabled} for enabled in ("true", "false")]
    asked, bypassed = (hudini.open(path, options=each) for each in options)
    # The log files of version 6 carry no time of their own: on storage there may be some that nobody committed.
    if facts["table_version"] >= 8:
        assert asked.inspect.files() == bypassed.inspect.files()
    try:
        scans = [asked.read(), bypassed.read()]
        rows = [scan.to_arrow() for scan in scans]
    except hudini.UnsupportedFeature:
        return  # a table of a kind that is not read, whatever its files
    listed = [(plan["listing"], plan["warnings"]) for plan in (scan.explain() for scan in scans)]
    assert listed == [("metadata table", []), ("storage", [])]
    assert difference(*rows) is None


def test_the_list_of_what_is_missing_names_only_what_exists() -> None:
    assert set(catalogue.not_yet()) <= {*map(str, catalogue.reads()), *catalogue.timelines()}
