"""Fetches what Apache Hudi needs, once, into the ignored folder `.cache/oracle` of the checkout.

    .cache/oracle/venv-<hash of the requirements>/      PySpark 3.5 and what it takes, apart from the product's own
    .cache/oracle/jars/hudi-spark3.5-bundle_….jar       a link into the local Maven repository

Apache Hudi has no bundle for the PySpark that the product uses, hence a second environment.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

CACHE = Path(__file__).resolve().parents[3] / ".cache" / "oracle"
REQUIREMENTS = ("pyspark==3.5.9", "pyarrow==17.*", "pandas<2.3", "numpy<2", "setuptools<81")
BUNDLE = "hudi-spark3.5-bundle_2.12"
# The table version that each release writes by default.
VERSIONS = {"1.2.0": 9, "1.1.1": 9, "1.0.2": 8, "0.15.0": 6}
OLDEST_PYTHON, NEWEST_PYTHON = (3, 10), (3, 11)


class OracleUnavailable(RuntimeError):
    """A piece of the oracle is neither here nor to be had; the message says how to get it."""


@dataclass(frozen=True)
class Installation:
    """Where the pieces of one version lie."""

    version: str
    python: Path
    jar: Path


def ensure(version: str) -> Installation:
    """The installation of this version of Apache Hudi, made now if it is not there yet."""
    if version not in VERSIONS:
        raise ValueError(f"Apache Hudi {version} is none of {', '.join(VERSIONS)}")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        raise OracleUnavailable(
            "Apache Hudi needs a Java 17 runtime on the PATH (Debian: apt-get install openjdk-17-jre-headless)"
        )
    CACHE.mkdir(parents=True, exist_ok=True)
    with _exclusive(CACHE / ".lock"):
        return Installation(version, _ensure_python(), _ensure_jar(version))


@contextmanager
def _exclusive(path: Path) -> Iterator[None]:
    """Test sessions that start together must not build the same environment twice."""
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _ensure_python() -> Path:
    name = hashlib.sha256("\n".join(REQUIREMENTS).encode()).hexdigest()[:12]
    home = CACHE / f"venv-{name}"
    python = home / "bin" / "python"
    complete = home / ".complete"
    if complete.exists() and _python_version(str(python)) is not None:
        return python
    shutil.rmtree(home, ignore_errors=True)
    _run([_find_python(), "-m", "venv", str(home)], "creating the oracle's virtual environment failed")
    _run([str(python), "-m", "pip", "install", "--quiet", *REQUIREMENTS], "installing PySpark for the oracle failed")
    complete.touch()
    return python


def _find_python() -> str:
    """PySpark 3.5 runs on Python up to 3.11; shims that name a version they lack are passed over by asking them."""
    named = os.environ.get("HUDINI_ORACLE_PYTHON")
    for candidate in [named] if named else [sys.executable, "python3.11", "python3.10", "python3"]:
        version = _python_version(candidate)
        if version is not None and OLDEST_PYTHON <= version <= NEWEST_PYTHON:
            return candidate
    raise OracleUnavailable(
        "Apache Hudi's PySpark 3.5 needs Python 3.10 or 3.11: put one on the PATH or name it in HUDINI_ORACLE_PYTHON"
    )


def _python_version(executable: str) -> tuple[int, int] | None:
    try:
        answer = subprocess.run(
            [executable, "-c", "import sys; print(*sys.version_info[:2])"], capture_output=True, text=True, check=True
        )
        major, minor = answer.stdout.split()
    except (OSError, subprocess.CalledProcessError, ValueError):
        return None
    return int(major), int(minor)


def _ensure_jar(version: str) -> Path:
    link = CACHE / "jars" / f"{BUNDLE}-{version}.jar"
    if link.exists():
        return link
    maven = shutil.which("mvn")
    if maven is None:
        raise OracleUnavailable(
            f"Apache Hudi {version} is fetched with Maven, which is not on the PATH (Debian: apt-get install maven); "
            f"or put the bundle by hand at {link}"
        )
    quiet = [maven, "-q", "-B"]
    _run(
        [*quiet, "dependency:get", f"-Dartifact=org.apache.hudi:{BUNDLE}:{version}", "-Dtransitive=false"],
        f"Maven could not fetch Apache Hudi {version}",
    )
    answer = CACHE / "maven-repository.txt"  # a file: on standard output some versions wrap the answer in colour codes
    _run(
        [*quiet, "help:evaluate", "-Dexpression=settings.localRepository", f"-Doutput={answer}"],
        "Maven does not tell where its local repository is",
    )
    jar = Path(answer.read_text().strip()) / "org/apache/hudi" / BUNDLE / version / link.name
    if not jar.is_file():
        raise OracleUnavailable(f"Maven fetched Apache Hudi {version}, but there is no file at {jar}")
    link.parent.mkdir(parents=True, exist_ok=True)
    link.unlink(missing_ok=True)
    link.symlink_to(jar)
    return link


def _run(command: list[str], failure: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=CACHE)
    if done.returncode != 0:
        output = (done.stdout + done.stderr).strip()[-2000:]
        raise OracleUnavailable(f"{failure}\n  {' '.join(command)}\n{output}")
    return done.stdout
