"""The golden tables stay small, and CATALOGUE.md says what each is for."""

from . import listing


def test_the_catalogue_lists_every_case_as_it_is() -> None:
    assert listing.CATALOGUE.read_text() == listing.text(), "run `python -m tests.golden.listing`"


def test_every_case_is_whole() -> None:
    for folder in listing.CASES.iterdir():
        assert {"case.json", "table.tar.gz"} <= {file.name for file in folder.iterdir()}, folder.name


def test_the_cases_fit_their_budget() -> None:
    assert listing.size() <= listing.BUDGET
