"""The golden tables stay small, and CATALOGUE.md says what each is for."""

import json

from . import listing
from .generate import case as scenes


def test_the_catalogue_lists_every_case_as_it_is() -> None:
    assert listing.CATALOGUE.read_text() == listing.text(), "run `python -m tests.golden.listing`"


def test_every_case_is_whole() -> None:
    for folder in listing.CASES.iterdir():
        assert {"case.json", "table.tar.gz"} <= {file.name for file in folder.iterdir()}, folder.name


def test_the_cases_fit_their_budget() -> None:
    assert listing.size() <= listing.BUDGET


def test_every_case_of_the_generator_is_there_and_has_its_scene() -> None:
    cases = {file.parent.name: json.loads(file.read_text()) for file in listing.CASES.glob("*/case.json")}
    assert {name for name, case in cases.items() if "generated_by" in case} == set(scenes.load())
