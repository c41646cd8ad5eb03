//! Which files the metadata table's own commits name.
//!
//! Nothing in the rest tells that a log of it is gone, or was emptied: what that said would be missing from every answer. So
//! the newest slices of a partition must have the files that the commits of its active timeline wrote, whole. An index that
//! was dropped and built anew has none of the files that it had before; of when that was the history may have to tell, for
//! builds come first by their names, and archiving takes them before what they have outlived.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use hudini_format::action::WriteStat;

use super::INITIAL;
use crate::context::pool::run_all;
use crate::storage::Storage;
use crate::timeline::{Instant, Timeline};
use crate::view::{DataFile, FileKey, FileSlice, kind_of, last_of};
use crate::{Error, Result};

/// Commits that are read at a time, for stores that take long to answer.
const AT_ONCE: usize = 4;
/// Digits of the instant at which version 6 builds a partition of a metadata table that it has already.
const BUILD_LENGTH: usize = 20;

/// Builds of partitions are called so; in version 6 a few other actions are, too.
fn may_be_build(requested: &str) -> bool {
    requested.starts_with(INITIAL) || requested.len() == BUILD_LENGTH
}

/// What the commits of the metadata table wrote, by partition.
type Written<'c> = [(&'c Instant, BTreeMap<String, Vec<WriteStat>>)];

/// When each partition was built, or built anew. Version 6 has no such times, and there nothing comes before.
fn built<'c>(written: &'c Written<'_>) -> BTreeMap<&'c str, &'c str> {
    let mut built: BTreeMap<&str, &str> = BTreeMap::new();
    for (commit, stats) in written.iter().filter(|(commit, _)| commit.requested.starts_with(INITIAL)) {
        for partition in stats.keys() {
            let at = built.entry(partition).or_default();
            *at = commit.completed.as_deref().unwrap_or_default().max(*at);
        }
    }
    built
}

/// The partitions that compactions of version 6 wrote and that were built anew behind them, with the compactions' instants. Such
/// a build is named by the last write and three digits more, and may so come before the compaction by name, as it does after a
/// downgrade; but the compaction does not build upon it.
fn outlived(storage: &dyn Storage, timeline: &Timeline, written: &Written<'_>) -> Result<BTreeSet<(String, String)>> {
    let mut builds: BTreeSet<(&str, &str)> = BTreeSet::new();
    for (commit, stats) in written.iter().filter(|(commit, _)| commit.requested.len() == BUILD_LENGTH) {
        builds.extend(stats.keys().map(|partition| (partition.as_str(), commit.requested.as_str())));
    }
    let mut outlived = BTreeSet::new();
    for (commit, _) in written.iter().filter(|_| !builds.is_empty()) {
        let plan = timeline.compaction_plan(storage, commit)?.unwrap_or_default();
        for operation in plan.operations.unwrap_or_default() {
            let (Some(partition), Some(base)) = (operation.partition_path, operation.base_instant_time) else {
                continue;
            };
            let between = (
                Bound::Excluded((partition.as_str(), base.as_str())),
                Bound::Excluded((partition.as_str(), commit.requested.as_str())),
            );
            if builds.range(between).next().is_some() {
                outlived.insert((partition, commit.requested.clone()));
            }
        }
    }
    Ok(outlived)
}

/// By partition of the metadata table and name, with the bytes that a file has at least.
#[derive(Debug, Default)]
pub(super) struct Named(BTreeMap<FileKey, u64>);

impl Named {
    /// `timeline`: with the history, or without it.
    pub(super) fn by(storage: &dyn Storage, timeline: &Timeline) -> Result<Self> {
        let counts = |commit: &&Instant| !commit.is_archived() || may_be_build(&commit.requested);
        let commits: Vec<_> = timeline.commits().filter(counts).collect();
        let metadata = run_all(AT_ONCE, commits.clone(), |_, commit| {
            timeline.if_there(storage, commit, |timeline| timeline.commit_metadata(storage, commit))
        })?;
        let written = metadata.into_iter().map(|metadata| metadata.and_then(|m| m.partition_to_write_stats));
        let written: Vec<_> = commits.into_iter().zip(written.map(Option::unwrap_or_default)).collect();
        let (built, outlived) = (built(&written), outlived(storage, timeline, &written)?);
        let mut named = BTreeMap::new();
        let active = written.iter().filter(|(commit, _)| !commit.is_archived());
        let stats = active.flat_map(|(commit, stats)| stats.iter().map(move |stats| (commit, stats)));
        for (commit, (partition, stats)) in stats {
            let is_outlived = outlived.contains(&(partition.clone(), commit.requested.clone()));
            if is_outlived || commit.completed.as_deref() < built.get(partition.as_str()).copied() {
                continue;
            }
            for stat in stats {
                let Some(path) = &stat.path else { continue };
                let told = stat.file_size_in_bytes.and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or_default();
                // A log of version 6 may be written to by several commits.
                let bytes: &mut u64 = named.entry((partition.clone(), last_of(path).to_owned())).or_default();
                *bytes = told.max(*bytes).max(1);
            }
        }
        Ok(Self(named))
    }

    /// Adds the files of a partition that are not there, so that they show in the slices that need them.
    pub(super) fn add_absent(&self, partition: &str, files: &mut Vec<DataFile>) {
        let mut absent = self.of(partition);
        for file in files.iter() {
            absent.remove(file.name.as_str());
        }
        files.extend(absent.into_keys().map(|name| DataFile { name: name.to_owned(), size: 0 }));
    }

    /// Checks that the files of a partition's slices are whole.
    pub(super) fn check(&self, partition: &str, slices: &[FileSlice]) -> Result<()> {
        let named = self.of(partition);
        for slice in slices {
            for file in slice.base.iter().chain(&slice.logs) {
                if named.get(file.name.as_str()).is_some_and(|bytes| file.size < *bytes) {
                    let kind = kind_of(&file.name);
                    let what = if file.size == 0 { "gone or empty" } else { "shorter than its commit says" };
                    let message = format!("a {kind} file of the metadata table is {what}");
                    return Err(Error::corrupt(message).at_path(slice.path(file)));
                }
            }
        }
        Ok(())
    }

    fn of(&self, partition: &str) -> BTreeMap<&str, u64> {
        let from = (partition.to_owned(), String::new());
        let rest = self.0.range(from..).take_while(|((of, _), _)| of == partition);
        rest.map(|((_, name), bytes)| (name.as_str(), *bytes)).collect()
    }
}
