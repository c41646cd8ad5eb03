//! Undoing a write that did not complete: its files go, its instant goes, and a rollback instant says so.
//!
//! Every step can be repeated, and the order is such that a crash between any two leaves either the victim pending or a
//! pending rollback that names it; the next writer finishes whichever it finds.

use std::collections::{BTreeMap, BTreeSet};

use hudini_format::action::{InstantInfo, RollbackMetadata, RollbackPartitionMetadata, RollbackPlan, RollbackRequest};
use hudini_format::instant::Action;
use hudini_format::name::{BaseFileName, LogFileName};

use super::begin::{OTHERS_PATIENCE_MS, Others, is_abandoned};
use super::paths::below_root;
use super::publish;
use crate::concurrency::{self, Marked};
use crate::config::TableConfig;
use crate::context::Context;
use crate::metadata::keep;
use crate::options::Options;
use crate::site::{Locked, Site};
use crate::storage::{Storage, absolute};
use crate::timeline::{self, Instant, Timeline};
use crate::{Error, ErrorKind, Result};

/// Version field of plan and metadata.
const VERSION: i32 = 1;

/// Rolls back what dead writers left, and finishes rollbacks that were interrupted. Plans of services (compaction,
/// clustering) are nobody's to roll back.
///
/// A rollback that another engine may be at right now is left alone, and its victim with it: that counts as a write under way
/// of somebody who lives, of which no reader sees anything and upon which no writer builds.
pub(crate) fn recover(locked: Locked<'_>, config: &TableConfig) -> Result<()> {
    let storage = locked.store();
    let found = Timeline::load(storage, config)?;
    let mut left = BTreeSet::new();
    for pending in rollbacks(&found).filter(|i| !i.is_completed()) {
        let planned = Planned::read(storage, &found, pending)?;
        if is_plan(&planned.victim.action) && !concurrency::lives(storage)?.contains(&planned.victim.commit_time) {
            continue;
        }
        planned.refuse_of_completed(&found)?;
        // A victim that lives finds out when it comes to its end.
        let lives = !concurrency::is_dead(storage, locked.context, locked.options, &planned.victim.commit_time)?;
        if lives || planned.is_under_way(*locked, &found)? {
            left.insert(planned.victim.commit_time);
        } else {
            planned.finish(locked, config)?;
        }
    }
    let found = Timeline::load(storage, config)?;
    let is_ours_to_roll_back =
        |i: &&Instant| i.action.writes_data() && !i.action.is_service_plan() && !left.contains(&i.requested);
    for pending in found.pending().filter(is_ours_to_roll_back) {
        if concurrency::is_dead(storage, locked.context, locked.options, &pending.requested)? {
            rollback(locked, config, &pending.requested, Others::LeftWhileYoung)?;
        }
    }
    sweep(storage, locked.context, locked.options, &found)
}

/// Forgets writers that died before their instant was there, or after it had completed or was rolled back. Where the
/// timeline does not show the instant, data files are not touched: it may be archived.
fn sweep(storage: &dyn Storage, context: &Context, options: &Options, found: &Timeline) -> Result<()> {
    for time in concurrency::lives(storage)? {
        let pending = found.find(&time).is_some_and(|i| !i.is_completed());
        if !pending && concurrency::is_dead(storage, context, options, &time)? {
            clear_up_committed(storage, found, &time)?;
            forget(storage, &time)?;
        }
    }
    Ok(())
}

/// Removes what attempts that were lost left of a commit. Answers whether the timeline shows it.
pub(super) fn clear_up_committed(storage: &dyn Storage, found: &Timeline, time: &str) -> Result<bool> {
    let Some(commit) = found.commits().find(|commit| commit.requested == time) else { return Ok(false) };
    let metadata = found.commit_metadata(storage, commit)?;
    concurrency::clear_up(storage, time, metadata.write_stats()).map(|()| true)
}

/// Rolls back one pending write, or what was done of a service's plan; by the rollback that somebody has begun already, if
/// there is one. Callers know that the writer is dead, or are the writer.
pub(crate) fn rollback(locked: Locked<'_>, config: &TableConfig, victim: &str, others: Others) -> Result<()> {
    let storage = locked.store();
    let found = Timeline::load(storage, config)?;
    if found.find(victim).is_some_and(Instant::is_completed) {
        return Err(Error::internal("a completed write must not be rolled back as a failed one").at_instant(victim));
    }
    if let Some(planned) = Planned::of(storage, &found, victim)? {
        if others == Others::LeftWhileYoung && planned.is_under_way(*locked, &found)? {
            return withdraw(storage, victim);
        }
        return planned.finish(locked, config);
    }
    let _stand_in = concurrency::stand_in_for(*locked, victim)?;
    let Some(instant) = found.find(victim) else { return put_away(storage, config, found.clone(), victim) };
    let time = timeline::new_time(locked.context, config, &found)?;
    let _life = concurrency::stand_in(storage, &time)?;
    let marked = concurrency::list_markers(storage, victim)?;
    let plan = RollbackPlan {
        instant_to_rollback: Some(InstantInfo {
            commit_time: victim.to_owned(),
            action: instant.action.name().to_owned(),
            ..InstantInfo::default()
        }),
        rollback_requests: Some(marked.iter().map(|m| request(storage, victim, m)).collect()),
        version: Some(VERSION),
        ..RollbackPlan::default()
    };
    timeline::request(storage, config, locked.lock, &time, Action::Rollback, &plan.encode()?)?;
    timeline::to_inflight(storage, config, &time, Action::Rollback, b"")?;
    execute(locked, config, &time, victim, instant.action.name())
}

/// Of a write that the active timeline does not show. It was rolled back before, or it is in the history: whoever was silent
/// for long may have completed in spite of all, or had a plan that others did. Then what its commit names is the table's.
fn put_away(storage: &dyn Storage, config: &TableConfig, found: Timeline, time: &str) -> Result<()> {
    if clear_up_committed(storage, &found.with_history(storage, config)?, time)? {
        return forget(storage, time);
    }
    withdraw(storage, time)
}

/// Removes what was written under an instant since it was rolled back, by whoever did not know yet.
fn withdraw(storage: &dyn Storage, time: &str) -> Result<()> {
    for file in concurrency::list_markers(storage, time)? {
        delete_file(storage, &file)?;
    }
    forget(storage, time)
}

/// A pending rollback, and what it is to roll back.
pub(super) struct Planned<'t> {
    pending: &'t Instant,
    victim: InstantInfo,
    requests: Vec<RollbackRequest>,
}

impl<'t> Planned<'t> {
    /// The one that names this victim, if there is one.
    pub(super) fn of(storage: &dyn Storage, found: &'t Timeline, victim: &str) -> Result<Option<Self>> {
        for pending in rollbacks(found).filter(|i| !i.is_completed()) {
            let planned = Self::read(storage, found, pending)?;
            if planned.victim.commit_time == victim {
                return Ok(Some(planned));
            }
        }
        Ok(None)
    }

    fn read(storage: &dyn Storage, found: &'t Timeline, pending: &'t Instant) -> Result<Self> {
        let plan = plan_of(storage, found, pending)?;
        let victim = plan.instant_to_rollback.ok_or_else(|| {
            Error::corrupt("a rollback plan that does not say what to roll back").at_instant(&pending.requested)
        })?;
        Ok(Self { pending, victim, requests: plan.rollback_requests.unwrap_or_default() })
    }

    fn refuse_of_completed(&self, found: &Timeline) -> Result<()> {
        if !found.find(&self.victim.commit_time).is_some_and(Instant::is_completed) {
            return Ok(());
        }
        Err(Error::unsupported("finishing the rollback of a write that had completed")
            .at_instant(&self.pending.requested)
            .with_hint("let the engine that began the rollback finish it"))
    }

    /// Whether somebody may be at it. One of ours has a life under its own instant, and ours are at it under the table's lock.
    fn is_under_way(&self, site: Site<'_>, found: &Timeline) -> Result<bool> {
        Ok(!is_abandoned(site, found, self.pending, OTHERS_PATIENCE_MS)?)
    }

    fn finish(&self, locked: Locked<'_>, config: &TableConfig) -> Result<()> {
        let storage = locked.store();
        let (time, victim) = (&self.pending.requested, &self.victim);
        let _stand_in = concurrency::stand_in_for(*locked, &victim.commit_time)?;
        let _life = concurrency::stand_in(storage, time)?;
        if !timeline::inflight_exists(storage, config, time, Action::Rollback)? {
            timeline::to_inflight(storage, config, time, Action::Rollback, b"")?;
        }
        // Files that Apache Hudi's plan names beside the markers; all are understood before one is deleted.
        let named = self.requests.iter().flat_map(|request| &request.files_to_be_deleted);
        let below: Vec<&str> = named
            .map(|path| {
                below_root(storage.root(), path).ok_or_else(|| {
                    Error::unsupported(format!("a rollback plan that names '{path}', which is not in this table"))
                        .at_instant(time)
                        .with_hint(
                            "the table was moved, or is reached by another name; let its own engine finish the rollback",
                        )
                })
            })
            .collect::<Result<_>>()?;
        below.into_iter().try_for_each(|path| storage.delete(path).map(drop))?;
        execute(locked, config, time, &victim.commit_time, &victim.action)
    }
}

/// Apache Hudi repeats a compaction or clustering by rolling back its files and keeping its plan: its own business. Of ours, a
/// life is left.
fn is_plan(action: &str) -> bool {
    Action::parse(action).is_some_and(Action::is_service_plan)
}

/// Whether somebody may be rolling this back right now.
pub(super) fn is_under_way(site: Site<'_>, found: &Timeline, victim: &str) -> Result<bool> {
    Planned::of(site.store(), found, victim)?.map_or(Ok(false), |planned| planned.is_under_way(site, found))
}

fn rollbacks(found: &Timeline) -> impl Iterator<Item = &Instant> {
    found.instants.iter().filter(|i| i.action == Action::Rollback)
}

fn plan_of(storage: &dyn Storage, found: &Timeline, rollback: &Instant) -> Result<RollbackPlan> {
    RollbackPlan::decode(&found.requested_bytes(storage, rollback)?).map_err(|e| e.at_instant(&rollback.requested))
}

fn execute(locked: Locked<'_>, config: &TableConfig, time: &str, victim: &str, action: &str) -> Result<()> {
    let storage = locked.store();
    let start = locked.context.clock.monotonic_ms();
    let mut undone = Undone::default();
    undone.delete_marked(storage, victim)?;
    // Before the victim leaves the timeline: until then nobody believes what the metadata table says of it.
    keep::take_back(locked, &TableConfig::load(storage)?, time, victim)?;
    let found = Timeline::load(storage, config)?;
    let pending = found.find(victim).filter(|i| !i.is_completed());
    let plan = pending.filter(|i| i.action.is_service_plan());
    if let Some(instant) = pending.filter(|i| !i.action.is_service_plan()) {
        timeline::remove_pending(storage, config, instant)?;
        // A task of the victim that still runs sees from now on that it is not wanted. Until now it may have made files.
        undone.delete_marked(storage, victim)?;
    }
    let metadata = RollbackMetadata {
        start_rollback_time: time.to_owned(),
        time_taken_in_millis: locked.context.clock.monotonic_ms() - start,
        total_files_deleted: undone.deleted,
        commits_rollback: vec![victim.to_owned()],
        partition_metadata: undone.partitions,
        version: Some(VERSION),
        instants_rollback: vec![InstantInfo {
            commit_time: victim.to_owned(),
            action: action.to_owned(),
            ..InstantInfo::default()
        }],
        ..RollbackMetadata::default()
    };
    // Looked at as late as can be.
    let found = Timeline::load(storage, config)?;
    if is_done_by_others(&found, time)? {
        // A plan may be taken up anew by now, by somebody who has no life here. What is left of a write the next sweep removes.
        return if is_plan(action) { concurrency::step_back(storage, victim) } else { Ok(()) };
    }
    publish::complete(locked, config, &found, (time, Action::Rollback), &metadata.encode()?, None)?;
    // As long as its rollback is pending, nobody may take a plan up again: the files of that attempt would be deleted too.
    if let Some(instant) = plan {
        timeline::back_to_requested(storage, config, instant)?;
        // As above. What is left by a crash before this, the commit of the plan removes.
        withdraw(storage, victim)?;
    } else {
        forget(storage, victim)?;
    }
    concurrency::forget(storage, time)
}

/// What a rollback has deleted.
#[derive(Default)]
struct Undone {
    told: BTreeSet<Marked>,
    partitions: BTreeMap<String, RollbackPartitionMetadata>,
    /// How many files were there.
    deleted: i32,
}

impl Undone {
    /// Deletes the files of a write that are marked.
    fn delete_marked(&mut self, storage: &dyn Storage, victim: &str) -> Result<()> {
        for file in &concurrency::list_markers(storage, victim)? {
            if delete_file(storage, file)? {
                self.deleted += 1;
            }
            if !self.told.insert(file.clone()) {
                continue;
            }
            let partition = self.partitions.entry(file.partition.clone());
            let partition = partition.or_insert_with(|| RollbackPartitionMetadata {
                partition_path: file.partition.clone(),
                rollback_log_files: Some(BTreeMap::new()),
                log_files_from_failed_commit: Some(BTreeMap::new()),
                ..RollbackPartitionMetadata::default()
            });
            partition.success_delete_files.push(absolute(storage, &file.path()));
        }
        Ok(())
    }
}

/// Whether the engine that began a rollback has come to its end as well.
fn is_done_by_others(found: &Timeline, time: &str) -> Result<bool> {
    let rollback = rollbacks(found).find(|i| i.requested == time);
    rollback.map(Instant::is_completed).ok_or_else(|| {
        Error::new(ErrorKind::CommitConflict, "a rollback under way was taken off the timeline by somebody else")
            .at_instant(time)
            .with_hint("do it again: what was to be rolled back is looked for anew")
    })
}

fn delete_file(storage: &dyn Storage, file: &Marked) -> Result<bool> {
    let path = file.path();
    storage.discard_unfinished(&path)?;
    storage.delete(&path)
}

/// Markers go last: as long as they stand, a repeated rollback finds the same files.
fn forget(storage: &dyn Storage, victim: &str) -> Result<()> {
    concurrency::delete_markers(storage, victim)?;
    concurrency::forget(storage, victim)
}

fn request(storage: &dyn Storage, victim: &str, marked: &Marked) -> RollbackRequest {
    let file_id = BaseFileName::parse(&marked.file)
        .map(|name| name.file_id)
        .or_else(|| LogFileName::parse(&marked.file).map(|name| name.file_id));
    RollbackRequest {
        partition_path: marked.partition.clone(),
        file_id: Some(file_id.unwrap_or_default()),
        latest_base_instant: Some(victim.to_owned()),
        files_to_be_deleted: vec![absolute(storage, &marked.path())],
        log_blocks_to_be_deleted: Some(BTreeMap::new()),
        ..RollbackRequest::default()
    }
}

/// Whether a rollback names this write: begun by somebody who took the writer for dead, and perhaps still under way.
pub(crate) fn is_rolled_back(storage: &dyn Storage, found: &Timeline, time: &str) -> Result<bool> {
    is_rolled_back_after(storage, found, time, time)
}

/// The same of a plan that was taken up at the time `since`, perhaps not for the first time.
pub(super) fn is_rolled_back_after(storage: &dyn Storage, found: &Timeline, time: &str, since: &str) -> Result<bool> {
    for instant in rollbacks(found).filter(|i| i.requested.as_str() > since) {
        if !instant.files.iter().any(|file| file.ends_with(".requested")) {
            continue;
        }
        let plan = plan_of(storage, found, instant)?;
        if plan.instant_to_rollback.is_some_and(|victim| victim.commit_time == time) {
            return Ok(true);
        }
    }
    Ok(false)
}
