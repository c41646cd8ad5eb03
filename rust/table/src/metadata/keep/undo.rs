//! A commit of the metadata table is taken back, because the write that it tells of is rolled back; or it broke off, and is
//! begun again.
//!
//! One that had completed leaves a rollback under the time of the table's own rollback, as Apache Hudi does it; of one that
//! had not, nothing is left. Every step can be repeated.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hudini_format::action::{InstantInfo, RollbackMetadata, RollbackPartitionMetadata, RollbackPlan, RollbackRequest};
use hudini_format::instant::Action;
use hudini_format::name::LogFileName;

use super::deltacommit::files_of;
use crate::Result;
use crate::config::{TableConfig, clear_metadata_table};
use crate::metadata::{FOLDER, partitions};
use crate::site::{Locked, Site};
use crate::storage::folder::Folder;
use crate::storage::{Storage, absolute};
use crate::timeline::{self, Instant, Timeline};

/// Version field of plan and metadata.
const VERSION: i32 = 1;

pub(super) fn take_back(locked: Locked<'_>, config: &TableConfig, time: &str, victim: &str) -> Result<()> {
    let folder: Arc<dyn Storage> = Arc::new(Folder::new(Arc::clone(locked.storage), FOLDER));
    let folder = folder.as_ref();
    let own = TableConfig::load(folder)?;
    let found = Timeline::load(folder, &own)?;
    let rollback = found.find(time);
    if rollback.is_some_and(Instant::is_completed) {
        return Ok(());
    }
    let commit = found.find(victim);
    if let Some(commit) = commit
        && is_folded(folder, &found, commit)?
    {
        // What it told is in base files, and cannot be told from the rest: the table is made anew by the next write.
        return clear_metadata_table(locked.store(), locked.context);
    }
    if commit.is_none() && rollback.is_none() {
        return Ok(());
    }
    let dirs: BTreeSet<String> = partitions(config).into_iter().collect();
    let files = files_of(folder, &dirs, victim)?;
    let is_told = commit.is_some_and(Instant::is_completed) || rollback.is_some();
    if is_told && rollback.is_none() {
        timeline::request(folder, &own, locked.lock, time, Action::Rollback, &plan(folder, victim, &files).encode()?)?;
    }
    if is_told && !timeline::inflight_exists(folder, &own, time, Action::Rollback)? {
        timeline::to_inflight(folder, &own, time, Action::Rollback, b"")?;
    }
    files.iter().try_for_each(|path| folder.delete(path).map(drop))?;
    if let Some(commit) = commit {
        timeline::remove_pending(folder, &own, commit)?;
    }
    if is_told {
        let found = Timeline::load(folder, &own)?;
        let completed = timeline::completion_time(locked.context, config, &found, time)?;
        let body = metadata(folder, time, victim, &files).encode()?;
        timeline::complete(folder, &own, locked.lock, time, &completed, Action::Rollback, &body)?;
    }
    Ok(())
}

/// When an earlier attempt at the action told of it: a clean that broke off is finished under its own time. If that attempt
/// broke off here, nothing of it stays.
pub(super) fn told_before(site: Site<'_>, config: &TableConfig, time: &str) -> Result<Option<String>> {
    let folder = Folder::new(Arc::clone(site.storage), FOLDER);
    let own = TableConfig::load(&folder)?;
    let found = Timeline::load(&folder, &own)?;
    let Some(attempt) = found.find(time) else { return Ok(None) };
    if attempt.is_completed() {
        return Ok(attempt.completed.clone());
    }
    let dirs: BTreeSet<String> = partitions(config).into_iter().collect();
    files_of(&folder, &dirs, time)?.iter().try_for_each(|path| folder.delete(path).map(drop))?;
    timeline::remove_pending(&folder, &own, attempt)?;
    Ok(None)
}

/// Whether the logs of a commit are in a base file, or will be by a plan that stands. A log that completed before a compaction
/// was requested belongs to the slice that this one folds; one that completed later lies on the new slice, whenever the
/// compaction itself completed, unless the plan names it all the same.
fn is_folded(folder: &dyn Storage, own: &Timeline, commit: &Instant) -> Result<bool> {
    let Some(completed) = commit.completed.as_ref().filter(|_| commit.is_completed()) else { return Ok(false) };
    for compaction in own.instants.iter().filter(|i| matches!(i.action, Action::Commit | Action::Compaction)) {
        if compaction.requested >= *completed {
            return Ok(true);
        }
        let plan = own.compaction_plan(folder, compaction)?.unwrap_or_default();
        let mut logs =
            plan.operations.iter().flatten().flat_map(|operation| operation.delta_file_paths.iter().flatten());
        if logs.any(|name| LogFileName::parse(name).is_some_and(|log| log.instant == commit.requested)) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn instant(victim: &str) -> InstantInfo {
    InstantInfo {
        commit_time: victim.to_owned(),
        action: Action::DeltaCommit.name().to_owned(),
        ..InstantInfo::default()
    }
}

fn plan(folder: &dyn Storage, victim: &str, files: &[String]) -> RollbackPlan {
    let request = |path: &String| RollbackRequest {
        partition_path: partition_of(path).to_owned(),
        file_id: Some(String::new()),
        latest_base_instant: Some(String::new()),
        files_to_be_deleted: vec![absolute(folder, path)],
        log_blocks_to_be_deleted: Some(BTreeMap::new()),
        ..RollbackRequest::default()
    };
    RollbackPlan {
        instant_to_rollback: Some(instant(victim)),
        rollback_requests: Some(files.iter().map(request).collect()),
        version: Some(VERSION),
        ..RollbackPlan::default()
    }
}

fn metadata(folder: &dyn Storage, time: &str, victim: &str, files: &[String]) -> RollbackMetadata {
    let mut partitions: BTreeMap<String, RollbackPartitionMetadata> = BTreeMap::new();
    for path in files {
        let partition = partition_of(path);
        let of_partition = partitions.entry(partition.to_owned()).or_insert_with(|| RollbackPartitionMetadata {
            partition_path: partition.to_owned(),
            rollback_log_files: Some(BTreeMap::new()),
            log_files_from_failed_commit: Some(BTreeMap::new()),
            ..RollbackPartitionMetadata::default()
        });
        of_partition.success_delete_files.push(absolute(folder, path));
    }
    RollbackMetadata {
        start_rollback_time: time.to_owned(),
        total_files_deleted: i32::try_from(files.len()).unwrap_or(i32::MAX),
        commits_rollback: vec![victim.to_owned()],
        partition_metadata: partitions,
        version: Some(VERSION),
        instants_rollback: vec![instant(victim)],
        ..RollbackMetadata::default()
    }
}

fn partition_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(partition, _)| partition)
}
