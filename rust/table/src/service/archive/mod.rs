//! Archiving: old instants leave the active timeline for its history, so that opening a table stays cheap.
//!
//! The history is extended first, then the instants' files go: requested and inflight files, then the completed ones from
//! the oldest on. A reader finds an action in one of the two places at any moment, or in both; what was interrupted in
//! between is finished by the next archiving, which knows the actions that the history has already.

mod select;
mod tree;

use std::collections::BTreeSet;

use hudini_format::history::{Columns, Entry};
use hudini_format::instant::{Action, InstantFile, Layout, State};

use crate::concurrency::{self, TableLock};
use crate::config::TableConfig;
use crate::storage::Storage;
use crate::timeline::{self, Instant, Timeline};
use crate::{Error, Result};

pub(crate) use tree::Growth;

use tree::Tree;

/// What of the active timeline stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Limits {
    /// So many commits, once archiving is done.
    pub(crate) min: usize,
    /// With no more commits than these, nothing is archived.
    pub(crate) max: usize,
    /// Whatever was requested then or later.
    pub(crate) before: Option<String>,
    /// Of a merge-on-read table: so many delta commits since the last compaction, and that compaction.
    pub(crate) compact_after: usize,
}

/// What was archived.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Archived {
    /// By requested time, oldest first.
    pub(crate) instants: Vec<String>,
    /// How many levels of the history were merged.
    pub(crate) merged: usize,
}

/// Archives what the limits do not keep, of any table of layout 2: a metadata table as well. `lock`: of a metadata table,
/// that of its table.
pub(crate) fn run(
    storage: &dyn Storage,
    config: &TableConfig,
    lock: &TableLock,
    limits: &Limits,
    growth: Growth,
) -> Result<Archived> {
    if config.layout != Layout::Two {
        return Err(Error::unsupported("archiving the timeline of a table of version 6"));
    }
    finish(storage, config)?;
    let found = Timeline::load(storage, config)?;
    let chosen = select::select(storage, config, &found, limits)?;
    let entries = chosen.iter().map(|instant| entry(storage, &found, instant)).collect::<Result<Vec<_>>>()?;
    for instant in chosen.iter().filter(|instant| instant.action.writes_data()) {
        // Left by a writer that died after its commit.
        concurrency::delete_markers(storage, &instant.requested)?;
    }
    let mut tree = Tree::load(storage, config, lock)?;
    tree.add(&entries)?;
    remove(storage, &found, &chosen)?;
    // With nothing to archive, too: the last merge may have been interrupted.
    let merged = tree.merge(growth)?;
    tree.sweep(growth.manifests.saturating_add(merged))?;
    Ok(Archived { instants: entries.into_iter().map(|entry| entry.requested).collect(), merged })
}

/// The instants that `run` would archive.
pub(crate) fn chosen(storage: &dyn Storage, config: &TableConfig, limits: &Limits) -> Result<Vec<String>> {
    let found = Timeline::load(storage, config)?;
    let chosen = select::select(storage, config, &found, limits)?;
    Ok(chosen.into_iter().map(|instant| instant.requested.clone()).collect())
}

/// Takes away what the history has already: an archiving was interrupted.
fn finish(storage: &dyn Storage, config: &TableConfig) -> Result<()> {
    let found = Timeline::load(storage, config)?;
    let Some(first) = found.instants.first() else { return Ok(()) };
    let archived = timeline::archived(storage, config, Columns::Actions, &(first.requested.clone()..))?;
    let archived: BTreeSet<(String, Action)> =
        archived.into_iter().filter_map(|entry| Some((entry.requested, entry.action?.completes_as()))).collect();
    let is_archived = |i: &&Instant| archived.contains(&(i.requested.clone(), i.action.completes_as()));
    let left: Vec<&Instant> = found.instants.iter().filter(is_archived).collect();
    remove(storage, &found, &left)
}

/// Takes instants off the active timeline.
fn remove(storage: &dyn Storage, found: &Timeline, instants: &[&Instant]) -> Result<()> {
    let files = || instants.iter().flat_map(|instant| &instant.files);
    let is_completed = |file: &&String| InstantFile::parse(file).is_some_and(|file| file.state == State::Completed);
    let delete = |file: &String| storage.delete(&format!("{}/{file}", found.dir)).map(drop);
    files().filter(|file| !is_completed(file)).try_for_each(delete)?;
    files().filter(is_completed).try_for_each(delete)
}

/// What the history keeps of an action.
fn entry(storage: &dyn Storage, found: &Timeline, instant: &Instant) -> Result<Entry> {
    let read = |file: &str| -> Result<Vec<u8>> {
        let path = format!("{}/{file}", found.dir);
        let bytes = storage.read(&path)?;
        let gone = || Error::storage("a timeline file vanished while it was archived").at_path(&path);
        Ok(bytes.ok_or_else(gone)?.to_vec())
    };
    let mut plan = None;
    let mut metadata = None;
    for name in &instant.files {
        let Some(file) = InstantFile::parse(name) else { continue };
        let planned = match (file.action, file.state) {
            (_, State::Completed) => {
                metadata = Some(read(name)?);
                false
            }
            (Action::Compaction | Action::LogCompaction, State::Requested) => true,
            // Where the plan of a clean was lost, releases before 1.2 have it here again. What a replacing commit was about
            // to write counts more than its plan, which says nothing but of a clustering.
            (Action::Clean | Action::ReplaceCommit | Action::Clustering, State::Requested) => true,
            (Action::Clean, State::Inflight) => plan.is_none(),
            (Action::ReplaceCommit | Action::Clustering, State::Inflight) => true,
            _ => false,
        };
        if planned {
            plan = Some(read(name)?).filter(|bytes| !bytes.is_empty()).or(plan);
        }
    }
    Ok(Entry {
        requested: instant.requested.clone(),
        completed: instant.completed.clone(),
        action: Some(instant.action.completes_as()),
        metadata: metadata.filter(|bytes| !bytes.is_empty()),
        plan,
    })
}
