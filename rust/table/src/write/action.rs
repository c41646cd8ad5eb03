//! The control steps of one write.

use std::collections::{BTreeMap, BTreeSet};

use arrow_schema::Schema;
use hudini_format::action::{CommitMetadata, SCHEMA_KEY, WriteStat};
use hudini_format::instant::{self, InstantFile};
use hudini_format::metadata_record::RecordIndexEntry;
use hudini_format::schema::{self, meta};

use super::begin;
use super::locate::Locator;
use super::once::{self, Back};
use super::place::{self, GroupProfile, PlacedTask};
use super::recorded::{Place, Places};
use super::replace::{self, Replaced};
use super::request::{self, CommitResult, IDEMPOTENCY_KEY, SchemaMode, WriteRequest};
use super::rows::{self, Intake};
use super::sizes::Sizes;
use super::task::{FileKind, Status, Task};
use super::workers::NewSlots;
use crate::base_file::WriteOptions;
use crate::concurrency::{self, Heart, Stake};
use crate::config::TableConfig;
use crate::index::{self, Index, Lookup};
use crate::log_file::LogOptions;
use crate::merge::MergeRule;
use crate::metadata::MetadataTable;
use crate::metadata::keep::{self, RangesByFile};
use crate::options::{self, Operation, Options};
use crate::service;
use crate::site::Site;
use crate::storage::{LockGuard, Storage};
use crate::table::{Location, Table};
use crate::timeline::{self, Snapshot, Timeline, Until, arrow_schema};
use crate::view::{self, FileSlice};
use crate::{Error, ErrorKind, Result};

/// A write under way. Dropped without `commit` or `abort`, it is left to the next writer to roll back.
#[derive(Debug)]
pub struct Action {
    table: Table,
    config: TableConfig,
    request: WriteRequest,
    snapshot: Snapshot,
    kind: instant::Action,
    time: String,
    heart: Heart,
    locator: Locator,
    schema: String,
    /// The schema as Arrow has it.
    columns: Schema,
    /// Whether it has columns that the table did not have.
    widens: bool,
    seed: u128,
    /// Columns of whose values the table keeps statistics.
    indexed: Vec<String>,
    sizes: Option<Sizes>,
    /// The metadata table as it was then, if keys are looked up there.
    records: Option<MetadataTable>,
    /// The file groups of partitions that were asked for.
    live: BTreeMap<String, Vec<FileSlice>>,
    new_slots: NewSlots,
    /// File groups by partition and file id.
    placed: Option<BTreeSet<(String, String)>>,
    stake: Stake,
    /// What it takes away; `None` of a write that never does.
    replaced: Option<Replaced>,
    /// The table's lock, where it is kept all the time.
    held: Option<Box<dyn LockGuard>>,
    started: i64,
}

impl Action {
    /// Pins the table's state, cleans up after dead writers, and takes an instant.
    pub fn begin(table: &Table, input: &Schema, request: WriteRequest) -> Result<Self> {
        let (action, lock) = Self::begin_locked(table, input, request)?;
        drop(lock);
        Ok(action)
    }

    /// The same, but keeps the table's lock until the end: no other writer can be faster. For writes that have lost to
    /// others before, and are quick.
    pub(super) fn begin_exclusive(table: &Table, input: &Schema, request: WriteRequest) -> Result<Self> {
        let (action, lock) = Self::begin_locked(table, input, request)?;
        Ok(Self { held: Some(lock), ..action })
    }

    fn begin_locked(table: &Table, input: &Schema, request: WriteRequest) -> Result<(Self, Box<dyn LockGuard>)> {
        let started = table.context.clock.monotonic_ms();
        let storage = table.storage.as_ref();
        let options = request.options.clone().with(&table.options);
        request::check(request.operation, &options, &request.metadata)?;
        let lock = lock(table, &options)?;
        let config = table.config()?;
        config.check_writable()?;
        let site = table.site(&options);
        service::recover(site, &config)?;
        let config = table.config()?;
        keep::check(site, &config)?;
        let found = Timeline::load(storage, &config)?;
        service::refuse_under_restore(&found)?;
        let config = if keep::prepare(site, &config, &found)? { table.config()? } else { config };
        let snapshot = Snapshot::pin(storage, &config, &found, Until::Now)?;
        begin::refuse_column_ids(&snapshot)?;
        let stated = begin::write_schema(&snapshot)?;
        let evolves = request.schema_mode == SchemaMode::Evolve && request.operation.brings_rows();
        let widened = if evolves { rows::widened(input, &stated)? } else { None };
        let widens = widened.is_some();
        let columns = widened.unwrap_or(stated);
        let schema = schema::avro_text(&columns, &config.name)?;
        let index = index::resolve(&table.storage, &config, &found, &snapshot, &options)?;
        let records = match index {
            Index::Records => MetadataTable::open(&table.storage, &config, &found)?,
            _ => None,
        };
        let locator = Locator::new(&config.key_config()?, index, schema.clone());
        begin::check_input(&request, &config, input, &columns, &locator)?;
        let shares_out = locator.index().buckets().is_none() && request.operation.brings_rows();
        let sizes = shares_out.then(|| Sizes::of(&options, storage, &found)).transpose()?;
        let indexed = keep::indexed_columns(site, &config, &columns)?;
        let time = timeline::new_time(&table.context, &config, &found)?;
        let heart = Heart::start(&table.storage, &options, &time)?;
        let kind = begin::kind_of(request.operation, &config);
        if let Err(e) = timeline::request(storage, &config, &time, kind, &begin::plan_of(request.operation)?) {
            // The request may stand all the same; without signs of life the next writer removes it.
            let _ = heart.stop();
            return Err(e);
        }
        let seed = request.seed.unwrap_or_else(|| table.context.ids.next_u128());
        let action = Self {
            table: table.clone(),
            config,
            request: WriteRequest { options, ..request },
            snapshot,
            kind,
            time,
            heart,
            locator,
            schema,
            columns,
            widens,
            seed,
            indexed,
            sizes,
            records,
            live: BTreeMap::new(),
            new_slots: NewSlots::default(),
            placed: None,
            stake: Stake::default(),
            replaced: None,
            held: None,
            started,
        };
        Ok((action, lock))
    }

    pub fn time(&self) -> &str {
        &self.time
    }

    pub fn locator(&self) -> &Locator {
        &self.locator
    }

    pub(super) fn config(&self) -> &TableConfig {
        &self.config
    }

    fn site(&self) -> Site<'_> {
        self.table.site(&self.request.options)
    }

    pub(super) fn location(&self) -> &Location {
        &self.table.location
    }

    pub(super) fn storage(&self) -> &dyn Storage {
        self.table.storage.as_ref()
    }

    pub(super) fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    pub(super) fn operation(&self) -> Operation {
        self.request.operation
    }

    pub(super) fn is_mor(&self) -> bool {
        self.config.is_mor()
    }

    /// How often a write like this one may start anew after a conflict.
    pub fn conflict_retries(&self) -> Result<u32> {
        self.request.options.get_or_default(&options::CONFLICT_RETRIES)
    }

    pub(super) fn seed(&self) -> u128 {
        self.seed
    }

    fn rule(&self) -> Result<MergeRule> {
        self.config.merge_rule()
    }

    /// What checks rows before anything is written.
    pub(super) fn intake(&self) -> Result<Intake<'_>> {
        let is_delete = self.request.operation == Operation::Delete;
        let named = is_delete.then(|| self.locator.naming_columns());
        Ok(Intake { table: &self.columns, named, rule: self.rule()? })
    }

    pub(super) fn operation_type(&self) -> &'static str {
        match self.request.operation {
            Operation::Upsert => "UPSERT",
            Operation::Insert => "INSERT",
            Operation::BulkInsert => "BULK_INSERT",
            Operation::Delete => "DELETE",
            Operation::InsertOverwrite => "INSERT_OVERWRITE",
            Operation::OverwriteTable => "INSERT_OVERWRITE_TABLE",
            Operation::DeletePartitions => "DELETE_PARTITION",
        }
    }

    pub(super) fn task(
        &self,
        partition: &str,
        number: u32,
        file_id: String,
        kind: FileKind,
        slice: Option<FileSlice>,
        rows: u64,
    ) -> Result<Task> {
        Ok(Task {
            location: self.table.location.clone(),
            table: self.config.name.clone(),
            instant: self.time.clone(),
            inflight: format!("{}/{}", self.config.timeline_dir(), InstantFile::inflight(&self.time, self.kind)),
            operation: self.request.operation.word().to_owned(),
            partition: partition.to_owned(),
            number,
            file_id,
            kind,
            slice,
            schema: self.schema.clone(),
            rule: self.rule()?,
            locator: self.locator.clone(),
            options: WriteOptions::of(&self.request.options)?,
            logs: LogOptions::of(&self.request.options)?,
            expected_rows: rows,
            indexed: self.indexed.clone(),
        })
    }

    /// What a write under the same idempotency key did that was committed between the first look and the state that this
    /// one was begun from.
    pub fn done_before(&self) -> Result<Option<CommitResult>> {
        let Some(key) = &self.request.idempotency_key else { return Ok(None) };
        once::find(&self.table, self.request.operation, key, Back::ToTheArchived)
    }

    /// The partitions that the caller named.
    pub(super) fn partitions(&self) -> &[String] {
        &self.request.partitions
    }

    pub(super) fn sizes(&self) -> Result<Sizes> {
        self.sizes.ok_or_else(|| Error::internal("new rows in a write that brings none"))
    }

    /// Whether keys have to be looked up before their rows can be placed.
    pub fn looks_up(&self) -> bool {
        self.locator.index().buckets().is_none()
            && matches!(self.request.operation, Operation::Upsert | Operation::Delete)
    }

    /// Where the record index has keys, and the slots of the file groups that it names there.
    pub(super) fn recorded(&mut self, keys: BTreeSet<String>) -> Result<Places> {
        let Some(records) = &self.records else { return Ok(Places::new()) };
        let found = records.record_locations(keys, None)?;
        let partitions: BTreeSet<String> = found.values().flatten().map(|entry| entry.partition.clone()).collect();
        self.list(partitions.iter().map(String::as_str))?;
        let place = |key: &str, entry: RecordIndexEntry| -> Result<Place> {
            let file_id = entry.file_id.to_string();
            let slot = self.live(&entry.partition)?.iter().position(|slice| slice.file_id == file_id);
            let slot = slot.ok_or_else(|| {
                Error::corrupt(format!(
                    "the record index has the key '{key}' in {file_id}, which is no file group of partition '{}'",
                    entry.partition
                ))
                .with_hint("hoodie.index.type=SIMPLE finds keys without it")
            })?;
            Ok(Place { partition: entry.partition, slot: place::slot_of(slot)? })
        };
        let places = |(key, entries): (String, Vec<RecordIndexEntry>)| {
            let places = entries.into_iter().map(|entry| place(&key, entry)).collect::<Result<_>>()?;
            Ok((key, places))
        };
        found.into_iter().map(places).collect()
    }

    /// The live file groups of a partition, by file id, in a table whose keys are not in buckets.
    pub(super) fn live(&self, partition: &str) -> Result<&[FileSlice]> {
        let live = self.live.get(partition).map(Vec::as_slice);
        live.ok_or_else(|| Error::internal(format!("the files of partition '{partition}' were not listed")))
    }

    fn list<'p>(&mut self, partitions: impl Iterator<Item = &'p str>) -> Result<()> {
        for partition in partitions {
            if !self.live.contains_key(partition) {
                let slices = view::newest_slices(self.storage(), &self.config, &self.snapshot, partition)?;
                index::refuse_buckets(&slices)?;
                self.live.insert(partition.to_owned(), slices);
            }
        }
        Ok(())
    }

    /// What has to be looked up in the files of these partitions.
    pub fn lookups<'p>(&mut self, partitions: impl Iterator<Item = &'p str>) -> Result<Vec<Lookup>> {
        let by_bloom = match *self.locator.index() {
            Index::Files { by_bloom } => by_bloom,
            Index::Buckets(_) => return Ok(Vec::new()),
            Index::Records => {
                return Err(Error::unsupported("distributed writes by the record index").with_hint(
                    "hoodie.index.type=SIMPLE finds keys by the files; or write on this machine: hudini.open(path)",
                ));
            }
        };
        let memory = self.request.options.get_or_default(&options::MERGE_MEMORY)?;
        let mut lookups = Vec::new();
        for partition in partitions {
            self.list(std::iter::once(partition))?;
            for (slot, slice) in (0..).zip(self.live(partition)?) {
                lookups.push(Lookup {
                    slot,
                    slice: slice.clone(),
                    snapshot: self.snapshot.clone(),
                    rule: self.rule()?,
                    by_bloom,
                    memory,
                });
            }
        }
        Ok(lookups)
    }

    /// Decides who writes what, and says so on the timeline. Once.
    pub fn place(&mut self, profile: &[GroupProfile]) -> Result<Vec<PlacedTask>> {
        if self.placed.is_some() {
            return Err(Error::internal("a write is placed only once").at_instant(&self.time));
        }
        if self.locator.index().buckets().is_none() {
            self.list(profile.iter().map(|group| group.partition.as_str()))?;
        }
        let placement = place::place(self, profile)?;
        let workload = place::workload(self, &placement.tasks).encode()?;
        timeline::to_inflight(self.storage(), &self.config, &self.time, self.kind, &workload)?;
        self.stake = place::stake(&placement.tasks);
        if self.request.operation.replaces() {
            let replaced = replace::replaced(self, profile)?;
            replace::claim(&mut self.stake, self.request.operation, &replaced);
            self.replaced = Some(replaced);
        }
        self.new_slots = placement.new_slots;
        self.placed = Some(placement.tasks.iter().map(|t| (t.partition.clone(), t.task.file_id.clone())).collect());
        Ok(placement.tasks)
    }

    /// The slots of keys that no file group has, once the write was placed.
    pub fn new_slots(&self) -> &NewSlots {
        &self.new_slots
    }

    /// Makes what the tasks wrote part of the table. On an error nothing of it shows, unless storage failed in the very
    /// moment of completion; then the timeline was looked at, and the answer is what it says.
    pub fn commit(mut self, statuses: Vec<Status>) -> Result<CommitResult> {
        let (stats, ranges) = match self.check_statuses(statuses) {
            Ok(told) => told,
            Err(e) => return Err(self.failed(e)),
        };
        if stats.is_empty() && self.replaced.as_ref().is_none_or(|replaced| replaced.values().all(Vec::is_empty)) {
            let operation = self.request.operation.word();
            self.abort()?;
            return Ok(CommitResult { operation, ..CommitResult::default() });
        }
        let lock = match self.lock() {
            Ok(lock) => lock,
            Err(e) => return Err(self.failed(e)),
        };
        let (completed, found) = match self.complete(&stats, &ranges) {
            Ok(done) => done,
            Err(e) => {
                drop(lock);
                return Err(self.failed(e));
            }
        };
        drop(lock);
        let mut result = self.result(&stats, completed);
        // The commit stands whatever becomes of these. As long as the signs of life are there, the next writer finds
        // the markers too, and removes both.
        if concurrency::delete_markers(self.storage(), &self.time).is_ok() {
            let _ = self.heart.stop();
        }
        result.warnings = service::after_commit(&self.table, &self.request.options, &found);
        Ok(result)
    }

    /// Undoes what was begun. Without tasks no file was written, and no rollback has to tell of it.
    pub fn abort(mut self) -> Result<()> {
        let _lock = self.lock()?;
        let found = Timeline::load(self.storage(), &self.config)?;
        let instant = found.find(&self.time);
        if instant.is_some_and(timeline::Instant::is_completed) {
            return Ok(());
        }
        if self.placed.as_ref().is_some_and(|tasks| !tasks.is_empty()) {
            let Self { heart, table, request, config, time, .. } = self;
            drop(heart);
            return service::rollback(table.site(&request.options), &config, &time);
        }
        if let Some(instant) = instant {
            timeline::remove_pending(self.storage(), &self.config, instant)?;
        }
        self.heart.stop()
    }

    fn lock(&mut self) -> Result<Box<dyn LockGuard>> {
        match self.held.take() {
            Some(held) => Ok(held),
            None => lock(&self.table, &self.request.options),
        }
    }

    /// The write failed with `e`: leaves the table as if it had never begun. What cannot be cleaned up now, the next
    /// writer cleans up, since this one's signs of life end here.
    fn failed(self, e: Error) -> Error {
        match self.abort() {
            Ok(()) => e,
            Err(cleanup) => {
                e.with_hint(format!("its files could not be removed ({cleanup}); the next writer will do that"))
            }
        }
    }

    fn check_statuses(&self, statuses: Vec<Status>) -> Result<(Vec<WriteStat>, RangesByFile)> {
        let wanted = self.placed.clone().unwrap_or_default();
        let mut seen = BTreeSet::new();
        let mut stats = Vec::with_capacity(statuses.len());
        let mut ranges = RangesByFile::new();
        for status in statuses {
            let group = (status.partition, status.file_id);
            if status.instant != self.time || !wanted.contains(&group) || !seen.insert(group.clone()) {
                return Err(Error::internal(format!(
                    "an unexpected result for file group {} of partition '{}'",
                    group.1, group.0
                ))
                .at_instant(&self.time));
            }
            ranges.extend(status.stat.path.clone().map(|path| (path, status.ranges)));
            stats.push(status.stat);
        }
        match wanted.difference(&seen).next() {
            Some((partition, group)) => Err(Error::internal(format!(
                "the task of file group {group} of partition '{partition}' brought no result"
            ))
            .at_instant(&self.time)),
            None => Ok((stats, ranges)),
        }
    }

    /// Under the lock: is all still as it was, and if so, done. Answers the timeline before it, too.
    fn complete(&self, stats: &[WriteStat], ranges: &RangesByFile) -> Result<(String, Timeline)> {
        let storage = self.storage();
        let config = self.table.config()?;
        let found = Timeline::load(storage, &config)?;
        self.check_alive(&config, &found)?;
        concurrency::check_conflicts(storage, &config, &self.snapshot, &found, &self.time, &self.stake)?;
        self.check_key_is_new(&found)?;
        self.check_new_keys(stats, &config, &found)?;
        check_schema(storage, &config, &found, &self.snapshot, &self.columns).map_err(|e| e.at_instant(&self.time))?;
        concurrency::remove_lost_files(storage, &self.time, stats)?;
        let metadata = self.metadata(stats)?;
        let done = service::Done::Wrote(&metadata, ranges);
        let completed = service::publish(self.site(), &config, &found, (&self.time, self.kind), done)?;
        Ok((completed, found))
    }

    fn check_alive(&self, config: &TableConfig, found: &Timeline) -> Result<()> {
        let stands = timeline::inflight_exists(self.storage(), config, &self.time, self.kind)?;
        if stands && self.heart.stands()? && !service::is_rolled_back(self.storage(), found, &self.time)? {
            return Ok(());
        }
        Err(Error::new(ErrorKind::CommitConflict, "this write was taken for dead and rolled back")
            .at_instant(&self.time)
            .with_hint("the process was paused for longer than its heartbeat allows; write again"))
    }

    /// Another attempt at the same write may have been faster.
    fn check_key_is_new(&self, found: &Timeline) -> Result<()> {
        let Some(key) = &self.request.idempotency_key else { return Ok(()) };
        for (instant, metadata) in concurrency::completed_since(self.storage(), &self.snapshot, found, &self.time)? {
            if once::has_key(&metadata, key) {
                return Err(Error::new(
                    ErrorKind::CommitConflict,
                    format!("the write '{key}' was committed meanwhile"),
                )
                .at_instant(&instant.requested));
            }
        }
        Ok(())
    }

    /// In a table without buckets two writers may bring one new key without touching the same file group.
    fn check_new_keys(&self, stats: &[WriteStat], config: &TableConfig, found: &Timeline) -> Result<()> {
        if !self.looks_up() {
            return Ok(());
        }
        let ours = index::NewKeys {
            storage: &self.table.storage,
            config,
            snapshot: &self.snapshot,
            time: &self.time,
            stats,
            index: self.locator.index(),
            memory: self.request.options.get_or_default(&options::MERGE_MEMORY)?,
        };
        index::check_new_keys(&ours, found)
    }

    fn metadata(&self, stats: &[WriteStat]) -> Result<CommitMetadata> {
        let mut extra = self.request.metadata.clone();
        extra.extend(self.request.options.commit_metadata().iter().map(|(k, v)| (k.clone(), v.clone())));
        extra.insert(SCHEMA_KEY.to_owned(), stated_schema(&self.snapshot, &self.schema, self.widens)?);
        extra.extend(self.request.idempotency_key.iter().map(|key| (IDEMPOTENCY_KEY.to_owned(), key.clone())));
        Ok(CommitMetadata {
            partition_to_write_stats: Some(by_partition(stats)),
            compacted: Some(false),
            extra_metadata: Some(extra),
            operation_type: Some(self.operation_type().to_owned()),
            partition_to_replace_file_ids: self.replaced.clone(),
            ..CommitMetadata::default()
        })
    }

    fn groups_replaced(&self) -> u64 {
        self.replaced.iter().flatten().map(|(_, ids)| ids.len() as u64).sum()
    }

    fn result(&self, stats: &[WriteStat], completed: String) -> CommitResult {
        let written = CommitResult {
            instant: Some(self.time.clone()),
            completed: Some(completed),
            action: Some(self.kind.name()),
            operation: self.request.operation.word(),
            seconds: (self.table.context.clock.monotonic_ms() - self.started) as f64 / 1000.0,
            ..CommitResult::of_stats(stats)
        };
        CommitResult { files_removed: written.files_removed + self.groups_replaced(), ..written }
    }
}

pub(crate) fn lock(table: &Table, options: &Options) -> Result<Box<dyn LockGuard>> {
    let wait = options.get_or_default(&options::LOCK_WAIT_MS)?;
    concurrency::table_lock(table.storage.as_ref(), &table.context, wait)
}

pub(crate) fn by_partition(stats: &[WriteStat]) -> BTreeMap<String, Vec<WriteStat>> {
    let mut by_partition: BTreeMap<String, Vec<WriteStat>> = BTreeMap::new();
    for stat in stats {
        let partition = stat.partition_path.clone().unwrap_or_default();
        by_partition.entry(partition).or_default().push(stat.clone());
    }
    by_partition
}

/// Refuses to go on with columns that are not the table's any more.
pub(crate) fn check_schema(
    storage: &dyn Storage,
    config: &TableConfig,
    found: &Timeline,
    pinned: &Snapshot,
    columns: &Schema,
) -> Result<()> {
    let now = Snapshot::pin(storage, config, found, Until::Now)?;
    begin::refuse_column_ids(&now)?;
    let now = now.schema;
    if now == pinned.schema || now.as_deref().map(arrow_schema).transpose()?.as_ref() == Some(columns) {
        return Ok(());
    }
    Err(Error::new(ErrorKind::CommitConflict, "another writer changed the table's schema first"))
}

/// The table's schema as the last commit stated it, else as it is written: docs and defaults are not ours to lose. Some of
/// Apache Hudi's commits state the meta columns too, which no other commit must.
pub(crate) fn stated_schema(snapshot: &Snapshot, written: &str, widens: bool) -> Result<String> {
    match snapshot.schema.as_deref().filter(|text| !text.contains(meta::COMMIT_TIME)) {
        Some(stated) if widens => schema::text::with_columns_of(stated, written),
        stated => Ok(stated.unwrap_or(written).to_owned()),
    }
}
