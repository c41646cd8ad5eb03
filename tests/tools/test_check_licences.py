from __future__ import annotations

import pytest

from tools.check_licences import breaches, is_allowed

ALLOWED = ("MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "Unicode-3.0")
REGISTRY = "https://registry.example/index"


@pytest.mark.parametrize(
    "expression",
    [
        "MIT",
        "GPL-3.0-only OR MIT",
        "MIT OR GPL-3.0-only",
        "GPL-3.0/MIT",
        "MIT AND Apache-2.0",
        "(MIT OR GPL-2.0-only) AND Unicode-3.0",
        "Apache-2.0 WITH LLVM-exception",
        "GPL-3.0-only AND MIT OR Apache-2.0",  # AND binds tighter
        "Apache-2.0 OR MIT AND GPL-3.0-only",
        "((MIT))",
    ],
)
def test_terms_that_can_be_met(expression: str) -> None:
    assert is_allowed(expression, ALLOWED)


@pytest.mark.parametrize(
    "expression",
    [
        "GPL-3.0-only",
        "mit",  # SPDX names are matched as they are written
        "MIT AND GPL-3.0-only",
        "GPL-3.0-only AND MIT",
        "(MIT OR Apache-2.0) AND GPL-3.0-only",
        "MIT WITH LLVM-exception",  # an exception is allowed with its own licence only
        "Apache-2.0 WITH Classpath-exception-2.0",
        "GPL-3.0-only AND (MIT OR Apache-2.0)",
    ],
)
def test_terms_that_cannot(expression: str) -> None:
    assert not is_allowed(expression, ALLOWED)


@pytest.mark.parametrize(
    "expression", ["", "MIT OR", "OR MIT", "MIT Apache-2.0", "(MIT", "MIT)", "MIT WITH", "MIT & Apache-2.0"]
)
def test_what_is_no_expression_is_refused(expression: str) -> None:
    with pytest.raises(ValueError, match="not an SPDX expression"):
        is_allowed(expression, ALLOWED)


def crate(licence: str | None = "MIT", source: str | None = f"registry+{REGISTRY}") -> dict:
    return {"name": "crate", "version": "1.0.0", "license": licence, "source": source}


def test_known_crates_pass() -> None:
    assert list(breaches([crate(), crate(source=None)], ALLOWED, [REGISTRY])) == []


@pytest.mark.parametrize(
    "source", ["git+https://git.example/crate#abc", "registry+https://other.example/index", f"git+{REGISTRY}"]
)
def test_a_crate_from_elsewhere_is_found(source: str) -> None:
    assert list(breaches([crate(source=source)], ALLOWED, [REGISTRY])) == [f"crate 1.0.0: comes from {source}"]


@pytest.mark.parametrize("licence", [None, "", "GPL-3.0-only", "see LICENSE"])
def test_a_crate_without_an_allowed_licence_is_found(licence: str | None) -> None:
    assert len(list(breaches([crate(licence)], ALLOWED, [REGISTRY]))) == 1
