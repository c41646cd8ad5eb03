//! Where the list of a table's files comes from: its metadata table, or a look into its directories. Decided here alone.
//!
//! Both tell of the same files. The metadata table is asked because it is faster; whatever is wrong with it (it is
//! damaged, it does not know of a commit) costs a warning and no row.

use std::collections::BTreeSet;
use std::sync::Arc;

use hudini_format::metadata_record::Partition;

use super::{Absent, BASE_EXTENSION, DataFile, FileSlice, slices_of};
use crate::config::TableConfig;
use crate::metadata::{ListedFiles, MetadataTable};
use crate::options::METADATA_ENABLE;
use crate::site::Site;
use crate::storage::Storage;
use crate::table::Table;
use crate::timeline::{CompletionTimes, Snapshot, Timeline};
use crate::{Error, Result};

/// Who told of the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    MetadataTable,
    Storage,
}

impl Source {
    /// Of a list that was made with that metadata table, or without one.
    pub fn of(metadata: Option<&MetadataTable>) -> Self {
        if metadata.is_some() { Self::MetadataTable } else { Self::Storage }
    }

    /// As `explain()` says it.
    pub fn name(self) -> &'static str {
        match self {
            Self::MetadataTable => "metadata table",
            Self::Storage => "storage",
        }
    }
}

/// Which partitions are wanted.
#[derive(Clone, Copy)]
#[allow(missing_debug_implementations, reason = "a function has no form to show")]
pub enum Partitions<'a> {
    All,
    /// Those whose path is wanted.
    Where(&'a dyn Fn(&str) -> bool),
    /// By path; one that is not there has no files.
    These(&'a [String]),
}

/// The files of a table, or of some of its partitions.
#[derive(Debug)]
pub struct Listing {
    pub(super) files: ListedFiles,
    /// Where they were listed, unless that is storage.
    pub metadata: Option<MetadataTable>,
    /// What the caller should know of how they were found.
    pub warnings: Vec<String>,
}

impl Listing {
    /// Lists the files as they are now. The timeline must have been read before: a commit on it is in the list, or the
    /// list is not taken from the metadata table.
    pub fn of(table: &Table, config: &TableConfig, timeline: &Timeline, wanted: Partitions<'_>) -> Result<Self> {
        let mut warnings = Vec::new();
        if table.options.get_or_default(&METADATA_ENABLE)? {
            match from_metadata(&table.storage, config, timeline, wanted) {
                Ok(Some((metadata, files))) => return Ok(Self { files, metadata: Some(metadata), warnings }),
                Ok(None) => {}
                Err(error) => warnings.push(not_used(&error)),
            }
        }
        let files = from_storage(table.storage.as_ref(), config, wanted)?;
        Ok(Self { files, metadata: None, warnings })
    }

    /// What lies in the folders of these partitions, and what should: what the metadata table tells of, or else what commits
    /// wrote. Who builds upon an older slice because the newest one has lost its file loses the rows for good.
    pub(crate) fn of_folders(
        site: Site<'_>,
        config: &TableConfig,
        timeline: &Timeline,
        snapshot: &Snapshot,
        partitions: &[String],
    ) -> Result<(Self, Absent)> {
        let wanted = Partitions::These(partitions);
        let files = from_storage(site.store(), config, wanted)?;
        let mut listing = Self { files, metadata: None, warnings: Vec::new() };
        let told = if site.options.get_or_default(&METADATA_ENABLE)? {
            // One that cannot be used tells nothing; it is the same with commits whose time has come.
            from_metadata(site.storage, config, timeline, wanted).ok().flatten()
        } else {
            None
        };
        let absent = match told {
            Some((_, told)) => listing.add_told(told),
            None => listing.add_named(site.store(), config, timeline, snapshot, |_| Ok(false))?,
        };
        Ok((listing, absent))
    }

    /// An error if somebody began to delete files after the timeline was read, and the list may tell of it.
    pub(crate) fn check_whole(&self, storage: &dyn Storage, config: &TableConfig, timeline: &Timeline) -> Result<()> {
        if self.metadata.as_ref().is_some_and(|metadata| !metadata.is_ahead()) {
            return Ok(());
        }
        timeline.check_whole(storage, config)
    }

    /// The partitions, by path.
    pub fn partitions(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// The newest slice of each file group that the snapshot sees.
    pub fn slices(self, storage: &dyn Storage, config: &TableConfig, snapshot: &Snapshot) -> Result<Vec<FileSlice>> {
        let archived = CompletionTimes::new(storage, config);
        let mut slices = Vec::new();
        for (partition, files) in self.files {
            slices.extend(slices_of(files, BASE_EXTENSION, snapshot, &archived, &partition)?);
        }
        Ok(slices)
    }
}

fn not_used(error: &Error) -> String {
    format!("the files are listed from storage, because the metadata table cannot be used: {error}")
}

fn from_metadata(
    storage: &Arc<dyn Storage>,
    config: &TableConfig,
    timeline: &Timeline,
    wanted: Partitions<'_>,
) -> Result<Option<(MetadataTable, ListedFiles)>> {
    let metadata = MetadataTable::open(storage, config, timeline)?;
    let Some(metadata) = metadata.filter(|metadata| metadata.has(&Partition::Files)) else { return Ok(None) };
    metadata.check_knows_all(timeline)?;
    let listed = match wanted {
        Partitions::All => metadata.files(),
        Partitions::Where(wanted) => metadata.files_where(wanted),
        Partitions::These(partitions) => metadata.files_in(partitions),
    }?;
    if metadata.still_has(&Partition::Files)? {
        return Ok(Some((metadata, listed)));
    }
    Err(Error::storage("the metadata table was given up while it was read"))
}

fn from_storage(storage: &dyn Storage, config: &TableConfig, wanted: Partitions<'_>) -> Result<ListedFiles> {
    let partitions: BTreeSet<String> = match wanted {
        Partitions::All => super::partitions(storage, config)?.into_iter().collect(),
        Partitions::Where(wanted) => {
            super::partitions(storage, config)?.into_iter().filter(|path| wanted(path)).collect()
        }
        Partitions::These(partitions) => partitions.iter().cloned().collect(),
    };
    let files =
        |path: String| -> Result<(String, Vec<DataFile>)> { Ok((path.clone(), super::files_in(storage, &path)?)) };
    partitions.into_iter().map(files).collect()
}
