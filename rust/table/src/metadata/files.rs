//! The partition `files`: which files the table has, without listing its directories.

use std::collections::{BTreeMap, BTreeSet};

use foldhash::fast::FixedState;
use hashbrown::HashSet;
use hudini_format::action::CommitMetadata;
use hudini_format::metadata_record::{FileEntry, Partition, Payload, key};
use hudini_format::name::LogFileName;

use super::MetadataTable;
use crate::timeline::{Instant, Timeline};
use crate::view::{DataFile, in_partition};
use crate::{Error, Result};

/// Files by partition path; a partition without files is there all the same.
pub type ListedFiles = BTreeMap<String, Vec<DataFile>>;

impl MetadataTable {
    /// The table's files, as of now, deleted ones not among them.
    pub fn files(&self) -> Result<ListedFiles> {
        let mut partitions = None;
        let mut listed = ListedFiles::new();
        for record in self.all(&Partition::Files)? {
            let record = record?;
            match record.payload {
                Payload::Partitions(names) => partitions = Some(names),
                Payload::Files(files) => {
                    let path = path_of(&record.key);
                    let files = self.data_files(&path, files)?;
                    listed.insert(path, files);
                }
                _ => return Err(self.misfiled(&Partition::Files, &record)),
            }
        }
        // A partition that was deleted may still have a record; one without files may have none.
        let paths: BTreeSet<String> = self.paths(partitions)?;
        listed.retain(|path, _| paths.contains(path));
        for path in paths {
            listed.entry(path).or_default();
        }
        Ok(listed)
    }

    /// The files of the partitions that are wanted by path.
    pub fn files_where(&self, wanted: &dyn Fn(&str) -> bool) -> Result<ListedFiles> {
        let all = self.all_paths()?;
        let some: Vec<_> = all.iter().filter(|path| wanted(path)).cloned().collect();
        // Of all of them, reading the whole is the quicker way.
        if some.len() == all.len() { self.files() } else { self.files_in(&some) }
    }

    fn all_paths(&self) -> Result<BTreeSet<String>> {
        let key = key::ALL_PARTITIONS;
        let found = self.get(&Partition::Files, [key.to_owned()], None)?.remove(key).unwrap_or_default();
        let names = found.into_iter().find_map(|record| match record.payload {
            Payload::Partitions(names) => Some(names),
            _ => None,
        });
        self.paths(names)
    }

    /// The files of some partitions; of one that is not there, none.
    pub fn files_in(&self, partitions: &[String]) -> Result<ListedFiles> {
        let keys = partitions.iter().map(|path| key::partition_name(path).to_owned());
        let mut found = self.get(&Partition::Files, keys, None)?;
        let mut listed = ListedFiles::new();
        for path in partitions {
            let mut files = Vec::new();
            for record in found.remove(key::partition_name(path)).unwrap_or_default() {
                match record.payload {
                    Payload::Files(entries) => files = self.data_files(path, entries)?,
                    _ => return Err(self.misfiled(&Partition::Files, &record)),
                }
            }
            listed.insert(path.clone(), files);
        }
        Ok(listed)
    }

    fn data_files(&self, partition: &str, entries: BTreeMap<String, FileEntry>) -> Result<Vec<DataFile>> {
        let mut files = Vec::with_capacity(entries.len());
        for (name, entry) in entries.into_iter().filter(|(_, entry)| !entry.is_deleted) {
            match u64::try_from(entry.size) {
                // Logs of version 6 may be appended to, of which each commit tells its own bytes alone; and those that were
                // rolled back have a size of 1, whether they are there or not.
                Ok(_) if self.logs_grow && LogFileName::parse(&name).is_some() => {
                    let there = self.table.head(&in_partition(partition, &name))?;
                    files.extend(there.map(|meta| DataFile { name, size: meta.size }));
                }
                Ok(size) if size > 0 => files.push(DataFile { name, size }),
                _ => {
                    let message = format!("the metadata table lists the file {name} with {} bytes", entry.size);
                    return Err(Error::corrupt(message).at_path(self.storage.root()));
                }
            }
        }
        Ok(files)
    }

    fn paths(&self, partitions: Option<BTreeMap<String, FileEntry>>) -> Result<BTreeSet<String>> {
        let missing = || Error::corrupt("the metadata table does not list the partitions").at_path(self.storage.root());
        let there = partitions.ok_or_else(missing)?.into_iter().filter(|(_, entry)| !entry.is_deleted);
        Ok(there.map(|(name, _)| path_of(&name)).collect())
    }

    /// Checks that no commit of the table's active timeline is missing here, so that a list of the files as they are now
    /// has them all. What was archived there before it came here is not looked at: archiving is the work of writers that
    /// keep the metadata table.
    pub fn check_knows_all(&self, timeline: &Timeline) -> Result<()> {
        let unknown = timeline.commits().filter(|i| !(i.is_archived() || self.knows(&i.requested)));
        let metadata = |instant| Ok((instant, timeline.commit_metadata(self.table.as_ref(), instant)?));
        let unknown = unknown.map(metadata).collect::<Result<Vec<_>>>()?;
        if unknown.is_empty() { Ok(()) } else { self.check_has_files_of(&unknown) }
    }

    /// A commit from before the metadata table began is known by its files alone; those that were cleaned are nowhere.
    fn check_has_files_of(&self, commits: &[(&Instant, CommitMetadata)]) -> Result<()> {
        let written = |metadata: &'_ CommitMetadata| metadata.partition_to_write_stats.clone().unwrap_or_default();
        let partitions: BTreeSet<String> =
            commits.iter().flat_map(|(_, metadata)| written(metadata).into_keys()).collect();
        let listed = self.files_in(&partitions.into_iter().collect::<Vec<_>>())?;
        let files = listed.iter().flat_map(|(partition, files)| files.iter().map(move |file| (partition, &file.name)));
        let known: HashSet<(&String, &String), FixedState> = files.collect();
        for (instant, metadata) in commits {
            for (partition, stats) in written(metadata) {
                for path in stats.iter().filter_map(|stat| stat.path.as_deref()) {
                    let name = path.rsplit('/').next().unwrap_or(path).to_owned();
                    if !known.contains(&(&partition, &name))
                        && self.table.head(&in_partition(&partition, &name))?.is_some()
                    {
                        return Err(Error::corrupt(format!("the metadata table does not know the file {name}"))
                            .at_path(self.storage.root())
                            .at_instant(&instant.requested));
                    }
                }
            }
        }
        Ok(())
    }
}

fn path_of(name: &str) -> String {
    key::partition_path(name).to_owned()
}
