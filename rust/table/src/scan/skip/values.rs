//! Partitions and slices that statistics rule out: what values their columns have.

use std::collections::{BTreeMap, BTreeSet};

use arrow_schema::DataType;
use hudini_format::metadata_record::{self, Partition};
use hudini_format::schema::meta;

use super::believed::{self, Of};
use super::{Question, Wanted, given_up, in_partition, partitions_of};
use crate::Result;
use crate::filter::{ColumnStats, Predicate, Stats};
use crate::metadata::InPartition;
use crate::view::FileSlice;

/// From here on each log file is of one write, and statistics of log files are those of all their rows.
const FIRST_WITH_LOG_STATS: u32 = 8;
/// Every file with meta columns has it, and statistics of it if it has any.
const ALWAYS_THERE: &str = meta::COMMIT_TIME;

type Found = metadata_record::ColumnStats;

impl Question<'_> {
    pub(super) fn by_partition_stats(&self, slices: &[FileSlice]) -> Result<Wanted> {
        let partition = Partition::PartitionStats;
        let kinds = self.comparable_columns()?;
        if kinds.is_empty() || !self.read.metadata.has(&partition) {
            return Ok(None);
        }
        let asked: BTreeSet<String> = kinds.keys().cloned().chain([ALWAYS_THERE.to_owned()]).collect();
        let asked: Vec<String> = asked.into_iter().collect();
        let found = self.read.metadata.partition_stats(&asked, &partitions_of(slices))?;
        let mut by_path: BTreeMap<&str, Vec<&Found>> = BTreeMap::new();
        for stats in &found {
            let name = stats.file_name.as_deref().unwrap_or_default();
            by_path.entry(metadata_record::key::partition_path(name)).or_default().push(stats);
        }
        let stored = self.has_stored_values_only();
        let of_partition = |slice: &FileSlice| {
            if !stored && !slice.logs.is_empty() {
                return true;
            }
            let found = by_path.get(slice.partition.as_str());
            self.predicate.may_match(&Known(found.map(|found| of_all_files(found, &kinds)).unwrap_or_default()))
        };
        let wanted = slices.iter().map(of_partition).collect();
        if self.read.metadata.still_has(&partition)? { Ok(Some(wanted)) } else { Err(given_up()) }
    }

    pub(super) fn by_column_stats(&self, slices: &[FileSlice]) -> Result<Wanted> {
        let kinds = self.comparable_columns()?;
        if kinds.is_empty() || !self.read.metadata.has(&Partition::ColumnStats) {
            return Ok(None);
        }
        let columns: Vec<String> = kinds.keys().cloned().collect();
        let found = self.read.metadata.stats_of(&Partition::ColumnStats, &columns, &self.files_that_tell(slices))?;
        let known = found.iter().map(|(file, found)| (file.clone(), of_file(file, found, &kinds))).collect();
        Ok(Some(Self::by_stats_of_files(self.predicate, slices, &known)))
    }

    /// The files of slices that are left out if nothing in them matches: of those with logs, only where logs tell.
    pub(super) fn files_that_tell(&self, slices: &[FileSlice]) -> Vec<InPartition> {
        let logs_tell = self.read.config.version >= FIRST_WITH_LOG_STATS && self.has_stored_values_only();
        let asked = slices.iter().filter(|slice| logs_tell || slice.logs.is_empty());
        asked.flat_map(files_of).collect()
    }

    /// A merger of somebody's own makes values that are in no file.
    fn has_stored_values_only(&self) -> bool {
        self.read.config.merge_rule().is_ok_and(|rule| rule.merger.is_none())
    }

    /// Which slices may match, by what is known of their files; of a file that is not named nothing is.
    pub(super) fn by_stats_of_files(
        predicate: &Predicate,
        slices: &[FileSlice],
        known: &BTreeMap<InPartition, BTreeMap<String, Stats>>,
    ) -> Vec<bool> {
        let of_slice = |slice: &FileSlice| {
            let files = files_of(slice).map(|file| known.get(&file).cloned());
            let of_all = files.reduce(|one, other| Some(of_both(one?, &other?))).flatten();
            predicate.may_match(&Known(of_all.unwrap_or_default()))
        };
        slices.iter().map(of_slice).collect()
    }

    /// The columns of the filter of which statistics can tell something, with their types. Those that folders tell are not
    /// read from files; those with ids may have another name there.
    fn comparable_columns(&self) -> Result<BTreeMap<String, DataType>> {
        if self.read.snapshot.evolution.is_some() {
            return Ok(BTreeMap::new());
        }
        let stored = super::RowShape::stored(self.read.snapshot)?;
        let mut kinds = BTreeMap::new();
        for name in self.predicate.columns() {
            let kind = stored.field_with_name(name).ok().map(|field| field.data_type().clone());
            let kind = kind.filter(|kind| believed::is_comparable(kind) && self.is_as_in_files(&stored, name));
            kinds.extend(kind.map(|kind| (name.clone(), kind)));
        }
        if !have_a_say(self.predicate, kinds.keys()) {
            kinds.clear();
        }
        Ok(kinds)
    }
}

/// Whether a filter depends on columns: it does if nothing matches where they have no value at all.
pub(super) fn have_a_say<'c>(predicate: &Predicate, columns: impl IntoIterator<Item = &'c String>) -> bool {
    let empty = columns.into_iter().map(|name| (name.clone(), Stats { rows: Some(0), ..Stats::default() }));
    !predicate.may_match(&Known(empty.collect()))
}

/// By column.
#[derive(Default)]
struct Known(BTreeMap<String, Stats>);

impl ColumnStats for Known {
    fn stats(&self, column: &str) -> Option<Stats> {
        self.0.get(column).cloned()
    }
}

fn files_of(slice: &FileSlice) -> impl Iterator<Item = InPartition> {
    slice.base.iter().chain(&slice.logs).map(|file| in_partition(slice, &file.name))
}

fn of_all_files(found: &[&Found], kinds: &BTreeMap<String, DataType>) -> BTreeMap<String, Stats> {
    believed_of(in_every_file(found).into_iter(), kinds, Of::Partition)
}

/// Those of columns that have statistics in every file of a partition: as many values are counted as of a column that is
/// in all of them.
pub(crate) fn in_every_file<'f>(found: &[&'f Found]) -> Vec<&'f Found> {
    let count_of = |column: &str| {
        let stats = found.iter().find(|stats| stats.column_name.as_deref() == Some(column));
        stats.filter(|stats| !stats.is_deleted).and_then(|stats| stats.value_count)
    };
    let rows = count_of(ALWAYS_THERE);
    found.iter().copied().filter(|stats| rows.is_some() && stats.value_count == rows).collect()
}

fn of_file((_, name): &InPartition, found: &[Found], kinds: &BTreeMap<String, DataType>) -> BTreeMap<String, Stats> {
    let own = found.iter().filter(|stats| stats.file_name.as_deref() == Some(name));
    believed_of(own, kinds, Of::File)
}

fn believed_of<'f>(
    found: impl Iterator<Item = &'f Found>,
    kinds: &BTreeMap<String, DataType>,
    of: Of,
) -> BTreeMap<String, Stats> {
    let stats = found.filter_map(|found| {
        let (name, kind) = kinds.get_key_value(found.column_name.as_deref()?)?;
        Some((name.clone(), believed::stats(found, kind, of)))
    });
    stats.collect()
}

/// Of columns that both files have statistics of. A row that is merged of versions has each value from one of them.
fn of_both(mut one: BTreeMap<String, Stats>, other: &BTreeMap<String, Stats>) -> BTreeMap<String, Stats> {
    one.retain(|name, _| other.contains_key(name));
    let both = |(name, stats): (String, Stats)| {
        let others = other.get(&name).cloned().unwrap_or_default();
        (name, stats.and(others))
    };
    one.into_iter().map(both).collect()
}
