//! Which files the metadata table's own commits name.
//!
//! Nothing in the rest tells that a log of it is gone, or was emptied: what that said would be missing from every answer. So
//! the newest slices of a partition must have the files that the commits of its active timeline wrote, whole. An index that
//! was dropped and built anew has none of the files that it had before.

use std::collections::BTreeMap;

use hudini_format::action::WriteStat;
use hudini_format::name::{BaseFileName, LogFileName};

use super::INITIAL;
use crate::context::pool::run_all;
use crate::storage::Storage;
use crate::timeline::{Instant, Timeline};
use crate::view::{DataFile, FileKey, FileSlice, kind_of, last_of};
use crate::{Error, Result};

/// Commits that are read at a time, for stores that take long to answer.
const AT_ONCE: usize = 4;

/// When each partition was built, or built anew. Version 6 has no such times, and there nothing comes before.
fn built<'c>(written: &'c [(&Instant, BTreeMap<String, Vec<WriteStat>>)]) -> BTreeMap<&'c str, &'c str> {
    let mut built: BTreeMap<&str, &str> = BTreeMap::new();
    for (commit, stats) in written.iter().filter(|(commit, _)| commit.requested.starts_with(INITIAL)) {
        for partition in stats.keys() {
            let at = built.entry(partition).or_default();
            *at = commit.completed.as_deref().unwrap_or_default().max(*at);
        }
    }
    built
}

/// The instant that a file of a file group has in its name: that of its slice, but for logs since version 8, which have their
/// own commit's.
fn named_instant(stat: &WriteStat) -> Option<(String, String)> {
    let name = last_of(stat.path.as_deref()?);
    let log = || LogFileName::parse(name).map(|log| (log.file_id, log.instant));
    log().or_else(|| BaseFileName::parse(name).map(|base| (base.file_id, base.instant)))
}

/// By partition and file group, the last commit and the instant in its file's name. A file group of version 6 that began again
/// upon an older slice than it had was built anew: a downgrade does so to an index that it compacted before.
fn latest<'c>(
    written: &'c [(&Instant, BTreeMap<String, Vec<WriteStat>>)],
) -> BTreeMap<(&'c str, String), (&'c str, String)> {
    let mut latest = BTreeMap::new();
    for (commit, partition, stat) in stats_of(written) {
        let Some((group, instant)) = named_instant(stat) else { continue };
        let found = (commit.requested.as_str(), instant);
        let last = latest.entry((partition, group)).or_insert_with(|| found.clone());
        *last = found.max(last.clone());
    }
    latest
}

/// Each file that a commit wrote, with the partition.
fn stats_of<'c>(
    written: &'c [(&Instant, BTreeMap<String, Vec<WriteStat>>)],
) -> impl Iterator<Item = (&'c Instant, &'c str, &'c WriteStat)> {
    let partitions = written.iter().flat_map(|(commit, stats)| stats.iter().map(move |stats| (*commit, stats)));
    partitions.flat_map(|(commit, (partition, stats))| stats.iter().map(move |stat| (commit, partition.as_str(), stat)))
}

/// By partition of the metadata table and name, with the bytes that a file has at least.
#[derive(Debug, Default)]
pub(super) struct Named(BTreeMap<FileKey, u64>);

impl Named {
    pub(super) fn by(storage: &dyn Storage, timeline: &Timeline) -> Result<Self> {
        let commits: Vec<_> = timeline.commits().filter(|commit| !commit.is_archived()).collect();
        let metadata =
            run_all(AT_ONCE, commits.clone(), |_, commit| timeline.commit_metadata_if_there(storage, commit))?;
        let written = metadata.into_iter().map(|metadata| metadata.and_then(|m| m.partition_to_write_stats));
        let written: Vec<_> = commits.into_iter().zip(written.map(Option::unwrap_or_default)).collect();
        Ok(Self::by_written(&written))
    }

    fn by_written(written: &[(&Instant, BTreeMap<String, Vec<WriteStat>>)]) -> Self {
        let (built, latest) = (built(written), latest(written));
        let mut named = BTreeMap::new();
        for (commit, partition, stat) in stats_of(written) {
            let Some(path) = &stat.path else { continue };
            let began_again = named_instant(stat).is_some_and(|(group, instant)| {
                let last = latest.get(&(partition, group));
                last.is_some_and(|(last, of)| commit.requested.as_str() < *last && instant > *of)
            });
            if began_again || commit.completed.as_deref() < built.get(partition).copied() {
                continue;
            }
            let told = stat.file_size_in_bytes.and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or_default();
            // A log of version 6 may be written to by several commits.
            let bytes: &mut u64 = named.entry((partition.to_owned(), last_of(path).to_owned())).or_default();
            *bytes = told.max(*bytes).max(1);
        }
        Self(named)
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
