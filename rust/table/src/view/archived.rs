//! Files that archived commits wrote and that are gone, though slices need them. Who lists folders does not miss them.
//!
//! The history names every file that there ever was. Those that are not there are put into slices as if they were: what is
//! in no newest slice was outlived, and nobody misses it. Of the others a clean took some, once their group was replaced.

use std::collections::{BTreeMap, BTreeSet};

use hudini_format::action::CommitFiles;

use super::{BASE_EXTENSION, DataFile, FileKey, Taken, holds_rows, last_of, refuse_external, slices_of};
use crate::Result;
use crate::config::TableConfig;
use crate::metadata::ListedFiles;
use crate::storage::Storage;
use crate::timeline::{CompletionTimes, Instant, Snapshot, Timeline};

/// What is held against the history.
pub(crate) struct Archived<'a> {
    pub(crate) storage: &'a dyn Storage,
    pub(crate) config: &'a TableConfig,
    /// With the history.
    pub(crate) timeline: &'a Timeline,
    pub(crate) snapshot: &'a Snapshot,
    /// By looks into folders.
    pub(crate) files: &'a ListedFiles,
}

/// Of one partition.
struct Names<'a> {
    there: BTreeSet<&'a str>,
    absent: BTreeSet<String>,
}

/// Names by partition; none where nobody wants any.
type Absent<'a> = BTreeMap<String, Option<Names<'a>>>;

impl<'a> Archived<'a> {
    /// The files that are gone, of partitions that are listed or wanted; `read` tells what a commit says, if it can.
    pub(crate) fn gone(
        &self,
        wants: impl FnMut(&str) -> Result<bool>,
        read: impl FnMut(&Instant) -> Result<Option<CommitFiles>>,
    ) -> Result<BTreeSet<FileKey>> {
        let mut snapshot = self.snapshot.clone();
        let mut absent = self.absent(wants, read, &mut snapshot.replaced)?;
        let needed = self.needed(&absent, &snapshot)?;
        // What a clean took since, a state of the past may lack. That of now does not, whoever replaced the group.
        if needed.is_empty() || snapshot.cut.is_some() {
            return Ok(needed);
        }
        let taken = Taken::of(self.storage, self.timeline)?;
        for (partition, names) in &mut absent {
            names.iter_mut().for_each(|names| names.absent.retain(|name| !taken.has(partition, name)));
        }
        self.needed(&absent, &snapshot)
    }

    /// What archived commits name and is not there. What they replaced is added to the rest.
    fn absent(
        &self,
        mut wants: impl FnMut(&str) -> Result<bool>,
        mut read: impl FnMut(&Instant) -> Result<Option<CommitFiles>>,
        replaced: &mut BTreeSet<(String, String)>,
    ) -> Result<Absent<'a>> {
        let mut absent = Absent::new();
        let commits = self.timeline.commits().filter(|commit| commit.is_archived());
        for commit in commits.filter(|commit| self.snapshot.is_committed(&commit.requested)) {
            let Some(files) = read(commit)? else { continue };
            for (partition, paths) in files.written() {
                if !absent.contains_key(partition) {
                    let is_wanted = self.files.contains_key(partition) || wants(partition)?;
                    absent.insert(partition.to_owned(), is_wanted.then(|| self.names(partition)));
                }
                let Some(Some(names)) = absent.get_mut(partition) else { continue };
                for name in paths.map(last_of).filter(|name| !names.there.contains(name)) {
                    refuse_external(name, partition)?;
                    if holds_rows(name) {
                        names.absent.insert(name.to_owned());
                    }
                }
            }
            for (partition, ids) in files.partition_to_replace_file_ids.unwrap_or_default() {
                replaced.extend(ids.into_iter().map(|id| (partition.clone(), id)));
            }
        }
        Ok(absent)
    }

    fn names(&self, partition: &str) -> Names<'a> {
        let there = self.files.get(partition).into_iter().flatten().map(|file| file.name.as_str()).collect();
        Names { there, absent: BTreeSet::new() }
    }

    /// Those that the newest slices would have if they were there.
    fn needed(&self, absent: &Absent<'_>, snapshot: &Snapshot) -> Result<BTreeSet<FileKey>> {
        let archived = CompletionTimes::new(self.storage, self.config);
        let mut needed = BTreeSet::new();
        for (partition, names) in absent {
            let Some(Names { there, absent }) = names.as_ref().filter(|names| !names.absent.is_empty()) else {
                continue;
            };
            let all = there.iter().copied().chain(absent.iter().map(String::as_str));
            let files = all.map(|name| DataFile { name: name.to_owned(), size: 0 });
            for slice in slices_of(files, BASE_EXTENSION, snapshot, &archived, partition)? {
                let files = slice.base.into_iter().chain(slice.logs);
                let gone = files.filter(|file| absent.contains(&file.name));
                needed.extend(gone.map(|file| (partition.clone(), file.name)));
            }
        }
        Ok(needed)
    }
}
