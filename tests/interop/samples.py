"""One file of each kind that `rust/format` writes, and what was put into it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


class Samples:
    """A folder for each sample, `<kind>/<sample>`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.told: dict[str, dict[str, Any]] = json.loads((folder / "samples.json").read_text("utf-8"))

    @classmethod
    def write(cls, folder: Path) -> Samples:
        """Runs the example of `rust/format` that writes them. `make test` has built it, with these very packages."""
        packages = ["--workspace", "--exclude", "hudini-python"]
        locked = ["--locked"] if os.environ.get("CI") else []
        subprocess.run(["cargo", "build", "--quiet", *locked, *packages, "--example", "samples"], cwd=ROOT, check=True)
        target = ROOT / os.environ.get("CARGO_TARGET_DIR", "target")
        subprocess.run([target / "debug" / "examples" / "samples", folder], check=True)
        return cls(folder)


def first_difference(found: Any, told: Any, at: str = "") -> str | None:
    """Where two trees of JSON differ. The samples are too large for pytest's own account of that."""
    if isinstance(found, dict) and isinstance(told, dict) and found.keys() == told.keys():
        differences = (first_difference(found[key], told[key], f"{at}.{key}") for key in told)
    elif isinstance(found, list) and isinstance(told, list) and len(found) == len(told):
        pairs = enumerate(zip(found, told, strict=True))
        differences = (first_difference(*pair, f"{at}[{number}]") for number, pair in pairs)
    elif found == told and type(found) is type(told):
        return None
    else:
        return f"{at or 'all'}: {str(found)[:1000]!r} was read, {str(told)[:1000]!r} was written"
    return next((difference for difference in differences if difference), None)
