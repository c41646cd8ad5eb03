//! Whole tables, every file of them written by this crate: merge-on-read, of log files alone.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_select::concat::concat_batches;
use arrow_select::take::take_record_batch;
use hudini_format::action::{CommitMetadata, NO_PREVIOUS_COMMIT, SCHEMA_KEY, WriteStat};
use hudini_format::hfile::{Options, Writer, info};
use hudini_format::instant::{Action, InstantFile};
use hudini_format::log::{BlockKind, DeleteRecord, HeaderKey, OrderingValue, encode_block};
use hudini_format::metadata_record::{FileEntry, MetadataRecord, Partition, Payload, RecordSchema, SCHEMA_V9, key};
use hudini_format::name::{BaseFileName, LogFileName};
use hudini_format::properties::{
    PARTITION_METADATA_FILE, PartitionMetadata, Properties, TABLE_CHECKSUM, TABLE_NAME, java_date,
};
use hudini_format::schema::Record;
use hudini_format::schema::text::without_meta_columns;
use serde_json::Value;

use crate::folder::{Done, Folder};
use crate::log::{Block, avro_of, deletes_at, parquet_of};
use crate::rows::{rows, told, without};

const KIND: &str = "table";
/// Milliseconds since 1970 of the comments in properties files.
pub(crate) const WRITTEN_AT: i64 = 1_772_900_699_123;
const FIRST: (&str, &str) = ("20260307162459123", "20260307162459999");
const SECOND: (&str, &str) = ("20260307162500000", "20260307162500777");
/// Of the action that makes a metadata table.
const BOOTSTRAP: (&str, &str) = ("00000000000000000", "20260307162501000");
const PARTITIONS: [&str; 2] = ["Zürich", "a b"];

/// What `hoodie.properties` of any merge-on-read table of version 9 must say, with what else a sample wants.
pub(crate) fn properties(more: &[(&str, &str)]) -> Properties {
    let least = [
        (TABLE_NAME, "größe 🔑"),
        ("hoodie.table.type", "MERGE_ON_READ"),
        ("hoodie.table.version", "9"),
        ("hoodie.table.initial.version", "9"),
        ("hoodie.timeline.layout.version", "2"),
        ("hoodie.timeline.path", "timeline"),
        ("hoodie.timeline.history.path", "history"),
        ("hoodie.table.format", "native"),
    ];
    let mut properties: Properties = least.into_iter().chain(more.iter().copied()).collect();
    properties.set(TABLE_CHECKSUM, properties.computed_checksum().to_string());
    properties
}

/// Makes a sample, or a folder in it, a table.
pub(crate) fn put_properties(folder: &Folder, kind: &str, sample: &str, more: &[(&str, &str)]) -> Done {
    let bytes = properties(more).to_bytes("Properties saved", &java_date(WRITTEN_AT));
    folder.put(kind, sample, ".hoodie/hoodie.properties", bytes)
}

/// Rows of every type that Spark has.
fn table_schema() -> String {
    let count = r#"{"name":"count","type":["long","null"],"default":7}"#;
    let others = ["code", "color", "at_time", "at_ms", "local"];
    let lines = crate::rows::SCHEMA
        .lines()
        .filter(|line| !others.iter().any(|name| line.contains(&format!("\"name\":\"{name}\""))));
    let lines = lines.map(|line| line.replace(count, r#"{"name":"city","type":"string"},{"name":"ts","type":"long"}"#));
    lines.collect::<Vec<_>>().join("\n")
}

/// The rows, each with this partition and ordering value.
fn rows_of(partition: &str, ts: i64) -> Done<RecordBatch> {
    let rows = rows()?;
    let schema = Arc::new(Record::parse(&table_schema())?.to_arrow()?);
    let text = || -> ArrayRef { Arc::new(StringArray::from(vec![partition; rows.num_rows()])) };
    let column = |name: &str| -> Done<ArrayRef> {
        Ok(match name {
            "city" | "_hoodie_partition_path" => text(),
            "ts" => Arc::new(Int64Array::from(vec![ts; rows.num_rows()])),
            name => Arc::clone(rows.column_by_name(name).ok_or("no such column")?),
        })
    };
    let columns = schema.fields().iter().map(|field| column(field.name())).collect::<Done<Vec<_>>>()?;
    Ok(RecordBatch::try_new(schema, columns)?)
}

/// Some of the rows, by their numbers.
fn pick(rows: &RecordBatch, numbers: &[u64]) -> Done<RecordBatch> {
    Ok(take_record_batch(rows, &arrow_array::UInt64Array::from(numbers.to_vec()))?)
}

/// A log file of a table.
struct Log {
    partition: &'static str,
    name: LogFileName,
    bytes: Vec<u8>,
}

impl Log {
    fn new(partition: &'static str, file_id: &str, instant: &str, blocks: &[Block]) -> Self {
        let name = LogFileName {
            file_id: file_id.to_owned(),
            instant: instant.to_owned(),
            version: 1,
            token: Some("0-1-0".to_owned()),
            cdc: false,
        };
        Self { partition, name, bytes: blocks.iter().flat_map(|(bytes, _)| bytes.clone()).collect() }
    }

    fn path(&self) -> String {
        format!("{}/{}", self.partition, self.name)
    }

    fn stat(&self) -> WriteStat {
        let size = i64::try_from(self.bytes.len()).ok();
        WriteStat {
            file_id: Some(self.name.file_id.clone()),
            path: Some(self.path()),
            prev_commit: Some(NO_PREVIOUS_COMMIT.to_owned()),
            num_writes: Some(4),
            partition_path: Some(self.partition.to_owned()),
            log_version: Some(1),
            log_offset: Some(0),
            base_file: Some(String::new()),
            log_files: Some(vec![self.name.to_string()]),
            total_write_bytes: size,
            file_size_in_bytes: size,
            ..WriteStat::zeroed()
        }
    }
}

pub(crate) fn write(folder: &mut Folder) -> Done {
    let schema = table_schema();
    let [one, other] = PARTITIONS;
    let (old, new, late) = (rows_of(one, 100)?, rows_of(one, 200)?, rows_of(one, 50)?);
    let elsewhere = rows_of(other, 100)?;
    let avro = |instant, rows: &RecordBatch| avro_of(rows, &schema, instant, &[]);
    let delete = |row: usize, ordering| DeleteRecord {
        key: Some(text_at(&old, "id", row)),
        partition: Some(one.to_owned()),
        ordering: OrderingValue::Long(ordering),
    };
    let first = [
        Log::new(one, "f1-0", FIRST.0, &[avro(FIRST.0, &old)?]),
        Log::new(other, "f2-0", FIRST.0, &[parquet_of(&pick(&elsewhere, &[0, 1, 2])?, &schema, FIRST.0)?]),
        Log::new(other, "größe-0", FIRST.0, &[avro(FIRST.0, &pick(&elsewhere, &[3])?)?]),
    ];
    // A newer row, a late row, a delete, a late delete.
    let second = [Log::new(
        one,
        "f1-0",
        SECOND.0,
        &[
            avro(SECOND.0, &pick(&new, &[0])?)?,
            avro(SECOND.0, &pick(&late, &[1])?)?,
            deletes_at(&[delete(2, 101), delete(3, 99)], SECOND.0, &[])?,
        ],
    )];
    let left = concat_batches(&old.schema(), [&pick(&new, &[0])?, &pick(&old, &[1, 3])?, &elsewhere])?;
    let holds = told(&without(&left, |field| !field.name().starts_with("_hoodie_"))?)?;
    for sample in ["listed", "by_metadata_table"] {
        let indexed = if sample == "listed" { "" } else { "files" };
        put_properties(
            folder,
            KIND,
            sample,
            &[
                ("hoodie.table.recordkey.fields", "id"),
                ("hoodie.table.partition.fields", "city"),
                ("hoodie.table.ordering.fields", "ts"),
                ("hoodie.table.keygenerator.type", "SIMPLE"),
                ("hoodie.record.merge.mode", "EVENT_TIME_ORDERING"),
                ("hoodie.table.metadata.partitions", indexed),
                ("hoodie.table.create.schema", &without_meta_columns(&schema)?),
            ],
        )?;
        commit(folder, sample, "", FIRST, &without_meta_columns(&schema)?, &first)?;
        commit(folder, sample, "", SECOND, &without_meta_columns(&schema)?, &second)?;
        for partition in PARTITIONS {
            let metadata = PartitionMetadata::new(FIRST.0, partition);
            let file = format!("{partition}/{PARTITION_METADATA_FILE}");
            folder.put(KIND, sample, &file, metadata.to_bytes(&java_date(WRITTEN_AT)))?;
        }
        if sample == "by_metadata_table" {
            metadata_table(folder, sample, &first, &second)?;
        }
        folder.tell(KIND, sample, holds.clone());
    }
    Ok(())
}

fn text_at(rows: &RecordBatch, column: &str, row: usize) -> String {
    let column = rows.column_by_name(column).and_then(|column| column.as_any().downcast_ref::<StringArray>().cloned());
    column.map(|column| column.value(row).to_owned()).unwrap_or_default()
}

/// The three files of a completed delta commit, and its logs.
fn commit(
    folder: &Folder,
    sample: &str,
    table: &str,
    (requested, completed): (&str, &str),
    schema: &str,
    logs: &[Log],
) -> Done {
    let mut stats = BTreeMap::<String, Vec<WriteStat>>::new();
    for log in logs {
        folder.put(KIND, sample, &format!("{table}{}", log.path()), &log.bytes)?;
        stats.entry(log.partition.to_owned()).or_default().push(log.stat());
    }
    let metadata = CommitMetadata {
        partition_to_write_stats: Some(stats),
        compacted: Some(false),
        extra_metadata: Some([(SCHEMA_KEY.to_owned(), schema.to_owned())].into()),
        operation_type: Some("UPSERT".to_owned()),
        ..CommitMetadata::default()
    };
    let files = [
        (InstantFile::requested(requested, Action::DeltaCommit), vec![]),
        (InstantFile::inflight(requested, Action::DeltaCommit), vec![]),
        (InstantFile::completed(requested, completed, Action::DeltaCommit), metadata.encode()?),
    ];
    files
        .into_iter()
        .try_for_each(|(name, bytes)| folder.put(KIND, sample, &format!("{table}.hoodie/timeline/{name}"), bytes))
}

/// A metadata table that lists the log files: those of the first commit in its base file, the other in a log. Beside
/// them lies one that it does not list, and that must not be read.
fn metadata_table(folder: &Folder, sample: &str, first: &[Log], second: &[Log]) -> Done {
    const TABLE: &str = ".hoodie/metadata/";
    let unlisted = Log::new(PARTITIONS[0], "f3-0", FIRST.0, &[]);
    folder.put(KIND, sample, &unlisted.path(), first[0].bytes.as_slice())?;

    let properties = properties(&[
        ("hoodie.table.recordkey.fields", "key"),
        ("hoodie.table.base.file.format", "HFILE"),
        ("hoodie.table.keygenerator.type", "HOODIE_TABLE_METADATA"),
        ("hoodie.populate.meta.fields", "false"),
        ("hoodie.record.merge.mode", "CUSTOM"),
        ("hoodie.record.merge.strategy.id", "00000000-0000-0000-0000-000000000000"),
        ("hoodie.compaction.payload.class", "org.apache.hudi.metadata.HoodieMetadataPayload"),
    ]);
    let bytes = properties.to_bytes("Properties saved", &java_date(WRITTEN_AT));
    folder.put(KIND, sample, &format!("{TABLE}.hoodie/hoodie.properties"), bytes)?;
    let partition = PartitionMetadata::new(BOOTSTRAP.0, "files").to_bytes(&java_date(WRITTEN_AT));
    folder.put(KIND, sample, &format!("{TABLE}files/{PARTITION_METADATA_FILE}"), partition)?;

    let file_id = Partition::Files.file_id(0);
    let name = BaseFileName {
        file_id: file_id.clone(),
        write_token: "0-0-0".to_owned(),
        instant: BOOTSTRAP.0.to_owned(),
        extension: "hfile".to_owned(),
    };
    folder.put(KIND, sample, &format!("{TABLE}files/{name}"), list_of(first)?)?;
    let headers = [(HeaderKey::InstantTime, SECOND.0), (HeaderKey::Schema, SCHEMA_V9)];
    let block = encode_block(BlockKind::HfileData, &headers, &list_of(second)?)?;
    let log = Log::new("files", &file_id, SECOND.0, &[(block, Value::Null)]);
    commit(folder, sample, TABLE, BOOTSTRAP, SCHEMA_V9, &[])?;
    commit(folder, sample, TABLE, FIRST, SCHEMA_V9, &[])?;
    commit(folder, sample, TABLE, SECOND, SCHEMA_V9, &[log])
}

/// An HFile that says which partitions there are, and that these logs are there.
fn list_of(logs: &[Log]) -> Done<Vec<u8>> {
    let mut lists = BTreeMap::<&str, BTreeMap<String, FileEntry>>::new();
    for log in logs {
        let size = i64::try_from(log.bytes.len())?;
        lists.entry(log.partition).or_default().insert(log.name.to_string(), FileEntry::new(size));
    }
    let partitions = PARTITIONS.map(|partition| (partition.to_owned(), FileEntry::new(0))).into();
    let mut records = vec![MetadataRecord::new(key::ALL_PARTITIONS, Payload::Partitions(partitions))];
    records.extend(lists.into_iter().map(|(path, files)| MetadataRecord::new(path, Payload::Files(files))));
    records.sort_by(|a, b| a.key.cmp(&b.key));
    let schema = RecordSchema::parse(SCHEMA_V9)?;
    let mut writer = Writer::new(Options::default())?;
    for record in &records {
        writer.put(record.key.as_bytes(), &record.encode(&schema)?)?;
    }
    writer.info(info::SCHEMA, SCHEMA_V9);
    writer.info(info::MIN_RECORD_KEY, records[0].key.as_str());
    writer.info(info::MAX_RECORD_KEY, records[records.len() - 1].key.as_str());
    Ok(writer.finish()?)
}
