//! One commit of the metadata table: its changes by file group, a log file for each group that changes.

use std::collections::{BTreeMap, BTreeSet};

use hudini_format::action::{CommitMetadata, SCHEMA_KEY, WriteStat};
use hudini_format::hfile::{self, info};
use hudini_format::instant::Action;
use hudini_format::log::{BlockKind, DeleteRecord, HeaderKey, OrderingValue, delete, encode_block};
use hudini_format::metadata_record::{
    MetadataRecord, Partition, RecordSchema, SCHEMA_V8, SCHEMA_V9, merge, without_meta_columns,
};
use hudini_format::name::{FIRST_LOG_VERSION, LogFileName, write_token};

use crate::config::TableConfig;
use crate::metadata::FIRST_WITH_VERSIONS;
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

    pub(super) fn delete(&mut self, partition: &Partition, key: String) {
        self.0.entry(partition.clone()).or_default().insert(key, None);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.values().all(BTreeMap::is_empty)
    }

    pub(super) fn count(&self, partition: &Partition) -> usize {
        self.0.get(partition).map_or(0, BTreeMap::len)
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
        let mut groups: BTreeMap<(Partition, u32), ByKey> = BTreeMap::new();
        for (partition, changes) in self.0 {
            for (key, change) in changes {
                let group = group_of(&partition, &key)?;
                groups.entry((partition.clone(), group)).or_default().insert(key, change);
            }
        }
        Ok(groups)
    }
}

/// The schema of the records that are written.
pub(super) struct WrittenSchema {
    pub(super) text: &'static str,
    pub(super) record: RecordSchema,
}

impl WrittenSchema {
    pub(super) fn of(config: &TableConfig) -> Result<Self> {
        let text = if config.version >= FIRST_WITH_VERSIONS { SCHEMA_V9 } else { SCHEMA_V8 };
        Ok(Self { text, record: RecordSchema::parse(text)? })
    }
}

/// Where a log file goes.
pub(super) struct Group<'g> {
    pub(super) partition: &'g Partition,
    pub(super) number: u32,
    pub(super) file_id: &'g str,
}

/// Writes the changes of one group into a log file of its own.
pub(super) fn write_log(
    storage: &dyn Storage,
    time: &str,
    schema: &WrittenSchema,
    group: &Group<'_>,
    changes: &ByKey,
) -> Result<WriteStat> {
    let headers = [(HeaderKey::InstantTime, time), (HeaderKey::Schema, schema.text)];
    let mut bytes = Vec::new();
    let kept: Vec<&MetadataRecord> = changes.values().flatten().collect();
    if !kept.is_empty() {
        bytes.extend(encode_block(BlockKind::HfileData, &headers, &hfile_of(kept.iter().copied(), schema, None)?)?);
    }
    let deleted = changes.iter().filter(|(_, change)| change.is_none());
    let deleted: Vec<_> = deleted.map(|(key, _)| delete_record(key, group.partition)).collect();
    if !deleted.is_empty() {
        bytes.extend(encode_block(BlockKind::Delete, &headers, &delete::encode(&deleted)?)?);
    }
    let name = log_name(group.file_id, time, &write_token(group.number, 0, 0));
    let partition = group.partition.to_string();
    let path = in_partition(&partition, &name);
    create(storage, &path, &bytes)?;
    let rows = kept.len() as i64;
    Ok(WriteStat {
        file_id: Some(group.file_id.to_owned()),
        path: Some(path),
        prev_commit: Some(time.to_owned()),
        partition_path: Some(partition),
        num_writes: Some(rows),
        num_update_writes: Some(rows),
        num_deletes: Some(deleted.len() as i64),
        total_write_bytes: Some(bytes.len() as i64),
        file_size_in_bytes: Some(bytes.len() as i64),
        log_version: i32::try_from(FIRST_LOG_VERSION).ok(),
        log_offset: Some(0),
        base_file: Some(String::new()),
        log_files: Some(vec![name]),
        ..WriteStat::zeroed()
    })
}

fn delete_record(key: &str, partition: &Partition) -> DeleteRecord {
    DeleteRecord { key: Some(key.to_owned()), partition: Some(partition.to_string()), ordering: OrderingValue::NONE }
}

pub(super) fn log_name(file_id: &str, time: &str, token: &str) -> String {
    let (file_id, instant, token) = (file_id.to_owned(), time.to_owned(), Some(token.to_owned()));
    LogFileName { file_id, instant, version: FIRST_LOG_VERSION, token, cdc: false }.to_string()
}

/// Records as an HFile; they come by key. A base file says its own name in them.
pub(super) fn hfile_of<'r>(
    records: impl Iterator<Item = &'r MetadataRecord>,
    schema: &WrittenSchema,
    name: Option<&str>,
) -> Result<Vec<u8>> {
    let mut file = new_hfile(schema)?;
    for record in records {
        put(&mut file, record, schema, name)?;
    }
    file.finish()
}

pub(super) fn new_hfile(schema: &WrittenSchema) -> Result<hfile::Writer> {
    let mut file = hfile::Writer::new(hfile::Options::default())?;
    file.info(info::SCHEMA, schema.text);
    Ok(file)
}

pub(super) fn put(
    file: &mut hfile::Writer,
    record: &MetadataRecord,
    schema: &WrittenSchema,
    name: Option<&str>,
) -> Result<()> {
    let value = MetadataRecord { file_name: name.map(str::to_owned), ..record.clone() }.encode(&schema.record)?;
    file.put(record.key.as_bytes(), &value)
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
pub(super) fn begin(storage: &dyn Storage, config: &TableConfig, time: &str) -> Result<()> {
    timeline::request(storage, config, time, Action::DeltaCommit, b"")?;
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
