//! The table's history of actions, and the moments at which it is read and extended.
//!
//! Two clocks run through it. *Requested* times order log files, name base files and answer time travel; *completion*
//! times say which file slice a log belongs to and what an incremental range holds. Both compare as texts.

mod evolution;
mod history;
mod snapshot;
mod times;
mod transitions;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use hudini_format::action::{CleanMetadata, CommitMetadata, CompactionPlan, SavepointMetadata};
use hudini_format::history::{Columns, Entry as Archived};
use hudini_format::instant::{Action, InstantFile, Layout, State};

use self::history::Deeds;
use crate::config::TableConfig;
use crate::metadata;
use crate::storage::{Entry, Storage};
use crate::{Error, ErrorKind, Result};

pub use evolution::Evolution;
pub(crate) use history::{CompletionTimes, archived, history_dir};
pub use snapshot::{PendingCompaction, Snapshot, Until};
pub(crate) use snapshot::{arrow_schema, cleaned_away, first_pending_write, planned_cleans, whole_since};
pub(crate) use times::time_after;
pub use times::{completion_time, new_time};
pub use transitions::{back_to_requested, complete, inflight_exists, remove_pending, request, to_inflight};

/// One action, in the highest state that storage shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instant {
    pub requested: String,
    /// Set once completed; layout 1 has no completion time, and its requested time stands in.
    pub completed: Option<String>,
    /// The name under which it is pending; a compaction that completed is a commit here.
    pub action: Action,
    pub state: State,
    /// File names of its states, in the order of states; none of an archived action.
    pub files: Vec<String>,
    /// Of an action that the history alone has.
    archived: Option<InHistory>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum InHistory {
    /// Archives of layout 1 are read whole.
    Read(Arc<Archived>),
    /// What it did is read when somebody asks.
    Named,
}

impl Instant {
    pub fn is_completed(&self) -> bool {
        self.state == State::Completed
    }

    /// A completed action of the history.
    fn of_history(entry: Archived, layout: Layout) -> Result<Self> {
        // Of layout 1 some archives know when an action completed; what counts is the requested time, as on its timeline.
        let completed = entry.completed.clone().filter(|_| layout == Layout::Two);
        let action = entry.action.ok_or_else(|| Error::internal("archived actions were read without their names"))?;
        Ok(Self {
            requested: entry.requested.clone(),
            completed: Some(completed.unwrap_or_else(|| entry.requested.clone())),
            action: action.completes_as(),
            state: State::Completed,
            files: Vec::new(),
            archived: Some(match layout {
                Layout::One => InHistory::Read(Arc::new(entry)),
                Layout::Two => InHistory::Named,
            }),
        })
    }

    /// Whether the history alone has it.
    pub fn is_archived(&self) -> bool {
        self.archived.is_some()
    }

    /// The file of the highest state.
    fn newest_file(&self) -> Option<&str> {
        self.files.last().map(String::as_str)
    }
}

/// The active timeline, and of the history what was asked for, or lies behind a savepoint; oldest request first.
#[derive(Debug, Clone)]
pub struct Timeline {
    pub dir: String,
    pub layout: Layout,
    pub instants: Vec<Instant>,
    /// What the archived ones among them did.
    deeds: Arc<Deeds>,
}

impl Timeline {
    pub fn load(storage: &dyn Storage, config: &TableConfig) -> Result<Self> {
        let dir = config.timeline_dir();
        let instants = instants_in(storage, &dir, config.layout)?;
        // Some stores have no empty folders, so a table that is new may have none for its timeline.
        if instants.is_empty() && metadata::was_told(storage, config)? {
            let message = "the timeline is empty or gone, although the metadata table was told of commits";
            return Err(Error::corrupt(message).at_path(dir));
        }
        Self::new(config, instants).behind_savepoints(storage, config)
    }

    /// Apache Hudi may go on archiving behind savepoints (`hoodie.archive.beyond.savepoint`). What is missing between them
    /// and the next write is in the history: nothing else tells that it completed, and what it replaced.
    fn behind_savepoints(self, storage: &dyn Storage, config: &TableConfig) -> Result<Self> {
        let is_saved = |time: &&str| self.completed().any(|i| i.action == Action::Savepoint && i.requested == *time);
        let mut writes = self.instants.iter().filter(|i| i.action.writes_data()).map(|i| i.requested.as_str());
        let Some(first) = writes.next().filter(is_saved) else { return Ok(self) };
        let next = writes.find(|time| !is_saved(time)).map(str::to_owned);
        let missing = (Bound::Excluded(first.to_owned()), next.map_or(Bound::Unbounded, Bound::Excluded));
        self.with_archived(history::archived(storage, config, Columns::Actions, &missing)?)
    }

    fn new(config: &TableConfig, instants: Vec<Instant>) -> Self {
        Self { instants, layout: config.layout, dir: config.timeline_dir(), deeds: Arc::new(Deeds::new(config)) }
    }

    /// Adds what is archived, if any of it completed after that time.
    pub fn with_history_after(self, storage: &dyn Storage, config: &TableConfig, time: &str) -> Result<Self> {
        let archived = history::archived(storage, config, Columns::Actions, &..)?;
        let completed = |entry: &Archived| match (&entry.completed, config.layout) {
            (Some(completed), Layout::Two) => completed.as_str() > time,
            _ => entry.requested.as_str() > time,
        };
        if archived.iter().any(completed) { self.with_archived(archived) } else { Ok(self) }
    }

    /// Adds what is archived: which actions, and when. What each did takes far longer to read, and waits until it is asked for.
    pub fn with_history(self, storage: &dyn Storage, config: &TableConfig) -> Result<Self> {
        self.with_archived(history::archived(storage, config, Columns::Actions, &..)?)
    }

    fn with_archived(mut self, archived: Vec<Archived>) -> Result<Self> {
        let key = |instant: &Instant| (instant.requested.clone(), instant.action.completes_as());
        let archived = archived.into_iter();
        let archived = archived.map(|entry| Instant::of_history(entry, self.layout)).collect::<Result<Vec<_>>>()?;
        // Archiving writes the history before it deletes, state by state: what is completed there is completed.
        let known: BTreeSet<_> = archived.iter().map(key).collect();
        self.instants.retain(|instant| instant.is_completed() || !known.contains(&key(instant)));
        let active: BTreeSet<_> = self.instants.iter().map(key).collect();
        self.instants.extend(archived.into_iter().filter(|instant| !active.contains(&key(instant))));
        self.instants.sort_by(|a, b| a.requested.cmp(&b.requested));
        Ok(self)
    }

    /// What callers should know of commits that are archived behind an active one.
    pub(crate) fn warning(&self) -> Option<String> {
        let saved = self.commits().find(|commit| !commit.is_archived())?;
        let behind = self.commits().filter(|commit| commit.is_archived() && commit.requested > saved.requested);
        let count = behind.count();
        (count > 0).then(|| {
            format!(
                "{count} commits behind the savepoint {} are archived (hoodie.archive.beyond.savepoint): Apache Hudi \
                 does not see what they wrote, and keys that it has written again since may come twice",
                saved.requested
            )
        })
    }

    /// Completed actions, by requested time.
    pub fn completed(&self) -> impl DoubleEndedIterator<Item = &Instant> {
        self.instants.iter().filter(|i| i.is_completed())
    }

    pub fn pending(&self) -> impl DoubleEndedIterator<Item = &Instant> {
        self.instants.iter().filter(|i| !i.is_completed())
    }

    /// Completed actions that wrote or replaced data files.
    pub fn commits(&self) -> impl DoubleEndedIterator<Item = &Instant> {
        self.completed().filter(|i| i.action.writes_data())
    }

    /// From when on actions matter to writes under way: the oldest of these, or what was requested before it and completed
    /// after it had begun, for that is not in the state that it saw. `None`: nothing is under way.
    pub(crate) fn unsettled_since(&self) -> Option<&str> {
        let pending = self.pending().find(|instant| instant.action.writes_data())?;
        let unseen = self.commits().find(|commit| commit.completed.as_ref() > Some(&pending.requested));
        unseen.into_iter().chain([pending]).map(|instant| instant.requested.as_str()).min()
    }

    pub fn find(&self, requested: &str) -> Option<&Instant> {
        self.instants.iter().find(|i| i.requested == requested)
    }

    /// An error if somebody began to delete files after it was read: a list of files that was made since may lack some that
    /// its states need, and have none in their place.
    pub(crate) fn check_whole(&self, storage: &dyn Storage, config: &TableConfig) -> Result<()> {
        let now = Self::load(storage, config)?;
        let mut deletes = now.instants.iter().filter(|instant| instant.action.deletes_files());
        match deletes.find(|instant| self.find(&instant.requested).is_none()) {
            None => Ok(()),
            Some(begun) => Err(Error::new(ErrorKind::InstantCleaned, "files were cleaned away while they were listed")
                .gone()
                .at_instant(&begun.requested)
                .with_hint("read again: writers were faster than the reader")),
        }
    }

    /// The greatest time that any file name here mentions.
    pub fn newest_time(&self) -> Option<&str> {
        self.instants.iter().flat_map(|i| std::iter::once(i.requested.as_str()).chain(i.completed.as_deref())).max()
    }

    /// What a completed commit says.
    pub fn commit_metadata(&self, storage: &dyn Storage, instant: &Instant) -> Result<CommitMetadata> {
        let bytes = self.read(storage, instant, instant.newest_file())?;
        let path = || format!("{}/{}", self.dir, instant.newest_file().unwrap_or_default());
        CommitMetadata::decode(&bytes).map_err(|e| e.at_path(path()).at_instant(&instant.requested))
    }

    /// The same; `None` if it was archived since the timeline was read.
    pub fn commit_metadata_if_there(&self, storage: &dyn Storage, instant: &Instant) -> Result<Option<CommitMetadata>> {
        match self.commit_metadata(storage, instant) {
            Err(_) if self.is_gone(storage, instant)? => Ok(None),
            metadata => metadata.map(Some),
        }
    }

    /// Whether the file of an active instant is not there any more.
    pub fn is_gone(&self, storage: &dyn Storage, instant: &Instant) -> Result<bool> {
        match instant.newest_file() {
            Some(file) => Ok(storage.head(&format!("{}/{file}", self.dir))?.is_none()),
            None => Ok(false),
        }
    }

    /// What a completed clean says.
    pub fn clean_metadata(&self, storage: &dyn Storage, instant: &Instant) -> Result<CleanMetadata> {
        let bytes = self.read(storage, instant, instant.newest_file())?;
        CleanMetadata::decode(&bytes).map_err(|e| e.at_path(&self.dir).at_instant(&instant.requested))
    }

    /// What a savepoint says.
    pub fn savepoint_metadata(&self, storage: &dyn Storage, instant: &Instant) -> Result<SavepointMetadata> {
        let bytes = self.read(storage, instant, instant.newest_file())?;
        SavepointMetadata::decode(&bytes).map_err(|e| e.at_path(&self.dir).at_instant(&instant.requested))
    }

    /// The plan in a pending instant's requested file.
    pub fn requested_bytes(&self, storage: &dyn Storage, instant: &Instant) -> Result<bytes::Bytes> {
        let file = instant.files.iter().find(|f| f.ends_with(".requested"));
        self.read(storage, instant, file.map(String::as_str))
    }

    /// The plan of a compaction, pending or completed; `None` of any other action.
    pub fn compaction_plan(&self, storage: &dyn Storage, instant: &Instant) -> Result<Option<CompactionPlan>> {
        let planned = instant.files.iter().find(|name| name.ends_with(".compaction.requested"));
        let bytes = match planned {
            Some(file) => Some(self.read(storage, instant, Some(file))?),
            // In the history a compaction is a commit, and no other commit has a plan.
            None if instant.action == Action::Commit => {
                self.archived(storage, instant)?.and_then(|entry| entry.plan.clone()).map(bytes::Bytes::from)
            }
            None => None,
        };
        bytes.map(|bytes| CompactionPlan::decode(&bytes)).transpose().map_err(|e| e.at_instant(&instant.requested))
    }

    fn archived(&self, storage: &dyn Storage, instant: &Instant) -> Result<Option<Arc<Archived>>> {
        match &instant.archived {
            Some(InHistory::Read(entry)) => Ok(Some(Arc::clone(entry))),
            Some(InHistory::Named) => self.deeds.of(storage, &instant.requested, instant.action).map(Some),
            None => Ok(None),
        }
    }

    fn read(&self, storage: &dyn Storage, instant: &Instant, file: Option<&str>) -> Result<bytes::Bytes> {
        if let Some(entry) = self.archived(storage, instant)? {
            return Ok(entry.metadata.clone().unwrap_or_default().into());
        }
        let gone = |path: String| {
            let gone = Error::storage("a timeline file vanished while it was read").gone();
            gone.at_path(path).at_instant(&instant.requested)
        };
        let file = file.ok_or_else(|| gone(self.dir.clone()))?;
        let path = format!("{}/{file}", self.dir);
        storage.read(&path)?.ok_or_else(|| gone(path))
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
    let mut names = names_in(storage, dir)?;
    for _ in 1..LOOKS {
        if names.len() <= LISTED_AT_ONCE {
            break;
        }
        let before = std::mem::replace(&mut names, names_in(storage, dir)?);
        if before == names {
            break;
        }
    }
    Ok(instants_of(names.into_iter(), layout))
}

fn names_in(storage: &dyn Storage, dir: &str) -> Result<BTreeSet<String>> {
    let files = storage.list(dir)?.into_iter().filter_map(|entry| match entry {
        Entry::File { name, .. } => Some(name),
        Entry::Dir { .. } => None,
    });
    Ok(files.collect())
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
