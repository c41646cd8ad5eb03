//! What a table consists of, as small tables: partitions, slices, indexes.

use std::collections::{BTreeMap, BTreeSet};

use hudini_format::properties::IndexDefinition;

use crate::Result;
use crate::metadata;
use crate::scan;
use crate::table::Table;
use crate::timeline::{Snapshot, Timeline, Until};
use crate::view::{FileSlice, Listing, Partitions};

/// A partition and the newest slices in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PartitionLine {
    pub partition: String,
    pub slices: usize,
    pub base_files: usize,
    pub base_bytes: u64,
    pub log_files: usize,
    pub log_bytes: u64,
}

/// The partitions of the table, by path; one may have no rows any more.
pub fn partitions(table: &Table) -> Result<Vec<PartitionLine>> {
    let config = table.config()?;
    let storage = table.storage.as_ref();
    let timeline = Timeline::load(storage, &config)?;
    let snapshot = Snapshot::pin(storage, &config, &timeline, Until::Now)?;
    let listing = Listing::of(table, &config, &timeline, Partitions::All)?;
    let line = |path: &str| (path.to_owned(), PartitionLine { partition: path.to_owned(), ..Default::default() });
    let mut lines: BTreeMap<String, PartitionLine> = listing.partitions().map(line).collect();
    for slice in listing.slices(storage, &config, &snapshot)? {
        let Some(line) = lines.get_mut(&slice.partition) else { continue };
        line.slices += 1;
        line.base_files += usize::from(slice.base.is_some());
        line.base_bytes += slice.base.as_ref().map_or(0, |base| base.size);
        line.log_files += slice.logs.len();
        line.log_bytes += slice.logs.iter().map(|log| log.size).sum::<u64>();
    }
    Ok(lines.into_values().collect())
}

/// The newest slice of each file group, now or as of a moment; of one partition, or of all.
pub fn slices(table: &Table, as_of: Option<&str>, partition: Option<&str>) -> Result<Vec<FileSlice>> {
    let mut slices = scan::slices(table, as_of)?;
    slices.retain(|slice| partition.is_none_or(|wanted| slice.partition == wanted));
    Ok(slices)
}

/// How far an index is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexState {
    /// Readers use it.
    Ready,
    /// It is being built.
    InFlight,
    /// Nothing but its definition is there.
    Defined,
}

impl IndexState {
    pub fn name(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::InFlight => "in flight",
            Self::Defined => "defined",
        }
    }
}

/// A partition of the metadata table, or what is to be one. The list of files is one too.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexLine {
    pub name: String,
    pub state: IndexState,
    /// Some have none.
    pub definition: Option<IndexDefinition>,
}

/// The indexes of the table, by name.
pub fn indexes(table: &Table) -> Result<Vec<IndexLine>> {
    let config = table.config()?;
    let definitions = metadata::index_definitions(table.storage.as_ref(), &config)?;
    let ready: BTreeSet<String> = metadata::partitions(&config).into_iter().collect();
    let in_flight: BTreeSet<String> = metadata::partitions_in_flight(&config).into_iter().collect();
    let defined = definitions.iter().map(|(name, _)| name.to_owned());
    let names: BTreeSet<String> = ready.iter().chain(&in_flight).cloned().chain(defined).collect();
    let line = |name: String| IndexLine {
        state: match (ready.contains(&name), in_flight.contains(&name)) {
            (true, _) => IndexState::Ready,
            (false, true) => IndexState::InFlight,
            (false, false) => IndexState::Defined,
        },
        definition: definitions.get(&name).cloned(),
        name,
    };
    Ok(names.into_iter().map(line).collect())
}
