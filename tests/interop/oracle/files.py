"""What Apache Hudi's own classes read in single files, as plain JSON. Runs in the oracle's environment, as `worker`."""

import json
from decimal import Decimal
from pathlib import Path

from py4j.java_gateway import JavaObject, get_method
from values import bytes_of, checksum, ordering_of, row_of

BLOCK_KINDS = {
    "COMMAND_BLOCK": ":command",
    "DELETE_BLOCK": ":delete",
    "AVRO_DATA_BLOCK": "avro",
    "HFILE_DATA_BLOCK": "hfile",
    "PARQUET_DATA_BLOCK": "parquet",
    "CDC_DATA_BLOCK": "cdc",
}
FOUND = 0  # what HFileReader.seekTo answers for a key that is there
LOOK_UP_EACH = FILE_GROUPS = 7
# How the timeline reads the files of an action, completed or not.
READERS = {
    ("commit", False): "readCommitMetadataToAvro",
    ("commit", True): "readCommitMetadataToAvro",
    ("deltacommit", True): "readCommitMetadataToAvro",
    ("replacecommit", False): "readRequestedReplaceMetadata",
    ("replacecommit", True): "readReplaceCommitMetadataToAvro",
    ("clustering", False): "readRequestedReplaceMetadata",
    ("compaction", False): "readCompactionPlan",
    ("logcompaction", False): "readCompactionPlan",
    ("clean", False): "readCleanerPlan",
    ("clean", True): "readCleanMetadata",
    ("rollback", False): "readRollbackPlan",
    ("rollback", True): "readRollbackMetadata",
    ("restore", False): "readRestorePlan",
    ("restore", True): "readRestoreMetadata",
    ("savepoint", True): "readSavepointMetadata",
    ("indexing", False): "readIndexPlan",
    ("indexing", True): "readIndexCommitMetadata",
}
AS_OBJECTS = {
    "readCommitMetadataToAvro": "readCommitMetadata",
    "readReplaceCommitMetadataToAvro": "readReplaceCommitMetadata",
}


class Files:
    """One verb for each kind of file; `folder` holds the sample."""

    def __init__(self, spark):
        self._jvm = spark._jvm
        self._hudi = spark._jvm.org.apache.hudi
        self._conf = self._hudi.hadoop.fs.HadoopFSUtils.getStorageConf(spark._jsc.hadoopConfiguration())
        self._typed = self._mapper_with_types()

    # ---- log files --------------------------------------------------------------------------------------------------

    def log(self, folder):
        """The blocks of a log file, with all that is in them."""
        [path] = Path(folder).glob(".*.log.*")
        file = self._hudi.common.model.HoodieLogFile(self._path(path))
        schema = self._cdc_schema(path) if path.suffix == ".cdc" else None
        reader = self._hudi.common.table.log.HoodieLogFileReader(self._storage(path), file, schema, 16 << 20)
        blocks = [self._block(block) for block in iterated(reader)]
        reader.close()
        return blocks

    def _cdc_schema(self, path):
        """The schema with which CDC queries read a file, by the table's schema and how it logs."""
        mode = path.parent.name.removeprefix("cdc_").upper()
        mode = getattr(self._hudi.common.table.cdc.HoodieCDCSupplementalLoggingMode, mode)
        table = self._schema((path.parent / "table.avsc").read_text())
        return self._hudi.common.table.cdc.HoodieCDCUtils.schemaBySupplementalLoggingMode(mode, table)

    def _schema(self, text):
        return self._hudi.common.schema.HoodieSchema.parse(text)

    def _block(self, block):
        kind = BLOCK_KINDS[block.getBlockType().name()]
        headers = {key.name(): text for key, text in dict(block.getLogBlockHeader()).items()}
        if kind == ":command":
            records = block.getType().name()
        elif kind == ":delete":
            records = [self._delete(record) for record in block.getRecordsToDelete()]
        else:
            avro = self._inner("common.model.HoodieRecord$HoodieRecordType").AVRO
            records = [row_of(record.getData()) for record in iterated(block.getRecordIterator(avro))]
        positions = list(block.getRecordPositions().toArray())
        return {"kind": kind, "headers": headers, "positions": positions, "records": records}

    def _delete(self, record):
        _, told = json.loads(self._typed.writeValueAsString(record), parse_float=Decimal)
        ordering = told["orderingValue"]
        if isinstance(ordering, list) and ordering[0].startswith("java.sql."):  # too few digits, another calendar
            ordering = [ordering[0], record.getOrderingValue().toString()]
        return {"key": told["recordKey"], "partition": told["partitionPath"], "ordering": ordering_of(ordering)}

    # ---- HFiles -----------------------------------------------------------------------------------------------------

    def hfile(self, folder):
        """All cells in order, some of them looked up by key, meta blocks and file info."""
        path = Path(folder) / "file.hfile"
        reader = self._hfile_reader(path)
        cells, block, end = [], b"", None
        more = reader.seekTo()
        while more:
            cell = reader.getKeyValue().get()
            if end is None or cell.getKeyOffset() < end:
                block = cell.getBytes()  # of the whole block, which its cells share
            start = cell.getValueOffset()
            end = start + cell.getValueLength()
            cells.append([cell.getKey().getContentInString(), checksum(block[start:end])])
            more = reader.next()
        meta = {name: reader.getMetaBlock(name) for name in ("a", "bloomFilter", "none")}
        info = reader.getMetaInfo(self._key("größe")).get().decode()
        count = reader.getNumKeyValueEntries()
        reader.close()
        return {
            "cells": cells,
            "count": count,
            "looked_up": self._look_up(path, [key for key, _ in cells[::LOOK_UP_EACH]]),
            "meta": {name: checksum(bytes_of(found.get())) for name, found in meta.items() if found.isPresent()},
            "info": {"größe": info},
        }

    def _look_up(self, path, keys):
        """The cells of those keys; each is followed by the look-up of a key that is not there."""
        reader = self._hfile_reader(path)
        found = []
        reader.seekTo()
        for key in keys:
            if reader.seekTo(self._key(key)) == FOUND:
                cell = reader.getKeyValue().get()
                start = cell.getValueOffset()
                value = cell.getBytes()[start : start + cell.getValueLength()]
                found.append([cell.getKey().getContentInString(), checksum(value)])
            if reader.seekTo(self._key(key + "\0")) == FOUND:
                found.append(key + "\0")
        reader.close()
        return found

    def _key(self, text):
        return self._hudi.io.hfile.UTF8StringKey(text)

    def _hfile_reader(self, path):
        stream = self._storage(path).openSeekable(self._path(path), 1 << 16, False)
        reader = self._hudi.io.hfile.HFileReaderImpl(stream, path.stat().st_size)
        reader.initializeMetadata()
        return reader

    # ---- timeline ---------------------------------------------------------------------------------------------------

    def timeline(self, folder):
        """The instants of the active timeline, and what their files hold."""
        timeline = self._meta_client(folder).getActiveTimeline()
        return [self._instant(timeline, instant) for instant in timeline.getInstants()]

    def _instant(self, timeline, instant):
        state = instant.getState().name().lower()
        read = READERS[instant.getAction(), state == "completed"]
        if read == "readIndexCommitMetadata":  # has no verb of its own
            content = timeline.readInstantContent(instant, self._class("avro.model.HoodieIndexCommitMetadata"))
        else:
            content = getattr(timeline, read)(instant)
        holds = json.loads(content.toString())
        if read in AS_OBJECTS:
            self._check_object(getattr(timeline, AS_OBJECTS[read])(instant), holds)
        return {
            "requested": instant.requestedTime(),
            "completed": instant.getCompletionTime(),
            "action": instant.getAction(),
            "state": state,
            "holds": holds,
        }

    @staticmethod
    def _check_object(commit, holds):
        """The object that writers and readers make of the metadata says the same; it has no nulls but zeros."""
        told = json.loads(commit.toJsonString())
        for partition, stats in (holds["partitionToWriteStats"] or {}).items():
            for stat, as_object in zip(stats, told["partitionToWriteStats"][partition], strict=True):
                for name in (stat.keys() & as_object.keys()) - {"runtimeStats"}:
                    assert as_object[name] == stat[name] or not (as_object[name] or stat[name]), name
        for name in ("extraMetadata", "partitionToReplaceFileIds"):
            assert (told.get(name) or {}) == (holds.get(name) or {}), name

    def history(self, folder):
        """The archived timeline with what its actions did, and with the plans that its files hold."""
        client = self._meta_client(folder)
        plans = dict(self._plans(client, Path(folder) / ".hoodie/timeline/history"))
        timeline = client.getArchivedTimeline()
        timeline.loadCompletedInstantDetailsInMemory()
        return [
            {
                "requested": instant.requestedTime(),
                "completed": instant.getCompletionTime(),
                "action": instant.getAction(),
                "metadata": checksum(timeline.getInstantDetails(instant).get()),
                "plan": plans.get(instant.requestedTime()),
            }
            for instant in timeline.getInstants()
        ]

    def _plans(self, client, folder):
        """Plans by requested time. The timeline itself hands out only those of compactions."""
        lsm = self._hudi.common.table.timeline.LSMTimeline
        full = self._inner("common.table.timeline.HoodieArchivedTimeline$LoadMode").FULL
        schema = self._hudi.common.schema.HoodieSchema.fromAvroSchema(lsm.getReadSchema(full))
        for name in lsm.latestSnapshotManifest(client, self._path(folder)).getFileNames():
            reader = self._reader(folder / name)
            for row in iterated(reader.getRecordIterator(schema)):
                plan = row.getData().get("plan")
                if plan is not None:
                    yield row.getData().get("instantTime").toString(), checksum(bytes_of(plan))
            reader.close()

    def _reader(self, path):
        """Apache Hudi's reader of Parquet files and HFiles."""
        avro = self._inner("common.model.HoodieRecord$HoodieRecordType").AVRO
        readers = self._hudi.io.storage.HoodieIOFactory.getIOFactory(self._storage(path)).getReaderFactory(avro)
        return readers.getFileReader(self._hudi.common.config.HoodieConfig(), self._path(path))

    def _meta_client(self, folder):
        builder = self._hudi.common.table.HoodieTableMetaClient.builder()
        return builder.setConf(self._conf).setBasePath(str(folder)).build()

    def _list(self, items):
        found = self._jvm.java.util.ArrayList()
        for item in items:
            found.add(item)
        return found

    def _class(self, name):
        return self._jvm.java.lang.Class.forName(f"org.apache.hudi.{name}")

    # ---- the metadata table -----------------------------------------------------------------------------------------

    def metadata(self, folder):
        """The records of a base file, scanned and looked up; `made_of.json` tells what their keys are made of."""
        [path] = Path(folder).glob("*.hfile")
        reader = self._reader(path)
        schema = reader.getSchema()
        records = [record.getData() for record in iterated(reader.getRecordIterator(schema))]
        least, greatest = reader.readMinMaxRecordKeys()
        filter_ = reader.readBloomFilter().serializeToString()
        keys = [self._metadata_key(*parts) for parts in json.loads((Path(folder) / "made_of.json").read_text())]
        looked_up = reader.getRecordsByKeysIterator(self._list(keys), schema)
        looked_up = [self._metadata_record(record.getData()) for record in iterated(looked_up)]
        reader.close()
        util = self._hudi.metadata.HoodieTableMetadataUtil
        return {
            "records": [self._metadata_record(record) for record in records],
            "looked_up": looked_up,
            "file_group": util.getFileGroupIndexFromFileId(path.name.split("_")[0]),
            "least": least,
            "greatest": greatest,
            "filter": filter_,
        }

    def _metadata_key(self, kind, *parts):
        metadata = self._hudi.metadata
        match kind:
            case "all":
                return metadata.HoodieTableMetadata.RECORDKEY_PARTITION_LIST
            case "files":
                return metadata.HoodieTableMetadataUtil.getPartitionIdentifierForFilesPartition(*parts)
            case "column_stats":
                return metadata.ColumnStatsIndexRawKey(*parts).encode()
            case "partition_stats":
                return metadata.HoodieTableMetadataUtil.getPartitionStatsIndexKey(*parts)
            case "bloom_filters":
                return metadata.BloomFilterIndexRawKey(*parts).encode()
            case "secondary_index":
                return metadata.SecondaryIndexKeyUtils.constructSecondaryIndexKey(*parts)
        [key] = parts
        return key

    def _metadata_record(self, record):
        holds = {name: part for name, part in row_of(record).items() if part is not None}
        stats = record.get("ColumnStatsMetadata")
        if stats is not None:
            for bound in ("minValue", "maxValue"):
                wrapped = stats.get(bound)
                told = None if wrapped is None else [wrapped.getSchema().getName(), row_of(wrapped)["value"]]
                holds["ColumnStatsMetadata"][bound] = told
        util = self._hudi.metadata.HoodieTableMetadataUtil
        group_of = util.getSecondaryKeyToFileGroupMappingFunction("SecondaryIndexMetadata" in holds)
        return {
            "key": holds["key"],
            "holds": holds,
            "means": self._meaning(record, holds),
            "file_group": group_of.apply(holds["key"], FILE_GROUPS),
        }

    def _meaning(self, record, holds):
        payload = self._hudi.metadata.HoodieMetadataPayload(self._hudi.common.util.Option.of(record))
        if "filesystemMetadata" in holds:
            return {"there": sorted(payload.getFilenames()), "gone": sorted(payload.getDeletions())}
        if "ColumnStatsMetadata" in holds:
            stats = payload.getColumnStatMetadata().get()
            values = self._hudi.stats.ValueMetadata.getValueMetadata(stats.getValueType())
            bounds = {"least": stats.getMinValue(), "greatest": stats.getMaxValue()}
            return {name: self._text(values.unwrapValue(bound)) for name, bound in bounds.items()}
        if "BloomFilterMetadata" in holds:
            entry = payload.getBloomFilterMetadata().get()
            if entry.getIsDeleted():
                return None
            factory = self._hudi.common.bloom.BloomFilterFactory
            found = factory.fromByteBuffer(entry.getBloomFilter(), entry.getType())
            return [key for key in ("größe", "größer", "key") if found.mightContain(key)]
        if "recordIndexMetadata" in holds:
            place = payload.getRecordGlobalLocation()
            names = {"partition": "PartitionPath", "file_id": "FileId", "instant": "InstantTime"}
            return {name: getattr(place, f"get{getter}")() for name, getter in names.items()}
        pair = self._hudi.metadata.SecondaryIndexKeyUtils.getSecondaryKeyRecordKeyPair(holds["key"])
        return {"value": pair.getLeft(), "record_key": pair.getRight()}

    def _text(self, value):
        """As Java prints it."""
        if value is None:
            return None
        if isinstance(value, JavaObject) and value.getClass().getSimpleName() == "HeapByteBuffer":
            return f"bytes:{bytes_of(value).hex()}"
        return self._jvm.java.util.Objects.toString(value)

    # ---- small files ------------------------------------------------------------------------------------------------

    def positions(self, folder):
        text = (Path(folder) / "header.txt").read_text()
        readers = self._hudi.common.table.log.LogReaderUtils
        found = readers.decodeRecordPositionsHeader(text)
        positions = json.loads(self._jvm.java.util.Arrays.toString(found.toArray()))
        return {"positions": positions, "encoded_again": readers.encodePositions(found)}

    def bloom(self, folder):
        text, code = ((Path(folder) / name).read_text() for name in ("filter.txt", "type.txt"))
        keys = json.loads((Path(folder) / "keys.json").read_text())
        found = self._hudi.common.bloom.BloomFilterFactory.fromString(text, code)
        return {"answers": [found.mightContain(key) for key in keys], "written_again": found.serializeToString()}

    def properties(self, folder):
        config = self._meta_client(folder).getTableConfig()
        found = config.getProps()
        return {
            "properties": {name: found.getProperty(name) for name in found.stringPropertyNames()},
            "is_checksum_right": config.validateChecksum(found),
        }

    def partition(self, folder):
        metadata = self._hudi.common.model.HoodiePartitionMetadata(self._storage(folder), self._path(folder))
        metadata.readFromFS()
        return {
            "commit_time": metadata.readPartitionCreatedCommitTime().get(),
            "depth": metadata.getPartitionDepth(),
        }

    def indexes(self, folder):
        text = (Path(folder) / "index.json").read_text()
        found = self._hudi.common.model.HoodieIndexMetadata.fromJson(text)
        return json.loads(found.toJson())["indexDefinitions"]

    def ring(self, folder):
        model = self._hudi.common.model
        ring = model.HoodieConsistentHashingMetadata.fromBytes((Path(folder) / "ring.hashing_meta").read_bytes())
        children = model.ConsistentHashingNode.fromJsonString((Path(folder) / "children.json").read_text())
        ring.setChildrenNodes(children)
        buckets = self._hudi.index.bucket.ConsistentBucketIdentifier(ring)
        return {
            "version": ring.getVersion(),
            "partition": ring.getPartitionPath(),
            "instant": ring.getInstant(),
            "file": ring.getFilename(),
            "buckets": ring.getNumBuckets(),
            "sequence": ring.getSeqNo(),
            "nodes": [node_of(node) for node in ring.getNodes()],
            "children": [node_of(node) for node in children],
            "buckets_of_keys": [
                [node_of(buckets.getBucket(key, self._list(fields))) for key in keys]
                for keys, fields in json.loads((Path(folder) / "keys.json").read_text())
            ],
        }

    def partition_buckets(self, folder):
        content = (Path(folder) / "file.hashing_config").read_bytes()
        found = self._hudi.common.model.PartitionBucketIndexHashingConfig.fromBytes(content)
        return {
            "expressions": found.getExpressions(),
            "default": found.getDefaultBucketNumber(),
            "rule": found.getRule(),
            "version": found.getVersion(),
            "instant": found.getInstant(),
            "file": found.getFilename(),
        }

    def schema_on_read(self, folder):
        text = (Path(folder) / "history.json").read_text()
        serde = self._hudi.internal.schema.utils.SerDeHelper
        newest_first = serde.parseSchemas(text).descendingMap()
        values = get_method(newest_first, "values")()  # py4j's own `values` asks for keys of another width
        found = list(iterated(values.iterator()))
        return {
            "schemas": [self._schema_version(schema) for schema in found],
            "written_again": serde.toJson(self._list(found)),
        }

    def _schema_version(self, schema):
        convert = self._hudi.internal.schema.convert.InternalSchemaConverter.convert
        return {
            "version": schema.schemaId(),
            "max_id": schema.getMaxColumnId(),
            "columns": [[c.fieldId(), c.name(), c.isOptional(), c.doc()] for c in schema.columns()],
            "avro": json.loads(convert(schema, "hoodie.trips.trips_record").toString()),
            "text": self._hudi.internal.schema.utils.SerDeHelper.toJson(schema),
        }

    # ---- shared -----------------------------------------------------------------------------------------------------

    def _path(self, path):
        return self._hudi.storage.StoragePath(str(path))

    def _storage(self, path):
        return self._hudi.storage.HoodieStorageUtils.getStorage(self._path(path), self._conf)

    def _mapper_with_types(self):
        """A writer of JSON that names the classes of values: what arrives here by py4j is a number of any width."""
        jackson = self._jvm.com.fasterxml.jackson
        mapper = jackson.databind.ObjectMapper()
        mapper.registerModule(jackson.datatype.jsr310.JavaTimeModule())
        everything = getattr(jackson.databind, "ObjectMapper$DefaultTyping").EVERYTHING
        return mapper.activateDefaultTyping(mapper.getPolymorphicTypeValidator(), everything)

    def _inner(self, name):
        """A class by its binary name: py4j finds no nested classes by attributes."""
        package, _, last = name.rpartition(".")
        found = self._hudi
        for part in package.split("."):
            found = getattr(found, part)
        return getattr(found, last)


def iterated(iterator):
    step = get_method(iterator, "next")  # py4j's own `next` takes every failure for the end
    while iterator.hasNext():
        yield step()


def node_of(node):
    return {"value": node.getValue(), "fileIdPrefix": node.getFileIdPrefix(), "tag": node.getTag().name()}
