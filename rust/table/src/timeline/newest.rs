//! Where the newest commit that brought rows wrote them.

use std::mem;

use hudini_format::action::{CommitOutline, FilesWithRows};

use super::{Instant, Timeline};
use crate::Result;
use crate::storage::Storage;

/// The files with rows of a commit that has some.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NewestFiles {
    commit: Instant,
    files: FilesWithRows,
}

impl NewestFiles {
    /// Those of the newest commit that has such files.
    pub(super) fn of(storage: &dyn Storage, timeline: &Timeline) -> Result<Option<Self>> {
        for commit in timeline.commits().rev() {
            let found = Self::in_commit(commit, &mut timeline.commit_outline(storage, commit)?);
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// Those of this commit, which are taken out of what was read of it.
    pub(super) fn in_commit(commit: &Instant, outline: &mut CommitOutline) -> Option<Self> {
        let files = mem::take(&mut outline.files_with_rows);
        (!files.first.is_empty()).then(|| Self { commit: commit.clone(), files })
    }

    /// The paths of the first ones, or of all.
    pub(crate) fn first(&self) -> &[String] {
        &self.files.first
    }

    /// The paths of the others, for which all that the commit says is read.
    pub(crate) fn others(&self, storage: &dyn Storage, timeline: &Timeline) -> Result<Vec<String>> {
        if self.files.are_all {
            return Ok(Vec::new());
        }
        let commit = timeline.commit_metadata(storage, &self.commit)?;
        let paths = commit.write_stats().filter(|stat| stat.has_rows()).filter_map(|stat| stat.path.clone());
        Ok(paths.filter(|path| !self.files.first.contains(path)).collect())
    }
}
