//! Markers: before a data file exists, its name stands under `.hoodie/.temp/<instant>/`. A rollback deletes what is named
//! there and nothing else; a file without a marker would outlive its failed write, and one day count as data.

use std::collections::BTreeSet;

use hudini_format::action::WriteStat;
use hudini_format::name::{MarkerFile, MarkerName, is_checksum};

use crate::storage::{Entry, Put, Storage, joined, walk};
use crate::view::in_partition;
use crate::{Error, Result};

pub use hudini_format::name::MarkerKind;

pub(crate) const TEMP: &str = ".hoodie/.temp";

/// A data file that a write has begun.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Marked {
    pub partition: String,
    pub file: String,
    pub kind: MarkerKind,
}

impl Marked {
    pub fn path(&self) -> String {
        in_partition(&self.partition, &self.file)
    }
}

fn dir(time: &str) -> String {
    format!("{TEMP}/{time}")
}

fn path(time: &str, partition: &str, file: &str, kind: MarkerKind) -> String {
    format!("{}/{}", dir(time), MarkerName { partition: partition.to_owned(), file: file.to_owned(), kind })
}

/// Makes the marker of one file. One that is there already is fine: a task may be tried again.
pub fn create(storage: &dyn Storage, time: &str, partition: &str, file: &str, kind: MarkerKind) -> Result<()> {
    match storage.create(&path(time, partition, file, kind), b"")? {
        Put::Done(_) | Put::Refused => Ok(()),
    }
}

/// Whether the marker of a file is there.
pub fn is_marked(storage: &dyn Storage, time: &str, partition: &str, file: &str, kind: MarkerKind) -> Result<bool> {
    Ok(storage.head(&path(time, partition, file, kind))?.is_some())
}

/// Removes the marker of one file, which is gone.
pub fn delete(storage: &dyn Storage, time: &str, partition: &str, file: &str, kind: MarkerKind) -> Result<()> {
    storage.delete(&path(time, partition, file, kind)).map(drop)
}

/// All files that the write has begun, whoever writes: Apache Hudi's timeline server keeps many names in one file.
pub fn list(storage: &dyn Storage, time: &str) -> Result<Vec<Marked>> {
    let root = dir(time);
    let mut found = Vec::new();
    walk(storage, &root, |below, entry| {
        let name = match entry {
            Entry::Dir { .. } => return Ok(true),
            Entry::File { name, .. } if is_checksum(name) => return Ok(false),
            Entry::File { name, .. } => joined(below, name),
        };
        match MarkerFile::parse(&name) {
            Some(MarkerFile::Type) => {}
            Some(MarkerFile::Direct(marker)) => found.push(marked(marker)),
            Some(MarkerFile::Names(_)) => {
                let path = format!("{root}/{name}");
                let text = storage.read(&path)?.unwrap_or_default();
                let lines = text.split(|b| *b == b'\n').map(String::from_utf8_lossy);
                for line in lines.filter(|line| !line.is_empty()) {
                    found.push(marked(MarkerName::parse(&line).ok_or_else(|| no_marker(&line, &path))?));
                }
            }
            None => return Err(no_marker(&name, &root)),
        }
        Ok(false)
    })?;
    found.sort();
    found.dedup();
    Ok(found)
}

fn marked(marker: MarkerName) -> Marked {
    Marked { partition: marker.partition, file: marker.file, kind: marker.kind }
}

fn no_marker(name: &str, path: &str) -> Error {
    Error::corrupt(format!("'{name}' is not a marker")).at_path(path)
}

/// Removes files of attempts that were lost: marked, and in nobody's result.
pub fn remove_lost_files<'s>(
    storage: &dyn Storage,
    time: &str,
    stats: impl IntoIterator<Item = &'s WriteStat>,
) -> Result<()> {
    let kept: BTreeSet<&str> = stats.into_iter().filter_map(|s| s.path.as_deref()).collect();
    for marked in list(storage, time)? {
        let path = marked.path();
        if !kept.contains(path.as_str()) {
            storage.discard_unfinished(&path)?;
            storage.delete(&path)?;
        }
    }
    Ok(())
}

/// What is left to do when a write has completed: an attempt that was lost may have made its file after those of the others
/// were removed. From now on it sees itself that it came too late.
pub fn clear_up<'s>(storage: &dyn Storage, time: &str, stats: impl IntoIterator<Item = &'s WriteStat>) -> Result<()> {
    remove_lost_files(storage, time, stats)?;
    delete_all(storage, time)
}

/// Removes the markers of a write that has completed or was rolled back.
pub fn delete_all(storage: &dyn Storage, time: &str) -> Result<()> {
    storage.delete_dir(&dir(time))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::context::ManualClock;
    use crate::storage::memory::Memory;

    const TIME: &str = "20261124162655080";

    fn marked(partition: &str, file: &str) -> Marked {
        Marked { partition: partition.to_owned(), file: file.to_owned(), kind: MarkerKind::Create }
    }

    fn storage(files: &[(&str, &str)]) -> Memory {
        let storage = Memory::new("t", Arc::new(ManualClock::new(0)));
        for (name, text) in files {
            storage.replace(&format!("{}/{name}", dir(TIME)), text.as_bytes()).unwrap();
        }
        storage
    }

    #[test]
    fn checksums_that_hadoop_laid_beside_the_markers_of_its_writers_are_none() {
        let of_server = storage(&[
            ("MARKERS.type", "TIMELINE_SERVER_BASED"),
            (".MARKERS.type.crc", "crc"),
            ("MARKERS17", "sf/a.parquet.marker.MERGE\nb.parquet.marker.CREATE\n"),
            (".MARKERS17.crc", "crc"),
        ]);
        let direct = storage(&[
            ("sf/a.parquet.marker.MERGE", ""),
            ("sf/.a.parquet.marker.MERGE.crc", "crc"),
            ("b.parquet.marker.CREATE", ""),
            (".b.parquet.marker.CREATE.crc", "crc"),
        ]);
        for storage in [of_server, direct] {
            let merge = Marked { kind: MarkerKind::Merge, ..marked("sf", "a.parquet") };
            assert_eq!(list(&storage, TIME).unwrap(), [marked("", "b.parquet"), merge]);
        }
    }

    #[test]
    fn what_is_no_marker_is_an_error() {
        for files in [[("sf/a.parquet", "")], [("MARKERS0", "sf/a.parquet\n")], [("MARKERS", "")]] {
            assert_eq!(list(&storage(&files), TIME).unwrap_err().kind(), crate::ErrorKind::CorruptFile, "{files:?}");
        }
    }
}
