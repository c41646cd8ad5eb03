//! Which row groups of a base file can hold rows that a filter wants.

use std::collections::BTreeMap;

use arrow_schema::{DataType, Schema};
use hudini_format::parquet_file::ParquetFile;
use hudini_format::schema::evolve::Projection;
use parquet::file::reader::ChunkReader;

use crate::filter::{ColumnStats, Predicate, Stats};

/// Their numbers. `wanted` are the columns of the projection; only of those is anything known.
pub(super) fn matching<R: ChunkReader + 'static>(
    file: &ParquetFile<R>,
    projection: &Projection,
    wanted: &Schema,
    predicate: &Predicate,
) -> Vec<usize> {
    let fields = wanted.fields().iter().enumerate().filter(|(_, field)| predicate.columns().contains(field.name()));
    let known = fields.filter_map(|(at, field)| Some((field.name().as_str(), of_column(file, projection, at)?)));
    let known: BTreeMap<&str, Vec<Stats>> = known.collect();
    let groups = 0..file.metadata().num_row_groups();
    groups.filter(|group| predicate.may_match(&Group { known: &known, group: *group })).collect()
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
