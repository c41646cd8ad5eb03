//! The control steps: a plan is written, taken up, and completed.

use std::collections::BTreeMap;

use arrow_schema::Schema;
use hudini_format::action::{CommitMetadata, SCHEMA_KEY, WriteStat};
use hudini_format::instant::{Action, InstantFile, State};

use super::task::{CompactionStatus, CompactionTask};
use super::{check_table, due, plan};
use crate::base_file::WriteOptions;
use crate::concurrency::{self, Heart, TableLock};
use crate::config::TableConfig;
use crate::merge::{Memory, MergeRule};
use crate::metadata::keep::{self, Told};
use crate::metadata::ranges::Ranges;
use crate::options::{self, Options};
use crate::scan::PartitionFilter;
use crate::service::begin::{OTHERS_PATIENCE_MS, Others, is_abandoned};
use crate::service::{
    self, Done,
    rollback::{self, Planned, rollback},
};
use crate::storage::Storage;
use crate::table::Table;
use crate::timeline::{self, Instant, Snapshot, Timeline, Until, arrow_schema};
use crate::view::FileSlice;
use crate::write::{self, CommitResult};
use crate::{Error, ErrorKind, Result};

/// The word for it in results.
pub(super) const OPERATION: &str = "compact";
const OPERATION_TYPE: &str = "COMPACT";

/// When a plan is to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum When {
    /// Of the partitions for which the condition holds, or all.
    Now(Option<String>),
    /// If the options say that it is time, and, if that matters, no plan is waiting.
    Due { alone: bool },
}

/// Which of the plans that wait is to be taken up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Which<'a> {
    Planned(&'a str),
    Oldest,
    /// The oldest that nobody is likely to be at work on.
    LeavingYoung,
}

/// Plans a compaction of what there is to compact; its instant, if there is anything.
pub(super) fn schedule(table: &Table, options: &Options, when: &When) -> Result<Option<String>> {
    let (storage, context) = (table.storage.as_ref(), &table.context);
    let lock = write::lock(table, options)?;
    let config = table.config()?;
    check_table(&config)?;
    service::recover(table.locked(options, &lock), &config)?;
    let config = table.config()?;
    keep::check(table.site(options), &config)?;
    let found = Timeline::load(storage, &config)?;
    service::refuse_under_restore(&found)?;
    // Later than all there is: what completed by now is folded, whatever completes from now on is not.
    let time = timeline::new_time(context, &config, &found)?;
    if let When::Due { alone } = when {
        let waits = found.pending().any(|i| i.action == Action::Compaction);
        if (*alone && waits) || !due::is_due(&found, options, &time)? {
            return Ok(None);
        }
    }
    let snapshot = Snapshot::pin(storage, &config, &found, Until::Now)?;
    write::refuse_columns(&snapshot)?;
    write::refuse_operations(&table.storage, &config, &found, &snapshot)?;
    let filter = match when {
        When::Now(Some(filter)) => Some(PartitionFilter::new(&config, &snapshot, filter)?),
        _ => None,
    };
    let Some(plan) = plan::make(table.site(options), &config, &found, &snapshot, filter.as_ref())? else {
        return Ok(None);
    };
    timeline::request(storage, &config, &lock, &time, Action::Compaction, &plan.encode()?)?;
    Ok(Some(time))
}

/// A planned compaction under way. Dropped without `commit` or `abort`, it is left to the next one who takes the plan up.
#[derive(Debug)]
pub struct Compaction {
    table: Table,
    config: TableConfig,
    options: Options,
    snapshot: Snapshot,
    time: String,
    /// The newest time that the timeline showed when the plan was taken up.
    since: String,
    heart: Heart,
    schema: String,
    columns: Schema,
    tasks: Vec<CompactionTask>,
    started: i64,
}

impl Compaction {
    /// Takes up a plan. `None`: there is none, or somebody is at it.
    pub(super) fn begin(table: &Table, options: &Options, which: Which<'_>) -> Result<Option<Self>> {
        let started = table.context.clock.monotonic_ms();
        let storage = table.storage.as_ref();
        let lock = write::lock(table, options)?;
        let locked = table.locked(options, &lock);
        let config = table.config()?;
        check_table(&config)?;
        service::recover(locked, &config)?;
        let config = table.config()?;
        keep::check(table.site(options), &config)?;
        let found = Timeline::load(storage, &config)?;
        service::refuse_under_restore(&found)?;
        let Some(pending) = waiting(table, options, &found, which)? else { return Ok(None) };
        let time = pending.requested.clone();
        let plan = plan::read(storage, &found, pending)?;
        let snapshot = Snapshot::pin(storage, &config, &found, Until::Now)?;
        write::refuse_columns(&snapshot)?;
        write::refuse_operations(&table.storage, &config, &found, &snapshot)?;
        let slices = plan::slices(storage, &config, &plan, &snapshot, &time).map_err(|e| e.at_instant(&time))?;
        let schema = write::schema_text(&config, &snapshot)?;
        let work = Work { table, config: &config, options, snapshot: &snapshot, time: &time, schema: &schema };
        let tasks = work.tasks(slices)?;
        // A rollback that another engine began and left would be taken up some time, and delete what is written now.
        if pending.state == State::Inflight || Planned::of(storage, &found, &time)?.is_some() {
            rollback(locked, &config, &time, Others::Finished)?;
        }
        let since = Timeline::load(storage, &config)?.newest_time().unwrap_or_default().to_owned();
        let heart = Heart::start(&table.storage, &table.context, options, &time)?;
        if let Err(e) = timeline::to_inflight(storage, &config, &time, Action::Compaction, b"") {
            let _ = heart.stop();
            return Err(e);
        }
        let columns = arrow_schema(&schema)?;
        let (table, options) = (table.clone(), options.clone());
        Ok(Some(Self { table, config, options, snapshot, time, since, heart, schema, columns, tasks, started }))
    }

    pub fn time(&self) -> &str {
        &self.time
    }

    pub fn tasks(&self) -> &[CompactionTask] {
        &self.tasks
    }

    /// Makes what the tasks wrote part of the table. On an error the plan waits as before, unless storage failed in the very
    /// moment of completion; then the timeline was looked at, and the answer is what it says.
    pub fn commit(self, statuses: Vec<CompactionStatus>) -> Result<CommitResult> {
        let done = self.check_statuses(statuses).and_then(|(stats, told)| {
            let lock = write::lock(&self.table, &self.options)?;
            let completed = self.complete(&lock, &stats, &told)?;
            // Still under the lock: what is planned next must not name files that go away now. The commit stands whatever
            // becomes of it; the next writer removes what is left.
            let is_clear = concurrency::clear_up(self.storage(), &self.time, &stats).is_ok();
            Ok((stats, completed, is_clear))
        });
        let (stats, completed, is_clear) = match done {
            Ok(done) => done,
            Err(e) => return Err(self.failed(e)),
        };
        let seconds = (self.table.context.clock.monotonic_ms() - self.started) as f64 / 1000.0;
        let result = CommitResult {
            instant: Some(self.time.clone()),
            completed: Some(completed),
            action: Some(Action::Compaction.completes_as().name()),
            operation: OPERATION,
            seconds,
            options_without_effect: self.options.without_effect().to_vec(),
            ..CommitResult::of_stats(&stats)
        };
        if is_clear {
            let _ = self.heart.stop();
        }
        Ok(result)
    }

    /// Removes what was written. The plan waits to be taken up again.
    pub fn abort(self) -> Result<()> {
        let lock = write::lock(&self.table, &self.options)?;
        let found = Timeline::load(self.storage(), &self.config)?;
        // Somebody who took us for dead may have done it, or be at it by now: then what is marked is theirs.
        let shown = found.find(&self.time);
        if shown.is_some_and(Instant::is_completed) {
            return rollback::clear_up_committed(self.storage(), &found, &self.time).map(drop);
        }
        if shown.is_some() && self.is_rolled_back(&found)? {
            return Ok(());
        }
        let Self { table, options, config, time, heart, .. } = self;
        drop(heart);
        rollback(table.locked(&options, &lock), &config, &time, Others::Finished)
    }

    /// Before anything was decided, what fails may be the work of whoever took us for dead.
    pub(super) fn tasks_failed(self, e: Error) -> Error {
        let e = if self.heart.explains(&e) { self.taken_for_dead().caused_by(e) } else { e };
        self.failed(e)
    }

    fn failed(self, e: Error) -> Error {
        match self.abort() {
            Ok(()) => e,
            Err(cleanup) => {
                e.with_hint(format!("its files could not be removed ({cleanup}); the next compaction will do that"))
            }
        }
    }

    fn storage(&self) -> &dyn Storage {
        self.table.storage.as_ref()
    }

    fn check_statuses(&self, statuses: Vec<CompactionStatus>) -> Result<(Vec<WriteStat>, Told)> {
        let mut stats = BTreeMap::new();
        let mut told = Told::default();
        let is_ours = |status: &CompactionStatus| {
            status.instant == self.time && self.tasks.iter().any(|task| task.number == status.number)
        };
        for status in statuses {
            let is_ours = is_ours(&status);
            told.ranges.extend(status.stat.path.clone().map(|path| (path, status.ranges)));
            if !is_ours || stats.insert(status.number, status.stat).is_some() {
                let message = format!("an unexpected result for operation {} of a compaction", status.number);
                return Err(Error::internal(message).at_instant(&self.time));
            }
        }
        match self.tasks.iter().find(|task| !stats.contains_key(&task.number)) {
            Some(task) => Err(Error::internal(format!("operation {} of a compaction brought no result", task.number))
                .at_instant(&self.time)),
            None => Ok((stats.into_values().collect(), told)),
        }
    }

    /// Under the lock: is the plan still ours, and if so, done. Other writers are in nobody's way: what they logged since
    /// the plan lies on top of it.
    fn complete(&self, lock: &TableLock, stats: &[WriteStat], told: &Told) -> Result<String> {
        let storage = self.storage();
        let config = self.table.config()?;
        let found = Timeline::load(storage, &config)?;
        self.check_alive(&config, &found)?;
        write::check_schema(storage, &config, &found, &self.snapshot, &self.columns)
            .map_err(|e| e.at_instant(&self.time))?;
        concurrency::remove_lost_files(storage, &self.time, stats)?;
        let action = (self.time.as_str(), Action::Compaction);
        let metadata = self.metadata(stats)?;
        let locked = self.table.locked(&self.options, lock);
        service::publish(locked, &config, &found, action, Done::Wrote(&metadata, told))
    }

    fn check_alive(&self, config: &TableConfig, found: &Timeline) -> Result<()> {
        let stands = timeline::inflight_exists(self.storage(), config, &self.time, Action::Compaction)?
            && found.find(&self.time).is_some_and(|instant| !instant.is_completed());
        if stands && self.heart.stands()? && !self.is_rolled_back(found)? {
            return Ok(());
        }
        Err(self.taken_for_dead())
    }

    fn taken_for_dead(&self) -> Error {
        Error::new(ErrorKind::CommitConflict, "this compaction was taken for dead and rolled back")
            .at_instant(&self.time)
            .with_hint("the process was paused for longer than its heartbeat allows; its plan is still there")
    }

    /// Since it was taken up here.
    fn is_rolled_back(&self, found: &Timeline) -> Result<bool> {
        rollback::is_rolled_back_after(self.storage(), found, &self.time, &self.since)
    }

    fn metadata(&self, stats: &[WriteStat]) -> Result<CommitMetadata> {
        let schema = write::stated_schema(&self.snapshot, &self.schema, false)?;
        Ok(CommitMetadata {
            partition_to_write_stats: Some(write::by_partition(stats)),
            compacted: Some(true),
            extra_metadata: Some(BTreeMap::from([(SCHEMA_KEY.to_owned(), schema)])),
            operation_type: Some(OPERATION_TYPE.to_owned()),
            ..CommitMetadata::default()
        })
    }
}

/// What all tasks of a compaction have in common.
struct Work<'a> {
    table: &'a Table,
    config: &'a TableConfig,
    options: &'a Options,
    snapshot: &'a Snapshot,
    time: &'a str,
    schema: &'a str,
}

impl Work<'_> {
    fn tasks(&self, slices: Vec<FileSlice>) -> Result<Vec<CompactionTask>> {
        let (config, options, time) = (self.config, self.options, self.time);
        let by_position = options.get_or_default(&options::RECORD_POSITIONS)?;
        let rule = MergeRule { by_position, ..config.merge_rule()? };
        rule.check_defaults(self.snapshot.schema.as_deref())?;
        let memory = Memory::of(options)?;
        let write_options = WriteOptions::of(options)?;
        let columns = arrow_schema(self.schema)?;
        let indexed = keep::indexed_columns(self.table.site(options), config, &columns)?;
        // Tasks would find out when they have begun.
        Ranges::new(&columns, &indexed).map(drop)?;
        let inflight = format!("{}/{}", config.timeline_dir(), InstantFile::inflight(time, Action::Compaction));
        // Of the state a task asks which commits count, and nothing else that would grow with the table.
        let mut snapshot = self.snapshot.before(time);
        snapshot.replaced.clear();
        snapshot.pending_compactions.clear();
        let task = |(number, slice): (u32, FileSlice)| CompactionTask {
            location: self.table.location.clone(),
            table: config.name.clone(),
            instant: time.to_owned(),
            inflight: inflight.clone(),
            number,
            slice,
            snapshot: snapshot.clone(),
            schema: self.schema.to_owned(),
            rule: rule.clone(),
            options: write_options.clone(),
            memory: memory.clone(),
            indexed: indexed.clone(),
        };
        Ok((0..).zip(slices).map(task).collect())
    }
}

/// The plan to take up.
fn waiting<'t>(table: &Table, options: &Options, found: &'t Timeline, which: Which<'_>) -> Result<Option<&'t Instant>> {
    let is_asked_for = |i: &&Instant| !matches!(which, Which::Planned(planned) if planned != i.requested);
    let site = table.site(options);
    let is_left = |pending: &Instant| -> Result<bool> {
        if which != Which::LeavingYoung {
            return Ok(false);
        }
        let is_young = pending.state == State::Inflight && !is_abandoned(site, found, pending, OTHERS_PATIENCE_MS)?;
        Ok(is_young || rollback::is_under_way(site, found, &pending.requested)?)
    };
    for pending in found.pending().filter(|i| i.action == Action::Compaction).filter(is_asked_for) {
        if !is_left(pending)? && concurrency::is_dead(site.store(), site.context, options, &pending.requested)? {
            return Ok(Some(pending));
        }
    }
    Ok(None)
}
