//! What changed in a range of time: the newest state, at the end of the range, of the rows that were written within it.
//!
//! The rows are looked for in the files that the range's writes left, merged as they stood at the end of the range. Rows from
//! before the range do not take part, so a late change counts although it lost against the base row, as in Apache Hudi.
//! Rows that a write only carried along keep the commit time of the write that made them, so the commit time tells which
//! ones count; compaction and clustering bring nothing new. Deleted rows are not there: that is what changes tell.

use std::collections::{BTreeMap, BTreeSet};

use hudini_format::action::CommitMetadata;
use hudini_format::name::{BaseFileName, LogFileName};

use super::pin::{Candidates, Laps};
use super::{ScanRequest, operation};
use crate::Result;
use crate::config::TableConfig;
use crate::storage::Storage;
use crate::table::Table;
use crate::timeline::{Instant, Snapshot, Timeline, Until};
use crate::view::{self, FileSlice, Listing, Missing, Partitions, kind_of};

/// A range of completion times; of requested times in table version 6, which has no others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Window {
    /// Exclusive; `None` is the beginning.
    pub start: Option<String>,
    /// Inclusive; `None` is now.
    pub end: Option<String>,
}

impl Window {
    /// All that may lie within.
    pub(super) fn timeline(&self, storage: &dyn Storage, config: &TableConfig) -> Result<Timeline> {
        let timeline = Timeline::load(storage, config)?;
        // A write that took long may have completed within the range and be archived, wherever the active timeline begins.
        match &self.start {
            Some(start) => timeline.with_history_after(storage, config, start),
            None => timeline.with_history(storage, config),
        }
    }

    pub(super) fn holds(&self, instant: &Instant) -> bool {
        let Some(completed) = &instant.completed else { return false };
        self.start.as_ref().is_none_or(|start| completed > start)
            && self.end.as_ref().is_none_or(|end| completed <= end)
    }
}

/// What of a range is to be read.
pub(super) fn pin(
    table: &Table,
    config: &TableConfig,
    request: &ScanRequest,
    window: &Window,
    laps: &mut Laps<'_>,
) -> Result<(Snapshot, Candidates)> {
    let storage = table.storage.as_ref();
    let timeline = window.timeline(storage, config)?;
    let window = window.settled(table, &timeline)?;
    let until = window.end.as_deref().map_or(Until::Now, Until::Completed);
    let mut snapshot = Snapshot::pin(storage, config, &timeline, until)?;
    if operation::matters(config, request) {
        operation::show(&table.storage, config, &timeline, &mut snapshot)?;
    }
    let mut touched = Touched::default();
    for instant in timeline.commits().filter(|instant| window.holds(instant)) {
        touched.add(instant, &timeline.commit_metadata(storage, instant)?);
    }
    laps.done("timeline");
    let partitions: Vec<String> = touched.groups.keys().cloned().collect();
    let mut listed = Listing::of(table, config, &timeline, Partitions::These(&partitions))?;
    let metadata = listed.metadata.take();
    let warnings = std::mem::take(&mut listed.warnings).into_iter().chain(timeline.warning()).collect();
    let slices = touched.slices(storage, listed.slices(storage, config, &snapshot)?, &snapshot)?;
    laps.done("listing");
    let candidates = Candidates { slices, commits: Some(touched.commits), metadata, warnings, now: None };
    Ok((snapshot, candidates))
}

/// What the writes of a range wrote.
#[derive(Debug, Default)]
struct Touched {
    /// Their requested times.
    commits: BTreeSet<String>,
    /// By partition and file group.
    groups: BTreeMap<String, BTreeMap<String, Written>>,
}

/// Files that were written in one file group.
#[derive(Debug, Default)]
struct Written {
    /// The newest one, by its instant.
    base: Option<(String, String)>,
    /// When their writes completed, and their names.
    logs: Vec<(String, String)>,
}

impl Touched {
    fn add(&mut self, instant: &Instant, metadata: &CommitMetadata) {
        self.commits.insert(instant.requested.clone());
        for (partition, stats) in metadata.partition_to_write_stats.iter().flatten() {
            let groups = self.groups.entry(partition.clone()).or_default();
            for stat in stats {
                let Some(id) = &stat.file_id else { continue };
                let written = groups.entry(id.clone()).or_default();
                if let Some(path) = &stat.path {
                    written.add(path.rsplit('/').next().unwrap_or(path), instant);
                }
            }
        }
    }

    /// What the snapshot's slices have of the files, but for groups that were replaced.
    fn slices(&self, storage: &dyn Storage, found: Vec<FileSlice>, snapshot: &Snapshot) -> Result<Vec<FileSlice>> {
        let mut found: BTreeMap<_, _> =
            found.into_iter().map(|s| ((s.partition.clone(), s.file_id.clone()), s)).collect();
        let mut slices = Vec::new();
        for (partition, groups) in &self.groups {
            for (id, written) in groups {
                let group = (partition.clone(), id.clone());
                if snapshot.replaced.contains(&group) {
                    continue;
                }
                let slice = found.remove(&group);
                if let Some(name) = written.missing(slice.as_ref(), snapshot) {
                    let what = format!("a {} file of the range", kind_of(name));
                    return Err(view::missing(storage, Missing::File(partition, name), &what)?);
                }
                slices.extend(slice.and_then(|slice| written.of_slice(slice)));
            }
        }
        Ok(slices)
    }
}

impl Written {
    fn add(&mut self, name: &str, instant: &Instant) {
        if let Some(base) = BaseFileName::parse(name) {
            if self.base.as_ref().is_none_or(|(newest, _)| *newest < base.instant) {
                self.base = Some((base.instant, name.to_owned()));
            }
        } else if LogFileName::parse(name).is_some() {
            self.logs.push((instant.completed.clone().unwrap_or_default(), name.to_owned()));
        }
    }

    /// What of the slice was written in the range.
    fn of_slice(&self, mut slice: FileSlice) -> Option<FileSlice> {
        slice.base = slice.base.filter(|base| self.base.as_ref().is_some_and(|(_, name)| *name == base.name));
        slice.logs.retain(|log| self.logs.iter().any(|(_, name)| *name == log.name));
        (slice.base.is_some() || !slice.logs.is_empty()).then_some(slice)
    }

    /// A file that the slice lacks, although it was written within the range and not overwritten: a clean may have taken it.
    fn missing(&self, slice: Option<&FileSlice>, snapshot: &Snapshot) -> Option<&str> {
        // Without a base file nothing was merged yet, and all logs are due.
        let base_instant = slice.filter(|slice| slice.base.is_some()).map_or("", |slice| slice.base_instant.as_str());
        let has_log = |name: &str| slice.is_some_and(|slice| slice.logs.iter().any(|log| log.name == name));
        let is_due = |completed: &str, name: &str| match LogFileName::parse(name) {
            Some(log) if snapshot.logs_named_by_slice => log.instant.as_str() >= base_instant,
            // A log for a clustering that has not completed is nobody's yet.
            Some(log) => completed >= base_instant && snapshot.is_committed(&log.instant),
            None => false,
        };
        let base = self.base.as_ref().filter(|(instant, _)| base_instant < instant.as_str());
        let log = self.logs.iter().find(|(completed, name)| is_due(completed, name) && !has_log(name));
        base.or(log).map(|(_, name)| name.as_str())
    }
}
