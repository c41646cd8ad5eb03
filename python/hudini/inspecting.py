"""The inner state of a table: what `Table.inspect` gives."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from hudini import _core, _html
from hudini._arguments import instant_text, path_text
from hudini.errors import HudiniError
from hudini.streams import ArrowRows, Rows

if TYPE_CHECKING:
    from hudini.table import Table

_TIMELINE = {
    "requested": "string not null",
    "completed": "string",
    "action": "string not null",
    "state": "string not null",
    "operation": "string",
}
_PARTITIONS = {
    "partition": "string not null",
    "slices": "long not null",
    "base_files": "long not null",
    "base_bytes": "long not null",
    "log_files": "long not null",
    "log_bytes": "long not null",
}
_SLICES = {
    "partition": "string not null",
    "file_id": "string not null",
    "base_instant": "string not null",
    "base_file": "string",
    "log_files": "list<string>",
    "bytes": "long not null",
}
_FILES = {
    "partition": "string not null",
    "file_id": "string not null",
    "kind": "string not null",
    "name": "string not null",
    "bytes": "long not null",
}
_INDEXES = {
    "name": "string not null",
    "state": "string not null",
    "type": "string",
    "function": "string",
    "columns": "list<string>",
    "options": "map<string,string>",
    "version": "string",
}
_LOCKS = {
    "lock": "string not null",
    "path": "string not null",
    "instant": "string",
    "held": "boolean",
    "age_seconds": "double not null",
}
_MARKERS = {
    "instant": "string not null",
    "partition": "string not null",
    "file": "string not null",
    "kind": "string not null",
}
_LOG_BLOCKS = {
    "offset": "long not null",
    "kind": "string not null",
    "headers": "map<string,string>",
    "content_offset": "long",
    "bytes": "long",
    "records": "long",
    "positions": "boolean",
    "error": "string",
}


class Inspect:
    """The inner state of a table as small tables, for looking and for tests."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def timeline(self, archived: bool = False, operations: bool = True) -> Rows:
        """The actions of the active timeline, oldest first: requested, completed, action, state, operation.

        With `archived` those of the history too. Table version 6 knows no completion times; requested times stand in.
        Operations are in what each commit says of itself; without them a long history is listed several times faster.
        """
        return Rows(self._table._core.timeline(archived, operations), _TIMELINE)

    def partitions(self) -> Rows:
        """The partitions, by path: partition, slices, base_files, base_bytes, log_files, log_bytes, as they are now."""
        return Rows(self._table._core.partitions(), _PARTITIONS)

    def slices(self, as_of: Any = None, partition: str | None = None) -> Rows:
        """The newest slice of each file group: partition, file_id, base_instant, base_file, log_files, bytes.

        `as_of` is a time as in `Table.read`; `partition` a path, `""` where there are none.
        """
        return Rows(self._table._core.slices(instant_text(as_of), partition), _SLICES)

    def files(self, as_of: Any = None) -> Rows:
        """The files of these slices: partition, file_id, kind (base or log), name, bytes."""
        return Rows(self._table._core.files(instant_text(as_of)), _FILES)

    def indexes(self) -> Rows:
        """The partitions of the metadata table: name, state, type, function, columns, options, version.

        The state is `ready`, `in flight` while Apache Hudi builds the index, or `defined` where there is nothing more.
        """
        return Rows(self._table._core.indexes(), _INDEXES)

    def locks(self) -> Rows:
        """Locks and signs of life that lie in the table: lock, path, instant, held, age_seconds.

        `lock` is `table` (hudini's own), `services` (of cleaning and archiving), `shared` (the lock file that both
        engines take where `hoodie.write.lock.provider` asks for it), and for each writer at work `writer` (held as long
        as a process of hudini lives) and `heartbeat` (that of any engine, held while it is young enough). A lock is
        tried to see whether it is held, and let go at once; where a store has no locks, `held` is null.

        >>> [(row["lock"], row["instant"]) for row in table.inspect.locks() if row["held"]]
        """
        return Rows(self._table._core.locks(), _LOCKS)

    def markers(self) -> Rows:
        """The data files that writes have begun and not committed: instant, partition, file, kind.

        The kind is `CREATE` for a file of its own, `MERGE` for a base file that takes the place of another one,
        `APPEND` for more blocks on a log of table version 6. The next writer removes what dead ones left.
        """
        return Rows(self._table._core.markers(), _MARKERS)

    def metadata(self, partition: str | None = "files") -> Metadata:
        """The records of the metadata table, of one partition or (None) of all: an Arrow stream.

        They are merged, deleted ones left out. `key` and `type` tell what a record is about; of the other columns one
        is not null.

        >>> table.inspect.metadata("column_stats").to_pandas()
        """
        return Metadata(self._table._core, partition)

    def log_blocks(self, path: str | os.PathLike[str]) -> Rows:
        """The blocks of a log file: offset, kind, headers, content_offset, bytes, records, positions, error.

        `path` is a URL, an absolute path or one within the table, as in `city=sf/.a0f1_20261121084838673.log.1_0-1-0`.
        `records` is how many the block holds; `positions` tells whether it names rows by their place in the base file.
        Damage has a row too, of the kind `damaged`; so has what of a block cannot be read, in `error`.

        >>> [(block["kind"], block["records"]) for block in table.inspect.log_blocks(path)]
        [('avro', 12), ('delete', 1)]
        """
        return Rows(_log_blocks(self._table, path_text(path)), _LOG_BLOCKS)


def _log_blocks(table: Table, path: str) -> list[dict[str, Any]]:
    import json  # `import hudini` stays quick without it

    found: list[dict[str, Any]] = []

    def emit(kind: str, text: str) -> None:
        if kind == "block":
            head = json.loads(text)
            positions = head["positions"]
            found.append(
                {name: head[name] for name in ("offset", "kind", "headers", "content_offset")}
                | {"bytes": head["content_length"], "records": None, "positions": positions is not None, "error": None}
            )
        elif kind == "end":
            outcome = json.loads(text)
            error = outcome["error"]
            found[-1] |= {"records": outcome["count"], "error": error and error["message"]}
        elif kind == "damaged":
            stretch = json.loads(text)
            length = stretch["to"] - stretch["from"]
            found.append(dict.fromkeys(_LOG_BLOCKS) | {"offset": stretch["from"], "kind": "damaged", "bytes": length})

    within = "://" not in path and not os.path.isabs(path)
    file = f"{table.path.rstrip('/')}/{path}" if within else path
    _core.inspect_log(file, table._storage_options, 0, emit)
    return found


class Metadata(ArrowRows):
    """Records of the metadata table. Each call reads them anew."""

    def __init__(self, core: _core.Table, partition: str | None) -> None:
        self._core = core
        self._partition = partition

    def __repr__(self) -> str:
        return f"Metadata({self._core.path}, {'all partitions' if self._partition is None else self._partition})"

    def _repr_html_(self) -> str:
        try:
            columns = _html.fields(self.reader().schema)
        except HudiniError as error:
            columns = _html.record({"error": error})
        except ModuleNotFoundError:
            columns = ""
        return _html.titled(repr(self), columns)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._core.metadata(self._partition).__arrow_c_stream__(requested_schema)
