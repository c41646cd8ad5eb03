"""The command line as a program: what it prints, where, and its exit codes."""

from __future__ import annotations

import csv
import datetime
import inspect
import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import hudini

ROWS = [{"id": f"k{n}", "ts": n, "note": None if n == 1 else f"note, {n}"} for n in range(3)]
VERBS = [
    "describe",
    "history",
    "timeline",
    "schema",
    "properties",
    "read",
    "head",
    "count",
    "incremental",
    "changes",
    "sql",
    "demo",
]
VERBS += ["log", "hfile", "instant", "partitions", "slices", "files", "indexes", "metadata", "verify", "diff"]
VERBS += ["compact", "clean", "archive", "rollback"]


def run(*arguments: str, code: int = 0) -> tuple[str, str]:
    """Standard output and error of one command."""
    done = subprocess.run(
        [sys.executable, "-m", "hudini", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "COLUMNS": "200", "NO_COLOR": "1"},
    )
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout, done.stderr


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    where = tmp_path_factory.mktemp("cli") / "notes"
    schema = {"id": "string not null", "ts": "long not null", "note": "string"}
    options = {"hoodie.bucket.index.num.buckets": 1}
    table = hudini.create(where, schema, record_key="id", ordering="ts", options=options)
    table.bulk_insert(ROWS[:2])
    table.upsert(ROWS[2:], metadata={"job": "night"})
    return str(where)


def test_describe(path: str) -> None:
    human, _ = run("describe", path)
    assert "record key" in human
    record = json.loads(run("describe", path, "--json")[0])
    assert record["name"] == "notes"
    assert record["table type"] == "cow"
    assert record["record key"] == ["id"]
    assert record["last operation"] == "upsert"


def test_filters(path: str) -> None:
    where = "note like 'note%' and ts >= 1"
    assert [row["id"] for row in json.loads(run("read", path, "--filter", where, "--json")[0])] == ["k2"]
    assert [row["id"] for row in json.loads(run("head", path, "--where", where, "--json")[0])] == ["k2"]
    assert run("count", path, "-w", "note is null")[0].strip() == "1"
    assert [row["id"] for row in json.loads(run("incremental", path, "--where", "ts < 1", "--json")[0])] == ["k0"]
    assert "there is no column 'nope'" in run("read", path, "--where", "nope = 1", code=1)[1]


def test_history(path: str) -> None:
    human, _ = run("history", path)
    assert human.index("upsert") < human.index("bulk_insert")
    rows = json.loads(run("history", path, "--json")[0])
    assert [(row["operation"], row["inserted"]) for row in rows] == [("upsert", 1), ("bulk_insert", 2)]
    assert rows[0]["metadata"]["job"] == "night"
    assert len(json.loads(run("history", path, "--json", "--limit", "1")[0])) == 1


def test_timeline(path: str) -> None:
    rows = list(csv.DictReader(io.StringIO(run("timeline", path, "--csv")[0])))
    assert [row["operation"] for row in rows] == ["bulk_insert", "upsert"]
    assert {row["state"] for row in rows} == {"completed"}


def test_schema(path: str) -> None:
    assert json.loads(run("schema", path, "--json")[0]) == [
        {"name": "id", "type": "string", "nullable": False},
        {"name": "ts", "type": "int64", "nullable": False},
        {"name": "note", "type": "string", "nullable": True},
    ]


def test_properties(path: str) -> None:
    assert json.loads(run("properties", path, "--json")[0])["hoodie.table.name"] == "notes"
    rows = dict(csv.reader(io.StringIO(run("properties", path, "--csv")[0])))
    assert rows["hoodie.table.name"] == "notes"


def test_read_in_every_form(path: str, tmp_path: Path) -> None:
    human, note = run("read", path)
    assert "note, 2" in human
    assert note == "3 rows\n"
    assert sorted(json.loads(run("read", path, "--json")[0]), key=lambda row: row["id"]) == ROWS
    rows = list(csv.DictReader(io.StringIO(run("read", path, "--csv")[0])))
    assert sorted((row["id"], row["note"]) for row in rows) == [("k0", "note, 0"), ("k1", ""), ("k2", "note, 2")]
    target = tmp_path / "rows.arrow"
    out, note = run("read", path, "--arrow", str(target))
    assert (out, note) == ("", f"3 rows written to {target}\n")
    with pa.ipc.open_file(target) as reader:
        assert sorted(reader.read_all().to_pylist(), key=lambda row: row["id"]) == ROWS


def test_read_as_an_arrow_stream_on_standard_output(path: str) -> None:
    command = [sys.executable, "-m", "hudini", "read", path, "--arrow", "-"]
    done = subprocess.run(command, capture_output=True, check=True)
    with pa.ipc.open_stream(done.stdout) as reader:
        assert reader.read_all().num_rows == 3


def test_read_takes_columns_meta_limit_and_time(path: str) -> None:
    assert run("read", path, "--csv", "--columns", "note,id", "--limit", "1")[0].splitlines()[0] == "note,id"
    assert run("read", path, "--csv", "--meta")[0].startswith("_hoodie_commit_time,")
    first = json.loads(run("history", path, "--json")[0])[-1]["instant"]
    assert len(json.loads(run("read", path, "--json", "--as-of", first)[0])) == 2
    assert run("count", path, "--as-of", first)[0] == "2\n"


def test_head_and_count(path: str) -> None:
    assert len(json.loads(run("head", path, "-n", "2", "--json")[0])) == 2
    assert run("count", path)[0] == "3\n"
    assert json.loads(run("count", path, "--json")[0]) == {"count": 3}


def test_maps_are_objects_in_json_wherever_they_stand(tmp_path: Path) -> None:
    schema = {"id": "string not null", "m": "map<string,long>", "deep": "array<struct<m: map<string,map<string,int>>>>"}
    row = {"id": "a", "m": {"x": 1}, "deep": [{"m": {"y": {"z": 2}, "none": None}}, None]}
    hudini.create(tmp_path / "t", schema, record_key="id").upsert([row])
    assert json.loads(run("read", str(tmp_path / "t"), "--json")[0]) == [row]


def test_nothing_to_show_is_still_json(tmp_path: Path) -> None:
    hudini.create(tmp_path / "t", {"id": "string"}, record_key="id")
    assert json.loads(run("read", str(tmp_path / "t"), "--json")[0]) == []
    assert run("read", str(tmp_path / "t"), "--csv")[0] == "id\n"


def test_a_failure_says_what_and_what_to_do(tmp_path: Path) -> None:
    out, error = run("describe", str(tmp_path), code=1)
    assert out == ""
    assert error.startswith("error: ")
    assert "HUDINI-101" in error
    assert str(tmp_path) in error


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["describe"],
        ["nonsense"],
        ["read", "t", "--limit", "-1"],
        ["read", "t", "--json", "--csv"],
        ["head", "t", "--storage", "x"],
    ],
)
def test_what_is_not_understood(arguments: list[str]) -> None:
    run(*arguments, code=2)


@pytest.mark.parametrize("form", [[], ["--csv"], ["--json"], ["--arrow", "-"]])
def test_a_closed_pipe_is_no_error(path: str, form: list[str]) -> None:
    command = [sys.executable, "-m", "hudini", "read", path, *form]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        errors = process.stderr.read()
    assert process.returncode == 0
    assert b"Traceback" not in errors
    assert b"Broken pipe" not in errors


def test_incremental(path: str) -> None:
    completed = [row["completed"] for row in json.loads(run("history", path, "--json")[0])]
    assert run("incremental", path, "--start", max(completed), "--csv")[0].strip().count("\n") == 0
    assert run("incremental", path, "--columns", "id", "--csv")[0].split() == ["id", "k0", "k1", "k2"]


def test_changes(path: str) -> None:
    completed = [row["completed"] for row in json.loads(run("history", path, "--json")[0])]
    assert json.loads(run("changes", path, "--start", max(completed), "--json")[0]) == []
    rows = json.loads(run("changes", path, "--json")[0])
    assert [(row["op"], row["before"], row["after"]["id"]) for row in rows] == [("i", None, f"k{n}") for n in range(3)]


def test_sql(path: str) -> None:
    query = "select a.id, b.ts from t a join t b using (id) where a.note is null"
    assert json.loads(run("sql", path, query, "--json")[0]) == [{"id": "k1", "ts": 1}]
    assert run("sql", path, "select count(*) n from t", "--csv")[0].split() == ["n", "3"]
    for wrong in ("selec", "select nope from t"):
        assert "QUERY" in run("sql", path, wrong, code=2)[1]


def test_help_and_version() -> None:
    out, _ = run("--help")
    assert all(verb in out for verb in VERBS)
    for verb in VERBS:
        assert "--help" in run(verb, "--help")[0]
    assert "3 damage found" in out
    assert run("--version")[0] == f"hudini {hudini.__version__}\n"


def test_demo(tmp_path: Path) -> None:
    where = tmp_path / "demo"
    out, _ = run("demo", "--path", str(where))
    assert "a late event on day 1: the newer one stays" in out
    table = hudini.open(where)
    assert [row["operation"] for row in table.history()] == [
        None, "compact", "delete", "upsert", "upsert", "upsert", "bulk_insert"
    ]  # fmt: skip
    assert table.read().count() == 20_100
    # What it says may be typed next, works.
    typed = [line.strip() for line in out.partition("Look around:\n")[2].splitlines() if line.startswith("  ")]
    assert len(typed) == 4
    for line in typed:
        done = subprocess.run(line, shell=True, capture_output=True, text=True, check=False)
        assert done.returncode == 0 and (done.stdout or done.stderr), f"{line}: {done.stderr}"
    told = [line for line in out.splitlines() if str(where) not in line]
    assert max(map(len, told)) <= 100


def test_the_demo_stops_where_something_else_comes_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from hudini.cli import demo, story

    monkeypatch.setattr(demo.LocalEngine, "delete", lambda self, trips: hudini.CommitResult(None, None, None, None))
    with pytest.raises(story.Unexpected, match="trip-5"):
        story.tell(demo.LocalEngine(tmp_path / "demo"), 1000)


def test_main_runs_in_a_program_too(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    from hudini.cli import main

    assert main(["count", path]) == 0
    assert capsys.readouterr().out == "3\n"
    assert main(["count", "/nowhere/at/all"]) == 1
    assert main(["count"]) == 2


def test_verify(path: str, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(path, copy)
    out, note = run("verify", str(copy), "--deep")
    assert out == ""
    assert "no damage" in note
    next(copy.glob("*.parquet")).unlink()
    human, note = run("verify", str(copy), code=3)
    assert "missing_file" in human
    assert "DAMAGED" in note
    report = json.loads(run("verify", str(copy), "--json", code=3)[0])
    assert {finding["check"] for finding in report["findings"]} == {"missing_file", "metadata_listing"}
    assert report["ok"] is False


def test_diff(path: str, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(path, copy)
    table = hudini.open(copy)
    before = table.upsert([{"id": "k9", "ts": 9, "note": "short of life"}]).instant
    table.upsert([{"id": "k0", "ts": 7, "note": "note, 0"}, {"id": "k8", "ts": 8, "note": "new"}])
    after = table.delete(["k9"]).instant
    assert before is not None and after is not None
    out, note = run("diff", str(copy), before, after, "--json")
    rows = {row["key"]: row for row in json.loads(out)}
    assert {key: row["change"] for key, row in rows.items()} == {"k0": "changed", "k8": "added", "k9": "removed"}
    assert rows["k0"]["columns"] == ["ts"]
    assert rows["k0"]["after"]["ts"] == 7
    assert rows["k9"]["after"] is None
    assert "1 added, 1 removed, 1 changed" in note
    target = tmp_path / "diff.arrow"
    run("diff", str(copy), before, after, "--arrow", str(target))
    with pa.ipc.open_file(target) as reader:
        assert reader.read_all().num_rows == 3
    assert json.loads(run("diff", str(copy), after, after, "--json")[0]) == []


FAR = {
    "day": ["+29349-01-26", "-25410-12-06"],
    "at": ["+294247-01-10T04:00:54.775807+00:00", "0000-03-01T00:00:00+00:00"],
}


@pytest.fixture(scope="module")
def far(tmp_path_factory: pytest.TempPathFactory) -> hudini.Table:
    """A table with dates and times outside Python's years, one for each commit, plain and nested."""
    days = pa.array([10_000_000, -10_000_000], pa.int32()).cast(pa.date32())
    times = pa.array([2**63 - 1, -62_162_035_200_000_000], pa.int64()).cast(pa.timestamp("us", "UTC"))
    keys = pa.array(["a", "b"])
    columns = {
        "id": keys,
        "day": days,
        "at": times,
        "days": pa.ListArray.from_arrays(pa.array([0, 1, 2], pa.int32()), days),
        "named": pa.MapArray.from_arrays(pa.array([0, 1, 2], pa.int32()), keys, days),
        "both": pa.StructArray.from_arrays([days, times], ["day", "at"]),
        "near": pa.array([datetime.date(2024, 2, 29), None]),
    }
    rows = pa.table(columns)
    where = tmp_path_factory.mktemp("far") / "t"
    schema = pa.schema([field.with_nullable(field.name != "id") for field in rows.schema])
    options = {"hoodie.bucket.index.num.buckets": 1}
    table = hudini.create(where, schema, record_key="id", options=options)
    for number in range(2):
        table.upsert(rows.slice(number, 1))
    return table


@pytest.mark.parametrize("verb", [["read"], ["head"], ["sql", "from t"]])
def test_times_outside_pythons_years_are_shown_as_text(far: hudini.Table, verb: list[str]) -> None:
    name, *rest = verb
    rows = json.loads(run(name, far.path, *rest, "--json")[0])
    told = list(csv.DictReader(io.StringIO(run(name, far.path, *rest, "--csv")[0])))
    human, _ = run(name, far.path, *rest)
    for place, (row, line) in enumerate(zip(rows, told, strict=True)):
        day, at = FAR["day"][place], FAR["at"][place]
        assert (row["day"], row["at"], row["days"]) == (day, at, [day])
        assert row["named"] == {row["id"]: day}
        assert row["both"] == {"day": day, "at": at}
        assert (line["day"], line["at"], json.loads(line["both"])) == (day, at, row["both"])
        assert day in human and at in human
    assert [row["near"] for row in rows] == ["2024-02-29", None]


def test_differences_and_changes_hold_times_outside_pythons_years(far: hudini.Table, tmp_path: Path) -> None:
    newest, first = far.history()
    [row] = json.loads(run("diff", far.path, first["instant"], newest["instant"], "--json")[0])
    assert (row["change"], row["after"]["day"], row["after"]["at"]) == ("added", FAR["day"][1], FAR["at"][1])
    target = tmp_path / "diff.arrow"
    run("diff", far.path, first["instant"], newest["instant"], "--arrow", str(target))
    with pa.ipc.open_file(target) as reader:
        after = reader.read_all()["after"].combine_chunks()
    assert after.field("day").cast(pa.int32()).to_pylist() == [-10_000_000]
    assert after.field("days").flatten().cast(pa.int32()).to_pylist() == [-10_000_000]
    rows = json.loads(run("changes", far.path, "--json")[0])
    assert [(row["op"], row["after"]["day"]) for row in rows] == [("i", day) for day in FAR["day"]]


OPTION_VERBS = ["read", "head", "count", "incremental", "changes", "slices", "files", "partitions", "history"]
OPTION_VERBS += ["timeline", "schema", "describe", "verify", "indexes"]


@pytest.mark.parametrize("verb", [*OPTION_VERBS, "sql", "diff"])
def test_reading_verbs_take_options_of_apache_hudi(path: str, verb: str) -> None:
    instant = str(hudini.open(path).history(1)[0]["instant"])
    rest = {"sql": ["from t"], "diff": [instant, instant]}.get(verb, [])
    run(verb, path, *rest, "--option", "hoodie.metadata.enable=false", "--json")
    assert "hoodie.metadata.enabled" in run(verb, path, *rest, "--option", "hoodie.metadata.enabled=1", code=1)[1]
    run(verb, path, *rest, "-o", "nothing", code=2)


def test_every_verb_that_opens_a_table_takes_options() -> None:
    from hudini.cli.app import VERBS as KINDS

    takes = {verb.__name__: set(inspect.signature(verb).parameters) for verbs in KINDS.values() for verb in verbs}
    assert set(takes) == set(VERBS)
    assert [name for name, taken in takes.items() if "storage" not in taken] == ["demo"]
    # Properties are shown of what cannot be opened too.
    assert [name for name, taken in takes.items() if "table" in taken and "option" not in taken] == ["properties"]


def test_an_option_counts(path: str) -> None:
    first = str(hudini.open(path).history()[-1]["instant"])
    assert run("count", path, "--option", f"as.of.instant={first}")[0] == "2\n"


@pytest.mark.parametrize("verb", ["slices", "files"])
def test_files_are_listed_as_of_the_instant_that_an_option_says(path: str, verb: str) -> None:
    newest, first = (str(row["instant"]) for row in hudini.open(path).history())
    now, then = run(verb, path, "--json")[0], run(verb, path, "--json", "--as-of", first)[0]
    assert now != then
    for name in ("as.of.instant", "AS_OF"):
        assert run(verb, path, "--json", "-o", f"{name}={first}")[0] == then
    assert run(verb, path, "--json", "-o", f"as.of.instant={first}", "--as-of", newest)[0] == now


def test_meta_columns_are_shown_where_they_are_named(path: str) -> None:
    names = "id,_hoodie_commit_time"
    instants = {str(row["instant"]) for row in hudini.open(path).history()}
    for verb in ("read", "head", "incremental"):
        for more in ([], ["--no-meta"], ["--meta"]):
            rows = list(csv.DictReader(io.StringIO(run(verb, path, "--csv", "-c", names, *more)[0])))
            assert list(rows[0]) == names.split(",")
            assert {row["_hoodie_commit_time"] for row in rows} == instants


def test_people_are_told_how_to_see_the_rows_that_are_left_out(tmp_path: Path) -> None:
    table = hudini.create(tmp_path / "t", {"id": "long not null"}, record_key="id")
    table.insert([{"id": n} for n in range(1001)])
    arguments = ["read", table.path, "--limit", "1001"]
    assert run(*arguments)[1] == "the first 1000 rows; --json, --csv and --arrow give all\n"
    assert len(json.loads(run(*arguments, "--json")[0])) == 1001


def test_incremental_without_meta_and_a_few_rows(path: str) -> None:
    assert run("incremental", path, "--csv")[0].startswith("_hoodie_commit_time,")
    lines = run("incremental", path, "--csv", "--no-meta", "--limit", "1")[0].splitlines()
    assert (lines[0], len(lines)) == ("id,ts,note", 2)


def test_images_of_changes_as_json(path: str) -> None:
    rows = json.loads(run("changes", path, "--images", "json", "--json")[0])
    assert [json.loads(row["after"])["id"] for row in rows] == ["k0", "k1", "k2"]
    run("changes", path, "--images", "xml", code=2)


@pytest.fixture
def logged(tmp_path: Path) -> str:
    """The path of a table with a row whose newest version is not yet compacted."""
    table = hudini.create(tmp_path / "t", {"id": "string not null", "v": "long"}, record_key="id", table_type="mor")
    table.insert([{"id": "a", "v": 1}])
    table.upsert([{"id": "a", "v": 2}])
    return table.path


def test_head_of_what_is_compacted(logged: str) -> None:
    for mode, value in (("snapshot", 2), ("read_optimized", 1)):
        assert json.loads(run("head", logged, "--mode", mode, "--json")[0]) == [{"id": "a", "v": value}]


QUERY_TYPE = ["-o", "hoodie.datasource.query.type=read_optimized"]


@pytest.mark.parametrize("verb", [["read"], ["head"], ["sql", "from t"]])
def test_an_option_says_that_logs_are_left_out(logged: str, verb: list[str]) -> None:
    name, *rest = verb
    assert json.loads(run(name, logged, *rest, "--json")[0]) == [{"id": "a", "v": 2}]
    assert json.loads(run(name, logged, *rest, *QUERY_TYPE, "--json")[0]) == [{"id": "a", "v": 1}]


def test_a_mode_counts_more_than_an_option(logged: str) -> None:
    assert run("count", logged, "--where", "v = 2", *QUERY_TYPE)[0] == "0\n"
    assert run("count", logged, "--where", "v = 2", *QUERY_TYPE, "--mode", "snapshot")[0] == "1\n"


@pytest.mark.parametrize(
    "query", ["create table x (a int)", "copy t to '{}'", "", "select 1; create table x as from t", "begin"]
)
def test_sql_that_asks_for_no_rows_is_refused(path: str, tmp_path: Path, query: str) -> None:
    target = tmp_path / "copy.csv"
    assert "asks for no rows" in run("sql", path, query.format(target), code=2)[1]
    assert not target.exists()


def test_sql_of_several_statements_ends_in_a_question(path: str) -> None:
    query = "create table x as from t; select count(*) n from x"
    assert json.loads(run("sql", path, query, "--json")[0]) == [{"n": 3}]
    assert json.loads(run("sql", path, "describe t", "--json")[0])[0]["column_name"] == "id"


def test_warnings_are_lines_for_people(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from hudini.cli import main

    table = hudini.create(tmp_path / "t", {"id": "string"}, record_key="id")
    table.upsert([{"id": "a"}])
    options = {"hoodie.datasource.hive_sync.enable": "true", "hudini.unsupported": "warn"}
    with pytest.warns(UserWarning, match="hive_sync"):
        hudini.open(tmp_path / "t", options=options).read()
    told = [word for key, value in options.items() for word in ("-o", f"{key}={value}")]
    assert main(["count", str(tmp_path / "t"), *told]) == 0
    printed = capsys.readouterr()
    assert printed.out == "1\n" and "warning: " in printed.err and "hive_sync" in printed.err
    assert "UserWarning" not in printed.err
