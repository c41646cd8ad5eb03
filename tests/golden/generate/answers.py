"""Apache Hudi's answers: to the questions of a case, and about the inside of its table."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from tests.interop.oracle.queries import query_options
from tests.interop.oracle.worker import collect, messages
from tests.support.compare import difference

from .case import JUDGE
from .table import Table

META = ["_hoodie_record_key", "_hoodie_partition_path", "_hoodie_commit_seqno"]
# Small files: an answer is read once and whole.
STORED = {"compression": "zstd", "write_statistics": False}
JSON = {"cdc": ("before", "after")}


def hudi_options(read: dict[str, Any]) -> dict[str, str]:
    """The options of Apache Hudi's data source for a question."""
    asked = dict(read["params"])
    return {**asked.pop("options", {}), **query_options(read["query"], **asked)}


def answer(table: Table, read: dict[str, Any]) -> Any:
    """The rows, as an Arrow table."""
    path = table.path / ".hoodie" / "metadata" if read["query"] == "metadata" else table.path
    frame = table.spark.read.format("hudi").options(**hudi_options(read)).load(str(path))
    if read.get("filter"):
        frame = frame.where(read["filter"])
    if read["columns"] is not None:
        frame = frame.select(*read["columns"])
    return collect(frame)


def record(table: Table, read: dict[str, Any]) -> None:
    """Adds this release's answer to a question: the first stands, a later one confirms or contradicts it."""
    expected = table.folder / "expected"
    expected.mkdir(exist_ok=True)
    if read["query"] in ("incremental", "cdc"):
        read["hudi_options"] = hudi_options(read)
    rows, words = _try(table, read)
    if "read_by" in read and read["read_by"] is None:  # the scene gave the answer
        read.setdefault("hudi_answers", {})[table.release] = (
            words or difference(rows, pq.read_table(table.folder / read["expected"])) or "the same"
        )
    elif "expected" not in read or "writer_cannot_read" in read:
        _stand(table, read, rows, words)
    elif rows is None:
        read.setdefault("other_answers", {})[table.release] = "error: " + words[0]
    else:
        _compare(table, read, rows)


def _try(table: Table, read: dict[str, Any]) -> tuple[Any, list[str]]:
    try:
        return answer(table, read), []
    except Exception as error:
        return None, [message[:400] for message in messages(error)]


def _stand(table: Table, read: dict[str, Any], rows: Any, words: list[str]) -> None:
    """The first answer. Where the writer has none but an error, the judge has the word."""
    if rows is not None:
        read["expected"] = f"expected/{read['id']}.parquet"
        read["sort_by"] = [c for c in META if c in rows.column_names] or rows.column_names[:2]
        read["row_count"] = rows.num_rows
        read["read_by"] = table.release
        _save(table.folder / read["expected"], rows, read["sort_by"])
        read.pop("hudi_answer", None)
    else:
        read["expected"], read["hudi_answer"] = "error", words
        if table.release != JUDGE:
            read["writer_cannot_read"] = words
        elif read.pop("writer_cannot_read", None):
            read["confirmed_by"] = [JUDGE]


def _compare(table: Table, read: dict[str, Any], rows: Any) -> None:
    problem = difference(rows, pq.read_table(table.folder / read["expected"]), JSON.get(read["query"], ()))
    if problem is None:
        read.setdefault("confirmed_by", []).append(table.release)
        return
    file = f"expected/{read['id']}.by_{table.release}.parquet"
    _save(table.folder / file, rows, read["sort_by"])
    read.setdefault("other_answers", {})[table.release] = file
    read.setdefault("other_answers_note", {})[table.release] = "differs: " + problem.splitlines()[0]
    if table.release == JUDGE:
        read["judge"] = file


def _save(file: Path, rows: Any, sort_by: list[str]) -> None:
    # Sorted where the order is total enough to keep the file the same from run to run; nested columns cannot be keys.
    pq.write_table(rows.sort_by([(column, "ascending") for column in sort_by]), file, **STORED)


# ---- the inside ------------------------------------------------------------------------------------------------------


def inside(table: Table) -> dict[str, Any]:
    """What the judge sees in the table: properties, timeline, slices, log blocks, partitions of the metadata table."""
    meta = table.meta_client()
    config = meta.getTableConfig()
    kind = config.getTableType().name()
    seen = {
        "table_version": config.getTableVersion().versionCode(),
        "table_type": kind,
        "timeline": instants(meta.getActiveTimeline()),
        "slices": list(slices(table, meta)),
        "metadata": {"partitions": sorted(config.getMetadataPartitions())},
        "hoodie_properties": {name: value for name, value in sorted(dict(config.getProps()).items())},
    }
    archived = instants(meta.getArchivedTimeline())
    if archived:
        seen |= {"archived_timeline": archived, "archived_count": len(archived)}
    if kind == "MERGE_ON_READ":
        files = table.files(".*.log.*")
        seen["log_blocks"] = {str(file.relative_to(table.path)): log_blocks(table, meta, file) for file in files}
    return seen


def instants(timeline: Any) -> list[dict[str, Any]]:
    found = timeline.getInstants()
    return [
        {
            "requested": instant.requestedTime(),
            "completion": instant.getCompletionTime() if instant.isCompleted() else None,
            "action": instant.getAction(),
            "state": instant.getState().toString(),
        }
        for instant in (found.get(n) for n in range(found.size()))
    ]


def slices(table: Table, meta: Any) -> Iterator[dict[str, Any]]:
    """The newest slice of every file group, found by listing and without the metadata table."""
    jvm = table.spark._jvm.org.apache.hudi
    context = jvm.client.common.HoodieSparkEngineContext(table.spark._jsc)
    config = jvm.common.config.HoodieMetadataConfig.newBuilder().enable(False).build()
    view = jvm.common.table.view.FileSystemViewManager.createInMemoryFileSystemView(context, meta, config)
    partitions = jvm.common.fs.FSUtils.getAllPartitionPaths(context, meta, False)
    for partition in sorted(partitions):
        found = view.getLatestFileSlices(partition).collect(table.spark._jvm.java.util.stream.Collectors.toList())
        for slice in sorted(found, key=lambda s: s.getFileId()):
            base = slice.getBaseFile()
            logs = slice.getLogFiles().collect(table.spark._jvm.java.util.stream.Collectors.toList())
            yield {
                "partition": partition,
                "file_id": slice.getFileId(),
                "base_instant": slice.getBaseInstantTime(),
                "base_file": base.get().getFileName() if base.isPresent() else None,
                "log_files": [log.getFileName() for log in logs][::-1],
            }


def log_blocks(table: Table, meta: Any, file: Path) -> list[Any]:
    """The blocks of a log file as Apache Hudi's reader meets them; a failure ends the list with its message."""
    jvm = table.spark._jvm.org.apache.hudi
    blocks: list[Any] = []
    if file.stat().st_size == 0:
        return blocks
    try:
        log = jvm.common.model.HoodieLogFile(str(file))
        reader = jvm.common.table.log.HoodieLogFormat.newReader(meta.getStorage(), log, None)
        while reader.hasNext():
            blocks.append(_block(reader.next()))
    except Exception as error:
        blocks.append(messages(error)[-1][:200])
    return blocks


def _block(block: Any) -> dict[str, Any]:
    header = {str(key): value for key, value in dict(block.getLogBlockHeader()).items()}
    facts = {
        "type": block.getBlockType().toString().removesuffix("_BLOCK").removesuffix("_DATA").lower(),
        "instant": header.get("INSTANT_TIME"),
        "bytes": block.getBlockContentLocation().get().getBlockSize() + len(b"#HUDI#") + 8,
        "keys": sorted(header),
    }
    named = {"target": "TARGET_INSTANT_TIME", "compacted": "COMPACTED_BLOCK_TIMES"}
    return facts | {name: header[key] for name, key in named.items() if key in header}
