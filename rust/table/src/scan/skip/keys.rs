//! Slices that do not hold the record keys that a filter asks for.

use std::collections::BTreeSet;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use hudini_format::metadata_record::{Partition, key};
use hudini_format::properties::IndexDefinition;

use super::super::prune::MOST_KEYS;
use super::{Indexed, Question, Wanted, given_up, in_partition};
use crate::base_file::groups::holds_any;
use crate::index::{is_bucket, is_within_partitions};
use crate::metadata::InPartition;
use crate::view::FileSlice;
use crate::{Error, Result};

const SECONDARY_INDEX: &str = "secondary_index";
const IDENTITY: &str = "identity";

impl Question<'_> {
    pub(super) fn by_record_index(&self, slices: &[FileSlice]) -> Result<Wanted> {
        if !self.read.metadata.has(&Partition::RecordIndex) {
            return Ok(None);
        }
        let Some(keys) = self.keys()? else { return Ok(None) };
        self.located(&keys, slices, self.deletes_are_never_late() && self.writers_take_turns(slices))
    }

    pub(super) fn by_secondary_index(&self, slices: &[FileSlice]) -> Result<Wanted> {
        let metadata = self.read.metadata;
        let is_secondary = |name: &&String| matches!(Partition::parse(name), Some(Partition::SecondaryIndex(_)));
        let indexes = metadata.partitions().iter().filter(is_secondary).count();
        // Of several that a merge-on-read table has Apache Hudi 1.2 keeps one, and lets the others fall behind.
        let most = if self.read.config.is_mor() { 1 } else { indexes };
        // Of keys that are known the record index has been asked.
        if !metadata.has(&Partition::RecordIndex)
            || !(1..=most).contains(&indexes)
            || self.read.snapshot.evolution.is_some()
            || self.keys()?.is_some()
        {
            return Ok(None);
        }
        for (name, definition) in metadata.definitions()?.iter() {
            let Some(partition @ Partition::SecondaryIndex(_)) = Partition::parse(name) else { continue };
            let Partition::SecondaryIndex(index) = &partition else { continue };
            let Some(values) = self.values_for(definition).filter(|_| metadata.has(&partition)) else { continue };
            let entries = metadata.keys_with_values(index, &values)?;
            if !metadata.still_has(&partition)? {
                return Err(given_up());
            }
            let keys: BTreeSet<String> = entries.into_iter().map(|entry| entry.record_key).collect();
            if keys.len() <= MOST_KEYS {
                return self.located(&keys, slices, false);
            }
        }
        Ok(None)
    }

    pub(super) fn by_bloom_filters(&self, slices: &[FileSlice]) -> Result<Wanted> {
        let partition = Partition::BloomFilters;
        if !self.read.metadata.has(&partition) {
            return Ok(None);
        }
        let Some(keys) = self.keys()? else { return Ok(None) };
        self.by_filters_in(&partition, &keys, slices).map(Some)
    }

    /// The slices whose bloom filters in a partition of the metadata table may have one of some texts.
    pub(super) fn by_filters_in(
        &self,
        partition: &Partition,
        texts: &BTreeSet<String>,
        slices: &[FileSlice],
    ) -> Result<Vec<bool>> {
        // A log may have brought what the base file does not have.
        let file = |slice: &FileSlice| {
            let base = slice.base.as_ref().filter(|_| slice.logs.is_empty())?;
            Some(in_partition(slice, &base.name))
        };
        let files: Vec<InPartition> = slices.iter().filter_map(file).collect();
        let filters = self.read.metadata.bloom_filters_in(partition, &files)?;
        let wanted = |slice: &FileSlice| {
            let filter = file(slice).and_then(|file| filters.get(&file));
            filter.is_none_or(|filter| holds_any(filter, texts.iter().map(String::as_str)))
        };
        Ok(slices.iter().map(wanted).collect())
    }

    /// The record keys of all rows that can match; `None` if they are not certain.
    fn keys(&self) -> Result<Option<BTreeSet<String>>> {
        if self.read.config.has_virtual_keys() {
            return Ok(None);
        }
        self.read.choice.record_keys(&self.columns)
    }

    /// Only the file groups that hold some keys. A key that the index lacks may be there all the same unless `misses_count`.
    fn located(&self, keys: &BTreeSet<String>, slices: &[FileSlice], misses_count: bool) -> Result<Wanted> {
        let Indexed { storage, config, metadata, .. } = *self.read;
        if !metadata.locates_by_partition()? && is_within_partitions(storage, config, slices.iter())? {
            return Ok(None);
        }
        let found = metadata.record_locations(keys.iter().cloned(), None)?;
        if !metadata.still_has(&Partition::RecordIndex)? {
            return Err(given_up());
        }
        // A key that is found in one partition may be missed in another.
        if !misses_count && (found.len() < keys.len() || metadata.locates_by_partition()?) {
            return Ok(None);
        }
        // One that a write brought behind a later one that took it away is there, and the index does not have it.
        let is_told = if found.len() < keys.len() { self.is_in_order()? } else { !self.was_restored()? };
        if !is_told {
            return Ok(None);
        }
        let groups: BTreeSet<InPartition> = found
            .into_values()
            .flatten()
            .map(|entry| (key::partition_path(&entry.partition).to_owned(), entry.file_id.to_string()))
            .collect();
        check_there(&groups, slices)?;
        let wanted = |slice: &FileSlice| groups.contains(&in_partition(slice, &slice.file_id));
        Ok(Some(slices.iter().map(wanted).collect()))
    }

    /// Whether a delete takes its row away whatever its ordering value is. Apache Hudi tells from the logs alone which keys
    /// leave its record index, and a row of the base file may outlive a delete that came too late.
    fn deletes_are_never_late(&self) -> bool {
        self.read.config.merge_rule().is_ok_and(|rule| !rule.by_event_time && rule.merger.is_none())
    }

    /// Whether no two writes of a file group overlapped. Buckets of logs are written without a lock: a row may come into its
    /// slice behind a delete that was requested later, and was merged and compacted before; the index has it deleted.
    fn writers_take_turns(&self, slices: &[FileSlice]) -> bool {
        !self.read.config.is_mor() || !slices.iter().any(is_bucket)
    }

    /// The texts under which a secondary index has the values that a filter asks of its column; of texts and whole numbers
    /// alone, which all releases write alike.
    fn values_for(&self, definition: &IndexDefinition) -> Option<Vec<Option<String>>> {
        let column = secondary_column(definition)?;
        let plain = self.columns.field_with_name(column).is_ok() && !self.read.shape.folders_say(column);
        let values = self.predicate.values_of(column).filter(|values| plain && values.len() <= MOST_KEYS)?;
        texts(&values)
    }
}

/// A group that the index names and that is not there says that one of the two is wrong.
fn check_there(groups: &BTreeSet<InPartition>, slices: &[FileSlice]) -> Result<()> {
    let there: BTreeSet<InPartition> = slices.iter().map(|slice| in_partition(slice, &slice.file_id)).collect();
    let listed: BTreeSet<&str> = slices.iter().map(|slice| slice.partition.as_str()).collect();
    let lost = groups.iter().find(|group| listed.contains(group.0.as_str()) && !there.contains(group));
    lost.map_or(Ok(()), |(partition, id)| {
        Err(Error::corrupt(format!("the record index knows keys in the file group {id}, which is not there"))
            .at_path(partition))
    })
}

/// The column whose values a secondary index has.
pub(crate) fn secondary_column(definition: &IndexDefinition) -> Option<&str> {
    let [column] = definition.source_fields.as_slice() else { return None };
    let is_plain = definition.index_type == SECONDARY_INDEX && definition.index_function == IDENTITY;
    is_plain.then_some(column)
}

/// Values as a secondary index has them, of types that all releases write alike.
pub(crate) fn texts(values: &ArrayRef) -> Option<Vec<Option<String>>> {
    Some(match values.data_type() {
        DataType::Utf8 => values.as_string::<i32>().iter().map(|text| text.map(str::to_owned)).collect(),
        DataType::Int32 => {
            values.as_primitive::<Int32Type>().iter().map(|number| number.map(|n| n.to_string())).collect()
        }
        DataType::Int64 => {
            values.as_primitive::<Int64Type>().iter().map(|number| number.map(|n| n.to_string())).collect()
        }
        _ => return None,
    })
}
