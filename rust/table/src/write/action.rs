//! The control steps of one write.

use std::collections::{BTreeMap, BTreeSet};

use arrow_schema::Schema;
use hudini_format::action::{CommitMetadata, SCHEMA_KEY, WriteStat};
use hudini_format::instant::{self, InstantFile};
use hudini_format::schema::{self, meta};

use super::buckets;
use super::locate::Locator;
use super::place::{self, GroupProfile, PlacedTask};
use super::request::{self, CommitResult, WriteRequest};
use super::rows::{self, Intake};
use super::task::{FileKind, Status, Task};
use crate::base_file::WriteOptions;
use crate::concurrency::{self, Heart, Touched};
use crate::config::TableConfig;
use crate::merge::MergeRule;
use crate::metadata::keep::{self, RangesByFile};
use crate::options::{self, Operation, Options};
use crate::service;
use crate::site::Site;
use crate::storage::{LockGuard, Storage};
use crate::table::Table;
use crate::timeline::{self, Snapshot, Timeline, Until, arrow_schema};
use crate::view::FileSlice;
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
    seed: u128,
    /// Columns of whose values the table keeps statistics.
    indexed: Vec<String>,
    placed: Option<BTreeSet<(String, u32)>>,
    touched: BTreeSet<Touched>,
    /// Those of them that had no file group yet.
    founded: BTreeSet<Touched>,
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
        request::check(&options, &request.metadata)?;
        let lock = lock(table, &options)?;
        let config = table.config()?;
        config.check_writable()?;
        let site = table.site(&options);
        service::recover(site, &config)?;
        let config = table.config()?;
        keep::check(site, &config)?;
        let found = Timeline::load(storage, &config)?;
        service::refuse_under_restore(&found)?;
        let snapshot = Snapshot::pin(storage, &config, &found, Until::Now)?;
        refuse_column_ids(&snapshot)?;
        let schema = write_schema(&config, &snapshot)?;
        let columns = arrow_schema(&schema)?;
        let buckets = buckets::resolve(&table.storage, &config, &snapshot, &options)?;
        let locator = Locator::new(&config.key_config()?, buckets, schema.clone());
        let naming = locator.naming_columns();
        let named = (request.operation == Operation::Delete).then_some(naming.as_slice());
        rows::check_columns(input, &columns, named)?;
        let indexed = keep::indexed_columns(site, &config, &columns)?;
        let time = timeline::new_time(&table.context, &config, &found)?;
        let heart = Heart::start(&table.storage, &options, &time)?;
        let kind = if config.is_mor() { instant::Action::DeltaCommit } else { instant::Action::Commit };
        if let Err(e) = timeline::request(storage, &config, &time, kind, b"") {
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
            seed,
            indexed,
            placed: None,
            touched: BTreeSet::new(),
            founded: BTreeSet::new(),
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
        }
    }

    pub(super) fn task(
        &self,
        partition: &str,
        bucket: u32,
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
            bucket,
            file_id,
            kind,
            slice,
            schema: self.schema.clone(),
            rule: self.rule()?,
            locator: self.locator.clone(),
            options: WriteOptions::of(&self.request.options)?,
            expected_rows: rows,
            indexed: self.indexed.clone(),
        })
    }

    /// Decides who writes what, and says so on the timeline. Once.
    pub fn place(&mut self, profile: &[GroupProfile]) -> Result<Vec<PlacedTask>> {
        if self.placed.is_some() {
            return Err(Error::internal("a write is placed only once").at_instant(&self.time));
        }
        let tasks = place::tasks(self, profile)?;
        let workload = place::workload(self, &tasks).encode()?;
        timeline::to_inflight(self.storage(), &self.config, &self.time, self.kind, &workload)?;
        self.touched = place::touched(tasks.iter());
        self.founded = place::touched(tasks.iter().filter(|t| t.task.slice.is_none()));
        self.placed = Some(tasks.iter().map(|t| (t.partition.clone(), t.task.bucket)).collect());
        Ok(tasks)
    }

    /// Makes what the tasks wrote part of the table. On an error nothing of it shows, unless storage failed in the very
    /// moment of completion; then the timeline was looked at, and the answer is what it says.
    pub fn commit(mut self, statuses: Vec<Status>) -> Result<CommitResult> {
        let (stats, ranges) = match self.check_statuses(statuses) {
            Ok(told) => told,
            Err(e) => return Err(self.failed(e)),
        };
        if stats.is_empty() {
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
            let group = (status.partition, status.bucket);
            if status.instant != self.time || !wanted.contains(&group) || !seen.insert(group.clone()) {
                return Err(Error::internal(format!(
                    "an unexpected result for bucket {} of partition '{}'",
                    group.1, group.0
                ))
                .at_instant(&self.time));
            }
            ranges.extend(status.stat.path.clone().map(|path| (path, status.ranges)));
            stats.push(status.stat);
        }
        match wanted.difference(&seen).next() {
            Some((partition, bucket)) => Err(Error::internal(format!(
                "the task of bucket {bucket} of partition '{partition}' brought no result"
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
        concurrency::check_conflicts(
            storage,
            &config,
            &self.snapshot,
            &found,
            &self.time,
            &self.touched,
            &self.founded,
        )?;
        check_schema(storage, &config, &found, &self.snapshot, &self.columns).map_err(|e| e.at_instant(&self.time))?;
        concurrency::remove_lost_files(storage, &self.time, stats)?;
        let metadata = self.metadata(stats);
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

    fn metadata(&self, stats: &[WriteStat]) -> CommitMetadata {
        let mut extra = self.request.metadata.clone();
        extra.extend(self.request.options.commit_metadata().iter().map(|(k, v)| (k.clone(), v.clone())));
        extra.insert(SCHEMA_KEY.to_owned(), stated_schema(&self.snapshot, &self.schema).to_owned());
        CommitMetadata {
            partition_to_write_stats: Some(by_partition(stats)),
            compacted: Some(false),
            extra_metadata: Some(extra),
            operation_type: Some(self.operation_type().to_owned()),
            ..CommitMetadata::default()
        }
    }

    fn result(&self, stats: &[WriteStat], completed: String) -> CommitResult {
        CommitResult {
            instant: Some(self.time.clone()),
            completed: Some(completed),
            action: Some(self.kind.name()),
            operation: self.request.operation.word(),
            seconds: (self.table.context.clock.monotonic_ms() - self.started) as f64 / 1000.0,
            ..CommitResult::of_stats(stats)
        }
    }
}

pub(crate) fn lock(table: &Table, options: &Options) -> Result<Box<dyn LockGuard>> {
    let wait = options.get_or_default(&options::LOCK_WAIT_MS)?;
    concurrency::table_lock(table.storage.as_ref(), &table.context, wait)
}

/// A commit that does not carry the ids along would make readers look for the columns by name again.
pub(crate) fn refuse_column_ids(snapshot: &Snapshot) -> Result<()> {
    match snapshot.evolution {
        Some(_) => Err(Error::unsupported("writing to a table whose columns have ids (schema-on-read)")),
        None => Ok(()),
    }
}

/// The table's schema, with the names that Apache Hudi gives to nested types.
pub(crate) fn write_schema(config: &TableConfig, snapshot: &Snapshot) -> Result<String> {
    match &snapshot.schema {
        Some(text) => schema::avro_text(&arrow_schema(text)?, &config.name),
        None => Err(Error::unsupported("a table without any schema yet")),
    }
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
    refuse_column_ids(&now)?;
    let now = now.schema;
    if now == pinned.schema || now.as_deref().map(arrow_schema).transpose()?.as_ref() == Some(columns) {
        return Ok(());
    }
    Err(Error::new(ErrorKind::CommitConflict, "another writer changed the table's schema first"))
}

/// The table's schema as the last commit stated it, else as it is written: docs and defaults are not ours to lose. Some of
/// Apache Hudi's commits state the meta columns too, which no other commit must.
pub(crate) fn stated_schema<'a>(snapshot: &'a Snapshot, written: &'a str) -> &'a str {
    snapshot.schema.as_deref().filter(|text| !text.contains(meta::COMMIT_TIME)).unwrap_or(written)
}
