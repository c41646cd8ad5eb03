//! What the indexes know: statistics and bloom filters of files, where record keys are.
//!
//! A partition that is not there is an error: ask [`MetadataTable::has`] first. A row that is not there means nothing for
//! column statistics and bloom filters, whose files may have been written without; of a record index it means that the
//! table does not have the key.

use std::collections::BTreeMap;

use hudini_format::bloom::{BloomFilter, BloomKind};
use hudini_format::metadata_record::{ColumnStats, MetadataRecord, Partition, Payload, RecordIndexEntry, key};

use super::MetadataTable;
use crate::{Error, Result};

/// Of which files statistics are wanted.
#[derive(Debug, Clone, Copy)]
pub enum OfFiles<'a> {
    All,
    /// Those of some partitions, by path.
    In(&'a [String]),
}

/// Of a file: partition path and name.
pub type InPartition = (String, String);

/// A value that a secondary index has, and the key of a record that has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecondaryEntry {
    pub value: Option<String>,
    pub record_key: String,
}

impl MetadataTable {
    /// Statistics of some columns, for each file that has them.
    pub fn column_stats(&self, columns: &[String], of: OfFiles<'_>) -> Result<Vec<ColumnStats>> {
        let partition = Partition::ColumnStats;
        let prefixes = |partitions: Option<&[String]>| -> Vec<String> {
            let prefixes_of = |column: &String| match partitions {
                None => vec![key::column_stats_prefix(column, None)],
                Some(paths) => paths.iter().map(|path| key::column_stats_prefix(column, Some(path))).collect(),
            };
            columns.iter().flat_map(prefixes_of).collect()
        };
        let records = match of {
            OfFiles::All => self.with_prefixes(self.there(&partition)?, prefixes(None))?,
            OfFiles::In(paths) => self.with_prefixes(self.there(&partition)?, prefixes(Some(paths)))?,
        };
        let stats = |record: MetadataRecord| match record.payload {
            Payload::ColumnStats(stats) => Ok(*stats),
            _ => Err(self.misfiled(&partition, &record)),
        };
        records.into_iter().map(stats).collect()
    }

    /// Statistics of some columns in some files, or of what an expression makes of a column. A file may have those of some
    /// columns alone.
    pub fn stats_of(
        &self,
        partition: &Partition,
        columns: &[String],
        files: &[InPartition],
    ) -> Result<BTreeMap<InPartition, Vec<ColumnStats>>> {
        let key_of = |column: &str, (path, name): &InPartition| key::column_stats(column, path, name);
        let keys = columns.iter().flat_map(|column| files.iter().map(move |file| key_of(column, file)));
        let mut found = self.get(self.there(partition)?, keys, None)?;
        let mut stats: BTreeMap<InPartition, Vec<ColumnStats>> = BTreeMap::new();
        for (column, file) in columns.iter().flat_map(|column| files.iter().map(move |file| (column, file))) {
            for record in found.remove(&key_of(column, file)).unwrap_or_default() {
                let Payload::ColumnStats(of_column) = record.payload else {
                    return Err(self.misfiled(partition, &record));
                };
                stats.entry(file.clone()).or_default().push(*of_column);
            }
        }
        Ok(stats)
    }

    /// Statistics of some columns in some partitions, by path: of all rows in them, perhaps of more.
    pub fn partition_stats(&self, columns: &[String], partitions: &[String]) -> Result<Vec<ColumnStats>> {
        let partition = Partition::PartitionStats;
        let keys = columns.iter().flat_map(|column| partitions.iter().map(|path| key::partition_stats(column, path)));
        let records = self.get(self.there(&partition)?, keys, None)?.into_values().flatten();
        let stats = |record: MetadataRecord| match record.payload {
            Payload::PartitionStats(stats) => Ok(*stats),
            _ => Err(self.misfiled(&partition, &record)),
        };
        records.map(stats).collect()
    }

    /// The bloom filters of some base files, by partition path and name.
    pub fn bloom_filters(&self, files: &[InPartition]) -> Result<BTreeMap<InPartition, BloomFilter>> {
        self.bloom_filters_in(&Partition::BloomFilters, files)
    }

    /// The same of another partition: an expression index may have some of what it makes of a column.
    pub fn bloom_filters_in(
        &self,
        partition: &Partition,
        files: &[InPartition],
    ) -> Result<BTreeMap<InPartition, BloomFilter>> {
        let key_of = |(path, name): &InPartition| key::bloom_filter(path, name);
        let found = self.get(self.there(partition)?, files.iter().map(key_of), None)?;
        let mut filters = BTreeMap::new();
        for file in files {
            for record in found.get(&key_of(file)).into_iter().flatten() {
                let Payload::BloomFilter(entry) = &record.payload else {
                    return Err(self.misfiled(partition, record));
                };
                let text = str::from_utf8(&entry.filter)
                    .map_err(|e| Error::corrupt("a bloom filter of the metadata table is no text").caused_by(e))?;
                filters.insert(file.clone(), BloomFilter::from_text(BloomKind::parse(&entry.kind)?, text)?);
            }
        }
        Ok(filters)
    }

    /// Where the records of some keys are. An index that is kept by partition has a key in as many of them as the table
    /// does; `within` asks one partition only.
    pub fn record_locations(
        &self,
        keys: impl IntoIterator<Item = String>,
        within: Option<&str>,
    ) -> Result<BTreeMap<String, Vec<RecordIndexEntry>>> {
        let partition = Partition::RecordIndex;
        let path = format!("{}/{partition}", self.storage.root());
        let found = self.get(self.there(&partition)?, keys, within)?;
        let entry = |record| record_entry(record).map(|(_, entry)| entry).map_err(|e| e.at_path(&path));
        let entries = |(key, records): (String, Vec<MetadataRecord>)| {
            Ok((key, records.into_iter().map(entry).collect::<Result<_>>()?))
        };
        found.into_iter().map(entries).collect()
    }

    /// Where the records of all keys are.
    pub fn all_record_locations(&self) -> Result<impl Iterator<Item = Result<(String, RecordIndexEntry)>> + use<>> {
        let partition = Partition::RecordIndex;
        let path = format!("{}/{partition}", self.storage.root());
        Ok(self.all(self.there(&partition)?)?.map(move |record| record_entry(record?).map_err(|e| e.at_path(&path))))
    }

    /// Whether the record index has groups for each partition of the table, and so a key once in each.
    pub fn record_index_is_partitioned(&self) -> Result<bool> {
        self.groups(self.there(&Partition::RecordIndex)?).map(|groups| groups.are_by_partition())
    }

    /// The record keys that have some values, by a secondary index, which is named without `secondary_index_`. Releases
    /// before 1.1 do not index null.
    pub fn keys_with_values(&self, index: &str, values: &[Option<String>]) -> Result<Vec<SecondaryEntry>> {
        let partition = Partition::SecondaryIndex(index.to_owned());
        let prefixes = values.iter().map(|value| key::secondary_prefix(value.as_deref()));
        let entry = |record: MetadataRecord| {
            if !matches!(record.payload, Payload::SecondaryIndex { .. }) {
                return Err(self.misfiled(&partition, &record));
            }
            let (value, record_key) = key::split_secondary(&record.key)?;
            Ok(SecondaryEntry { value, record_key })
        };
        self.with_prefixes(self.there(&partition)?, prefixes)?.into_iter().map(entry).collect()
    }

    /// All that a secondary index has.
    pub fn all_keys_with_values(&self, index: &str) -> Result<impl Iterator<Item = Result<SecondaryEntry>> + use<>> {
        let partition = Partition::SecondaryIndex(index.to_owned());
        let path = format!("{}/{partition}", self.storage.root());
        let entry = move |record: MetadataRecord| {
            if !matches!(record.payload, Payload::SecondaryIndex { .. }) {
                let message = format!("a record of type {} in a secondary index", record.payload.number());
                return Err(Error::corrupt(message).at_path(&path));
            }
            let (value, record_key) = key::split_secondary(&record.key)?;
            Ok(SecondaryEntry { value, record_key })
        };
        Ok(self.all(self.there(&partition)?)?.map(move |record| record.and_then(&entry)))
    }

    pub(super) fn there<'p>(&self, partition: &'p Partition) -> Result<&'p Partition> {
        if self.has(partition) {
            return Ok(partition);
        }
        Err(Error::option(format!("the table has no index {partition}"))
            .with_hint(format!("it has {}", self.partitions().join(", "))))
    }

    pub(super) fn misfiled(&self, partition: &Partition, record: &MetadataRecord) -> Error {
        let number = record.payload.number();
        let message = format!("the record '{}' of type {number} in {partition}", record.key.escape_debug());
        Error::corrupt(message).at_path(format!("{}/{partition}", self.storage.root()))
    }
}

/// A record of the record index: a key, and where its row is.
pub(super) fn record_entry(record: MetadataRecord) -> Result<(String, RecordIndexEntry)> {
    match record.payload {
        Payload::RecordIndex(entry) => Ok((record.key, entry)),
        other => {
            let key = record.key.escape_debug();
            let index = Partition::RecordIndex;
            Err(Error::corrupt(format!("the record '{key}' of type {} in {index}", other.number())))
        }
    }
}
