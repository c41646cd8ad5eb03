"""The compiled core. Everything here is internal: `hudini.Table`, `hudini.Scan` and `hudini.spark` are the way in.

Arguments are plain and complete (no defaults), results are plain values or Arrow capsule holders. Errors are the
classes of `hudini.errors`, built as `cls(message, code=, path=, instant=, offset=, hint=)`. No call holds
the GIL while it works.
"""

from collections.abc import Callable
from typing import Any, Protocol, final

__version__: str
build_profile: str
"""`"release"` or `"debug"`."""

class _HasSchema(Protocol):
    def __arrow_c_schema__(self) -> object: ...

class _HasStream(Protocol):
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

_Listener = Callable[[int, int, int, int], object]
"""Told a few times a second how far a call is: parts done, parts, rows, bytes read. What it raises ends the call."""

@final
class Schema:
    """A schema, for whoever takes Arrow's C schema interface."""

    def __arrow_c_schema__(self) -> object: ...

@final
class Stream:
    """Record batches that can be taken once."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

@final
class Table:
    """A handle on one table; every call looks at the newest state."""

    @staticmethod
    def open(path: str, storage_options: dict[str, str], options: dict[str, str], threads: int | None) -> Table: ...
    @staticmethod
    def create(
        path: str,
        schema: _HasSchema,
        record_key: list[str],
        ordering: list[str],
        partition_by: list[str],
        table_type: str | None,
        name: str | None,
        merge_mode: str | None,
        key_generator: str | None,
        table_version: int | None,
        options: dict[str, str],
        storage_options: dict[str, str],
        exist_ok: bool,
        threads: int | None,
    ) -> Table:
        """Creates the table; what is None comes from the options."""

    @property
    def path(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def version(self) -> int: ...
    @property
    def table_type(self) -> str: ...
    @property
    def record_key(self) -> list[str]: ...
    @property
    def ordering(self) -> list[str]: ...
    @property
    def partition_by(self) -> list[str]: ...
    @property
    def merge_mode(self) -> str: ...
    @property
    def properties(self) -> dict[str, str]:
        """`hoodie.properties`, read anew at each access."""

    def schema(self) -> Schema:
        """The table's schema without the five `_hoodie_` columns."""

    def history(self, limit: int | None) -> list[dict[str, Any]]:
        """Completed actions, newest first: instant, completed, action, operation, inserted, updated, deleted, files,
        bytes, seconds, metadata."""

    def timeline(self, archived: bool, operations: bool) -> list[dict[str, Any]]:
        """The timeline, with `archived` back to the first action: requested, completed (None while pending), action,
        state, operation (None unless `operations`)."""

    def partitions(self) -> list[dict[str, Any]]:
        """partition, slices, base_files, base_bytes, log_files, log_bytes."""

    def slices(self, as_of: str | None, partition: str | None) -> list[dict[str, Any]]:
        """The newest slices: partition, file_id, base_instant, base_file, log_files, bytes."""

    def files(self, as_of: str | None) -> list[dict[str, Any]]:
        """The files of these slices: partition, file_id, kind, name, bytes."""

    def indexes(self) -> list[dict[str, Any]]:
        """name, state, type, function, columns, options, version."""

    def locks(self) -> list[dict[str, Any]]:
        """lock, path, instant, held, age_seconds."""

    def markers(self) -> list[dict[str, Any]]:
        """instant, partition, file, kind."""

    def metadata(self, partition: str | None) -> Stream:
        """The records of the metadata table, of one partition or of all."""

    def verify(self, deep: bool, listener: _Listener | None) -> dict[str, Any]:
        """ok, findings (level, check, path, instant, message), checked, seconds."""

    def scan(
        self,
        columns: list[str] | None,
        filter: str | None,
        as_of: str | None,
        window: tuple[str | None, str | None] | None,
        changes: str | None,
        mode: str | None,
        meta: bool,
        limit: int | None,
        batch_size: int | None,
        memory_limit: int | None,
    ) -> Scan:
        """A question to the state of now or of `as_of`, or to what was written in a `window`: after the first time, up
        to the second; with `changes`, `"struct"` or `"json"`, to what happened to rows there; `filter` is a condition
        in SQL; `mode` is `"snapshot"` or `"read_optimized"`. Of `as_of` and `mode` the table's options may tell."""

    def write(
        self,
        operation: str,
        data: _HasStream,
        in_memory: bool,
        options: dict[str, str],
        metadata: dict[str, str],
        schema_mode: str,
        idempotency_key: str | None,
    ) -> dict[str, Any]:
        """One commit, made with this process's threads. Rows that are not in memory as they are go to disk when there
        are too many. The dict holds the fields of `hudini.CommitResult`."""

    def delete_partitions(
        self,
        partitions: list[str],
        options: dict[str, str],
        metadata: dict[str, str],
        idempotency_key: str | None,
    ) -> dict[str, Any]:
        """One commit that takes these partitions away."""

    def begin(
        self,
        operation: str,
        schema: _HasSchema,
        options: dict[str, str],
        metadata: dict[str, str],
        seed: int | None,
        schema_mode: str,
        idempotency_key: str | None,
    ) -> Action:
        """Begins one commit whose tasks another engine runs."""

    def committed(self, operation: str, idempotency_key: str) -> dict[str, Any] | None:
        """What a write under that key did, if there was one, with the fields of `hudini.CommitResult`."""

    def compact(self, schedule: bool, execute: bool, filter: str | None, options: dict[str, str]) -> dict[str, Any]:
        """Compacts with this process's threads. The dict holds the fields of `hudini.CommitResult`."""

    def compactions(self, schedule: bool, execute: bool, filter: str | None, options: dict[str, str]) -> Compactions:
        """The same for an engine that runs the tasks."""

    def compactions_after_write(self, options: dict[str, str]) -> Compactions:
        """Those that the options of a write ask for, once it is done."""

def clean(
    table: Table,
    schedule: bool,
    execute: bool,
    dry_run: bool,
    policy: str | None,
    retain: int | None,
    options: dict[str, str],
) -> dict[str, Any]:
    """The dict holds the fields of `hudini.services.CleanResult`."""

def archive(table: Table, dry_run: bool, options: dict[str, str]) -> dict[str, Any]:
    """The dict holds the fields of `hudini.services.ArchiveResult`."""

def rollback(table: Table, instant: str, dry_run: bool, options: dict[str, str]) -> dict[str, Any]:
    """The dict holds the fields of `hudini.services.RollbackResult`."""

def due(table: Table, options: dict[str, str]) -> list[tuple[str, str]]:
    """Services that should run, and why."""

def is_table(path: str, storage_options: dict[str, str]) -> bool: ...
def inspect_log(
    file: str, storage_options: dict[str, str], limit: int | None, emit: Callable[[str, str], None]
) -> None:
    """Shows a log file. `emit` gets kind and JSON text of each piece: block, records (one a line), end, damaged."""

def inspect_hfile(
    file: str,
    storage_options: dict[str, str],
    key: str | None,
    prefix: str | None,
    limit: int | None,
    emit: Callable[[str, str], None],
) -> None:
    """Shows an HFile: one block that tells of the file, its entries as records, and the end."""

def inspect_instant(file: str, storage_options: dict[str, str]) -> str:
    """A file of the timeline as JSON text."""

def inspect_properties(table: str, storage_options: dict[str, str]) -> str:
    """The files with a table's properties as JSON text, whole or damaged."""

@final
class Scan:
    """One question to one pinned state."""

    @property
    def instant(self) -> str | None:
        """The requested time of the newest instant seen."""

    def warnings(self) -> list[str]:
        """What the caller should know of how the files were found and chosen, and of the options."""

    def schema(self) -> Schema: ...
    def narrowed(self, columns: list[str] | None, limit: int | None) -> Scan:
        """The same rows, of which only these columns are read, and no more rows than so many."""

    def reader(self, listener: _Listener | None, is_restored: bool) -> Stream:
        """The rows, from the beginning, at each call. `is_restored`: the reader puts errors right that come as text."""

    def count(self, listener: _Listener | None) -> int: ...
    def splits(self, target_bytes: int | None) -> list[bytes]: ...
    def plain(self) -> tuple[list[str], list[bytes]]:
        """Local Parquet files that any reader reads as this scan would, and splits of the rest."""

    def explain(self) -> dict[str, Any]: ...
    def run(self, listener: _Listener | None) -> dict[str, Any]:
        """Reads all rows: rows, bytes, seconds, log_blocks, log_blocks_by_kind, corrupt_log_blocks,
        merged_by_position, merged_by_key, pruned."""

def split_schema(split: bytes) -> Schema: ...
def read_split(split: bytes, batch_size: int | None, is_restored: bool) -> Stream: ...
def taken_exception(text: str) -> BaseException | None:
    """What ended a stream, if that is the text of its error: C streams carry no exceptions. It is given once."""

def register_merger(strategy_id: str, function: Callable[[Stream, Stream], _HasStream]) -> None:
    """The function takes older and newer rows, and gives one batch of as many merged ones."""

@final
class Action:
    """The driver's side of one commit: begin, locate, place, run, commit."""

    @property
    def instant(self) -> str: ...
    @property
    def conflict_retries(self) -> int:
        """How often a write like this one may start anew after a conflict."""

    @property
    def adds_keys(self) -> bool:
        """Whether `locate` adds the keys too: the table has no buckets, and new keys have to be settled."""

    @property
    def looks_up(self) -> bool:
        """Whether keys have to be looked up before `place`."""

    @property
    def combines_partitions(self) -> bool:
        """Whether rows that are added have to become one a key, of all partitions together."""

    def choice(self) -> tuple[list[str], bytes]:
        """What `choose` needs on a worker: columns of the table, besides key and partition, and a text."""

    def done_before(self) -> dict[str, Any] | None:
        """What was committed under the same idempotency key just before this write began."""

    def locator(self) -> bytes:
        """What `locate` needs on a worker."""

    def lookups(self, partitions: list[str]) -> list[list[tuple[str, int, bytes]]]:
        """Rounds of (partition, slot, task for `look_up`); a key that one found is not looked for in the next."""

    def record_lookup(self) -> tuple[int, bytes] | None:
        """File groups of the record index, and what `group_keys` and `look_up_records` need on a worker. None: the keys
        are not there, but in files that `lookups` tells."""

    def recorded_slots(self, groups: list[tuple[str, str, str]]) -> list[int]:
        """(partition, file id, one of its keys) of file groups that the record index named → their slots."""

    def place(self, profile: list[tuple[str, int, int, int]]) -> list[tuple[str, int, int, bytes]]:
        """(partition, slot, rows, bytes) of all rows → (partition, slot, expected rows, task)."""

    def new_slots(self) -> bytes:
        """What `settle` needs on a worker, after `place`."""

    def check_heart(self) -> None:
        """A `CommitConflict` if others took this write for dead, and its tasks may have failed for that."""

    def commit(self, statuses: list[bytes]) -> dict[str, Any]:
        """Makes the commit visible. The dict holds the fields of `hudini.CommitResult`."""

    def abort(self) -> None:
        """Takes back what was written."""

def asked(table: Table | None, options: dict[str, str], overwrites: bool) -> tuple[str, dict[str, str]]:
    """The operation that a job's options mean in the mode append or overwrite, and the options that go with it."""

def check_write(
    table: Table | None,
    operation: str,
    schema: _HasSchema,
    options: dict[str, str],
    metadata: dict[str, str],
    schema_mode: str,
) -> None:
    """Refuses what a write of such rows would refuse now, of a table that is there or to be made. Changes nothing."""

def open_staging(table: Table) -> bytes:
    """A folder for rows that tasks leave until `write_staged` takes them in."""

def stage(staging: bytes, data: _HasStream) -> bytes:
    """Leaves the rows of one attempt at a task; returns what `write_staged` finds them by."""

def write_staged(
    table: Table,
    staging: bytes,
    staged: list[bytes],
    schema: _HasSchema,
    operation: str,
    options: dict[str, str],
    schema_mode: str,
) -> dict[str, Any]:
    """Writes what was staged, in this order, as one commit. The dict holds the fields of `hudini.CommitResult`."""

def close_staging(staging: bytes) -> None:
    """Removes the folder with all rows; attempts that are still at it fail."""

@final
class Compactions:
    """The driver's side of compactions, one after the other: next, run, commit."""

    def next(self) -> list[bytes] | None:
        """Takes the next one up: its tasks, for `run_compaction_task`. None: there is no other."""

    def commit(self, statuses: list[bytes]) -> None:
        """Makes it visible."""

    def abort(self) -> None:
        """Takes back what was written; the plan waits for another attempt."""

    def result(self) -> dict[str, Any]:
        """All of them in one, with the fields of `hudini.CommitResult`."""

def run_compaction_task(task: bytes) -> bytes:
    """Folds base file and logs of one file group into a new base file; returns its status."""

def locate(locator: bytes, data: _HasStream) -> Stream:
    """The rows with columns behind them, all not null: `_hudini_partition` (utf8), `_hudini_slot` (int32) and where
    there are no buckets `_hudini_key` (utf8)."""

def look_up(task: bytes, data: _HasStream) -> Stream:
    """Of a column `_hudini_key`, the keys that a file group has."""

def group_keys(lookup: bytes, data: _HasStream) -> Stream:
    """Columns `_hudini_key` and `_hudini_scattered` (bool, whether rows of the key name several partitions), each key
    once, with `_hudini_group` (int32) before them."""

def look_up_records(lookup: bytes, group: int, data: _HasStream) -> Stream:
    """Of grouped keys of one group, those that the record index has: `_hudini_key`, `_hudini_partition` and
    `_hudini_file`, once for each file group that has the key; and with an empty file those that it does not have, if
    their rows name several partitions. Sorted keys are found more quickly."""

def choose(choice: bytes, data: _HasStream) -> Stream:
    """Of rows sorted by key and then as they came, each key with the partition that its rows go to."""

def settle(new_slots: bytes, data: _HasStream) -> Stream:
    """Located rows with the slots of tasks and without their keys; those that nobody writes are left out."""

def run_task(task: bytes, data: _HasStream) -> bytes:
    """Writes the rows of one (partition, slot), with or without the two columns, into one file; returns its status."""
