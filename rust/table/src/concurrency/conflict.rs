//! May this write commit? Only if nobody changed the same file groups since it looked.

use std::collections::BTreeSet;

use hudini_format::action::CommitMetadata;
use hudini_format::hash::bucket_of_file_id;
use hudini_format::history::{Columns, Entry};
use hudini_format::instant::Action;
use serde::{Deserialize, Serialize};

use crate::config::TableConfig;
use crate::storage::Storage;
use crate::timeline::{self, Instant, Snapshot, Timeline};
use crate::{Error, ErrorKind, Result};

/// A file group by what identifies it for writers. Two writers that both make a bucket's first file group give it two
/// file ids, and yet they are in conflict: so a group of a bucketed table is known by its bucket.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Touched {
    pub partition: String,
    pub group: String,
}

impl Touched {
    /// Of a table whose file ids carry buckets.
    pub fn bucket(partition: &str, file_id: &str) -> Self {
        let group = bucket_of_file_id(file_id).map_or_else(|| file_id.to_owned(), |bucket| format!("bucket {bucket}"));
        Self { partition: partition.to_owned(), group }
    }
}

/// What a write is about to change.
#[derive(Debug, Clone, Default)]
pub struct Stake {
    pub touched: BTreeSet<Touched>,
    /// Those of them that get a base file, which did not exist in the snapshot or had no logs.
    pub based: BTreeSet<Touched>,
    /// Partitions of which all groups are replaced: what others add to them must be replaced too.
    pub emptied: BTreeSet<String>,
    /// The same for all partitions, those too that are not there yet.
    pub whole_table: bool,
}

/// Commits that completed since `snapshot`, but for the one of `time`. An error if they are not known any more.
pub(crate) fn completed_since<'t>(
    storage: &dyn Storage,
    config: &TableConfig,
    snapshot: &Snapshot,
    now: &'t Timeline,
    time: &str,
) -> Result<Vec<(&'t Instant, CommitMetadata)>> {
    check_none_archived(storage, config, snapshot, now)?;
    check_none_taken_back(storage, config, snapshot, now)?;
    let since = now.commits().filter(|i| !snapshot.completed.contains_key(&i.requested) && i.requested != time);
    since.map(|instant| Ok((instant, now.commit_metadata(storage, instant)?))).collect()
}

/// Archiving keeps what writes under way are held against. Other engines do not know of each of them.
fn check_none_archived(storage: &dyn Storage, config: &TableConfig, snapshot: &Snapshot, now: &Timeline) -> Result<()> {
    let Some(start) = &snapshot.start else { return Ok(()) };
    if now.instants.iter().find(|i| i.action.writes_data()).is_none_or(|first| first.requested <= *start) {
        return Ok(());
    }
    let archived = timeline::archived(storage, config, Columns::Actions, &(start.clone()..))?;
    let is_new =
        |e: &&Entry| e.action.is_some_and(Action::writes_data) && !snapshot.completed.contains_key(&e.requested);
    match archived.iter().find(is_new) {
        Some(entry) => {
            Err(Error::new(ErrorKind::CommitConflict, "what another writer committed meanwhile is archived")
                .at_instant(&entry.requested)
                .with_hint("write again: it took so long that nobody knows what was changed since it began"))
        }
        None => Ok(()),
    }
}

/// What the snapshot has must still count: other engines roll back commits that had completed.
fn check_none_taken_back(
    storage: &dyn Storage,
    config: &TableConfig,
    snapshot: &Snapshot,
    now: &Timeline,
) -> Result<()> {
    let Some(start) = &snapshot.start else { return Ok(()) };
    let is_there = |time: &&String| now.find(time).is_some_and(Instant::is_completed);
    let gone: Vec<&String> =
        snapshot.completed.range(start.clone()..).map(|(time, _)| time).filter(|t| !is_there(t)).collect();
    let Some(first) = gone.first() else { return Ok(()) };
    let archived = timeline::archived(storage, config, Columns::Actions, &((*first).clone()..))?;
    match gone.iter().find(|time| !archived.iter().any(|entry| entry.requested == ***time)) {
        Some(time) => Err(Error::new(ErrorKind::CommitConflict, "a commit that this write builds upon was taken back")
            .at_instant(*time)
            .with_hint("write again: the rows have to be merged with the state without it")),
        None => Ok(()),
    }
}

pub(crate) fn is_compaction(config: &TableConfig, instant: &Instant, metadata: &CommitMetadata) -> bool {
    config.is_mor() && instant.action == Action::Commit && metadata.compacted == Some(true)
}

/// Refuses the commit of `time` if an action that completed since `snapshot` touched what it touches, or if a clustering
/// is about to replace it. Callers hold the lock and pass the timeline as it is now.
pub fn check(
    storage: &dyn Storage,
    config: &TableConfig,
    snapshot: &Snapshot,
    now: &Timeline,
    time: &str,
    stake: &Stake,
) -> Result<()> {
    for (instant, metadata) in completed_since(storage, config, snapshot, now, time)? {
        // A compaction moves what was logged before it; what we log completes after it and lies on top. But a group that
        // it wrote and of which we write the base file too, is one that we did not see, or saw without its logs.
        let is_compaction = is_compaction(config, instant, &metadata);
        let ours = if is_compaction { &stake.based } else { &stake.touched };
        let theirs = touched_by(&metadata);
        let is_emptied = |group: &&Touched| stake.whole_table || stake.emptied.contains(&group.partition);
        let of_emptied = || theirs.iter().find(|group| !is_compaction && is_emptied(group));
        if let Some(group) = theirs.intersection(ours).next().or_else(of_emptied) {
            return Err(conflict(&instant.requested, group));
        }
    }
    let clustering = now.pending().find(|i| i.action == Action::Clustering);
    match clustering {
        Some(instant) => {
            Err(Error::unsupported("writing while a clustering is pending: it may replace the same files")
                .at_instant(&instant.requested)
                .with_hint("let the engine that scheduled the clustering finish it"))
        }
        None => Ok(()),
    }
}

fn touched_by(metadata: &CommitMetadata) -> BTreeSet<Touched> {
    let written = metadata.write_stats().filter_map(|stat| {
        Some(Touched::bucket(stat.partition_path.as_deref().unwrap_or_default(), stat.file_id.as_deref()?))
    });
    let replaced = metadata.partition_to_replace_file_ids.iter().flatten();
    let replaced = replaced.flat_map(|(partition, ids)| ids.iter().map(|id| Touched::bucket(partition, id)));
    written.chain(replaced).collect()
}

fn conflict(instant: &str, group: &Touched) -> Error {
    let Touched { partition, group } = group;
    Error::new(ErrorKind::CommitConflict, format!("another writer changed {group} of partition '{partition}' first"))
        .at_instant(instant)
        .with_hint("write again: the rows have to be merged with the newer state")
}
