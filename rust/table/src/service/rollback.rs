//! Undoing a write that did not complete: its files go, its instant goes, and a rollback instant says so.
//!
//! Every step can be repeated, and the order is such that a crash between any two leaves either the victim pending or a
//! pending rollback that names it; the next writer finishes whichever it finds.

use std::collections::BTreeMap;

use hudini_format::action::{InstantInfo, RollbackMetadata, RollbackPartitionMetadata, RollbackPlan, RollbackRequest};
use hudini_format::instant::Action;
use hudini_format::name::{BaseFileName, LogFileName};

use super::paths::below_root;
use super::publish;
use crate::concurrency::{self, Marked};
use crate::config::TableConfig;
use crate::context::Context;
use crate::metadata::keep;
use crate::options::Options;
use crate::site::Locked;
use crate::storage::{Storage, absolute};
use crate::timeline::{self, Instant, Timeline};
use crate::{Error, Result};

/// Version field of plan and metadata.
const VERSION: i32 = 1;

/// Rolls back what dead writers left, and finishes rollbacks that were interrupted. Plans of services (compaction,
/// clustering) are nobody's to roll back.
pub fn recover(locked: Locked<'_>, config: &TableConfig) -> Result<()> {
    let storage = locked.store();
    let found = Timeline::load(storage, config)?;
    for pending in found.pending().filter(|i| i.action == Action::Rollback) {
        resume(locked, config, pending)?;
    }
    let found = Timeline::load(storage, config)?;
    for pending in found.pending().filter(|i| i.action.writes_data() && !i.action.is_service_plan()) {
        if concurrency::is_dead(storage, locked.context, locked.options, &pending.requested)? {
            rollback(locked, config, &pending.requested)?;
        }
    }
    sweep(storage, locked.context, locked.options, &found)
}

/// Forgets writers that died before their instant was there, or after it had completed or was rolled back. Data files are
/// not touched: an instant that the timeline does not show may be archived.
fn sweep(storage: &dyn Storage, context: &Context, options: &Options, found: &Timeline) -> Result<()> {
    for time in concurrency::lives(storage)? {
        let pending = found.find(&time).is_some_and(|i| !i.is_completed());
        if !pending && concurrency::is_dead(storage, context, options, &time)? {
            forget(storage, &time)?;
        }
    }
    Ok(())
}

/// Rolls back one pending write, or what was done of a service's plan. Callers know that the writer is dead, or are the
/// writer.
pub fn rollback(locked: Locked<'_>, config: &TableConfig, victim: &str) -> Result<()> {
    let storage = locked.store();
    let _life = concurrency::stand_in(storage, victim)?;
    let found = Timeline::load(storage, config)?;
    let Some(instant) = found.find(victim) else {
        // Somebody took us for dead and rolled us back; what we wrote since then is ours to remove.
        for file in concurrency::list_markers(storage, victim)? {
            delete_file(storage, &file)?;
        }
        return forget(storage, victim);
    };
    if instant.is_completed() {
        return Err(Error::internal("a completed write must not be rolled back as a failed one").at_instant(victim));
    }
    let time = timeline::new_time(locked.context, config, &found)?;
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

/// Goes on with a rollback whose plan stands.
fn resume(locked: Locked<'_>, config: &TableConfig, pending: &Instant) -> Result<()> {
    let storage = locked.store();
    let found = Timeline::load(storage, config)?;
    let plan = RollbackPlan::decode(&found.requested_bytes(storage, pending)?)
        .map_err(|e| e.at_instant(&pending.requested))?;
    let victim = plan.instant_to_rollback;
    let victim = victim.ok_or_else(|| {
        Error::corrupt("a rollback plan that does not say what to roll back").at_instant(&pending.requested)
    })?;
    // Apache Hudi repeats a compaction or clustering by rolling back its files and keeping its plan: its own business. Of
    // ours, a life is left.
    let is_plan = Action::parse(&victim.action).is_some_and(Action::is_service_plan);
    if is_plan && !concurrency::lives(storage)?.contains(&victim.commit_time) {
        return Ok(());
    }
    if found.find(&victim.commit_time).is_some_and(Instant::is_completed) {
        return Err(Error::unsupported("finishing the rollback of a write that had completed")
            .at_instant(&pending.requested)
            .with_hint("let the engine that began the rollback finish it"));
    }
    let _life = concurrency::stand_in(storage, &victim.commit_time)?;
    if !timeline::inflight_exists(storage, config, &pending.requested, Action::Rollback)? {
        timeline::to_inflight(storage, config, &pending.requested, Action::Rollback, b"")?;
    }
    // Files that Apache Hudi's plan names beside the markers; all are understood before one is deleted.
    let named = plan.rollback_requests.iter().flatten().flat_map(|r| &r.files_to_be_deleted);
    let below: Vec<&str> = named
        .map(|path| {
            below_root(storage.root(), path).ok_or_else(|| {
                Error::unsupported(format!("a rollback plan that names '{path}', which is not in this table"))
                    .at_instant(&pending.requested)
                    .with_hint(
                        "the table was moved, or is reached by another name; let its own engine finish the rollback",
                    )
            })
        })
        .collect::<Result<_>>()?;
    below.into_iter().try_for_each(|path| storage.delete(path).map(drop))?;
    execute(locked, config, &pending.requested, &victim.commit_time, &victim.action)
}

fn execute(locked: Locked<'_>, config: &TableConfig, time: &str, victim: &str, action: &str) -> Result<()> {
    let storage = locked.store();
    let start = locked.context.clock.monotonic_ms();
    let marked = concurrency::list_markers(storage, victim)?;
    let mut partitions: BTreeMap<String, RollbackPartitionMetadata> = BTreeMap::new();
    let mut deleted = 0;
    for file in &marked {
        if delete_file(storage, file)? {
            deleted += 1;
        }
        let partition = partitions.entry(file.partition.clone()).or_insert_with(|| RollbackPartitionMetadata {
            partition_path: file.partition.clone(),
            rollback_log_files: Some(BTreeMap::new()),
            log_files_from_failed_commit: Some(BTreeMap::new()),
            ..RollbackPartitionMetadata::default()
        });
        partition.success_delete_files.push(absolute(storage, &file.path()));
    }
    // Before the victim leaves the timeline: until then nobody believes what the metadata table says of it.
    keep::take_back(locked, &TableConfig::load(storage)?, time, victim)?;
    let found = Timeline::load(storage, config)?;
    let pending = found.find(victim).filter(|i| !i.is_completed());
    let plan = pending.filter(|i| i.action.is_service_plan());
    if let Some(instant) = pending.filter(|i| !i.action.is_service_plan()) {
        timeline::remove_pending(storage, config, instant)?;
    }
    let metadata = RollbackMetadata {
        start_rollback_time: time.to_owned(),
        time_taken_in_millis: locked.context.clock.monotonic_ms() - start,
        total_files_deleted: deleted,
        commits_rollback: vec![victim.to_owned()],
        partition_metadata: partitions,
        version: Some(VERSION),
        instants_rollback: vec![InstantInfo {
            commit_time: victim.to_owned(),
            action: action.to_owned(),
            ..InstantInfo::default()
        }],
        ..RollbackMetadata::default()
    };
    publish::complete(locked, config, &found, (time, Action::Rollback), &metadata.encode()?, None)?;
    // As long as its rollback is pending, nobody may take a plan up again: the files of that attempt would be deleted too.
    if let Some(instant) = plan {
        timeline::back_to_requested(storage, config, instant)?;
    }
    forget(storage, victim)
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
pub fn is_rolled_back(storage: &dyn Storage, found: &Timeline, time: &str) -> Result<bool> {
    is_rolled_back_after(storage, found, time, time)
}

/// The same of a plan that was taken up at the time `since`, perhaps not for the first time.
pub(super) fn is_rolled_back_after(storage: &dyn Storage, found: &Timeline, time: &str, since: &str) -> Result<bool> {
    for instant in found.instants.iter().filter(|i| i.action == Action::Rollback && i.requested.as_str() > since) {
        if !instant.files.iter().any(|file| file.ends_with(".requested")) {
            continue;
        }
        let plan = RollbackPlan::decode(&found.requested_bytes(storage, instant)?)
            .map_err(|e| e.at_instant(&instant.requested))?;
        if plan.instant_to_rollback.is_some_and(|victim| victim.commit_time == time) {
            return Ok(true);
        }
    }
    Ok(false)
}
