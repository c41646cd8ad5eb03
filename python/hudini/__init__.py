"""hudini: an independent engine for Apache Hudi tables.

>>> import hudini
>>> table = hudini.create("trips", {"id": "string not null", "ts": "long", "city": "string"},
...                       record_key="id", ordering="ts")
>>> table.upsert([{"id": "a", "ts": 1, "city": "sf"}, {"id": "b", "ts": 1, "city": "la"}])
>>> table.read().to_pandas()

`hudini.open`, `hudini.create` and `hudini.write` are where to start; `help(hudini.Table)` shows the rest.
Rows come and go as Arrow streams: pyarrow, pandas, polars and DuckDB work with it and none of them is needed by it.
`hudini.spark` is the way in from PySpark.
"""

from hudini._core import __version__
from hudini.actions import CommitResult
from hudini.errors import (
    CommitConflict,
    CorruptFile,
    DuplicateKey,
    HudiniError,
    InstantCleaned,
    InstantNotFound,
    InvalidFilter,
    InvalidOption,
    LockUnavailable,
    MemoryLimit,
    SchemaMismatch,
    StorageFailure,
    TableExists,
    TableNotFound,
    UnsupportedFeature,
)
from hudini.mergers import register_merger
from hudini.progress import Progress
from hudini.report import Finding, Report
from hudini.scan import Scan, Split, read_split
from hudini.schema import Schema
from hudini.table import Table, create, is_table, open, write

__all__ = [
    "CommitConflict",
    "CommitResult",
    "CorruptFile",
    "DuplicateKey",
    "Finding",
    "HudiniError",
    "InstantCleaned",
    "InstantNotFound",
    "InvalidFilter",
    "InvalidOption",
    "LockUnavailable",
    "MemoryLimit",
    "Progress",
    "Report",
    "Scan",
    "Schema",
    "SchemaMismatch",
    "Split",
    "StorageFailure",
    "Table",
    "TableExists",
    "TableNotFound",
    "UnsupportedFeature",
    "__version__",
    "create",
    "is_table",
    "open",
    "read_split",
    "register_merger",
    "write",
]
