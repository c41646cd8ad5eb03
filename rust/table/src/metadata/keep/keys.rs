//! What the record index has to learn of an action: which keys came, and which went.
//!
//! A base file is compared with the one that it takes the place of. Of a log only the keys that it names can come or go:
//! the index says which of them were there, a look at the merged rows which of them are. Updates where a key is, and
//! compactions, change nothing.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_schema::{Schema, SchemaRef};
use hudini_format::action::{CommitMetadata, WriteStat};
use hudini_format::instant::parse_time;
use hudini_format::metadata_record::{FileId, MetadataRecord, Partition, Payload, RecordIndexEntry};
use hudini_format::name::LogFileName;
use hudini_format::schema::evolve::Mapping;
use hudini_format::schema::meta;

use super::deltacommit::{COMPACT, Changes};
use crate::config::TableConfig;
use crate::merge::{self, Batches, Memory, MergeRule, SliceLogs, columns_of, record_keys};
use crate::metadata::MetadataTable;
use crate::site::Site;
use crate::timeline::{Snapshot, arrow_schema};
use crate::view::{self, DataFile, FileSlice, last_of};
use crate::{Error, Result, base_file};

const BATCH_ROWS: usize = 8192;

/// The table as it is before the action.
pub(super) struct Before<'a> {
    site: Site<'a>,
    config: &'a TableConfig,
    snapshot: &'a Snapshot,
    rule: MergeRule,
    memory: Memory,
}

impl<'a> Before<'a> {
    pub(super) fn new(site: Site<'a>, config: &'a TableConfig, snapshot: &'a Snapshot) -> Result<Self> {
        let memory = Memory::of(site.options)?;
        Ok(Self { site, config, snapshot, rule: config.merge_rule()?, memory })
    }

    /// The keys of all live rows.
    pub(super) fn add_all(&self, partition: &str, moves: &mut Moves) -> Result<()> {
        for slice in self.slices(partition)? {
            let mut seen = Seen::default();
            self.each_key(self.snapshot, &slice, |_, key| seen.added.push(key.to_owned()))?;
            moves.add(seen, &self.home(partition, &slice.file_id, &slice.base_instant)?);
        }
        Ok(())
    }

    /// What the action requested at `time` changes.
    pub(super) fn put_changes(
        &self,
        table: &MetadataTable,
        time: &str,
        metadata: &CommitMetadata,
        logs_bring_no_keys: bool,
        changes: &mut Changes,
    ) -> Result<()> {
        if metadata.operation_type.as_deref() == Some(COMPACT) || metadata.compacted == Some(true) {
            return Ok(());
        }
        let mut moves = Moves::default();
        let mut live: BTreeMap<&str, Vec<FileSlice>> = BTreeMap::new();
        for stat in metadata.write_stats() {
            let (Some(path), Some(file_id)) = (&stat.path, &stat.file_id) else { continue };
            if !may_bring_keys(stat, logs_bring_no_keys) && stat.num_deletes.unwrap_or(0) == 0 {
                continue;
            }
            let partition = stat.partition_path.as_deref().unwrap_or_default();
            if !live.contains_key(partition) {
                live.insert(partition, self.slices(partition)?);
            }
            let old = live.get(partition).and_then(|slices| slices.iter().find(|slice| slice.file_id == *file_id));
            let home = self.home(partition, file_id, time)?;
            let seen = if is_log(path) {
                self.of_log(table, time, stat, path, old, &home)?
            } else {
                self.of_base(table, time, stat, path, old, &home)?
            };
            moves.add(seen, &home);
        }
        for (partition, ids) in metadata.partition_to_replace_file_ids.iter().flatten() {
            for slice in self.slices(partition)?.iter().filter(|slice| ids.contains(&slice.file_id)) {
                let mut gone = Vec::new();
                self.each_key(self.snapshot, slice, |_, key| gone.push(key.to_owned()))?;
                moves.gone.extend(known_here(table, gone, &self.home(partition, &slice.file_id, time)?)?);
            }
        }
        moves.put(changes);
        Ok(())
    }

    /// Keys that a base file brings, and those that it lacks of the one before it.
    fn of_base(
        &self,
        table: &MetadataTable,
        time: &str,
        stat: &WriteStat,
        path: &str,
        old: Option<&FileSlice>,
        home: &RecordIndexEntry,
    ) -> Result<Seen> {
        let mut seen = Seen::default();
        let deletes = stat.num_deletes.unwrap_or(0);
        let new = self.alone(path, home)?;
        let Some(old) = old else {
            self.each_key(self.snapshot, &new, |_, key| seen.added.push(key.to_owned()))?;
            return Ok(seen);
        };
        // Rows of other writes were there before.
        let mut fresh = HashSet::new();
        let mut all = HashSet::new();
        self.each_key(self.snapshot, &new, |written, key| {
            if written == Some(time) {
                fresh.insert(key.to_owned());
            }
            if deletes > 0 {
                all.insert(key.to_owned());
            }
        })?;
        self.each_key(self.snapshot, old, |_, key| {
            fresh.remove(key);
            if deletes > 0 && !all.contains(key) {
                seen.gone.push(key.to_owned());
            }
        })?;
        seen.added.extend(fresh);
        seen.gone = known_here(table, seen.gone, home)?;
        Ok(seen)
    }

    /// Of the keys in a log, those that have a row now and are not in the index, and the other way round.
    fn of_log(
        &self,
        table: &MetadataTable,
        time: &str,
        stat: &WriteStat,
        path: &str,
        old: Option<&FileSlice>,
        home: &RecordIndexEntry,
    ) -> Result<Seen> {
        let mut after = self.snapshot.clone();
        after.completed.insert(time.to_owned(), time.to_owned());
        let alone = self.alone(path, home)?;
        let keys = SliceLogs::open(self.site.storage, &after, &alone, &self.rule)?.keys(self.memory.bytes)?;
        let known = table.record_locations(keys.iter().cloned(), None)?;
        if stat.num_deletes.unwrap_or(0) == 0 && known.len() == keys.len() {
            return Ok(Seen::default());
        }
        let mut slice = old.cloned().unwrap_or(FileSlice { logs: Vec::new(), ..alone.clone() });
        slice.logs.extend(alone.logs);
        let mut live = BTreeSet::new();
        self.each_key(&after, &slice, |_, key| {
            if keys.contains(key) {
                live.insert(key.to_owned());
            }
        })?;
        let was_here = |key: &String| known.get(key).is_some_and(|entries| names(entries, home));
        let gone = keys.iter().filter(|key| !live.contains(*key) && was_here(key)).cloned().collect();
        let added = live.into_iter().filter(|key| !known.contains_key(key)).collect();
        Ok(Seen { added, gone })
    }

    fn home(&self, partition: &str, file_id: &str, time: &str) -> Result<RecordIndexEntry> {
        let as_utc = parse_time(time, 0)?;
        let offset = if self.config.utc() { 0 } else { self.site.context.clock.local_offset_ms(as_utc) };
        Ok(RecordIndexEntry {
            partition: partition.to_owned(),
            file_id: FileId::parse(file_id),
            instant_millis: parse_time(time, offset)?,
            position: None,
        })
    }

    fn slices(&self, partition: &str) -> Result<Vec<FileSlice>> {
        view::newest_slices(self.site.store(), self.config, self.snapshot, partition)
    }

    /// A written file as if there were no other.
    fn alone(&self, path: &str, home: &RecordIndexEntry) -> Result<FileSlice> {
        let gone = || Error::storage("a file that was just written is gone").at_path(path);
        let file =
            DataFile { name: last_of(path).to_owned(), size: self.site.store().head(path)?.ok_or_else(gone)?.size };
        let (base, logs) = match LogFileName::parse(&file.name) {
            Some(_) => (None, vec![file]),
            None => (Some(file), Vec::new()),
        };
        let file_id = home.file_id.to_string();
        Ok(FileSlice { partition: home.partition.clone(), file_id, base_instant: String::new(), base, logs })
    }

    /// Goes over the live rows of a slice: who wrote them, and their keys.
    fn each_key(&self, snapshot: &Snapshot, slice: &FileSlice, mut see: impl FnMut(Option<&str>, &str)) -> Result<()> {
        let mut logs = SliceLogs::open(self.site.storage, snapshot, slice, &self.rule)?;
        let table = self.snapshot.schema.as_deref().map(arrow_schema).transpose()?.unwrap_or_else(Schema::empty);
        let is_wanted = |name: &str| [meta::COMMIT_TIME, meta::RECORD_KEY].contains(&name) || logs.needs(name);
        let columns: SchemaRef = Arc::new(columns_of(&meta::with_meta(&table), is_wanted));
        let base = |columns: &SchemaRef| -> Result<Batches> {
            match &slice.base {
                Some(base) => {
                    let path = slice.path(base);
                    base_file::read(self.site.storage, &path, columns, &Mapping::default(), BATCH_ROWS)
                }
                None => Ok(Box::new(std::iter::empty())),
            }
        };
        let rows: Batches = if slice.logs.is_empty() {
            base(&columns)?
        } else {
            let merged = merge::merged(&mut logs, &columns, base, BATCH_ROWS, &self.memory)?;
            Box::new(merged.map(|merged| Ok(merged?.rows)))
        };
        for rows in rows {
            let rows = rows?;
            let times = rows.column_by_name(meta::COMMIT_TIME).and_then(|column| column.as_string_opt::<i32>());
            let times = times.ok_or_else(|| Error::internal("rows without their commit times"))?;
            for (row, key) in record_keys(&rows)?.iter().enumerate() {
                let key = key.ok_or_else(|| Error::corrupt("a row without a record key").at_path(&slice.partition))?;
                see(times.is_valid(row).then(|| times.value(row)), key);
            }
        }
        Ok(())
    }
}

/// Whether a file that was written may have keys which its file group did not have.
pub(crate) fn may_bring_keys(stat: &WriteStat, logs_bring_no_keys: bool) -> bool {
    match &stat.path {
        Some(path) if is_log(path) => !logs_bring_no_keys,
        _ => stat.num_inserts.unwrap_or(0) > 0,
    }
}

fn is_log(path: &str) -> bool {
    LogFileName::parse(last_of(path)).is_some()
}

/// Whether one of the places of a key is that file group.
fn names(entries: &[RecordIndexEntry], home: &RecordIndexEntry) -> bool {
    entries.iter().any(|entry| (&entry.partition, &entry.file_id) == (&home.partition, &home.file_id))
}

/// Of keys that left a file group, those that the index has there. Another row of a key, in another partition, may be what
/// it knows.
fn known_here(table: &MetadataTable, keys: Vec<String>, home: &RecordIndexEntry) -> Result<Vec<String>> {
    // Most writes take no key away, and need not look.
    if keys.is_empty() {
        return Ok(keys);
    }
    let known = table.record_locations(keys.iter().cloned(), None)?;
    let was_here = |key: &String| known.get(key).is_some_and(|entries| names(entries, home));
    Ok(keys.into_iter().filter(was_here).collect())
}

/// What one file tells.
#[derive(Default)]
struct Seen {
    added: Vec<String>,
    gone: Vec<String>,
}

/// What all files tell together: a key that left one place may have come to another.
#[derive(Default)]
pub(super) struct Moves {
    added: Vec<(String, RecordIndexEntry)>,
    gone: Vec<String>,
}

impl Moves {
    fn add(&mut self, seen: Seen, home: &RecordIndexEntry) {
        self.added.extend(seen.added.into_iter().map(|key| (key, home.clone())));
        self.gone.extend(seen.gone);
    }

    /// Of several places of a key the last counts.
    pub(super) fn put(mut self, changes: &mut Changes) {
        self.added.sort_by(|(one, _), (other, _)| one.cmp(other));
        let stays = |key: &String| self.added.binary_search_by(|(added, _)| added.cmp(key)).is_ok();
        for key in self.gone.into_iter().filter(|key| !stays(key)) {
            changes.delete(&Partition::RecordIndex, key);
        }
        let record = |(key, home)| MetadataRecord::new(key, Payload::RecordIndex(home));
        changes.put_all(&Partition::RecordIndex, self.added.into_iter().map(record));
    }
}
