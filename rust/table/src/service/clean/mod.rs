//! Cleaning: files that no state to be kept needs any more are deleted.
//!
//! A plan is made under the table's lock (`requested`), its files are deleted without it (`inflight`), and the end is
//! told under the lock again. All of it can be repeated: a plan that was left behind is finished first, whoever made it;
//! files of it that are gone already are fine. From the plan on, states before the retained commit raise `InstantCleaned`.

pub(super) mod plan;
mod policy;

use std::collections::BTreeMap;

use hudini_format::action::{CleanMetadata, CleanPartitionMetadata, CleanerPlan};
use hudini_format::instant::Action;

use self::plan::{Ground, Within};
use super::begin::{Others, is_abandoned};
use super::publish::{Done, publish};
use super::{begin, recover};
use crate::concurrency::{self, Heart, TableLock};
use crate::config::TableConfig;
use crate::metadata::keep;
use crate::options::{self, CleanPolicy, Options};
use crate::table::Table;
use crate::timeline::{self, Instant, Timeline};
use crate::view::{BASE_EXTENSION, in_partition};
use crate::{Error, Result};

pub(crate) use policy::Policy;

const VERSION: i32 = 2;

/// What a caller asks of a clean.
#[derive(Debug, Clone)]
pub struct CleanRequest {
    pub options: Options,
    /// Make a plan, unless one stands already.
    pub schedule: bool,
    /// Carry out what is planned.
    pub execute: bool,
    /// Only tell what would be deleted.
    pub dry_run: bool,
    pub policy: Option<CleanPolicy>,
    /// How many commits, hours or versions are kept, by the policy.
    pub retain: Option<u32>,
}

/// What a clean did, or would do.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CleanResult {
    /// `None`: there was nothing to clean.
    pub instant: Option<String>,
    /// `None`: it is planned, and no more.
    pub completed: Option<String>,
    pub policy: &'static str,
    /// The earliest commit whose state is kept, if the policy counts commits or hours.
    pub retained: Option<String>,
    /// By their paths within the table, sorted.
    pub files: Vec<String>,
    /// Cleans that others had planned, and that were finished first.
    pub finished: Vec<String>,
    pub seconds: f64,
}

/// Cleans the table.
pub fn clean(table: &Table, request: &CleanRequest) -> Result<CleanResult> {
    let started = table.context.clock.monotonic_ms();
    let options = request.options.clone().with(&table.options);
    let policy = Policy::of(&options, request.policy, request.retain)?;
    let cleaner = Cleaner { table, options: &options, policy };
    let result = if request.dry_run {
        cleaner.look()
    } else {
        let _turn = concurrency::service_lock(table.storage.as_ref(), &table.context, &options)?;
        cleaner.recover()?;
        cleaner.run(request.schedule, request.execute, Others::Finished)
    }?;
    let seconds = (table.context.clock.monotonic_ms() - started) as f64 / 1000.0;
    Ok(CleanResult { policy: policy.kind.word(), seconds, ..result })
}

/// Callers hold the lock of services while anything is changed.
pub(super) struct Cleaner<'a> {
    pub(super) table: &'a Table,
    pub(super) options: &'a Options,
    pub(super) policy: Policy,
}

impl Cleaner<'_> {
    /// What would be deleted now, what is planned already included.
    fn look(&self) -> Result<CleanResult> {
        let (storage, config) = (self.table.storage.as_ref(), self.table.config()?);
        config.check_writable()?;
        let found = Timeline::load(storage, &config)?;
        let mut files = Vec::new();
        for pending in pending(&found) {
            let plan = CleanerPlan::decode(&found.requested_bytes(storage, pending)?)?;
            files.extend(paths(&plan::named(storage, &pending.requested, &plan)?));
        }
        let planned = self.plan(&config, &found)?;
        let retained = planned.as_ref().and_then(retained_by);
        if let Some(plan) = &planned {
            files.extend(paths(&plan::named(storage, "", plan)?));
        }
        files.sort();
        files.dedup();
        Ok(CleanResult { retained, files, ..CleanResult::default() })
    }

    /// Writes of the dead keep a clean from going further.
    fn recover(&self) -> Result<()> {
        let lock = self.lock()?;
        let config = self.table.config()?;
        config.check_writable()?;
        recover(self.table.locked(self.options, &lock), &config)
    }

    pub(super) fn run(&self, schedule: bool, execute: bool, others: Others) -> Result<CleanResult> {
        let storage = self.table.storage.as_ref();
        let config = self.table.config()?;
        config.check_writable()?;
        // What the metadata table cannot be told of must not be deleted.
        keep::check(self.table.site(self.options), &config)?;
        let found = Timeline::load(storage, &config)?;
        let mut result = CleanResult::default();
        for pending in pending(&found) {
            let plan = CleanerPlan::decode(&found.requested_bytes(storage, pending)?)
                .map_err(|e| e.at_instant(&pending.requested))?;
            let mut known = self.result(&pending.requested, &plan)?;
            if !execute || (others == Others::LeftWhileYoung && !self.is_abandoned(&found, pending)?) {
                return Ok(CleanResult { finished: result.finished, ..known });
            }
            known.completed = Some(self.execute(&config, &pending.requested, &plan)?);
            concurrency::forget(storage, &pending.requested)?;
            let mut finished = std::mem::take(&mut result.finished);
            finished.push(pending.requested.clone());
            result = CleanResult { finished, ..known };
        }
        if !schedule {
            return Ok(result);
        }
        let finished = result.finished;
        let Some((time, plan, heart)) = self.schedule()? else {
            return Ok(CleanResult { finished, ..CleanResult::default() });
        };
        let mut planned = CleanResult { finished, ..self.result(&time, &plan)? };
        if execute {
            planned.completed = Some(self.execute(&config, &time, &plan)?);
        }
        heart.stop()?;
        Ok(planned)
    }

    fn result(&self, time: &str, plan: &CleanerPlan) -> Result<CleanResult> {
        let files = paths(&plan::named(self.table.storage.as_ref(), time, plan)?);
        Ok(CleanResult { instant: Some(time.to_owned()), retained: retained_by(plan), files, ..CleanResult::default() })
    }

    /// Whether something is half deleted, or would be deleted now.
    pub(super) fn finds_anything(&self, config: &TableConfig, found: &Timeline) -> Result<bool> {
        Ok(pending(found).next().is_some() || self.plan(config, found)?.is_some())
    }

    fn plan(&self, config: &TableConfig, found: &Timeline) -> Result<Option<CleanerPlan>> {
        let incremental = self.options.get_or_default(&options::CLEAN_INCREMENTAL)?;
        let ground = Ground {
            storage: self.table.storage.as_ref(),
            config,
            timeline: found,
            extension: BASE_EXTENSION,
            within: if incremental { Within::Touched } else { Within::All },
            unsettled: None,
        };
        plan::plan(&ground, self.policy, self.policy.retained(&self.table.context, config, found))
    }

    /// Writes down a plan, if there is anything to delete.
    fn schedule(&self) -> Result<Option<(String, CleanerPlan, Heart)>> {
        let storage = self.table.storage.as_ref();
        let lock = self.lock()?;
        let config = self.table.config()?;
        let found = Timeline::load(storage, &config)?;
        begin::refuse_under_restore(&found)?;
        let Some(plan) = self.plan(&config, &found)? else { return Ok(None) };
        let time = timeline::new_time(&self.table.context, &config, &found)?;
        let heart = Heart::start(&self.table.storage, &self.table.context, self.options, &time)?;
        if let Err(e) = timeline::request(storage, &config, &lock, &time, Action::Clean, &plan.encode()?) {
            // The plan may stand all the same; then the next clean carries it out.
            let _ = heart.stop();
            return Err(e);
        }
        Ok(Some((time, plan, heart)))
    }

    /// Carries out a plan that stands, begun or not. Answers when it completed.
    fn execute(&self, config: &TableConfig, time: &str, plan: &CleanerPlan) -> Result<String> {
        let (storage, context) = (self.table.storage.as_ref(), &self.table.context);
        let started = context.clock.monotonic_ms();
        let named = plan::named(storage, time, plan)?;
        if !timeline::inflight_exists(storage, config, time, Action::Clean)? {
            timeline::to_inflight(storage, config, time, Action::Clean, b"")?;
        }
        for path in paths(&named) {
            storage.delete(&path)?;
        }
        let lock = self.lock()?;
        let config = self.table.config()?;
        let found = Timeline::load(storage, &config)?;
        let clean = found.instants.iter().find(|i| i.requested == time && i.action == Action::Clean);
        let clean = clean.ok_or_else(|| {
            Error::storage("a clean under way was taken off the timeline by somebody else").at_instant(time)
        })?;
        // The engine that planned it may have come to the end as well.
        if let Some(completed) = clean.completed.clone().filter(|_| clean.is_completed()) {
            return Ok(completed);
        }
        let took = context.clock.monotonic_ms() - started;
        let metadata = metadata(time, plan, named, took);
        let locked = self.table.locked(self.options, &lock);
        publish(locked, &config, &found, (time, Action::Clean), Done::Cleaned(&metadata))
    }

    fn is_abandoned(&self, found: &Timeline, pending: &Instant) -> Result<bool> {
        let patience = concurrency::patience_ms(self.options)?;
        is_abandoned(self.table.site(self.options), found, pending, patience)
    }

    fn lock(&self) -> Result<TableLock> {
        concurrency::table_lock(&self.table.storage, &self.table.context, self.options)
    }
}

/// Cleans that were begun, the oldest first.
pub(super) fn pending(found: &Timeline) -> impl Iterator<Item = &Instant> {
    found.pending().filter(|instant| instant.action == Action::Clean)
}

fn retained_by(plan: &CleanerPlan) -> Option<String> {
    plan.earliest_instant_to_retain.as_ref().map(|instant| instant.timestamp.clone())
}

pub(super) fn paths(named: &BTreeMap<String, Vec<String>>) -> Vec<String> {
    let paths = named.iter().flat_map(|(partition, names)| names.iter().map(|name| in_partition(partition, name)));
    let mut paths: Vec<String> = paths.collect();
    paths.sort();
    paths
}

/// Files that somebody had deleted before count as deleted: readers and the metadata table must know of all.
pub(super) fn metadata(
    time: &str,
    plan: &CleanerPlan,
    named: BTreeMap<String, Vec<String>>,
    took_ms: i64,
) -> CleanMetadata {
    let deleted = named.values().map(Vec::len).sum::<usize>();
    let of_partition = |(partition, names): (String, Vec<String>)| {
        let cleaned = CleanPartitionMetadata {
            partition_path: partition.clone(),
            policy: plan.policy.clone(),
            delete_path_patterns: names.clone(),
            success_delete_files: names,
            // An empty partition costs nothing; to delete its folder could cost the rows of a writer who just enters it.
            is_partition_deleted: Some(false),
            ..CleanPartitionMetadata::default()
        };
        (partition, cleaned)
    };
    CleanMetadata {
        start_clean_time: time.to_owned(),
        time_taken_in_millis: took_ms,
        total_files_deleted: i32::try_from(deleted).unwrap_or(i32::MAX),
        earliest_commit_to_retain: retained_by(plan).unwrap_or_default(),
        last_completed_commit_timestamp: plan.last_completed_commit_timestamp.clone(),
        partition_metadata: named.into_iter().map(of_partition).collect(),
        version: Some(VERSION),
        bootstrap_partition_metadata: Some(BTreeMap::new()),
        extra_metadata: Some(plan.extra_metadata.clone().unwrap_or_default()),
        ..CleanMetadata::default()
    }
}
