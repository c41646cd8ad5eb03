//! One commit of the metadata table: its changes by file group, a log file for each group that changes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hudini_format::action::{CommitMetadata, SCHEMA_KEY, WriteStat};
use hudini_format::hfile::{self, info};
use hudini_format::instant::Action;
use hudini_format::log::{BlockKind, DeleteRecord, HeaderKey, OrderingValue, delete, encode_block};
use hudini_format::metadata_record::{
    MetadataRecord, Partition, RecordSchema, SCHEMA_V8, SCHEMA_V9, merge, without_meta_columns,
};
use hudini_format::name::{FIRST_LOG_VERSION, LogFileName, write_token};

use crate::concurrency::TableLock;
use crate::config::TableConfig;
use crate::context::pool::run_all;
use crate::metadata::FIRST_WITH_VERSIONS;
use crate::site::Site;
use crate::storage::{Put, Storage};
use crate::timeline;
use crate::view::in_partition;
use crate::{Error, Result};

/// What becomes known, by partition of the metadata table.
#[derive(Debug, Default)]
pub(super) struct Changes(BTreeMap<Partition, ByKey>);

/// `None`: the key goes.
pub(super) type ByKey = BTreeMap<String, Option<MetadataRecord>>;

impl Changes {
    /// A second record of a key is merged with the first.
    pub(super) fn put(&mut self, partition: &Partition, record: MetadataRecord) -> Result<()> {
        let of_partition = self.0.entry(partition.clone()).or_default();
        let record = match of_partition.remove(&record.key) {
            Some(Some(older)) => merge(older, record)?,
            _ => record,
        };
        of_partition.insert(record.key.clone(), Some(record));
        Ok(())
    }

    /// Many records that have nothing to merge: of those of one key the last counts.
    pub(super) fn put_all(&mut self, partition: &Partition, records: impl Iterator<Item = MetadataRecord>) {
        let mut records: ByKey = records.map(|record| (record.key.clone(), Some(record))).collect();
        self.0.entry(partition.clone()).or_default().append(&mut records);
    }

    pub(super) fn delete(&mut self, partition: &Partition, key: String) {
        self.0.entry(partition.clone()).or_default().insert(key, None);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.values().all(BTreeMap::is_empty)
    }

    pub(super) fn count(&self, partition: &Partition) -> usize {
        self.0.get(partition).map_or(0, BTreeMap::len)
    }

    pub(super) fn len(&self) -> usize {
        self.0.values().map(BTreeMap::len).sum()
    }

    pub(super) fn by_partition(self) -> BTreeMap<Partition, Self> {
        let alone = |(partition, changes): (Partition, ByKey)| {
            (partition.clone(), Self(BTreeMap::from([(partition, changes)])))
        };
        self.0.into_iter().map(alone).collect()
    }

    /// By partition and number of the file group.
    pub(super) fn by_group(
        self,
        group_of: impl Fn(&Partition, &str) -> Result<u32>,
    ) -> Result<BTreeMap<(Partition, u32), ByKey>> {
        let mut groups = BTreeMap::new();
        for (partition, changes) in self.0 {
            let mut by_number: BTreeMap<u32, Vec<_>> = BTreeMap::new();
            for (key, change) in changes {
                by_number.entry(group_of(&partition, &key)?).or_default().push((key, change));
            }
            // In their order a map is made of them at once.
            let of_partition = by_number.into_iter();
            groups.extend(
                of_partition.map(|(number, changes)| ((partition.clone(), number), changes.into_iter().collect())),
            );
        }
        Ok(groups)
    }
}

/// The schema of the records that are written.
pub(super) struct WrittenSchema {
    pub(super) text: &'static str,
    pub(super) record: Arc<RecordSchema>,
}

impl WrittenSchema {
    pub(super) fn of(config: &TableConfig) -> Result<Self> {
        let text = if config.version >= FIRST_WITH_VERSIONS { SCHEMA_V9 } else { SCHEMA_V8 };
        Ok(Self { text, record: RecordSchema::shared(text)? })
    }
}

/// Where a log file goes.
pub(super) struct Group<'g> {
    pub(super) partition: &'g Partition,
    pub(super) number: u32,
    pub(super) file_id: &'g str,
}

/// A file that is not written yet.
pub(super) struct NewFile {
    pub(super) bytes: Vec<u8>,
    /// Of the file, but for what its bytes tell.
    pub(super) stat: WriteStat,
}

impl NewFile {
    pub(super) fn write(self, storage: &dyn Storage) -> Result<WriteStat> {
        let path = self.stat.path.as_deref().ok_or_else(|| Error::internal("a file without a path"))?;
        create(storage, path, &self.bytes)?;
        let size = Some(self.bytes.len() as i64);
        Ok(WriteStat { total_write_bytes: size, file_size_in_bytes: size, ..self.stat })
    }
}

/// Changes that are worth another thread.
const MANY: usize = 10_000;

/// Makes the files of groups, on several threads if there is much to do. They are written one after the other.
pub(super) fn files<G: Send>(
    site: Site<'_>,
    changes: usize,
    groups: impl IntoIterator<Item = G>,
    file_of: impl Fn(G) -> Result<NewFile> + Sync,
) -> Result<Vec<NewFile>> {
    let threads = if changes < MANY { 1 } else { site.context.threads };
    run_all(threads, groups.into_iter().collect(), |_, group| file_of(group))
}

/// The changes of one group as a log file of its own.
pub(super) fn log_file(time: &str, schema: &WrittenSchema, group: &Group<'_>, changes: &ByKey) -> Result<NewFile> {
    let headers = [(HeaderKey::InstantTime, time), (HeaderKey::Schema, schema.text)];
    let mut bytes = Vec::new();
    let kept: Vec<&MetadataRecord> = changes.values().flatten().collect();
    if !kept.is_empty() {
        bytes.extend(encode_block(BlockKind::HfileData, &headers, &RecordFile::of(kept.iter().copied(), schema)?)?);
    }
    let deleted = changes.iter().filter(|(_, change)| change.is_none());
    let deleted: Vec<_> = deleted.map(|(key, _)| delete_record(key, group.partition)).collect();
    if !deleted.is_empty() {
        bytes.extend(encode_block(BlockKind::Delete, &headers, &delete::encode(&deleted)?)?);
    }
    let name = log_name(group.file_id, time, &write_token(group.number, 0, 0));
    let partition = group.partition.to_string();
    let rows = kept.len() as i64;
    let stat = WriteStat {
        file_id: Some(group.file_id.to_owned()),
        path: Some(in_partition(&partition, &name)),
        prev_commit: Some(time.to_owned()),
        partition_path: Some(partition),
        num_writes: Some(rows),
        num_update_writes: Some(rows),
        num_deletes: Some(deleted.len() as i64),
        log_version: i32::try_from(FIRST_LOG_VERSION).ok(),
        log_offset: Some(0),
        base_file: Some(String::new()),
        log_files: Some(vec![name]),
        ..WriteStat::zeroed()
    };
    Ok(NewFile { bytes, stat })
}

fn delete_record(key: &str, partition: &Partition) -> DeleteRecord {
    DeleteRecord { key: Some(key.to_owned()), partition: Some(partition.to_string()), ordering: OrderingValue::NONE }
}

pub(super) fn log_name(file_id: &str, time: &str, token: &str) -> String {
    let (file_id, instant, token) = (file_id.to_owned(), time.to_owned(), Some(token.to_owned()));
    LogFileName { file_id, instant, version: FIRST_LOG_VERSION, token, cdc: false }.to_string()
}

/// An HFile of records.
pub(super) struct RecordFile<'s> {
    schema: &'s WrittenSchema,
    file: hfile::Writer,
    /// The value under way.
    value: Vec<u8>,
}

impl<'s> RecordFile<'s> {
    pub(super) fn new(schema: &'s WrittenSchema) -> Result<Self> {
        let mut file = hfile::Writer::new(hfile::Options::default())?;
        file.info(info::SCHEMA, schema.text);
        Ok(Self { schema, file, value: Vec::new() })
    }

    /// Takes the next record; they come by key. A base file says its own name in its records when it is compacted.
    pub(super) fn put(&mut self, record: &MetadataRecord, name: Option<&str>) -> Result<()> {
        self.value.clear();
        record.encode_to(&mut self.value, name, &self.schema.record)?;
        self.file.put(record.key.as_bytes(), &self.value)
    }

    pub(super) fn finish(self) -> Result<Vec<u8>> {
        self.file.finish()
    }

    pub(super) fn of<'r>(
        mut records: impl Iterator<Item = &'r MetadataRecord>,
        schema: &'s WrittenSchema,
    ) -> Result<Vec<u8>> {
        let mut file = Self::new(schema)?;
        records.try_for_each(|record| file.put(record, None))?;
        file.finish()
    }
}

pub(super) fn create(storage: &dyn Storage, path: &str, bytes: &[u8]) -> Result<()> {
    match storage.create(path, bytes)? {
        Put::Done(_) => Ok(()),
        Put::Refused => Err(Error::storage("a file of this name is there already").at_path(path)),
    }
}

/// What a commit of the metadata table says of itself.
pub(super) fn metadata(schema: &WrittenSchema, operation: &str, stats: Vec<WriteStat>) -> CommitMetadata {
    let mut by_partition: BTreeMap<String, Vec<WriteStat>> = BTreeMap::new();
    for stat in stats {
        by_partition.entry(stat.partition_path.clone().unwrap_or_default()).or_default().push(stat);
    }
    CommitMetadata {
        partition_to_write_stats: Some(by_partition),
        compacted: Some(operation == COMPACT),
        extra_metadata: Some(BTreeMap::from([(SCHEMA_KEY.to_owned(), without_meta_columns(schema.text))])),
        operation_type: Some(operation.to_owned()),
        ..CommitMetadata::default()
    }
}

pub(super) const COMPACT: &str = "COMPACT";

/// Begins a commit; before its files, so that whoever finds them knows whose they are.
pub(super) fn begin(storage: &dyn Storage, config: &TableConfig, lock: &TableLock, time: &str) -> Result<()> {
    timeline::request(storage, config, lock, time, Action::DeltaCommit, b"")?;
    timeline::to_inflight(storage, config, time, Action::DeltaCommit, b"")
}

/// All file names of a commit in some partitions: it names its files by its time.
pub(super) fn files_of(storage: &dyn Storage, partitions: &BTreeSet<String>, time: &str) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for partition in partitions {
        for entry in storage.list(partition)? {
            let name = entry.name();
            if LogFileName::parse(name).is_some_and(|log| log.instant == time) {
                found.push(in_partition(partition, name));
            }
        }
    }
    Ok(found)
}
