//! The active timeline as it is listed: which files make an action, and what of the history belongs to it.

use std::collections::BTreeMap;
use std::ops::Bound;

use hudini_format::history::Columns;
use hudini_format::instant::{Action, InstantFile, Layout, State};

use super::{Instant, Timeline, history};
use crate::config::TableConfig;
use crate::metadata;
use crate::storage::{Storage, file_names};
use crate::{Error, Result};

impl Timeline {
    /// What lies in its folder, at one moment.
    ///
    /// A list is made file by file, and while archiving takes away the oldest actions, one after the other, it may have one
    /// of them and lack a later one. That would be taken for a write that never completed, and its files for nobody's. So
    /// the oldest one is looked at once more: as long as it is there, nothing behind it was taken.
    pub fn load(storage: &dyn Storage, config: &TableConfig) -> Result<Self> {
        again_if_gone(|| {
            let timeline = Self::new(config, instants_in(storage, &config.timeline_dir(), config.layout)?);
            // Some stores have no empty folders, so a table that is new may have none for its timeline.
            if timeline.instants.is_empty() && metadata::was_told(storage, config)? {
                let message = "the timeline is empty or gone, although the metadata table was told of commits";
                return Err(Error::corrupt(message).at_path(timeline.dir));
            }
            if let Some(oldest) = timeline.oldest_to_archive()
                && timeline.is_gone(storage, oldest)?
            {
                let torn = Error::storage("writers archive faster than the timeline can be listed").gone();
                return Err(torn.at_path(&timeline.dir).at_instant(&oldest.requested));
            }
            timeline.with_passed_over(storage, config)
        })
    }

    /// Archiving takes this one first.
    fn oldest_to_archive(&self) -> Option<&Instant> {
        self.commits().find(|commit| !self.is_saved(&commit.requested))
    }

    fn is_saved(&self, time: &str) -> bool {
        self.completed().any(|i| i.action == Action::Savepoint && i.requested == time)
    }

    /// With what was archived although older writes stayed. It is in the history alone: nothing else tells that it completed,
    /// and what it replaced.
    ///
    /// Apache Hudi may go on archiving behind savepoints (`hoodie.archive.beyond.savepoint`). And a writer that was paused and
    /// taken for dead may bring its instant back before it finds out.
    fn with_passed_over(self, storage: &dyn Storage, config: &TableConfig) -> Result<Self> {
        let oldest = self.instants.iter().find(|instant| instant.action.writes_data());
        let next = self.oldest_to_archive();
        let Some(oldest) = oldest.filter(|oldest| next.is_none_or(|next| next.requested > oldest.requested)) else {
            return Ok(self);
        };
        let until = next.map_or(Bound::Unbounded, |next| Bound::Excluded(next.requested.clone()));
        let missing = (Bound::Included(oldest.requested.clone()), until);
        self.with_archived(history::archived(storage, config, Columns::Actions, &missing)?)
    }
}

/// Looks at a table once more, as it is by then, where something was archived or cleaned while it was looked at.
pub(crate) fn again_if_gone<T>(look: impl Fn() -> Result<T>) -> Result<T> {
    for _ in 1..LOOKS {
        match look() {
            Err(e) if e.is_gone() => {}
            seen => return seen,
        }
    }
    look()
}

/// How often, at most: who is outrun by others so often is told.
const LOOKS: usize = 10;

/// So many files of a folder every storage lists in one step.
const LISTED_AT_ONCE: usize = 256;

/// What lies in the folder of a timeline.
///
/// A longer list is of several moments: while others commit or archive it may have an action and lack one that completed
/// before it, or is archived since. So it is made until two of them agree.
pub(crate) fn instants_in(storage: &dyn Storage, dir: &str, layout: Layout) -> Result<Vec<Instant>> {
    let mut names = file_names(storage, dir)?;
    for _ in 1..LOOKS {
        if names.len() <= LISTED_AT_ONCE {
            break;
        }
        let before = std::mem::replace(&mut names, file_names(storage, dir)?);
        if before == names {
            break;
        }
    }
    Ok(instants_of(names.into_iter(), layout))
}

/// Groups files into instants: same requested time, same action by completed name; the highest state counts.
fn instants_of(names: impl Iterator<Item = String>, layout: Layout) -> Vec<Instant> {
    let mut groups: BTreeMap<(String, Action), Vec<(InstantFile, String)>> = BTreeMap::new();
    for name in names {
        if let Some(file) = InstantFile::parse(&name) {
            let key = (file.requested.clone(), file.action.completes_as());
            groups.entry(key).or_default().push((file, name));
        }
    }
    groups.into_values().filter_map(|files| instant_of(files, layout)).collect()
}

fn instant_of(mut files: Vec<(InstantFile, String)>, layout: Layout) -> Option<Instant> {
    // Of two completed files of one action the later one counts (a clean may run unlocked).
    files.sort_by(|(a, _), (b, _)| (a.state, &a.completed).cmp(&(b.state, &b.completed)));
    let (newest, _) = files.last()?;
    let completed = match (newest.state, &newest.completed, layout) {
        (State::Completed, Some(completed), _) => Some(completed.clone()),
        (State::Completed, None, _) => Some(newest.requested.clone()),
        _ => None,
    };
    // The name under which it was requested tells a compaction from a commit, a clustering from an overwrite.
    let action = files.first().map_or(newest.action, |(first, _)| first.action);
    Some(Instant {
        requested: newest.requested.clone(),
        completed,
        action: if newest.state == State::Completed { action.completes_as() } else { action },
        state: newest.state,
        files: files.into_iter().map(|(_, name)| name).collect(),
        archived: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(names: &[&str]) -> Vec<Instant> {
        instants_of(names.iter().map(|n| (*n).to_owned()), Layout::Two)
    }

    #[test]
    fn the_highest_state_counts() {
        let instants = load(&[
            "3.compaction.requested",
            "1.commit.requested",
            "1.inflight",
            "1_2.commit",
            "3.compaction.inflight",
            "4.clustering.requested",
            "4_5.replacecommit",
            "history",
        ]);
        let seen: Vec<_> =
            instants.iter().map(|i| (i.requested.as_str(), i.completed.as_deref(), i.action, i.state)).collect();
        assert_eq!(
            seen,
            [
                ("1", Some("2"), Action::Commit, State::Completed),
                ("3", None, Action::Compaction, State::Inflight),
                ("4", Some("5"), Action::ReplaceCommit, State::Completed),
            ]
        );
        assert_eq!(instants[0].files, ["1.commit.requested", "1.inflight", "1_2.commit"]);
    }

    #[test]
    fn of_two_completions_the_later_counts() {
        let instants = load(&["1_3.clean", "1_2.clean"]);
        assert_eq!(instants[0].completed.as_deref(), Some("3"));
        assert_eq!(instants.len(), 1);
    }
}
