//! Which instants leave the active timeline.
//!
//! Readers take files of an instant older than the active timeline for committed, and a group for live unless a replacing
//! commit on the active timeline says otherwise. So what is archived is always the oldest, nothing pending is passed, and
//! a replacing commit stays until its group's files are gone.

use std::collections::BTreeSet;

use hudini_format::instant::{Action, InstantFile};

use super::Limits;
use crate::Result;
use crate::config::TableConfig;
use crate::storage::Storage;
use crate::timeline::{Instant, Timeline};
use crate::view::{self, BASE_EXTENSION};

/// The instants to archive, oldest first: commits, and the cleans and rollbacks between them.
pub(super) fn select<'t>(
    storage: &dyn Storage,
    config: &TableConfig,
    timeline: &'t Timeline,
    limits: &Limits,
) -> Result<Vec<&'t Instant>> {
    let commits: Vec<&Instant> = timeline.commits().collect();
    if commits.len() <= limits.max {
        return Ok(Vec::new());
    }
    let bounds = [
        limits.before.clone(),
        pending(timeline),
        compaction(config, timeline, limits),
        replacing(storage, timeline)?,
        // Savepoints hold their commit and all that came after it.
        timeline.instants.iter().find(|i| i.action == Action::Savepoint).map(|i| i.requested.clone()),
        // Of a table that was upgraded, in a form that the history does not hold.
        commits.iter().find(|commit| !is_of_layout_two(commit)).map(|commit| commit.requested.clone()),
    ];
    let before = bounds.into_iter().flatten().min();
    let may_go = |commit: &&&Instant| before.as_ref().is_none_or(|before| commit.requested < *before);
    let most = commits.len().saturating_sub(limits.min);
    let mut chosen: Vec<&Instant> = Vec::new();
    for commit in commits.iter().take_while(may_go).take(most) {
        if commit.action == Action::ReplaceCommit && still_has_replaced(storage, timeline, commit)? {
            break;
        }
        chosen.push(commit);
    }
    let Some(last) = chosen.last().map(|commit| commit.requested.clone()) else { return Ok(chosen) };
    let others = timeline.completed().filter(|i| matches!(i.action, Action::Clean | Action::Rollback));
    chosen.extend(others.filter(|i| i.requested < last && is_of_layout_two(i)));
    chosen.sort_by(|a, b| a.requested.cmp(&b.requested));
    Ok(chosen)
}

/// Whether its completed file says when it completed.
fn is_of_layout_two(instant: &Instant) -> bool {
    let newest = instant.files.last().and_then(|file| InstantFile::parse(file));
    newest.is_some_and(|file| file.completed.is_some())
}

/// What a write under way is held against before it commits; and the last commit before that, so that the timeline begins
/// with a completed one.
fn pending(timeline: &Timeline) -> Option<String> {
    let since = timeline.unsettled_since()?;
    let before = timeline.commits().rfind(|commit| commit.requested.as_str() < since);
    Some(before.map_or(since, |commit| &commit.requested).to_owned())
}

/// Whether a compaction is due is decided by the delta commits since the last one, which have to be there for that.
fn compaction(config: &TableConfig, timeline: &Timeline, limits: &Limits) -> Option<String> {
    if !config.is_mor() {
        return None;
    }
    let last = timeline.commits().rfind(|commit| commit.action == Action::Commit);
    let since = |commit: &&Instant| last.is_none_or(|last| commit.requested > last.requested);
    let deltas: Vec<_> = timeline.commits().filter(|c| c.action == Action::DeltaCommit).filter(since).collect();
    let kept = match deltas.len().checked_sub(limits.compact_after) {
        Some(first) => deltas.get(first).copied(),
        None => last.or_else(|| deltas.first().copied()),
    };
    kept.map(|instant| instant.requested.clone())
}

/// The first replacing action whose groups the last clean may have left.
fn replacing(storage: &dyn Storage, timeline: &Timeline) -> Result<Option<String>> {
    let is_replacing = |i: &&Instant| i.action.completes_as() == Action::ReplaceCommit;
    if !timeline.instants.iter().any(|i| is_replacing(&i)) {
        return Ok(None);
    }
    // One that broke off has deleted files of which the metadata table is told when it is over.
    let is_cleaning = timeline.pending().any(|i| i.action == Action::Clean);
    let cleaned = match timeline.completed().filter(|_| !is_cleaning).rfind(|i| i.action == Action::Clean) {
        Some(clean) => match timeline.clean_metadata(storage, clean)?.earliest_commit_to_retain {
            retained if retained.is_empty() => clean.requested.clone(),
            retained => retained,
        },
        None => String::new(),
    };
    let kept = timeline.instants.iter().filter(is_replacing).find(|i| i.requested >= cleaned);
    Ok(kept.map(|i| i.requested.clone()))
}

/// Whether files of a group are left that this commit took the place of: without the commit they would be live again.
fn still_has_replaced(storage: &dyn Storage, timeline: &Timeline, commit: &Instant) -> Result<bool> {
    let metadata = timeline.commit_metadata(storage, commit)?;
    for (partition, ids) in metadata.partition_to_replace_file_ids.iter().flatten() {
        let ids: BTreeSet<&String> = ids.iter().collect();
        let files = view::data_files(view::files_in(storage, partition)?, BASE_EXTENSION, partition)?;
        if files.by_group().keys().any(|id| ids.contains(id)) {
            return Ok(true);
        }
    }
    Ok(false)
}
