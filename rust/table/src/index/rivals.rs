//! New keys that another writer was faster to bring: both looked, and neither found them.
//!
//! Where keys lie in buckets, two such writers touch the same bucket. Here each puts the key into a file group of its own,
//! so the files have to be asked, under the lock.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use hudini_format::action::WriteStat;
use hudini_format::schema::evolve::Mapping;
use hudini_format::schema::meta;

use super::{Index, Keys, Lookup};
use crate::concurrency;
use crate::config::TableConfig;
use crate::merge::record_keys;
use crate::metadata::MetadataTable;
use crate::storage::Storage;
use crate::timeline::{Snapshot, Timeline, Until};
use crate::{Error, ErrorKind, Result, base_file, view};

const BATCH_ROWS: usize = 8192;

/// File groups that were written meanwhile, by partition, with the writes that did it.
type Rivals = BTreeMap<String, BTreeMap<String, String>>;

/// A write that is about to complete.
pub(crate) struct NewKeys<'a> {
    pub(crate) storage: &'a Arc<dyn Storage>,
    pub(crate) config: &'a TableConfig,
    /// What it looked at.
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) time: &'a str,
    pub(crate) stats: &'a [WriteStat],
    pub(crate) index: &'a Index,
    /// What the keys of logs may take in memory.
    pub(crate) memory: u64,
}

/// Refuses the write if one that completed since its snapshot brought a key that it brings too. Callers hold the lock and
/// pass the timeline as it is now.
pub(crate) fn check_new_keys(ours: &NewKeys<'_>, now: &Timeline) -> Result<()> {
    let mut files: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for stat in ours.stats.iter().filter(|stat| stat.num_inserts.unwrap_or(0) > 0) {
        let partition = stat.partition_path.as_deref().unwrap_or_default();
        files.entry(partition).or_default().extend(stat.path.as_deref());
    }
    if files.is_empty() {
        return Ok(());
    }
    // One index for all partitions: a rival may have put the key into another one.
    let is_global = *ours.index == Index::Records;
    let mut rivals = Rivals::new();
    for (instant, metadata) in
        concurrency::completed_since(ours.storage.as_ref(), ours.config, ours.snapshot, now, ours.time)?
    {
        for stat in metadata.write_stats().filter(|_| !concurrency::is_compaction(ours.config, instant, &metadata)) {
            let partition = stat.partition_path.as_deref().unwrap_or_default();
            let Some(id) = stat.file_id.as_ref().filter(|_| is_global || files.contains_key(partition)) else {
                continue;
            };
            rivals.entry(partition.to_owned()).or_default().insert(id.clone(), instant.requested.clone());
        }
    }
    if rivals.is_empty() {
        return Ok(());
    }
    if is_global {
        return ours.check_records(&files, &rivals, now);
    }
    let snapshot = Snapshot::pin(ours.storage.as_ref(), ours.config, now, Until::Now)?;
    rivals.iter().try_for_each(|(partition, groups)| {
        let keys = ours.keys(files.get(partition.as_str()).map_or(&[], Vec::as_slice))?;
        ours.check_partition(&snapshot, partition, groups, &keys)
    })
}

impl NewKeys<'_> {
    /// The keys of the rows that this write brought into these files.
    fn keys(&self, paths: &[&str]) -> Result<Keys> {
        let column = |name| Field::new(name, DataType::Utf8, true);
        let columns: SchemaRef = Arc::new(Schema::new(vec![column(meta::COMMIT_TIME), column(meta::RECORD_KEY)]));
        let mut keys = Keys::default();
        for path in paths {
            for batch in base_file::read(self.storage, path, &columns, &Mapping::default(), BATCH_ROWS)? {
                let batch = batch?;
                let times = batch.column_by_name(meta::COMMIT_TIME).and_then(|column| column.as_string_opt::<i32>());
                let times = times.ok_or_else(|| Error::internal("rows without their commit times"))?;
                let new = times.iter().zip(record_keys(&batch)?).filter(|(time, _)| *time == Some(self.time));
                for key in new.filter_map(|(_, key)| key) {
                    keys.number(key)?;
                }
            }
        }
        Ok(keys)
    }

    fn check_records(&self, files: &BTreeMap<&str, Vec<&str>>, rivals: &Rivals, now: &Timeline) -> Result<()> {
        let paths: Vec<&str> = files.values().flatten().copied().collect();
        let keys = self.keys(&paths)?;
        let records = MetadataTable::open(self.storage, self.config, now)?;
        let records = records.ok_or_else(|| {
            Error::new(ErrorKind::CommitConflict, "another writer took the record index away").at_instant(self.time)
        })?;
        let found = records.record_locations(keys.iter().map(|(key, _)| key.to_owned()), None)?;
        let entries = found.iter().flat_map(|(key, entries)| entries.iter().map(move |entry| (key, entry)));
        for (key, entry) in entries {
            // Those that this write updates are in file groups that no rival touched.
            let instant = rivals.get(&entry.partition).and_then(|groups| groups.get(&entry.file_id.to_string()));
            if let Some(instant) = instant {
                return Err(brought(key, &entry.partition).at_instant(instant));
            }
        }
        Ok(())
    }

    fn check_partition(
        &self,
        now: &Snapshot,
        partition: &str,
        groups: &BTreeMap<String, String>,
        keys: &Keys,
    ) -> Result<()> {
        for slice in view::newest_slices(self.storage.as_ref(), self.config, now, partition)? {
            let Some(instant) = groups.get(&slice.file_id) else { continue };
            let lookup = Lookup {
                slot: 0,
                slice,
                snapshot: now.clone(),
                rule: self.config.merge_rule()?,
                by_bloom: true,
                memory: self.memory,
            };
            let mut found = lookup.in_base(self.storage, keys)?;
            found.extend(lookup.in_logs(self.storage, keys)?);
            if let Some(number) = found.first() {
                let key = keys.iter().find(|(_, other)| other == number).map_or("", |(key, _)| key);
                return Err(brought(key, partition).at_instant(instant));
            }
        }
        Ok(())
    }
}

fn brought(key: &str, partition: &str) -> Error {
    let message = format!("another writer brought the key '{key}' into partition '{partition}' first");
    Error::new(ErrorKind::CommitConflict, message)
        .with_hint("write again: the rows have to be merged with the newer state")
}
