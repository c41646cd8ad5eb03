//! Which files make up the table at a snapshot: partitions, file groups, and in each group the newest slice.
//!
//! A slice is a base file and the logs on top of it. Logs name the write that made them, not their slice: since version 8
//! a log belongs to the newest base instant that is not later than the log's *completion*.

mod slices;

use hudini_format::name::{BaseFileName, LogFileName};
use serde::{Deserialize, Serialize};

use crate::config::{HOODIE, TableConfig};
use crate::storage::{Entry, Storage};
use crate::timeline::{CompletionTimes, Snapshot};
use crate::{Error, Result};

pub(crate) use slices::PartitionFiles;

/// In every partition directory; without it, Apache Hudi does not see the partition.
pub const PARTITION_FILE: &str = ".hoodie_partition_metadata";

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
    if partition.is_empty() { name.to_owned() } else { format!("{partition}/{name}") }
}

/// The directories that hold data files, by their relative paths, sorted.
pub fn partitions(storage: &dyn Storage, config: &TableConfig) -> Result<Vec<String>> {
    if config.partition_by.is_empty() {
        return Ok(vec![String::new()]);
    }
    let mut found = Vec::new();
    let mut open = vec![String::new()];
    while let Some(dir) = open.pop() {
        for entry in storage.list(&dir)? {
            match entry {
                Entry::File { name, .. } if name == PARTITION_FILE => found.push(dir.clone()),
                Entry::Dir { name } if !(dir.is_empty() && name == HOODIE) => open.push(in_partition(&dir, &name)),
                _ => {}
            }
        }
    }
    found.sort();
    Ok(found)
}

/// The newest slice of each file group of a partition, by file id.
pub fn newest_slices(
    storage: &dyn Storage,
    config: &TableConfig,
    snapshot: &Snapshot,
    partition: &str,
) -> Result<Vec<FileSlice>> {
    partition_files(storage, partition)?.newest(snapshot, &CompletionTimes::new(storage, config), partition)
}

/// The data files of a partition.
pub(crate) fn partition_files(storage: &dyn Storage, partition: &str) -> Result<PartitionFiles> {
    let mut files = PartitionFiles::default();
    for entry in storage.list(partition)? {
        let Entry::File { name, meta } = entry else { continue };
        let size = meta.size;
        if let Some(parsed) = LogFileName::parse(&name) {
            if !parsed.cdc {
                files.logs.push((parsed, DataFile { name, size }));
            }
        } else if let Some(parsed) = BaseFileName::parse(&name) {
            refuse_other_formats(&parsed, partition, &name)?;
            files.bases.push((parsed, DataFile { name, size }));
        }
    }
    Ok(files)
}

fn refuse_other_formats(file: &BaseFileName, partition: &str, name: &str) -> Result<()> {
    match file.extension.as_str() {
        "parquet" => Ok(()),
        other => {
            Err(Error::unsupported(format!("base files of format '{other}'")).at_path(in_partition(partition, name)))
        }
    }
}

/// The newest slices of all partitions.
pub fn all_slices(storage: &dyn Storage, config: &TableConfig, snapshot: &Snapshot) -> Result<Vec<FileSlice>> {
    slices_in(storage, config, snapshot, &partitions(storage, config)?)
}

/// The newest slices of some partitions.
pub fn slices_in<'p>(
    storage: &dyn Storage,
    config: &TableConfig,
    snapshot: &Snapshot,
    partitions: impl IntoIterator<Item = &'p String>,
) -> Result<Vec<FileSlice>> {
    let archived = CompletionTimes::new(storage, config);
    let mut slices = Vec::new();
    for partition in partitions {
        slices.extend(partition_files(storage, partition)?.newest(snapshot, &archived, partition)?);
    }
    Ok(slices)
}
