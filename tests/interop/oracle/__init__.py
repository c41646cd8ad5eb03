"""Apache Hudi itself, in a process of its own: the judge of the interop tests.

    oracle = Oracle.start(tmp_path)                    # fetches what it needs once, then opens one Spark session
    oracle.write(path, pyarrow_table, options, mode="append")
    oracle.read(path)                                  # pyarrow.Table with the meta columns
    oracle.compact(path)

`install` fetches the pieces, `worker` runs inside their environment, `client` talks to it.
"""

from .client import Oracle, OracleError, SlowWrite
from .install import VERSIONS, OracleUnavailable

__all__ = ["VERSIONS", "Oracle", "OracleError", "OracleUnavailable", "SlowWrite"]
