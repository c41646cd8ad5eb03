//! The end of a write: it becomes part of the table, or nothing of it stays.

use std::collections::{BTreeMap, BTreeSet};

use arrow_schema::Schema;
use hudini_format::action::{CommitMetadata, SCHEMA_KEY, WriteStat};
use hudini_format::schema::{self, meta};

use super::{Action, lock};
use crate::concurrency::{self, TableLock};
use crate::config::TableConfig;
use crate::index;
use crate::metadata::keep::{self, Told};
use crate::options;
use crate::service;
use crate::storage::Storage;
use crate::timeline::{self, Snapshot, Timeline, Until, arrow_schema};
use crate::write::begin;
use crate::write::once;
use crate::write::request::{CommitResult, IDEMPOTENCY_KEY};
use crate::write::task::{Status, WroteFile};
use crate::{Error, ErrorKind, Result};

impl Action {
    /// Makes what the tasks wrote part of the table. On an error nothing of it shows, unless storage failed in the very
    /// moment of completion; then the timeline was looked at, and the answer is what it says.
    pub fn commit(mut self, statuses: Vec<Status>) -> Result<CommitResult> {
        let (stats, told) = match self.check_statuses(statuses) {
            Ok(checked) => checked,
            Err(e) => return Err(self.failed(e)),
        };
        if stats.is_empty() && self.groups_replaced() == 0 && !self.request.tells(&self.table.options) {
            let operation = self.request.operation.word();
            self.abort()?;
            return Ok(CommitResult { operation, ..CommitResult::default() });
        }
        let lock = match self.lock() {
            Ok(lock) => lock,
            Err(e) => return Err(self.failed(e)),
        };
        let (completed, found) = match self.complete(&lock, &stats, &told) {
            Ok(done) => done,
            Err(e) => {
                drop(lock);
                return self.in_doubt(&stats, e);
            }
        };
        // Still under the lock: what is planned next must not name files that go away now. The commit stands whatever
        // becomes of these. As long as the signs of life are there, the next writer finds the markers too, and removes both.
        let is_clear = concurrency::clear_up(self.storage(), &self.time, &stats).is_ok();
        drop(lock);
        let mut result = self.result(&stats, completed);
        if is_clear {
            let _ = self.heart.stop();
        }
        result.warnings = self.request.options.clone().with(&self.table.options).warnings().to_vec();
        result.warnings.extend(service::after_commit(&self.table, &self.request.options, &found));
        Ok(result)
    }

    /// Undoes what was begun. Where no file was written and the metadata table was told of nothing, no rollback has to tell
    /// of it.
    pub fn abort(self) -> Result<()> {
        self.undo().map(drop)
    }

    /// Answers the completion time, if that had come.
    fn undo(mut self) -> Result<Option<String>> {
        let lock = self.lock()?;
        let found = Timeline::load(self.storage(), &self.config)?;
        let instant = found.find(&self.time);
        if let Some(completed) = instant.and_then(|instant| instant.completed.clone()) {
            return Ok(Some(completed));
        }
        if self.placed.as_ref().is_some_and(|tasks| !tasks.is_empty()) || self.groups_replaced() > 0 {
            let Self { heart, table, request, config, time, .. } = self;
            drop(heart);
            let locked = table.locked(&request.options, &lock);
            return service::rollback(locked, &config, &time, service::Others::LeftWhileYoung).map(|()| None);
        }
        if let Some(instant) = instant {
            timeline::remove_pending(self.storage(), &self.config, instant)?;
        }
        self.heart.stop().map(|()| None)
    }

    fn lock(&mut self) -> Result<TableLock> {
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
            Err(cleanup) => not_removed(e, &cleanup),
        }
    }

    /// It failed with `e` where it was to become part of the table. Storage may fail after the deed, and be silent about that
    /// for a while: whoever was told of a failure would write the rows again.
    fn in_doubt(self, stats: &[WriteStat], e: Error) -> Result<CommitResult> {
        let result = self.result(stats, String::new());
        match self.undo() {
            Ok(Some(completed)) => Ok(CommitResult { completed: Some(completed), ..result }),
            Ok(None) => Err(e),
            Err(cleanup) => Err(not_removed(e, &cleanup)),
        }
    }

    /// The same before anything was decided: what fails then may be the work of whoever took us for dead.
    pub fn tasks_failed(self, e: Error) -> Error {
        let e = if self.heart.explains(&e) { self.taken_for_dead().caused_by(e) } else { e };
        self.failed(e)
    }

    /// The same where other workers ran the tasks: an error if that may be why they failed.
    pub fn check_heart(&self) -> Result<()> {
        if self.heart.stands()? { Ok(()) } else { Err(self.taken_for_dead()) }
    }

    fn check_statuses(&self, statuses: Vec<Status>) -> Result<(Vec<WriteStat>, Told)> {
        let wanted = self.placed.clone().unwrap_or_default();
        let mut seen = BTreeSet::new();
        let mut stats = Vec::with_capacity(statuses.len());
        let mut told = Told { logs_bring_no_keys: self.looks_up_records(), ..Told::default() };
        for status in statuses {
            let group = (status.partition, status.file_id);
            if status.instant != self.time || !wanted.contains(&group) || !seen.insert(group.clone()) {
                return Err(Error::internal(format!(
                    "an unexpected result for file group {} of partition '{}'",
                    group.1, group.0
                ))
                .at_instant(&self.time));
            }
            for WroteFile { stat, ranges } in status.files {
                told.ranges.extend(stat.path.clone().map(|path| (path, ranges)));
                stats.push(stat);
            }
        }
        match wanted.difference(&seen).next() {
            Some((partition, group)) => Err(Error::internal(format!(
                "the task of file group {group} of partition '{partition}' brought no result"
            ))
            .at_instant(&self.time)),
            None => Ok((stats, told)),
        }
    }

    /// Under the lock: is all still as it was, and if so, done. Answers the timeline before it, too.
    fn complete(&self, lock: &TableLock, stats: &[WriteStat], told: &Told) -> Result<(String, Timeline)> {
        let storage = self.storage();
        let config = self.table.config()?;
        let found = Timeline::load(storage, &config)?;
        self.check_alive(&config, &found)?;
        concurrency::check_conflicts(storage, &config, &self.snapshot, &found, &self.time, &self.stake)?;
        self.check_key_is_new(&found)?;
        self.check_new_keys(stats, &config, &found)?;
        self.check_recorded_in_order(stats, &config, &found)?;
        check_schema(storage, &config, &found, &self.snapshot, &self.columns).map_err(|e| e.at_instant(&self.time))?;
        self.check_columns_show(&config, &found)?;
        concurrency::remove_lost_files(storage, &self.time, stats)?;
        let metadata = self.metadata(stats)?;
        let done = service::Done::Wrote(&metadata, told);
        let locked = self.table.locked(&self.request.options, lock);
        let completed = service::publish(locked, &config, &found, (&self.time, self.kind), done)?;
        Ok((completed, found))
    }

    fn check_alive(&self, config: &TableConfig, found: &Timeline) -> Result<()> {
        let stands = timeline::inflight_exists(self.storage(), config, &self.time, self.kind)?;
        if stands && self.heart.stands()? && !service::is_rolled_back(self.storage(), found, &self.time)? {
            return Ok(());
        }
        Err(self.taken_for_dead())
    }

    /// The instant of a write that was rolled back must not come back: others may have been archived behind it by then.
    pub(super) fn check_begun(&self) -> Result<()> {
        let stands = timeline::requested_exists(self.storage(), &self.config, &self.time, self.kind)?;
        if stands && self.heart.stands()? { Ok(()) } else { Err(self.taken_for_dead()) }
    }

    fn taken_for_dead(&self) -> Error {
        Error::new(ErrorKind::CommitConflict, "this write was taken for dead and rolled back")
            .at_instant(&self.time)
            .with_hint("the process was paused for longer than its heartbeat allows; write again")
    }

    /// The columns of the newest request that brought rows are the table's. One that came after this write and is there
    /// already would hide those that this one adds, from all readers, and from all writers who write its rows anew.
    fn check_columns_show(&self, config: &TableConfig, found: &Timeline) -> Result<()> {
        if !self.widens {
            return Ok(());
        }
        let later = Snapshot::told_after(self.storage(), config, found, &self.time)?;
        match later.map(|text| arrow_schema(&text)).transpose()? {
            Some(columns) if columns != self.columns => Err(Error::new(
                ErrorKind::CommitConflict,
                "this write adds columns, and one that began later was committed first",
            )
            .at_instant(&self.time)
            .with_hint("write again")),
            _ => Ok(()),
        }
    }

    /// Another attempt at the same write may have been faster.
    fn check_key_is_new(&self, found: &Timeline) -> Result<()> {
        let Some(key) = &self.request.idempotency_key else { return Ok(()) };
        let since = concurrency::completed_since(self.storage(), &self.config, &self.snapshot, found, &self.time)?;
        for (instant, metadata) in since {
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

    /// Of a key the record index believes the write that was asked for last, whichever completed last: where a later one took
    /// keys away, it would take away what this one brings.
    fn check_recorded_in_order(&self, stats: &[WriteStat], config: &TableConfig, found: &Timeline) -> Result<()> {
        let may_bring = |stat: &WriteStat| keep::may_bring_keys(stat, self.looks_up_records());
        if !keep::has_record_index(config) || !stats.iter().any(may_bring) {
            return Ok(());
        }
        let since = concurrency::completed_since(self.storage(), config, &self.snapshot, found, &self.time)?;
        match since.iter().find(|(instant, metadata)| instant.requested > self.time && takes_away(metadata)) {
            Some((instant, _)) => Err(Error::new(
                ErrorKind::CommitConflict,
                "this write brings keys, and one that began later took keys out of the record index first",
            )
            .at_instant(&instant.requested)
            .with_hint("write again")),
            None => Ok(()),
        }
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
            options_without_effect: self.request.options.without_effect().to_vec(),
            ..CommitResult::of_stats(stats)
        };
        CommitResult { files_removed: written.files_removed + self.groups_replaced(), ..written }
    }
}

fn not_removed(e: Error, cleanup: &Error) -> Error {
    e.with_hint(format!("its files could not be removed ({cleanup}); the next writer will do that"))
}

fn takes_away(metadata: &CommitMetadata) -> bool {
    metadata.write_stats().any(|stat| stat.num_deletes.unwrap_or(0) > 0)
        || metadata.partition_to_replace_file_ids.iter().flatten().any(|(_, ids)| !ids.is_empty())
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
    begin::refuse_columns(&now)?;
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
