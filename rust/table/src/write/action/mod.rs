//! The control steps of one write.

mod commit;

use std::collections::{BTreeMap, BTreeSet};

use arrow_schema::Schema;
use hudini_format::instant::{self, InstantFile};
use hudini_format::schema;

use super::begin;
use super::locate::Locator;
use super::once;
use super::place::{self, GroupProfile, PlacedTask};
use super::replace::{self, Replaced};
use super::request::{self, CommitResult, SchemaMode, WriteRequest};
use super::rows::{self, Intake};
use super::sizes::Sizes;
use super::task::{FileKind, Task};
use super::workers::NewSlots;
use crate::base_file::WriteOptions;
use crate::concurrency::{self, Heart, Stake, TableLock};
use crate::config::TableConfig;
use crate::index::{self, Index, Lookup};
use crate::log_file::LogOptions;
use crate::merge::{Memory, MergeRule};
use crate::metadata::keep;
use crate::metadata::ranges::Ranges;
use crate::metadata::{MetadataTable, RecordGroups};
use crate::options::{self, Operation, Options};
use crate::service;
use crate::site::Site;
use crate::storage::Storage;
use crate::table::{Location, Table};
use crate::timeline::{self, Snapshot, Timeline, Until};
use crate::view::{self, FileSlice, Listing};
use crate::{Error, Result};

pub(crate) use commit::{by_partition, check_schema, stated_schema};

/// What a write builds upon, if nothing speaks against it.
struct Ground {
    found: Timeline,
    snapshot: Snapshot,
    columns: Schema,
    widens: bool,
    schema: String,
    locator: Locator,
}

impl Ground {
    fn of(site: Site<'_>, config: &TableConfig, input: &Schema, request: &WriteRequest) -> Result<Self> {
        let storage = site.storage.as_ref();
        begin::check_same_table(config, site.options)?;
        keep::check(site, config)?;
        let found = Timeline::load(storage, config)?;
        service::refuse_under_restore(&found)?;
        keep::refuse_left_behind(site, config, &found)?;
        let snapshot = Snapshot::pin(storage, config, &found, Until::Now)?;
        begin::refuse_columns(&snapshot)?;
        begin::refuse_operations(site.storage, config, &found, &snapshot)?;
        let stated = begin::write_schema(&snapshot)?;
        let evolves = request.schema_mode == SchemaMode::Evolve && request.operation.brings_rows();
        let widened = if evolves { rows::widened(input, &stated)? } else { None };
        let widens = widened.is_some();
        let columns = widened.unwrap_or(stated);
        let schema = schema::avro_text(&columns, &config.name)?;
        let index = index::resolve(site.storage, config, &found, &snapshot, site.options)?;
        let locator = Locator::new(&config.key_config()?, index, schema.clone());
        begin::check_input(request, config, input, &columns, &locator)?;
        Ok(Self { found, snapshot, columns, widens, schema, locator })
    }
}

/// Refuses what `Action::begin` would refuse now. Nothing is changed.
///
/// `table`: `None` if it is still to be made from the request's options.
pub fn check(table: Option<&Table>, input: &Schema, request: &WriteRequest) -> Result<()> {
    let Some(table) = table else {
        request.doomed()?;
        return request::check(request, &request.options);
    };
    let options = request.options.clone().with(&table.options);
    request::check(request, &options)?;
    let request = WriteRequest { partitions: request.doomed()?, ..request.clone() };
    let config = table.config()?;
    config.check_writable()?;
    Ground::of(table.site(&options), &config, input, &request).map(drop)
}

/// A write under way. Dropped without `commit` or `abort`, it is left to the next writer to roll back.
#[derive(Debug)]
pub struct Action {
    table: Table,
    config: TableConfig,
    request: WriteRequest,
    found: Timeline,
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
    /// The record index as it was then, if keys are looked up there. How many file groups it has decides where a key is: one
    /// that is gone later must be missed.
    records: Option<RecordGroups>,
    /// The file groups of partitions that were asked for.
    live: BTreeMap<String, Vec<FileSlice>>,
    new_slots: NewSlots,
    /// File groups by partition and file id.
    placed: Option<BTreeSet<(String, String)>>,
    stake: Stake,
    /// What it takes away; `None` of a write that never does.
    replaced: Option<Replaced>,
    /// The table's lock, where it is kept all the time.
    held: Option<TableLock>,
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

    fn begin_locked(table: &Table, input: &Schema, request: WriteRequest) -> Result<(Self, TableLock)> {
        let started = table.context.clock.monotonic_ms();
        let storage = table.storage.as_ref();
        let options = request.options.clone().with(&table.options);
        request::check(&request, &options)?;
        let request = WriteRequest { partitions: request.doomed()?, ..request };
        let lock = lock(table, &options)?;
        let config = table.config()?;
        config.check_writable()?;
        let locked = table.locked(&options, &lock);
        let site = locked.site;
        service::recover(locked, &config)?;
        let config = table.config()?;
        let Ground { found, snapshot, columns, widens, schema, locator } = Ground::of(site, &config, input, &request)?;
        let shares_out = locator.index().buckets().is_none() && request.operation.brings_rows();
        let sizes = shares_out.then(|| Sizes::of(&options, storage, &found)).transpose()?;
        // What is refused is refused before this: it may make the record index.
        let config = if keep::prepare(locked, &config, &found)? { table.config()? } else { config };
        let records = match locator.index() {
            Index::Records => MetadataTable::open(&table.storage, &config, &found)?,
            _ => None,
        };
        let records = records.map(|metadata| metadata.record_groups()).transpose()?;
        let indexed = keep::indexed_columns(site, &config, &columns)?;
        // Tasks would find out when they have begun.
        Ranges::new(&columns, &indexed).map(drop)?;
        let time = timeline::new_time(&table.context, &config, &found)?;
        let heart = Heart::start(&table.storage, &table.context, &options, &time)?;
        let kind = begin::kind_of(request.operation, &config);
        if let Err(e) = timeline::request(storage, &config, &lock, &time, kind, &begin::plan_of(request.operation)?) {
            // The request may stand all the same; without signs of life the next writer removes it.
            let _ = heart.stop();
            return Err(e);
        }
        let seed = request.seed.unwrap_or_else(|| table.context.ids.next_u128());
        let action = Self {
            table: table.clone(),
            config,
            request: WriteRequest { options, ..request },
            found,
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

    pub(super) fn location(&self) -> &Location {
        &self.table.location
    }

    pub(super) fn table(&self) -> &Table {
        &self.table
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

    pub(super) fn rule(&self) -> Result<MergeRule> {
        self.config.merge_rule()
    }

    /// The schema that the rows are to have, as commits keep it.
    pub(super) fn schema_text(&self) -> &str {
        &self.schema
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
            combines: self.combines()?,
            memory: Memory::of(&self.request.options)?,
        })
    }

    /// Whether rows that are added as they are become one a key first.
    fn combines(&self) -> Result<bool> {
        self.request.options.get_or_default(&options::COMBINE_BEFORE_INSERT)
    }

    /// Whether rows that are added have to become one a key, of all partitions together.
    pub fn combines_partitions(&self) -> Result<bool> {
        let operation = self.request.operation;
        Ok(*self.locator.index() == Index::Records && operation.adds_as_is() && self.combines()?)
    }

    /// What a write under the same idempotency key did that was committed between the first look and the state that this
    /// one was begun from; it may be archived by now.
    pub fn done_before(&self) -> Result<Option<CommitResult>> {
        once::committed(&self.table, &self.request)
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

    /// Whether the rows in its logs are those whose keys the record index has: new ones go to base files.
    fn looks_up_records(&self) -> bool {
        self.looks_up() && self.records.is_some()
    }

    /// Of a write that looks keys up there.
    pub(super) fn records(&self) -> Result<&RecordGroups> {
        self.records.as_ref().ok_or_else(|| Error::internal("a write by the record index without one"))
    }

    /// The live file groups of a partition, by file id, in a table whose keys are not in buckets.
    pub(super) fn live(&self, partition: &str) -> Result<&[FileSlice]> {
        let live = self.live.get(partition).map(Vec::as_slice);
        live.ok_or_else(|| Error::internal(format!("the files of partition '{partition}' were not listed")))
    }

    /// Sees to it that the files of these partitions are known.
    pub(super) fn list<'p>(&mut self, partitions: impl Iterator<Item = &'p str>) -> Result<()> {
        let unlisted = partitions.filter(|partition| !self.live.contains_key(*partition));
        let unlisted: Vec<String> = unlisted.map(str::to_owned).collect::<BTreeSet<_>>().into_iter().collect();
        if unlisted.is_empty() {
            return Ok(());
        }
        let by_partition = self.slices(&unlisted)?;
        by_partition.values().try_for_each(|slices| index::refuse_buckets(slices))?;
        self.live.extend(by_partition);
        Ok(())
    }

    /// The newest slices of each of these partitions. Those that rows are merged into, or looked up in, have all their files.
    pub(super) fn slices(&self, partitions: &[String]) -> Result<BTreeMap<String, Vec<FileSlice>>> {
        let (storage, config, snapshot) = (self.storage(), &self.config, &self.snapshot);
        let slices = if self.builds_upon_files() {
            let site = self.table.site(&self.request.options);
            let (listing, absent) = Listing::of_folders(site, config, &self.found, snapshot, partitions)?;
            let slices = listing.slices(storage, config, snapshot)?;
            absent.check(storage, &slices)?;
            slices
        } else {
            let newest = |partition: &String| view::newest_slices(storage, config, snapshot, partition);
            partitions.iter().map(newest).collect::<Result<Vec<_>>>()?.concat()
        };
        let mut by_partition: BTreeMap<_, _> = partitions.iter().map(|path| (path.clone(), Vec::new())).collect();
        for slice in slices {
            by_partition.entry(slice.partition.clone()).or_default().push(slice);
        }
        Ok(by_partition)
    }

    /// Whether the write reads files that are there: an older one in the place of one that is gone would lose its rows for
    /// good. Logs are written without a look, and so are new file groups.
    fn builds_upon_files(&self) -> bool {
        let operation = self.request.operation;
        let reads = match self.locator.index() {
            Index::Buckets(_) => !self.is_mor(),
            Index::Files { .. } | Index::Records => operation != Operation::BulkInsert,
        };
        reads && !operation.replaces()
    }

    /// What has to be looked up in the files of these partitions.
    pub fn lookups<'p>(&mut self, partitions: impl Iterator<Item = &'p str>) -> Result<Vec<Lookup>> {
        let by_bloom = match *self.locator.index() {
            Index::Files { by_bloom } => by_bloom,
            Index::Buckets(_) => return Ok(Vec::new()),
            Index::Records => {
                return Err(Error::internal("the files hold no keys that the record index does not have"));
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
        self.check_begun()?;
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
}

pub(crate) fn lock(table: &Table, options: &Options) -> Result<TableLock> {
    concurrency::table_lock(&table.storage, &table.context, options)
}
