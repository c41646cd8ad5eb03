//! Which files make up the table at a snapshot: partitions, file groups, and in each group the newest slice.
//!
//! A slice is a base file and the logs on top of it. Logs name the write that made them, not their slice: since version 8
//! a log belongs to the newest base instant that is not later than the log's *completion*.

mod archived;
mod listing;
mod named;
mod slices;

pub use listing::{Listing, Partitions, Source};

use hudini_format::name::{BaseFileName, LogFileName};
use serde::{Deserialize, Serialize};

use crate::config::{HOODIE, TableConfig};
use crate::storage::{Entry, Storage, joined, walk};
use crate::timeline::{CompletionTimes, Snapshot};
use crate::{Error, Result};

pub(crate) use archived::Archived;
use named::holds_rows;
pub(crate) use named::{Absent, FileKey, Missing, Names, Taken, holds_data, kind_of, last_of, missing, named_ever};
pub(crate) use slices::PartitionFiles;

/// In every partition directory; without it, Apache Hudi does not see the partition.
pub const PARTITION_FILE: &str = ".hoodie_partition_metadata";

/// Of the base files of a table; the metadata table has others.
pub(crate) const BASE_EXTENSION: &str = "parquet";

/// A data file with what storage says of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataFile {
    /// Without its directory.
    pub name: String,
    pub size: u64,
}

/// One version of a file group: what a reader merges, what a writer builds upon.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSlice {
    pub partition: String,
    pub file_id: String,
    /// Requested time of the write that started the slice.
    pub base_instant: String,
    pub base: Option<DataFile>,
    /// In merge order.
    pub logs: Vec<DataFile>,
}

impl FileSlice {
    /// The path of one of its files.
    pub fn path(&self, file: &DataFile) -> String {
        in_partition(&self.partition, &file.name)
    }

    pub fn bytes(&self) -> u64 {
        self.base.iter().chain(&self.logs).map(|f| f.size).sum()
    }
}

/// A path below the table, by partition and file name.
pub fn in_partition(partition: &str, name: &str) -> String {
    joined(partition, name)
}

/// The directories that hold data files, by their relative paths, sorted.
pub fn partitions(storage: &dyn Storage, config: &TableConfig) -> Result<Vec<String>> {
    let mut found = Vec::new();
    walk(storage, "", |dir, entry| match entry {
        // Its rows would show in this one, and cleans would take its files.
        Entry::Dir { name } if name == HOODIE && !dir.is_empty() => {
            Err(Error::unsupported("a table in the folder of another one").at_path(dir))
        }
        Entry::Dir { name } => Ok(name != HOODIE),
        Entry::File { name, .. } => {
            found.extend(is_partition_file(name).then(|| dir.to_owned()));
            Ok(false)
        }
    })?;
    // Low-level clients give tables partitions and say nothing of their columns.
    if config.partition_by.is_empty() {
        found.push(String::new());
    }
    found.sort();
    found.dedup();
    Ok(found)
}

/// Whether that file marks a partition, as a text or, where the table says so, in the format of its base files.
fn is_partition_file(name: &str) -> bool {
    let format = name.strip_prefix(PARTITION_FILE);
    format.is_some_and(|format| matches!(format, "" | ".parquet" | ".orc"))
}

/// The newest slice of each file group of a partition, by file id, from storage: what writers build upon.
pub fn newest_slices(
    storage: &dyn Storage,
    config: &TableConfig,
    snapshot: &Snapshot,
    partition: &str,
) -> Result<Vec<FileSlice>> {
    let archived = CompletionTimes::new(storage, config);
    slices_of(files_in(storage, partition)?, BASE_EXTENSION, snapshot, &archived, partition)
}

/// What lies in the directory of a partition.
pub(crate) fn files_in(storage: &dyn Storage, partition: &str) -> Result<Vec<DataFile>> {
    let files = storage.list(partition)?.into_iter().filter_map(|entry| match entry {
        Entry::File { name, meta } => Some(DataFile { name, size: meta.size }),
        Entry::Dir { .. } => None,
    });
    Ok(files.collect())
}

/// The newest slices that the files of a partition make up, by file id; base files have that extension.
pub(crate) fn slices_of(
    files: impl IntoIterator<Item = DataFile>,
    extension: &str,
    snapshot: &Snapshot,
    archived: &CompletionTimes<'_>,
    partition: &str,
) -> Result<Vec<FileSlice>> {
    data_files(files, extension, partition)?.newest(snapshot, archived, partition)
}

/// Refuses a file of somebody else's that was registered under a name with this mark: it is there by another name.
fn refuse_external(name: &str, partition: &str) -> Result<()> {
    if name.ends_with("_hudiext") {
        return Err(
            Error::unsupported("a file that was registered where it lies").at_path(in_partition(partition, name))
        );
    }
    Ok(())
}

/// Those of a partition's files that hold data; base files have that extension.
pub(crate) fn data_files(
    files: impl IntoIterator<Item = DataFile>,
    extension: &str,
    partition: &str,
) -> Result<PartitionFiles> {
    let mut found = PartitionFiles::default();
    for file in files {
        refuse_external(&file.name, partition)?;
        if let Some(parsed) = LogFileName::parse(&file.name) {
            if !parsed.cdc {
                found.logs.push((parsed, file));
            }
        } else if let Some(parsed) = BaseFileName::parse(&file.name) {
            if parsed.extension != extension {
                let message = format!("base files of format '{}'", parsed.extension);
                return Err(Error::unsupported(message).at_path(in_partition(partition, &file.name)));
            }
            found.bases.push((parsed, file));
        }
    }
    Ok(found)
}
