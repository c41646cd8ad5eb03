//! Markers: before a data file exists, its name stands under `.hoodie/.temp/<instant>/`. A rollback deletes what is named
//! there and nothing else; a file without a marker would outlive its failed write, and one day count as data.

use std::collections::BTreeSet;

use hudini_format::action::WriteStat;
use hudini_format::name::MarkerName;

use crate::storage::{Entry, Put, Storage};
use crate::view::in_partition;
use crate::{Error, Result};

pub use hudini_format::name::MarkerKind;

pub(crate) const TEMP: &str = ".hoodie/.temp";

/// File that says markers are kept in the `MARKERS<n>` files of Apache Hudi's timeline server.
const TYPE_FILE: &str = "MARKERS.type";
const BATCH_PREFIX: &str = "MARKERS";

/// A data file that a write has begun.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Marked {
    pub partition: String,
    pub file: String,
}

impl Marked {
    pub fn path(&self) -> String {
        in_partition(&self.partition, &self.file)
    }
}

fn dir(time: &str) -> String {
    format!("{TEMP}/{time}")
}

/// Makes the marker of one file. One that is there already is fine: a task may be tried again.
pub fn create(storage: &dyn Storage, time: &str, partition: &str, file: &str, kind: MarkerKind) -> Result<()> {
    let marker = MarkerName { partition: partition.to_owned(), file: file.to_owned(), kind };
    match storage.create(&format!("{}/{marker}", dir(time)), b"")? {
        Put::Done(_) | Put::Refused => Ok(()),
    }
}

/// Whether the marker of a file is there.
pub fn is_marked(storage: &dyn Storage, time: &str, partition: &str, file: &str, kind: MarkerKind) -> Result<bool> {
    let marker = MarkerName { partition: partition.to_owned(), file: file.to_owned(), kind };
    Ok(storage.head(&format!("{}/{marker}", dir(time)))?.is_some())
}

/// All files that the write has begun.
pub fn list(storage: &dyn Storage, time: &str) -> Result<Vec<Marked>> {
    let root = dir(time);
    let mut found = Vec::new();
    let mut open = vec![String::new()];
    while let Some(below) = open.pop() {
        for entry in storage.list(&if below.is_empty() { root.clone() } else { format!("{root}/{below}") })? {
            match entry {
                Entry::Dir { name } => open.push(in_partition(&below, &name)),
                Entry::File { name, .. } if below.is_empty() && name == TYPE_FILE => {}
                Entry::File { name, .. } if below.is_empty() && name.starts_with(BATCH_PREFIX) => {
                    let path = format!("{root}/{name}");
                    let text = storage.read(&path)?.unwrap_or_default();
                    let lines = text.split(|b| *b == b'\n').map(String::from_utf8_lossy);
                    for line in lines.filter(|line| !line.is_empty()) {
                        found.push(parse(&line, &path)?);
                    }
                }
                Entry::File { name, .. } => found.push(parse(&in_partition(&below, &name), &root)?),
            }
        }
    }
    found.sort();
    found.dedup();
    Ok(found)
}

fn parse(name: &str, path: &str) -> Result<Marked> {
    let marker = MarkerName::parse(name);
    let marker = marker.ok_or_else(|| Error::corrupt(format!("'{name}' is not a marker")).at_path(path))?;
    Ok(Marked { partition: marker.partition, file: marker.file })
}

/// Removes files of attempts that were lost: marked, and in nobody's result.
pub fn remove_lost_files(storage: &dyn Storage, time: &str, stats: &[WriteStat]) -> Result<()> {
    let kept: BTreeSet<&str> = stats.iter().filter_map(|s| s.path.as_deref()).collect();
    for marked in list(storage, time)? {
        let path = marked.path();
        if !kept.contains(path.as_str()) {
            storage.discard_unfinished(&path)?;
            storage.delete(&path)?;
        }
    }
    Ok(())
}

/// Removes the markers of a write that has completed or was rolled back.
pub fn delete_all(storage: &dyn Storage, time: &str) -> Result<()> {
    storage.delete_dir(&dir(time))
}
