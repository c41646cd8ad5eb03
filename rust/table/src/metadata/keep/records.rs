//! What the metadata table has to learn of a finished action.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_schema::{Schema, SchemaRef};
use hudini_format::action::{CleanMetadata, CommitMetadata, WriteStat};
use hudini_format::metadata_record::{
    ColumnStats, FileEntry, IndexVersion, MetadataRecord, NULL_TYPE, Partition, Payload, Scalar, StatValue, ValueType,
    key,
};

use super::RangesByFile;
use super::deltacommit::Changes;
use crate::metadata::ranges::{ColumnRange, shortest};
use crate::{Error, Result};

/// Which statistics are kept, and how.
#[derive(Debug, Clone)]
pub(super) struct Kept {
    /// Of files, by the version of the index.
    pub(super) columns: Option<IndexVersion>,
    /// The columns of the index.
    pub(super) names: Vec<String>,
    /// Those of them that the table has, in its types.
    pub(super) schema: SchemaRef,
    pub(super) partitions: bool,
}

impl Kept {
    pub(super) fn nothing() -> Self {
        Self { columns: None, names: Vec::new(), schema: Arc::new(Schema::empty()), partitions: false }
    }
}

/// Files were added.
pub(super) fn of_write(metadata: &CommitMetadata, ranges: &RangesByFile, kept: &Kept) -> Result<Changes> {
    let mut changes = Changes::default();
    let mut touched = BTreeMap::new();
    for (partition, stats) in metadata.partition_to_write_stats.iter().flatten() {
        touched.insert(key::partition_name(partition).to_owned(), FileEntry::new(0));
        let files = stats.iter().map(files_of).collect::<Result<Vec<_>>>()?;
        put_files(&mut changes, partition, files.into_iter().flatten().collect())?;
    }
    if !touched.is_empty() {
        changes.put(&Partition::Files, MetadataRecord::new(key::ALL_PARTITIONS, Payload::Partitions(touched)))?;
    }
    for stat in metadata.write_stats() {
        let (Some(path), partition) = (&stat.path, stat.partition_path.as_deref().unwrap_or_default()) else {
            continue;
        };
        for range in ranges.get(path).into_iter().flatten() {
            put_range(&mut changes, partition, name_of(path), range, kept)?;
        }
    }
    Ok(changes)
}

pub(super) fn put_files(changes: &mut Changes, partition: &str, files: BTreeMap<String, FileEntry>) -> Result<()> {
    let name = key::partition_name(partition);
    changes.put(&Partition::Files, MetadataRecord::new(name, Payload::Files(files)))
}

fn files_of(stat: &WriteStat) -> Result<BTreeMap<String, FileEntry>> {
    let own = stat.path.iter().map(|path| (path, stat.file_size_in_bytes.unwrap_or(0)));
    let logged = stat.cdc_stats.iter().flatten().map(|(path, size)| (path, *size));
    let entry = |(path, size): (&String, i64)| match size {
        size if size > 0 => Ok((name_of(path).to_owned(), FileEntry::new(size))),
        _ => Err(Error::internal("a commit of a file without a size").at_path(path)),
    };
    own.chain(logged).map(entry).collect()
}

fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Statistics of one column of a file; they widen those of its partition.
pub(super) fn put_range(
    changes: &mut Changes,
    partition: &str,
    file: &str,
    range: &ColumnRange,
    kept: &Kept,
) -> Result<()> {
    let Some(version) = kept.columns else { return Ok(()) };
    let Some(stats) = stats_of(range, version)? else { return Ok(()) };
    if kept.partitions {
        // Apache Hudi merges such rows by the type of the newer one, and fails where that says that all is null.
        let value_type = stats.value_type.is_some().then(|| range.kind.clone());
        let of_partition = ColumnStats { file_name: Some(partition.to_owned()), value_type, ..stats.clone() };
        let key = key::partition_stats(&range.column, partition);
        let payload = Payload::PartitionStats(Box::new(of_partition));
        changes.put(&Partition::PartitionStats, MetadataRecord::new(key, payload))?;
    }
    let of_file = ColumnStats { file_name: Some(file.to_owned()), ..stats };
    let key = key::column_stats(&range.column, partition, file);
    changes.put(&Partition::ColumnStats, MetadataRecord::new(key, Payload::ColumnStats(Box::new(of_file))))
}

/// `None`: the first version has no statistics of decimals with so many digits.
fn stats_of(range: &ColumnRange, version: IndexVersion) -> Result<Option<ColumnStats>> {
    let (least, greatest) = range.bounds.clone().unzip();
    let (min_value, max_value, value_type) = match version {
        IndexVersion::V2 => {
            let nothing = ValueType { ordinal: NULL_TYPE, additional: None };
            let kind = if least.is_some() { range.kind.clone() } else { nothing };
            (least, greatest, Some(kind))
        }
        IndexVersion::V1 => {
            // Of a column without bounds in any file nothing is told where all is null, either.
            if !fits_first_version(&range.kind) {
                return Ok(None);
            }
            let old = |value: Option<StatValue>| value.map(|value| first_version(&value, &range.kind)).transpose();
            match (old(least)?, old(greatest)?) {
                (Some(None), _) | (_, Some(None)) => return Ok(None),
                (least, greatest) => (least.flatten(), greatest.flatten(), None),
            }
        }
    };
    Ok(Some(ColumnStats {
        file_name: None,
        column_name: Some(range.column.clone()),
        min_value,
        max_value,
        value_count: Some(range.rows),
        null_count: Some(range.nulls),
        total_size: Some(range.bytes),
        total_uncompressed_size: Some(range.raw_bytes),
        is_deleted: false,
        is_tight_bound: false,
        value_type,
    }))
}

/// Digits behind the point of every decimal of the first version, and all of them.
const OLD_SCALE: i32 = 15;
const OLD_DIGITS: i32 = 30;

/// A value as the first version wraps it: by its Java type.
fn first_version(value: &StatValue, kind: &ValueType) -> Result<Option<StatValue>> {
    Ok(match Scalar::of(value, Some(kind))? {
        Scalar::Date(days) => Some(StatValue::Date(days)),
        Scalar::Decimal { unscaled, scale } => {
            let more = u32::try_from(OLD_SCALE - scale).ok();
            let widened = more.and_then(|digits| 10_i128.checked_pow(digits)).and_then(|by| unscaled.checked_mul(by));
            widened.filter(|_| fits_first_version(kind)).map(|value| StatValue::Decimal(shortest(value)))
        }
        _ => Some(value.clone()),
    })
}

fn fits_first_version(kind: &ValueType) -> bool {
    let numbers = kind.additional.as_deref().and_then(|text| text.split_once(','));
    let number = |text: &str| text.trim().parse::<i32>().ok();
    let numbers = numbers.and_then(|(precision, scale)| number(precision).zip(number(scale)));
    numbers.is_none_or(|(precision, scale)| scale <= OLD_SCALE && precision + OLD_SCALE - scale <= OLD_DIGITS)
}

/// Files were deleted.
pub(super) fn of_clean(metadata: &CleanMetadata, kept: &Kept) -> Result<Changes> {
    let mut changes = Changes::default();
    let mut gone = BTreeMap::new();
    for (partition, cleaned) in &metadata.partition_metadata {
        // A file that could not be deleted is listed as deleted all the same by Apache Hudi, and nobody reads it any more.
        let names = cleaned.success_delete_files.iter().chain(&cleaned.failed_delete_files).map(|path| name_of(path));
        let names: Vec<&str> = names.collect();
        let entries = names.iter().map(|name| ((*name).to_owned(), FileEntry::deleted())).collect();
        if cleaned.is_partition_deleted == Some(true) {
            gone.insert(key::partition_name(partition).to_owned(), FileEntry::deleted());
            changes.delete(&Partition::Files, key::partition_name(partition).to_owned());
        } else if !names.is_empty() {
            put_files(&mut changes, partition, entries)?;
        }
        if kept.columns.is_some() {
            for (column, name) in kept.names.iter().flat_map(|column| names.iter().map(move |name| (column, name))) {
                changes.delete(&Partition::ColumnStats, key::column_stats(column, partition, name));
            }
        }
    }
    if !gone.is_empty() {
        changes.put(&Partition::Files, MetadataRecord::new(key::ALL_PARTITIONS, Payload::Partitions(gone)))?;
    }
    Ok(changes)
}
