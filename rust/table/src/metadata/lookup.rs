//! A partition of the metadata table: its file groups, and which of them holds a key.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hudini_format::metadata_record::{IndexVersion, MetadataRecord, Partition, data_partition_of, file_group_of};

use super::group::{Records, Wanted};
use super::named::Named;
use super::{FOLDER, MetadataTable};
use crate::timeline::CompletionTimes;
use crate::view::{self, FileSlice};
use crate::{Error, ErrorKind, Result};

const BASE_EXTENSION: &str = "hfile";

/// The newest slice of each group of one partition, by number; their paths start at the table.
///
/// A record index may be kept for each partition of the table; it then has groups for each of them.
#[derive(Debug)]
pub(super) struct Groups {
    partition: Partition,
    version: IndexVersion,
    /// By partition of the table, where there are such, else all under `None`.
    slices: BTreeMap<Option<String>, Vec<FileSlice>>,
}

impl MetadataTable {
    /// The file groups of a partition.
    pub(super) fn groups(&self, partition: &Partition) -> Result<Groups> {
        let name = partition.to_string();
        let found = match self.whole_slices(&name, self.named()?) {
            Err(e) if e.kind() == ErrorKind::CorruptFile => self.whole_slices(&name, self.named_with_history()?),
            found => found,
        }?;
        let mut numbered: BTreeMap<Option<String>, BTreeMap<u32, FileSlice>> = BTreeMap::new();
        for mut slice in found {
            slice.partition = format!("{FOLDER}/{name}");
            let within = if *partition == Partition::RecordIndex { data_partition_of(&slice.file_id) } else { None };
            let number = file_group_of(&slice.file_id);
            let number = number.ok_or_else(|| self.odd(&name, &format!("the file group '{}'", slice.file_id)))?;
            if numbered.entry(within).or_default().insert(number, slice).is_some() {
                return Err(self.odd(&name, &format!("two file groups with the number {number}")));
            }
        }
        let mut slices = BTreeMap::new();
        for (within, groups) in numbered {
            // A key is looked for in the one group that its hash names, so none may be missing.
            if groups.keys().copied().ne(0..groups.len() as u32) {
                return Err(self.odd(&name, &format!("file groups with the numbers {:?}", groups.keys())));
            }
            slices.insert(within, groups.into_values().collect());
        }
        if slices.is_empty() {
            return Err(self.odd(&name, "no file group"));
        }
        let version = self.key_version(partition)?;
        Ok(Groups { partition: partition.clone(), version, slices })
    }

    /// The newest slices of a partition; an error if they have not the files that commits name.
    fn whole_slices(&self, partition: &str, named: &Named) -> Result<Vec<FileSlice>> {
        let archived = CompletionTimes::new(self.storage.as_ref(), &self.config);
        let mut files = view::files_in(self.storage.as_ref(), partition)?;
        named.add_absent(partition, &mut files);
        let found = view::slices_of(files, BASE_EXTENSION, &self.snapshot, &archived, partition)?;
        named.check(partition, &found)?;
        Ok(found)
    }

    /// Whether the record index is kept for each partition of the table apart: then a key may be in several.
    pub fn locates_by_partition(&self) -> Result<bool> {
        Ok(self.groups(&Partition::RecordIndex)?.slices.keys().any(Option::is_some))
    }

    fn odd(&self, partition: &str, what: &str) -> Error {
        let message = format!("the partition {partition} of the metadata table has {what}");
        Error::corrupt(message).at_path(format!("{}/{partition}", self.storage.root()))
    }

    /// All records of a partition, file group by file group.
    pub(super) fn all(&self, partition: &Partition) -> Result<impl Iterator<Item = Result<MetadataRecord>> + use<>> {
        let slices: Vec<FileSlice> = self.groups(partition)?.slices.into_values().flatten().collect();
        let (storage, counted) = (Arc::clone(&self.table), self.counted.clone());
        Ok(slices.into_iter().flat_map(move |slice| {
            let (records, error) = match Records::open(&storage, &counted, &slice, Wanted::All) {
                Ok(records) => (Some(records), None),
                Err(error) => (None, Some(Err(error))),
            };
            records.into_iter().flatten().chain(error)
        }))
    }

    /// The records of some keys. Of a record index kept by partition, `within` is that partition, or `None` for all.
    pub(super) fn get(
        &self,
        partition: &Partition,
        keys: impl IntoIterator<Item = String>,
        within: Option<&str>,
    ) -> Result<BTreeMap<String, Vec<MetadataRecord>>> {
        let groups = self.groups(partition)?;
        let keys: BTreeSet<String> = keys.into_iter().collect();
        let mut found: BTreeMap<String, Vec<MetadataRecord>> = BTreeMap::new();
        for slices in groups.within(within) {
            let mut by_group: BTreeMap<u32, Vec<String>> = BTreeMap::new();
            for key in &keys {
                by_group.entry(groups.number_of(key, slices)?).or_default().push(key.clone());
            }
            for (number, keys) in by_group {
                for record in self.read(slices, number, Wanted::Keys(keys))? {
                    found.entry(record.key.clone()).or_default().push(record);
                }
            }
        }
        Ok(found)
    }

    /// The records whose keys start with one of these.
    pub(super) fn with_prefixes(
        &self,
        partition: &Partition,
        prefixes: impl IntoIterator<Item = String>,
    ) -> Result<Vec<MetadataRecord>> {
        let groups = self.groups(partition)?;
        let prefixes = without_nested(prefixes.into_iter().collect());
        let mut found = Vec::new();
        for slices in groups.within(None) {
            let mut by_group: BTreeMap<u32, Vec<String>> = BTreeMap::new();
            for prefix in &prefixes {
                let numbers = match groups.is_hashed_by_prefix() {
                    true => groups.number_of(prefix, slices)?..=groups.number_of(prefix, slices)?,
                    false => 0..=(slices.len() as u32).saturating_sub(1),
                };
                for number in numbers {
                    by_group.entry(number).or_default().push(prefix.clone());
                }
            }
            for (number, prefixes) in by_group {
                found.extend(self.read(slices, number, Wanted::Prefixes(prefixes))?);
            }
        }
        Ok(found)
    }

    fn read(&self, slices: &[FileSlice], number: u32, wanted: Wanted) -> Result<Vec<MetadataRecord>> {
        let slice = slices.get(number as usize);
        let slice = slice.ok_or_else(|| Error::internal("a key of the metadata table in no file group"))?;
        Records::open(&self.table, &self.counted, slice, wanted)?.collect()
    }
}

/// Prefixes in order, none of which starts another one.
fn without_nested(sorted: BTreeSet<String>) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    for prefix in sorted {
        if !kept.last().is_some_and(|last| prefix.starts_with(last.as_str())) {
            kept.push(prefix);
        }
    }
    kept
}

impl Groups {
    pub(super) fn slices(&self) -> impl Iterator<Item = &FileSlice> {
        self.slices.values().flatten()
    }

    /// Those that are kept for the whole table, by number.
    pub(super) fn of_whole_table(mut self) -> Result<Vec<FileSlice>> {
        self.slices.remove(&None).ok_or_else(|| self.by_partition("look-ups"))
    }

    fn by_partition(&self, what: &str) -> Error {
        Error::unsupported(format!("{what} of {} by partition", self.partition))
    }

    /// Which group holds a key, of those that are kept for the whole table.
    pub(super) fn number_of_key(&self, key: &str) -> Result<u32> {
        match self.slices.get(&None) {
            Some(slices) => self.number_of(key, slices),
            None => Err(self.by_partition("changes")),
        }
    }

    pub(super) fn file_id(&self, number: u32) -> Option<&str> {
        Some(&self.slices.get(&None)?.get(number as usize)?.file_id)
    }

    /// The groups of one partition of the table, or of each; all are one where they are kept for the whole table.
    fn within<'g>(&'g self, partition: Option<&'g str>) -> impl Iterator<Item = &'g [FileSlice]> {
        let chosen = self.slices.iter().filter(move |(within, _)| match (within.as_deref(), partition) {
            (Some(within), Some(partition)) => within == partition,
            _ => true,
        });
        chosen.map(|(_, slices)| slices.as_slice())
    }

    pub(super) fn are_by_partition(&self) -> bool {
        self.slices.keys().any(Option::is_some)
    }

    fn number_of(&self, key: &str, slices: &[FileSlice]) -> Result<u32> {
        self.partition.file_group(self.version, key, slices.len() as u32)
    }

    /// Whether all keys of a value are in one group.
    fn is_hashed_by_prefix(&self) -> bool {
        matches!((&self.partition, self.version), (Partition::SecondaryIndex(_), IndexVersion::V2))
    }
}
