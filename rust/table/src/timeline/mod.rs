//! The table's history of actions, and the moments at which it is read and extended.
//!
//! Two clocks run through it. *Requested* times order log files, name base files and answer time travel; *completion*
//! times say which file slice a log belongs to and what an incremental range holds. Both compare as texts.

mod evolution;
mod history;
mod load;
mod newest;
mod order;
mod snapshot;
mod times;
mod transitions;

use std::collections::BTreeSet;
use std::sync::Arc;

use hudini_format::action::{
    CleanMetadata, CommitFiles, CommitMetadata, CommitOutline, CompactionPlan, RestoreMetadata, SavepointMetadata,
};
use hudini_format::history::{Columns, Entry as Archived};
use hudini_format::instant::{Action, Layout, State};

use self::history::Deeds;
use crate::config::TableConfig;
use crate::storage::Storage;
use crate::{Error, ErrorKind, Result};

pub use evolution::Evolution;
pub(crate) use history::{CompletionTimes, archived, history_dir};
pub(crate) use load::{again_if_gone, instants_in};
pub(crate) use newest::NewestFiles;
pub(crate) use order::Order;
#[cfg(test)]
pub(crate) use snapshot::Cut;
pub use snapshot::{PendingCompaction, Snapshot, Until};
pub(crate) use snapshot::{
    arrow_schema, cleaned_away, first_pending_write, newest_at, planned_cleans, untold_schema, whole_since,
};
pub(crate) use times::time_after;
pub use times::{completion_time, new_time};
pub use transitions::{
    back_to_requested, complete, inflight_exists, remove_pending, request, requested_exists, to_inflight,
};

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
    fn new(config: &TableConfig, instants: Vec<Instant>) -> Self {
        Self { instants, layout: config.layout, dir: config.timeline_dir(), deeds: Arc::new(Deeds::new(config)) }
    }

    /// Adds what is archived, from the first action on that completed after that time, if any did.
    pub fn with_history_after(self, storage: &dyn Storage, config: &TableConfig, time: &str) -> Result<Self> {
        let Some(since) = history::completed_after(storage, config, time)? else { return Ok(self) };
        let archived = history::archived(storage, config, Columns::Actions, &(since..))?;
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
        self.of_commit(storage, instant, CommitMetadata::decode)
    }

    /// The same without what it says of each file, which is most of it.
    pub(crate) fn commit_outline(&self, storage: &dyn Storage, instant: &Instant) -> Result<CommitOutline> {
        self.of_commit(storage, instant, CommitOutline::decode)
    }

    /// Which files it names, and nothing of them.
    pub(crate) fn commit_files(&self, storage: &dyn Storage, instant: &Instant) -> Result<CommitFiles> {
        self.of_commit(storage, instant, CommitFiles::decode)
    }

    /// What is asked of an instant; `None` if that was archived since the timeline was read.
    pub(crate) fn if_there<T>(
        &self,
        storage: &dyn Storage,
        instant: &Instant,
        ask: impl FnOnce(&Self) -> Result<T>,
    ) -> Result<Option<T>> {
        match ask(self) {
            Err(_) if self.is_gone(storage, instant)? => Ok(None),
            answer => answer.map(Some),
        }
    }

    fn of_commit<T>(
        &self,
        storage: &dyn Storage,
        instant: &Instant,
        decode: impl Fn(&[u8]) -> hudini_format::Result<T>,
    ) -> Result<T> {
        let bytes = self.read(storage, instant, instant.newest_file())?;
        let path = || instant.newest_file().map_or_else(|| self.dir.clone(), |file| format!("{}/{file}", self.dir));
        decode(&bytes).map_err(|e| e.at_path(path()).at_instant(&instant.requested))
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

    /// What a completed restore says.
    pub(crate) fn restore_metadata(&self, storage: &dyn Storage, instant: &Instant) -> Result<RestoreMetadata> {
        let bytes = self.read(storage, instant, instant.newest_file())?;
        RestoreMetadata::decode(&bytes).map_err(|e| e.at_path(&self.dir).at_instant(&instant.requested))
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
