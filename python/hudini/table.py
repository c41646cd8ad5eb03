"""A table and what can be done with it. Everything is decided in the compiled core; this page only translates."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from hudini import _core, _html
from hudini._arguments import (
    SMALL,
    byte_count,
    completion_text,
    instant_text,
    metadata_text,
    name_list,
    not_yet,
    options_text,
    path_text,
    refuse,
    storage_text,
    whole_number,
)
from hudini._filters import filter_text
from hudini._wishes import check_same
from hudini.actions import CommitResult
from hudini.data import Input, as_input, as_keys
from hudini.errors import InvalidOption, TableExists
from hudini.progress import Wanted, watching
from hudini.report import Report
from hudini.scan import Scan
from hudini.schema import Schema, as_schema
from hudini.streams import Rows

if TYPE_CHECKING:
    from hudini.inspecting import Inspect
    from hudini.services import Services

Path = str | os.PathLike[str]
Options = Mapping[str, Any]
Names = str | Sequence[str] | None

_HISTORY = {
    "instant": "string not null",
    "completed": "string",
    "action": "string",
    "operation": "string",
    "inserted": "long",
    "updated": "long",
    "deleted": "long",
    "files": "long",
    "bytes": "long",
    "seconds": "double",
    "metadata": "map<string,string>",
}
# Only to tell a column that is left out from one that is not there.
_META = [f"_hoodie_{name}" for name in ("commit_time", "commit_seqno", "record_key", "partition_path", "file_name")]


def open(
    path: Path, *, storage_options: Options | None = None, options: Options | None = None, threads: int | None = None
) -> Table:
    """Opens the table at `path`, a folder or an object-store URL.

    `storage_options` go to the storage (credentials, endpoint, region, profile), by the names that delta-rs or fsspec
    have for them; what they leave open is taken from the environment and, on S3, from the profile of the AWS tools.
    Tables in object stores are read and not written to. `options` are
    Apache Hudi's `hoodie.*` keys. Raises `TableNotFound` where there is none.

    >>> table = hudini.open("s3://lake/trips")
    """
    storage = storage_text(storage_options)
    core = _core.Table.open(path_text(path), storage, options_text(options), whole_number(threads, "threads", least=1))
    return Table(core, storage)


def create(
    path: Path,
    schema: Any,
    record_key: Names = None,
    ordering: Names = None,
    partition_by: Names = (),
    table_type: Literal["cow", "mor"] | None = None,
    *,
    name: str | None = None,
    merge_mode: str | None = None,
    key_generator: str | None = None,
    table_version: int | None = None,
    options: Options | None = None,
    storage_options: Options | None = None,
    exist_ok: bool = False,
    threads: int | None = None,
) -> Table:
    """Creates an empty table.

    Args:
        path: where; a folder or an object-store URL.
        schema: a `pyarrow.Schema`, anything with `__arrow_c_schema__`, or a dict of name to type (see `hudini.schema`).
        record_key: the column or columns that name a row.
        ordering: the column that says which of two rows with one key is newer, such as an event time.
        partition_by: the columns that say which folder a row goes to.
        table_type: `"cow"` (copy on write: quick reads, the default) or `"mor"` (merge on read: quick writes).
        name: the table's name; by default the last part of the path.
        merge_mode: how rows with one key are merged; by default by event time with an `ordering`, else by commit time.
        key_generator: Apache Hudi's name of it; by default what the keys ask for.
        table_version: the version of Hudi's table format; by default 9.
        options: Apache Hudi's `hoodie.*` keys; they say what the arguments leave open.
        exist_ok: open the table if it is there already, instead of raising `TableExists`. It must be what the arguments
            say, its columns aside; what is left out, it may be as it is.

    >>> schema = {"id": "string not null", "ts": "long", "city": "string"}
    >>> table = hudini.create("trips", schema, record_key="id", ordering="ts")
    """
    storage = storage_text(storage_options)
    if exist_ok and is_table(path, storage_options=storage_options):
        table = open(path, storage_options=storage_options, options=options, threads=threads)
    else:
        core = _core.Table.create(
            path_text(path),
            as_schema(schema),
            name_list(record_key, "record_key"),
            name_list(ordering, "ordering"),
            name_list(partition_by, "partition_by"),
            table_type,
            name,
            merge_mode,
            key_generator,
            whole_number(table_version, "table_version", SMALL),
            options_text(options),
            storage,
            exist_ok,
            whole_number(threads, "threads", least=1),
        )
        table = Table(core, storage)
    if exist_ok:
        wishes = {"record_key": record_key, "ordering": ordering, "partition_by": partition_by, "name": name}
        wishes |= {"table_type": table_type, "merge_mode": merge_mode, "key_generator": key_generator}
        check_same(table, wishes | {"table_version": table_version})
    return table


def is_table(path: Path, *, storage_options: Options | None = None) -> bool:
    """Whether there is a Hudi table at `path`."""
    return _core.is_table(path_text(path), storage_text(storage_options))


def write(
    path: Path,
    data: Any,
    record_key: Names = None,
    mode: Literal["upsert", "append", "overwrite", "error"] = "upsert",
    *,
    ordering: Names = None,
    partition_by: Names = (),
    table_type: Literal["cow", "mor"] | None = None,
    name: str | None = None,
    merge_mode: str | None = None,
    key_generator: str | None = None,
    table_version: int | None = None,
    schema_mode: Literal["evolve", "strict"] = "evolve",
    metadata: Mapping[str, str] | None = None,
    idempotency_key: str | None = None,
    options: Options | None = None,
    storage_options: Options | None = None,
    threads: int | None = None,
) -> CommitResult:
    """Writes `data` to the table at `path`, which is created from the data's schema if there is none.

    `mode` is `"upsert"` (rows replace those of the same key), `"append"` (rows are added as they are), `"overwrite"`
    (rows replace all that are there) or `"error"` (there must be no table yet). `schema_mode`, `metadata` and
    `idempotency_key` are those of `Table.upsert`, the other arguments those of `hudini.create`. A table that is there
    already must be what they say; what is left out, it may be as it is. A new table stays, empty, if its first rows are
    refused for anything but their columns and keys, as for a partition that Apache Hudi could not list.

    >>> hudini.write("trips", [{"id": "a", "ts": 1}], record_key="id", ordering="ts")
    """
    if mode not in ("upsert", "append", "overwrite", "error"):
        raise ValueError(f'mode is "upsert", "append", "overwrite" or "error", not {mode!r}')
    operation = {"append": "insert", "overwrite": "insert_overwrite_table"}.get(mode, "upsert")
    told, keys = options_text(options), name_list(record_key, "record_key")
    if not is_table(path, storage_options=storage_options):
        data = as_input(data)
        schema = data.opened()
        # No table is made for a write that would be refused.
        _core.check_write(None, operation, schema, told, metadata_text(metadata), schema_mode)
        data.check_keys(keys)
        table = create(
            path,
            schema,
            record_key,
            ordering,
            partition_by,
            table_type,
            name=name,
            merge_mode=merge_mode,
            key_generator=key_generator,
            table_version=table_version,
            options=told,
            storage_options=storage_options,
            # Somebody else may have made it just now.
            exist_ok=mode != "error",
            threads=threads,
        )
    elif mode == "error":
        raise TableExists("there is a table already", path=path_text(path), hint='mode="upsert" writes into it')
    else:
        table = open(path, storage_options=storage_options, options=told, threads=threads)
    wishes = {
        "record_key": record_key,
        "ordering": ordering,
        "partition_by": partition_by,
        "table_type": table_type,
        "name": name,
        "merge_mode": merge_mode,
        "key_generator": key_generator,
        "table_version": table_version,
    }
    check_same(table, wishes)
    if operation == "upsert" and not table.record_key:
        operation = "insert"
    return table._write(operation, data, told, metadata, idempotency_key, schema_mode)


class Table:
    """A handle on one table. It holds no state that could grow old: each read and each write starts from the newest.

    Made by `hudini.open` and `hudini.create`. It is an Arrow stream of the newest rows itself: `pyarrow.table(table)`.
    """

    def __init__(self, core: _core.Table, storage_options: Mapping[str, str] | None = None) -> None:
        self._core = core
        # For files that are looked at by themselves.
        self._storage_options = dict(storage_options or {})

    @property
    def path(self) -> str:
        """Where the table is."""
        return self._core.path

    @property
    def name(self) -> str:
        """The table's name."""
        return self._core.name

    @property
    def version(self) -> int:
        """The version of Hudi's table format."""
        return self._core.version

    @property
    def table_type(self) -> str:
        """`"cow"` or `"mor"`."""
        return self._core.table_type

    @property
    def schema(self) -> Schema:
        """The newest schema, without the five `_hoodie_` columns."""
        return Schema(self._core.schema())

    @property
    def record_key(self) -> list[str]:
        """The columns that name a row."""
        return self._core.record_key

    @property
    def ordering(self) -> list[str]:
        """The columns that say which of two rows is newer."""
        return self._core.ordering

    @property
    def partition_by(self) -> list[str]:
        """The columns that say which folder a row goes to."""
        return self._core.partition_by

    @property
    def merge_mode(self) -> str:
        """How rows with one key are merged."""
        return self._core.merge_mode

    @property
    def properties(self) -> dict[str, str]:
        """The table's `hoodie.properties`, read now."""
        return self._core.properties

    def history(self, limit: int | None = None) -> Rows:
        """What was done to the table, newest first, archived or not: a sequence of dicts that is an Arrow stream too.

        >>> [(row["operation"], row["inserted"]) for row in table.history()]
        [('upsert', 2), ('bulk_insert', 3)]
        """
        return Rows(self._core.history(whole_number(limit, "limit")), _HISTORY)

    @property
    def inspect(self) -> Inspect:
        """The table's inner state, as tables."""
        from hudini.inspecting import Inspect

        return Inspect(self)

    @property
    def services(self) -> Services:
        """Compaction, cleaning, archiving and more, by hand: writes do what is due by themselves."""
        from hudini.services import Services

        return Services(self._core)

    def read(
        self,
        columns: Sequence[str] | None = None,
        filter: str | Sequence[Any] | None = None,
        as_of: Any = None,
        mode: Literal["snapshot", "read_optimized"] | None = None,
        meta: bool = True,
        limit: int | None = None,
        batch_size: int | None = None,
        memory_limit: int | str | None = None,
    ) -> Scan:
        """The table's rows, newest state or an earlier one. Nothing is read before the result is used.

        Args:
            columns: only these, in this order.
            filter: only the rows for which it holds: SQL as in `"city = 'sf' and ts >= 10"`, or a list of
                `(column, op, value)` that all must hold (a list of such lists: one of them must). Any column may
                stand in it. Partitions, files and row groups in which nothing can match are not read.
            as_of: an instant (`20261121084838673` or shorter), an ISO time, a datetime, a `CommitResult`, or a row of
                `history()`. Without it, the option `as.of.instant` says it.
            mode: `"read_optimized"` leaves out what is not yet compacted in a merge-on-read table. Without it, the
                option `hoodie.datasource.query.type` says it; by default nothing is left out.
            meta: with the five `_hoodie_` columns, which come first; `columns` names them like others.
            limit: at most so many rows.
            batch_size: rows in a record batch, at most.
            memory_limit: bytes, or a text as in `"64MB"`, that log records may take while they are merged; those of
                file groups that are read at once together. Beyond it they go to disk, all but their keys. Without
                it, the option `hoodie.memory.merge.max.size` says it.

        >>> table.read(columns=["id"], as_of="2026-11-21").to_arrow()
        """
        names = None if columns is None else name_list(columns, "columns")
        where, when, most = filter_text(filter), instant_text(as_of), byte_count(memory_limit, "memory_limit")
        rows, at_a_time = whole_number(limit, "limit"), whole_number(batch_size, "batch_size")
        _check_meta(names, meta)
        core = self._core.scan(names, where, when, None, None, mode, meta, rows, at_a_time, most)
        return _planned(core, self.path)

    def incremental(
        self,
        start: Any = None,
        end: Any = None,
        columns: Sequence[str] | None = None,
        filter: str | Sequence[Any] | None = None,
        *,
        meta: bool = True,
        limit: int | None = None,
    ) -> Scan:
        """The rows that were written after `start` and up to `end`, as they stood at the end of that range.

        Each row comes once, with its newest values of the range; rows deleted by then are not among them. What counts
        is when a write completed (in tables of version 6: when it was requested). If files that the answer needs were
        cleaned away, that is an `InstantCleaned` error; if they are gone and no clean took them, a `StorageFailure`.

        Args:
            start: exclusive; a time as in `read(as_of=...)`, a `CommitResult` or a row of `history()`. None, `"000"`
                and `"earliest"` are the beginning.
            end: inclusive; None is now.
            columns: only these, in this order.
            filter: only the rows for which it holds, as in `read()`.
            meta: with the five `_hoodie_` columns, as in `read()`.
            limit: at most so many rows.

        >>> last = table.history(limit=1)[0]
        >>> table.incremental(start=last).to_arrow()  # nothing, until somebody writes again
        """
        names = None if columns is None else name_list(columns, "columns")
        where, window, rows = filter_text(filter), _window(start, end), whole_number(limit, "limit")
        _check_meta(names, meta)
        core = self._core.scan(names, where, None, window, None, None, meta, rows, None, None)
        return _planned(core, self.path)

    def changes(self, start: Any = None, end: Any = None, images: Literal["struct", "json"] = "struct") -> Scan:
        """What happened to rows after `start` and up to `end`: each insert, update and delete, with the row before and
        after it.

        The columns are `op` (`"i"`, `"u"` or `"d"`), `ts_ms` (instant of the write), `before` and `after`; an insert
        has no `before`, a delete no `after`. Compaction and clustering change nothing. Tables with change data capture
        (`hoodie.table.cdc.enabled`) keep a log of it; of others the files before and after each write are compared.
        If some of these were cleaned away, that is an `InstantCleaned` error; if they are gone and no clean took them,
        a `StorageFailure`.

        Args:
            start: exclusive, as in `incremental`: when a write completed, not the `ts_ms` of its changes.
            end: inclusive; None is now.
            images: `"struct"` gives rows as structs of the table's columns; `"json"` as JSON text, as Apache Hudi does.

        >>> table.changes(start=last).to_arrow()
        """
        core = self._core.scan(None, None, None, _window(start, end), images, None, True, None, None, None)
        return _planned(core, self.path)

    def __arrow_c_schema__(self) -> object:
        # DuckDB would take that of `schema`, which lacks columns of the stream.
        return self.read().schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.read().__arrow_c_stream__(requested_schema)

    def verify(self, deep: bool = False, *, progress: Wanted = None) -> Report:
        """Looks whether the table is whole: its files against timeline and metadata table, footers, log blocks.

        `deep` reads all rows as well: keys that are there twice, buckets, bloom filters, the indexes of the metadata
        table. Nothing is changed. What each check means stands in docs/verify.md; `progress` is that of
        `Scan.to_arrow`.

        >>> table.verify(deep=True).ok
        True
        """
        with watching(progress) as listener:
            return Report(self._core.verify(deep, listener), self.path)

    def upsert(
        self,
        data: Any,
        *,
        schema_mode: Literal["evolve", "strict"] = "evolve",
        options: Options | None = None,
        metadata: Mapping[str, str] | None = None,
        idempotency_key: str | None = None,
    ) -> CommitResult:
        """Inserts the rows with new keys and merges the others into the rows that are there, by the table's merge mode.

        `data` is anything with `__arrow_c_stream__`, a pandas DataFrame, an iterator of record batches or a list of
        dicts. Columns that the table lacks are added to it, behind its own; columns that the rows lack are null, unless
        they must not be. `schema_mode="strict"` refuses both. `metadata` is kept with the commit and shown by
        `history()`. If there is a commit with that `idempotency_key` already, nothing is written and its result is
        returned: so a job that does not know whether it was done can be repeated.

        >>> table.upsert([{"id": "a", "ts": 2, "city": "sf"}])
        CommitResult(upsert 20261121084838673: 0 inserted, 1 updated, 0 deleted; 1 file added, 9.1 kB, 0.02 s)
        """
        return self._write("upsert", data, options, metadata, idempotency_key, schema_mode)

    def insert(
        self,
        data: Any,
        *,
        options: Options | None = None,
        metadata: Mapping[str, str] | None = None,
        idempotency_key: str | None = None,
    ) -> CommitResult:
        """Adds the rows as they are: keys that are there already are not looked for."""
        return self._write("insert", data, options, metadata, idempotency_key)

    def bulk_insert(
        self,
        data: Any,
        *,
        sort_by: Names = None,
        curve: Literal["linear", "zorder", "hilbert"] = "linear",
        options: Options | None = None,
        metadata: Mapping[str, str] | None = None,
        idempotency_key: str | None = None,
    ) -> CommitResult:
        """Adds the rows as they are, into new files: the quickest way to fill a table."""
        refuse("bulk_insert", "sort_by=", given=sort_by is not None)
        refuse("bulk_insert", f'curve="{curve}"', given=curve != "linear")
        return self._write("bulk_insert", data, options, metadata, idempotency_key)

    def insert_overwrite(
        self,
        data: Any,
        *,
        options: Options | None = None,
        metadata: Mapping[str, str] | None = None,
        idempotency_key: str | None = None,
    ) -> CommitResult:
        """Replaces the partitions that the rows belong to: of each only the rows in `data` remain.

        The rows are written as they are, as by `insert`. Other partitions stay as they were; without partitions the
        whole table is replaced. Older states can still be read, until a clean takes them away.

        >>> table.insert_overwrite([{"id": "a", "ts": 1, "city": "sf"}])
        """
        return self._write("insert_overwrite", data, options, metadata, idempotency_key)

    def overwrite_table(
        self,
        data: Any,
        *,
        options: Options | None = None,
        metadata: Mapping[str, str] | None = None,
        idempotency_key: str | None = None,
    ) -> CommitResult:
        """Replaces all rows of the table by those in `data`, which may be none. Older states can still be read."""
        return self._write("insert_overwrite_table", data, options, metadata, idempotency_key)

    def delete_partitions(
        self,
        partitions: Sequence[str],
        *,
        options: Options | None = None,
        metadata: Mapping[str, str] | None = None,
        idempotency_key: str | None = None,
    ) -> CommitResult:
        """Deletes all rows of these partitions, which are named by their paths, as `inspect.partitions()` shows them.

        Nothing is read for it, and the files stay until a clean takes them away.

        >>> table.delete_partitions(["city=sf"])
        """
        names = name_list(partitions, "partitions")
        told = options_text(options), metadata_text(metadata)
        return CommitResult.from_core(self._core.delete_partitions(names, *told, idempotency_key), callers=1)

    def delete(
        self,
        keys: Any = None,
        *,
        where: str | None = None,
        options: Options | None = None,
        metadata: Mapping[str, str] | None = None,
        idempotency_key: str | None = None,
    ) -> CommitResult:
        """Deletes the rows with these keys, whatever their ordering value.

        `keys` is data with the key columns (in a partitioned table the partition columns too), or a list of key values.

        >>> table.delete(["a", "b"])
        """
        refuse("delete", "where=", given=where is not None)
        if keys is None:
            raise TypeError("delete() needs keys")
        source = as_keys(keys, self.record_key, self._core.schema)
        return self._write("delete", source, options, metadata, idempotency_key)

    update = not_yet("Table.update")
    merge = not_yet("Table.merge")
    update_schema = not_yet("Table.update_schema")
    repair = not_yet("Table.repair")
    on = not_yet("Table.on")

    def _write(
        self,
        operation: str,
        data: Any,
        options: Options | None,
        metadata: Mapping[str, str] | None,
        idempotency_key: str | None,
        schema_mode: str = "evolve",
    ) -> CommitResult:
        source = data if isinstance(data, Input) else as_input(data, self._core.schema)
        write: Callable[..., dict[str, Any]] = self._core.write
        try:
            told = source.in_memory, options_text(options), metadata_text(metadata)
            return CommitResult.from_core(write(operation, source, *told, schema_mode, idempotency_key))
        except Exception as error:
            if source.failure is not None:
                # The caller's own iterator failed: that is what happened, not its echo across the stream.
                raise source.failure from error
            raise

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Table) and self.path == other.path

    def __hash__(self) -> int:
        return hash(self.path)

    def __repr__(self) -> str:
        newest = self._core.history(1)
        state = f"at {newest[0]['instant']}" if newest else "empty"
        return f"Table({self.path}, {self.table_type}, version {self.version}, {state})"

    def _repr_html_(self) -> str:
        facts = {
            "record key": ", ".join(self.record_key),
            "ordering": ", ".join(self.ordering),
            "partitioned by": ", ".join(self.partition_by),
            "merge mode": self.merge_mode,
        }
        known = _html.record({name: value for name, value in facts.items() if value})
        return _html.titled(repr(self), known, _html.fields(self.schema))


def _check_meta(columns: list[str] | None, meta: bool) -> None:
    asked = [] if meta else [name for name in columns or [] if name in _META]
    if asked:
        raise InvalidOption(
            f"columns names {', '.join(asked)}, and meta=False leaves out Hudi's own columns",
            hint="leave out meta=False: with columns, only those come that it names",
        )


def _planned(core: _core.Scan, path: str) -> Scan:
    for text in core.warnings():
        warnings.warn(text, stacklevel=3)
    return Scan(core, path)


def _window(start: Any, end: Any) -> tuple[str | None, str | None]:
    return None if start == "earliest" else completion_text(start), completion_text(end)
