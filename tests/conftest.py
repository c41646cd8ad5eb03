"""What holds for the tests of all folders."""

import os
from pathlib import Path

# Every Spark that a test starts, in processes of their own too. Apache Hudi's has settings of its own.
os.environ.setdefault("SPARK_CONF_DIR", str(Path(__file__).parent / "support" / "spark_conf"))
