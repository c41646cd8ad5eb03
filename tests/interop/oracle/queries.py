"""The kinds of query of Apache Hudi's data source, as its options name them."""

from __future__ import annotations


def query_options(
    query: str, as_of: str | None = None, start: str | None = None, end: str | None = None
) -> dict[str, str]:
    """The options of a `snapshot`, `read_optimized`, `time_travel`, `incremental` or `cdc` query."""
    options = {}
    if query == "read_optimized":
        options["hoodie.datasource.query.type"] = "read_optimized"
    elif query in ("incremental", "cdc"):
        options["hoodie.datasource.query.type"] = "incremental"
        options["hoodie.datasource.query.incremental.format"] = "cdc" if query == "cdc" else "latest_state"
    if as_of is not None:
        options["as.of.instant"] = as_of
    if start is not None:
        options["hoodie.datasource.read.begin.instanttime"] = start
    if end is not None:
        options["hoodie.datasource.read.end.instanttime"] = end
    return options
