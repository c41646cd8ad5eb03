from __future__ import annotations

import pytest

from tools.check_layers import LONGEST, dependency_breaches, file_breaches, forgotten_tests

# Filled in when a test runs, so that the check does not find this file.
FOLDERS = {"work": "work", "root": "root"}


def package(name: str, *dependencies: str, kind: str | None = None) -> dict:
    return {"name": name, "dependencies": [{"name": d, "kind": kind} for d in dependencies]}


def test_floors_use_only_the_floors_below() -> None:
    house = [
        package("hudini-format", "bytes"),
        package("hudini-table", "hudini-format", "rayon"),
        package("hudini-python", "hudini-format", "hudini-table", "pyo3"),
    ]
    assert list(dependency_breaches(house)) == []


@pytest.mark.parametrize(
    ("crate", "dependency"),
    [
        ("hudini-format", "hudini-table"),
        ("hudini-table", "hudini-python"),
        ("hudini-table", "pyo3"),
        ("hudini-format", "tokio"),
    ],
)
def test_a_dependency_upwards_or_out_of_its_floor_is_found(crate: str, dependency: str) -> None:
    (breach,) = dependency_breaches([package(crate, dependency)])
    assert crate in breach
    assert dependency in breach


def test_tests_of_a_floor_may_use_more() -> None:
    assert list(dependency_breaches([package("hudini-format", "tempfile", kind="dev")])) == []


def test_a_crate_that_nobody_gave_a_floor_is_found() -> None:
    assert len(list(dependency_breaches([package("hudini-attic")]))) == 1


@pytest.mark.parametrize(
    "line",
    [
        "std::fs::read(path)",
        "use std::fs;",
        "use std::{fmt, fs::File};",
        "use std::{\n    fmt,\n    thread,\n};",
        "use std::time::SystemTime;",
        "use std::time::{Duration, Instant};",
    ],
)
def test_the_format_floor_reaches_for_nothing(line: str) -> None:
    assert len(list(file_breaches("rust/format/src/log/block.rs", line))) == 1
    assert list(file_breaches("rust/format/src/log/tests.rs", line)) == []
    assert list(file_breaches("rust/table/src/storage/local.rs", line)) == []


@pytest.mark.parametrize(
    "line", ["use std::time::Duration;", "use std::{fmt, io};", "let x = instant::Instant::parse(s);"]
)
def test_the_format_floor_may_use_the_rest(line: str) -> None:
    assert list(file_breaches("rust/format/src/instant.rs", line)) == []


def test_unit_tests_inside_a_format_file_may_read_files() -> None:
    text = "pub fn f() {}\n\n#[cfg(test)]\nmod tests {\n    use std::fs;\n}\n"
    assert list(file_breaches("rust/format/src/name.rs", text)) == []


@pytest.mark.parametrize("word", ["// TODO later", "raise NotImplementedError", "todo!()", "# FIXME"])
def test_leftovers_are_found_with_their_line(word: str) -> None:
    (breach,) = file_breaches("python/hudini/table.py", f"\n{word}\n")
    assert breach.startswith("python/hudini/table.py:2:")


def test_an_error_class_may_have_any_parent() -> None:
    line = "class UnsupportedFeature(HudiniError, NotImplementedError):"
    assert list(file_breaches("python/hudini/errors.py", line)) == []


def test_a_file_may_be_long_but_not_too_long() -> None:
    assert list(file_breaches("rust/table/src/merge/mod.rs", "x\n" * LONGEST)) == []
    assert len(list(file_breaches("rust/table/src/merge/mod.rs", "x\n" * (LONGEST + 1)))) == 1
    assert list(file_breaches("rust/table/src/merge/tests.rs", "x\n" * (LONGEST + 1))) == []
    assert list(file_breaches("docs/options.md", "x\n" * (LONGEST + 1))) == []


@pytest.mark.parametrize("path", ["/{work}/main/rust", "/{root}/.cache", "/tmp/table", "file:///tmp/table"])
def test_paths_of_one_machine_are_found_in_any_text(path: str) -> None:
    assert len(list(file_breaches("README.md", path.format_map(FOLDERS)))) == 1


@pytest.mark.parametrize("path", ["house/work/main", "~/tmp", "$HOME/tmp/x", "a/tmp"])
def test_relative_paths_are_no_breach(path: str) -> None:
    assert list(file_breaches("README.md", path)) == []


def test_only_tests_may_name_the_temporary_folder() -> None:
    assert list(file_breaches("tests/interop/test_paths.py", "/tmp/table")) == []
    assert len(list(file_breaches("tests/interop/test_paths.py", "/{work}/table".format_map(FOLDERS)))) == 1


def test_a_file_of_tests_that_no_program_names_is_found() -> None:
    files = {
        "rust/attic/tests/main.rs": "//! All.\n\nmod chests;\nmod support;\n",
        "rust/attic/tests/chests.rs": "",
        "rust/attic/tests/support/mod.rs": "",
        "rust/attic/tests/trunks.rs": "",
        "rust/shed/tests/rakes.rs": "",
    }
    (breach,) = forgotten_tests(files)
    assert "rust/attic/tests/trunks.rs" in breach
