//! Which files a clean deletes.
//!
//! Of a file group the newest slice stays, every slice that began with or after the earliest retained commit, and the
//! newest one before that: it is what the group looked like at that commit. A group that another took the place of goes
//! as a whole, once that happened before the retained commit. Slices with a file of a savepoint stay.
//!
//! Only slices of committed files are looked at. What else lies there belongs to a write under way, or to a rollback.

use std::collections::{BTreeMap, BTreeSet};

use hudini_format::action::{ActionInstant, CleanFileInfo, CleanMetadata, CleanerPlan, SavepointMetadata};
use hudini_format::instant::{Action, State};

use super::policy::Policy;
use crate::config::TableConfig;
use crate::options::CleanPolicy;
use crate::storage::{Storage, absolute};
use crate::timeline::{CompletionTimes, Instant, Snapshot, Timeline, Until};
use crate::view::{self, FileKey, FileSlice};
use crate::{Error, Result};

const VERSION: i32 = 2;
/// Under which plan and metadata tell the savepoints that were respected.
const SAVEPOINTS: &str = "savepointed_timestamps";

/// What decides about slices.
struct Rule<'t> {
    policy: Policy,
    retained: Option<&'t Instant>,
    /// From when on slices stay for writes under way.
    unsettled: Option<&'t str>,
    /// Groups that another took the place of, and when.
    replaced: BTreeMap<FileKey, String>,
    savepointed: BTreeSet<FileKey>,
}

/// Where a clean looks: at a table, or at its metadata table.
pub(in crate::service) struct Ground<'g> {
    pub(in crate::service) storage: &'g dyn Storage,
    pub(in crate::service) config: &'g TableConfig,
    pub(in crate::service) timeline: &'g Timeline,
    /// Of its base files.
    pub(in crate::service) extension: &'g str,
    pub(in crate::service) within: Within<'g>,
    /// From when on slices stay for writes under way of the table that this is a metadata table of.
    pub(in crate::service) unsettled: Option<&'g str>,
}

/// In which partitions it looks.
pub(in crate::service) enum Within<'g> {
    These(&'g [String]),
    All,
    /// In those alone that were written since the last clean, if that one left nothing behind.
    Touched,
}

/// What is to be deleted now, if the states from `retained` on are kept; `None`: nothing. Callers hold the lock, or do not
/// act upon it.
pub(in crate::service) fn plan(
    ground: &Ground<'_>,
    policy: Policy,
    retained: Option<&Instant>,
) -> Result<Option<CleanerPlan>> {
    if retained.is_none() && policy.kind != CleanPolicy::Versions {
        return Ok(None);
    }
    let Ground { storage, config, timeline, .. } = *ground;
    let savepoints = savepoints(storage, timeline)?;
    let names: Vec<&str> = savepoints.iter().map(|(time, _)| time.as_str()).collect();
    let partitions = partitions(ground, retained, &names)?;
    let rule = Rule {
        policy,
        retained,
        unsettled: timeline.unsettled_since().into_iter().chain(ground.unsettled).min(),
        replaced: replaced(storage, timeline)?,
        savepointed: savepoints.iter().flat_map(|(_, metadata)| files_of(metadata)).collect(),
    };
    let snapshot = Snapshot::pin(storage, config, timeline, Until::Now)?;
    let archived = CompletionTimes::new(storage, config);
    let mut files = BTreeMap::new();
    for partition in partitions {
        let listed = view::files_in(storage, &partition)?;
        let groups =
            view::data_files(listed, ground.extension, &partition)?.history(&snapshot, &archived, &partition)?;
        let slices = groups.values().flat_map(|slices| rule.obsolete(slices));
        let paths = slices.flat_map(|slice| slice.base.iter().chain(&slice.logs).map(|file| slice.path(file)));
        let info = |path: String| CleanFileInfo {
            file_path: Some(absolute(storage, &path)),
            is_bootstrap_base_file: Some(false),
            ..CleanFileInfo::default()
        };
        let infos: Vec<_> = paths.map(info).collect();
        if !infos.is_empty() {
            files.insert(partition, infos);
        }
    }
    if files.is_empty() {
        return Ok(None);
    }
    let extra = (!names.is_empty()).then(|| (SAVEPOINTS.to_owned(), names.join(",")));
    Ok(Some(CleanerPlan {
        earliest_instant_to_retain: retained.map(|instant| ActionInstant {
            timestamp: instant.requested.clone(),
            action: instant.action.completes_as().name().to_owned(),
            state: State::Completed.name().to_uppercase(),
            ..ActionInstant::default()
        }),
        last_completed_commit_timestamp: timeline
            .commits()
            .next_back()
            .map(|i| i.requested.clone())
            .unwrap_or_default(),
        policy: policy.kind.word().to_owned(),
        files_to_be_deleted_per_partition: Some(BTreeMap::new()),
        version: Some(VERSION),
        file_paths_to_be_deleted_per_partition: Some(files),
        partitions_to_be_deleted: Some(Vec::new()),
        extra_metadata: Some(extra.into_iter().collect()),
        ..CleanerPlan::default()
    }))
}

impl Rule<'_> {
    /// Those of a group's slices, the newest first, that nobody needs.
    fn obsolete<'s>(&self, slices: &'s [FileSlice]) -> Vec<&'s FileSlice> {
        let Some(newest) = slices.first() else { return Vec::new() };
        let kept = if self.is_gone(newest) { 0 } else { self.kept(slices) };
        slices.iter().skip(kept).filter(|slice| !self.is_savepointed(slice)).collect()
    }

    /// Whether the group was replaced, so long ago that no state to be kept has it.
    fn is_gone(&self, slice: &FileSlice) -> bool {
        let key = (slice.partition.clone(), slice.file_id.clone());
        let Some(replaced) = self.replaced.get(&key).map(String::as_str) else { return false };
        self.unsettled.is_none_or(|since| replaced < since)
            && self.retained.is_none_or(|retained| replaced < retained.requested.as_str())
    }

    /// How many of the newest slices stay.
    fn kept(&self, slices: &[FileSlice]) -> usize {
        let for_state = |since: &str| {
            let later = slices.iter().take_while(|slice| slice.base_instant.as_str() >= since).count();
            let before = slices.iter().skip(later);
            // Without a base file a slice builds upon the one before it.
            later + before.take_while(|slice| slice.base.is_none()).count() + 1
        };
        let for_versions = || {
            let versions = usize::try_from(self.policy.retain).unwrap_or(usize::MAX);
            let with_base = slices.iter().enumerate().filter(|(_, slice)| slice.base.is_some());
            with_base.map(|(at, _)| at + 1).nth(versions.saturating_sub(1)).unwrap_or(slices.len())
        };
        let kept = self.retained.map_or_else(for_versions, |retained| for_state(&retained.requested));
        kept.max(self.unsettled.map_or(0, for_state))
    }

    fn is_savepointed(&self, slice: &FileSlice) -> bool {
        let key = |name: &String| (slice.partition.clone(), name.clone());
        slice.base.iter().chain(&slice.logs).any(|file| self.savepointed.contains(&key(&file.name)))
    }
}

/// Where a clean has to look.
fn partitions(ground: &Ground<'_>, retained: Option<&Instant>, savepoints: &[&str]) -> Result<Vec<String>> {
    let Ground { storage, timeline, .. } = *ground;
    if let Within::These(partitions) = ground.within {
        return Ok(partitions.to_vec());
    }
    if let (Within::Touched, Some(retained)) = (&ground.within, retained)
        && let Some(since) = last_retained(storage, timeline, savepoints)?
    {
        return written_between(storage, timeline, &since, &retained.requested);
    }
    view::partitions(storage, ground.config)
}

/// The earliest commit that the last clean kept, if that clean left nothing behind that could go by now: it knew of no
/// savepoint that is gone, and the commits since then are all on the timeline.
fn last_retained(storage: &dyn Storage, timeline: &Timeline, savepoints: &[&str]) -> Result<Option<String>> {
    let Some(clean) = timeline.completed().rfind(|instant| instant.action == Action::Clean) else { return Ok(None) };
    let CleanMetadata { earliest_commit_to_retain: since, extra_metadata, .. } =
        timeline.clean_metadata(storage, clean)?;
    let respected = extra_metadata.as_ref().and_then(|extra| extra.get(SAVEPOINTS)).map_or("", String::as_str);
    let is_there = |savepoint: &str| savepoints.contains(&savepoint);
    let all_there = respected.split(',').map(str::trim).filter(|savepoint| !savepoint.is_empty()).all(is_there);
    let on_timeline = timeline.commits().any(|commit| commit.requested == since);
    Ok(Some(since).filter(|_| all_there && on_timeline))
}

/// A slice can go when a newer one moves out of the retained time: by a commit since `from` and before `to`.
fn written_between(storage: &dyn Storage, timeline: &Timeline, from: &str, to: &str) -> Result<Vec<String>> {
    let mut partitions = BTreeSet::new();
    let between = |commit: &&Instant| (from..to).contains(&commit.requested.as_str());
    for commit in timeline.commits().filter(between) {
        let metadata = timeline.commit_metadata(storage, commit)?;
        partitions.extend(metadata.partition_to_write_stats.into_iter().flatten().map(|(partition, _)| partition));
        partitions.extend(metadata.partition_to_replace_file_ids.into_iter().flatten().map(|(partition, _)| partition));
    }
    Ok(partitions.into_iter().collect())
}

fn replaced(storage: &dyn Storage, timeline: &Timeline) -> Result<BTreeMap<FileKey, String>> {
    let mut replaced = BTreeMap::new();
    for instant in timeline.commits().filter(|instant| instant.action == Action::ReplaceCommit) {
        let metadata = timeline.commit_metadata(storage, instant)?;
        for (partition, ids) in metadata.partition_to_replace_file_ids.unwrap_or_default() {
            replaced.extend(ids.into_iter().map(|id| ((partition.clone(), id), instant.requested.clone())));
        }
    }
    Ok(replaced)
}

fn savepoints(storage: &dyn Storage, timeline: &Timeline) -> Result<Vec<(String, SavepointMetadata)>> {
    let found = timeline.completed().filter(|instant| instant.action == Action::Savepoint);
    found.map(|instant| Ok((instant.requested.clone(), timeline.savepoint_metadata(storage, instant)?))).collect()
}

fn files_of(savepoint: &SavepointMetadata) -> impl Iterator<Item = FileKey> {
    let partitions = savepoint.partition_metadata.iter();
    partitions.flat_map(|(partition, saved)| {
        saved.savepoint_data_file.iter().map(|name| (partition.clone(), view::last_of(name).to_owned()))
    })
}

/// The files that a plan names, by partition. All are understood before one is deleted.
pub(in crate::service) fn named(
    storage: &dyn Storage,
    time: &str,
    plan: &CleanerPlan,
) -> Result<BTreeMap<String, Vec<String>>> {
    let mut named: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (partition, files) in plan.file_paths_to_be_deleted_per_partition.iter().flatten() {
        let names = named.entry(partition.clone()).or_default();
        for file in files {
            let path = file.file_path.as_deref().unwrap_or_default();
            if file.is_bootstrap_base_file == Some(true) {
                return Err(Error::unsupported("cleaning away files of which a bootstrap made the table")
                    .at_path(path)
                    .at_instant(time));
            }
            names.push(below(storage, partition, path).map_err(|e| e.at_instant(time))?);
        }
    }
    for (partition, files) in plan.files_to_be_deleted_per_partition.iter().flatten() {
        named.entry(partition.clone()).or_default().extend(files.iter().cloned());
    }
    for name in named.values().flatten() {
        if !view::holds_data(name) {
            return Err(
                Error::unsupported(format!("a clean plan that names '{name}', which is no data file")).at_instant(time)
            );
        }
    }
    named.retain(|_, names| !names.is_empty());
    Ok(named)
}

/// The name of a file in that partition.
fn below(storage: &dyn Storage, partition: &str, path: &str) -> Result<String> {
    let name = view::last_of(path);
    match super::super::paths::below_root(storage.root(), path) {
        Some(below) if below == view::in_partition(partition, name) => Ok(name.to_owned()),
        _ => Err(Error::unsupported(format!("a clean plan that names '{path}', which is not in this table"))
            .with_hint("the table was moved, or is reached by another name; let its own engine finish the clean")),
    }
}
