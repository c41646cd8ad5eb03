//! Which row groups of a base file can hold rows that a filter wants.

use std::collections::BTreeMap;

use arrow_array::cast::AsArray;
use arrow_schema::{DataType, Schema};
use hudini_format::bloom::{BLOOM_FILTER_FOOTER, BLOOM_TYPE_FOOTER, BloomFilter, BloomKind};
use hudini_format::parquet_file::ParquetFile;
use hudini_format::schema::evolve::Projection;
use hudini_format::schema::meta;
use parquet::file::reader::ChunkReader;

use crate::filter::{ColumnStats, Predicate, Stats};

/// Their numbers. `wanted` are the columns of the projection; only of those is anything known.
pub(super) fn matching<R: ChunkReader + 'static>(
    file: &ParquetFile<R>,
    projection: &Projection,
    wanted: &Schema,
    predicate: &Predicate,
) -> Vec<usize> {
    if !may_hold_a_key(file, predicate) {
        return Vec::new();
    }
    let fields = wanted.fields().iter().enumerate().filter(|(_, field)| predicate.columns().contains(field.name()));
    let known = fields.filter_map(|(at, field)| Some((field.name().as_str(), of_column(file, projection, at)?)));
    let known: BTreeMap<&str, Vec<Stats>> = known.collect();
    let groups = 0..file.metadata().num_row_groups();
    groups.filter(|group| predicate.may_match(&Group { known: &known, group: *group })).collect()
}

/// Whether the file's bloom filter has one of the record keys that are wanted. Files need not have one.
fn may_hold_a_key<R: ChunkReader + 'static>(file: &ParquetFile<R>, predicate: &Predicate) -> bool {
    let Some(keys) = predicate.values_of(meta::RECORD_KEY) else { return true };
    let pairs = file.metadata().file_metadata().key_value_metadata();
    let text = |key: &str| pairs?.iter().find(|pair| pair.key == key)?.value.as_deref();
    let (Some(kind), Some(filter)) = (text(BLOOM_TYPE_FOOTER), text(BLOOM_FILTER_FOOTER)) else { return true };
    let Ok(filter) = BloomKind::parse(kind).and_then(|kind| BloomFilter::from_text(kind, filter)) else { return true };
    keys.as_string_opt::<i32>().is_none_or(|keys| holds_any(&filter, keys.iter().flatten()))
}

/// Whether a file with that filter may hold one of some record keys. The empty key is in no filter.
pub(crate) fn holds_any<'k>(filter: &BloomFilter, mut keys: impl Iterator<Item = &'k str>) -> bool {
    keys.any(|key| key.is_empty() || filter.contains(key))
}

/// What is known of a column in each row group. Values that are changed on the way into the table's type are not asked.
fn of_column<R: ChunkReader + 'static>(
    file: &ParquetFile<R>,
    projection: &Projection,
    wanted: usize,
) -> Option<Vec<Stats>> {
    if projection.is_missing(wanted) {
        let rows = file.metadata().row_groups().iter().map(|group| u64::try_from(group.num_rows()).ok());
        return Some(rows.map(|rows| Stats { nulls: rows, rows, ..Stats::default() }).collect());
    }
    let groups = file.statistics(projection.unchanged(wanted)?)?;
    let stats = groups.into_iter().map(|group| Stats {
        min: group.least,
        // Parquet does not count NaN, and in a filter nothing is greater.
        max: group.greatest.filter(|value| !matches!(value.data_type(), DataType::Float32 | DataType::Float64)),
        nulls: group.nulls,
        rows: group.rows,
    });
    Some(stats.collect())
}

struct Group<'k> {
    known: &'k BTreeMap<&'k str, Vec<Stats>>,
    group: usize,
}

impl ColumnStats for Group<'_> {
    fn stats(&self, column: &str) -> Option<Stats> {
        self.known.get(column)?.get(self.group).cloned()
    }
}
