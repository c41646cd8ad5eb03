"""The demo's story on Spark, with few trips. It asserts what comes out by itself."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hudini.cli import story

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ENGINE = Path(__file__).resolve().parents[2] / "examples" / "demo_engine.py"


def test_the_story_on_spark(spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = importlib.util.spec_from_file_location("demo_engine", ENGINE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    engine = module.SparkEngine(spark, str(tmp_path / "trips"))
    story.tell(engine, 1000)
    assert "verify, which found no damage" in capsys.readouterr().out
