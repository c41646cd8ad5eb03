//! The file groups of the record index as a value that travels: each may be asked for its keys on another machine.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hudini_format::metadata_record::{IndexVersion, Partition, RecordIndexEntry};
use serde::{Deserialize, Serialize};

use super::MetadataTable;
use super::group::{Records, Wanted};
use super::indexes::record_entry;
use crate::storage::Storage;
use crate::timeline::Snapshot;
use crate::view::FileSlice;
use crate::{Error, Result};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct RecordGroups {
    /// By number.
    slices: Vec<FileSlice>,
    /// Which of their log blocks count.
    counted: Snapshot,
}

impl MetadataTable {
    /// Those of an index that is kept for the whole table.
    pub(crate) fn record_groups(&self) -> Result<RecordGroups> {
        let slices = self.groups(self.there(&Partition::RecordIndex)?)?.of_whole_table()?;
        // What else is known of the metadata table is nothing to workers.
        let counted = Snapshot { schema: None, ..self.counted.clone() };
        Ok(RecordGroups { slices, counted })
    }
}

impl RecordGroups {
    pub(crate) fn count(&self) -> usize {
        self.slices.len()
    }

    /// Which group has a key, if any has.
    pub(crate) fn number_of(&self, key: &str) -> Result<u32> {
        // The version makes a difference to the keys of secondary indexes alone.
        Partition::RecordIndex.file_group(IndexVersion::V1, key, self.slices.len() as u32)
    }

    /// Where the records of some keys are.
    pub(crate) fn locations_of(
        &self,
        storage: &Arc<dyn Storage>,
        keys: BTreeSet<String>,
    ) -> Result<BTreeMap<String, Vec<RecordIndexEntry>>> {
        let mut by_group: BTreeMap<u32, BTreeSet<String>> = BTreeMap::new();
        for key in keys {
            by_group.entry(self.number_of(&key)?).or_default().insert(key);
        }
        let mut found = BTreeMap::new();
        for (number, keys) in by_group {
            found.extend(self.locations(storage, number, keys)?);
        }
        Ok(found)
    }

    /// The same; all of them are in that group if anywhere.
    pub(crate) fn locations(
        &self,
        storage: &Arc<dyn Storage>,
        number: u32,
        keys: BTreeSet<String>,
    ) -> Result<BTreeMap<String, Vec<RecordIndexEntry>>> {
        let slice = self.slices.get(number as usize);
        let slice = slice.ok_or_else(|| Error::internal(format!("the file group {number} of the record index")))?;
        let mut found: BTreeMap<String, Vec<RecordIndexEntry>> = BTreeMap::new();
        for record in Records::open(storage, &self.counted, slice, Wanted::Keys(keys.into_iter().collect()))? {
            let (key, entry) = record_entry(record?).map_err(|e| e.at_path(&slice.partition))?;
            found.entry(key).or_default().push(entry);
        }
        Ok(found)
    }
}
