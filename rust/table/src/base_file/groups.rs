//! What of a base file can hold rows that a filter wants: row groups, and in them the rows of some pages.
//!
//! | by | what is asked |
//! |---|---|
//! | the bloom filter of record keys, in the footer | the file |
//! | statistics in the footer | each row group |
//! | bloom filters of columns | row groups that are worth it: they must be fetched |
//! | the page index | pages of those, by the rows that they share with pages of other columns |

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_schema::{DataType, Schema};
use hudini_format::bloom::{BLOOM_FILTER_FOOTER, BLOOM_TYPE_FOOTER, BloomFilter, BloomKind};
use hudini_format::parquet_file::{PageStatistics, ParquetFile, Part, ValueStatistics};
use hudini_format::schema::evolve::Projection;
use hudini_format::schema::meta;
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::reader::ChunkReader;

use crate::Result;
use crate::filter::{ColumnStats, Predicate, Stats};

/// What a filter does not need of base files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Row groups, by bloom filters of record keys, by statistics, and by bloom filters of columns.
    pub by_keys: u64,
    pub by_statistics: u64,
    pub by_blooms: u64,
    /// Rows of other row groups, by the page index.
    pub rows_by_pages: u64,
}

impl LeftOut {
    pub fn add(&mut self, other: Self) {
        self.by_keys += other.by_keys;
        self.by_statistics += other.by_statistics;
        self.by_blooms += other.by_blooms;
        self.rows_by_pages += other.rows_by_pages;
    }
}

/// A base file that is asked, and for what.
pub(super) struct Question<'q, R> {
    pub(super) file: &'q ParquetFile<R>,
    pub(super) projection: &'q Projection,
    /// The columns of the projection; only of those is anything known.
    pub(super) wanted: &'q Schema,
    pub(super) predicate: &'q Predicate,
    /// Row groups of which less is to be read are not looked at more closely.
    pub(super) worth: u64,
}

impl<R: ChunkReader + 'static> Question<'_, R> {
    /// What is left, and what is not.
    pub(super) fn matching(&self) -> Result<(Vec<Part>, LeftOut)> {
        let mut left_out = LeftOut::default();
        let mut groups: Vec<usize> = (0..self.file.metadata().num_row_groups()).collect();
        if !may_hold_a_key(self.file, self.predicate) {
            left_out.by_keys = groups.len() as u64;
            return Ok((Vec::new(), left_out));
        }
        let known = self.of_groups();
        let may_match = |group: usize| known.get(group).is_none_or(|known| self.predicate.may_match(known));
        left_out.by_statistics = keep(&mut groups, may_match);
        let mut without = BTreeSet::new();
        for group in groups.iter().copied().filter(|group| self.bytes(*group) >= self.worth) {
            if !self.blooms_may_match(group)? {
                without.insert(group);
            }
        }
        left_out.by_blooms = keep(&mut groups, |group| !without.contains(&group));
        let mut parts = self.rows_of(&groups)?;
        left_out.rows_by_pages = parts.iter().map(|part| self.rows_left_out(part)).sum();
        parts.retain(|part| part.rows.as_ref().is_none_or(|rows| !rows.is_empty()));
        Ok((parts, left_out))
    }

    fn group(&self, group: usize) -> Option<&RowGroupMetaData> {
        self.file.metadata().row_groups().get(group)
    }

    fn rows(&self, group: usize) -> usize {
        self.group(group).and_then(|group| usize::try_from(group.num_rows()).ok()).unwrap_or(0)
    }

    /// So much of a row group is read if nothing of it is left out.
    fn bytes(&self, group: usize) -> u64 {
        let schema = self.file.metadata().file_metadata().schema_descr();
        let chunks = self.group(group).into_iter().flat_map(|group| group.columns().iter().enumerate());
        let wanted = chunks.filter(|(leaf, _)| {
            *leaf < schema.num_columns() && self.projection.columns().contains(&schema.get_column_root_idx(*leaf))
        });
        wanted.map(|(_, chunk)| chunk.byte_range().1).fold(0, u64::saturating_add)
    }

    /// The columns of the filter, with their positions among those wanted.
    fn columns(&self) -> impl Iterator<Item = (&str, usize)> {
        let fields = self.wanted.fields().iter().enumerate();
        let asked = fields.filter(|(_, field)| self.predicate.columns().contains(field.name()));
        asked.map(|(at, field)| (field.name().as_str(), at))
    }

    /// By row group, what is known of the columns of the filter.
    fn of_groups(&self) -> Vec<Known<'_>> {
        let groups = self.file.metadata().num_row_groups();
        let mut known: Vec<BTreeMap<&str, Stats>> = vec![BTreeMap::new(); groups];
        for (name, at) in self.columns() {
            let found = self.projection.unchanged(at).and_then(|column| self.file.statistics(column));
            let mut found = found.into_iter().flatten().map(stats);
            for (group, known) in known.iter_mut().enumerate() {
                let stats = found.next().or_else(|| self.missing(at, self.rows(group)));
                known.extend(stats.map(|stats| (name, stats)));
            }
        }
        known.into_iter().map(Known).collect()
    }

    /// Of a column that the file lacks. Of values that are changed on the way into the table's type nothing is known.
    fn missing(&self, at: usize, rows: usize) -> Option<Stats> {
        let rows = Some(rows as u64);
        self.projection.is_missing(at).then(|| Stats { nulls: rows, rows, ..Stats::default() })
    }

    fn blooms_may_match(&self, group: usize) -> Result<bool> {
        for (name, at) in self.columns() {
            let values = self.predicate.values_of(name);
            let (Some(values), Some(column)) = (values, self.projection.unchanged(at)) else { continue };
            let filter = self.file.bloom_filter(group, column, self.bytes(group))?;
            if filter.is_some_and(|filter| !filter.may_hold_any(&values)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The row groups with their rows that the page index does not rule out.
    fn rows_of(&self, groups: &[usize]) -> Result<Vec<Part>> {
        let worth: Vec<usize> = groups.iter().copied().filter(|group| self.bytes(*group) >= self.worth).collect();
        let mut pages: BTreeMap<usize, Pages<'_>> = BTreeMap::new();
        for (name, at) in self.columns() {
            let Some(column) = self.projection.unchanged(at).filter(|_| !worth.is_empty()) else { continue };
            for (group, found) in worth.iter().zip(self.file.page_statistics(column, &worth)?) {
                pages.entry(*group).or_default().extend(found.map(|found| (name, found)));
            }
        }
        let part = |group: &usize| match pages.get(group).filter(|pages| !pages.is_empty()) {
            Some(pages) => Part { group: *group, rows: self.rows_in(*group, pages) },
            None => Part::whole(*group),
        };
        Ok(groups.iter().map(part).collect())
    }

    /// Pages of different columns do not end at the same rows: between two ends all rows lie in the same pages. `None` if
    /// all rows may match.
    fn rows_in(&self, group: usize, pages: &Pages<'_>) -> Option<Vec<Range<usize>>> {
        let rows = self.rows(group);
        let starts: BTreeSet<usize> = pages.values().flatten().map(|page| page.rows.start).chain([0]).collect();
        let missing = self.columns().filter_map(|(name, at)| Some((name, self.missing(at, rows)?)));
        let missing: BTreeMap<&str, Stats> = missing.collect();
        let ends = starts.iter().copied().skip(1).chain([rows]);
        let mut left: Vec<Range<usize>> = Vec::new();
        for (start, end) in starts.iter().copied().zip(ends) {
            let mut known = missing.clone();
            known.extend(pages.iter().filter_map(|(name, pages)| {
                let page = pages.get(pages.partition_point(|page| page.rows.end <= start))?;
                Some((*name, stats(page.values.clone())))
            }));
            if !self.predicate.may_match(&Known(known)) {
                continue;
            }
            match left.last_mut() {
                Some(last) if last.end == start => last.end = end,
                _ => left.push(start..end),
            }
        }
        let is_all = left.first().is_some_and(|first| *first == (0..rows));
        (!is_all).then_some(left)
    }

    fn rows_left_out(&self, part: &Part) -> u64 {
        let Some(rows) = &part.rows else { return 0 };
        let left: usize = rows.iter().map(Range::len).sum();
        self.rows(part.group).saturating_sub(left) as u64
    }
}

/// Pages of a row group, by column.
type Pages<'n> = BTreeMap<&'n str, Vec<PageStatistics>>;

/// Keeps some, and counts the others.
fn keep(groups: &mut Vec<usize>, wants: impl Fn(usize) -> bool) -> u64 {
    let before = groups.len();
    groups.retain(|group| wants(*group));
    (before - groups.len()) as u64
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

fn stats(values: ValueStatistics) -> Stats {
    Stats {
        min: values.least,
        // Parquet does not count NaN, and in a filter nothing is greater.
        max: values.greatest.filter(|value| !matches!(value.data_type(), DataType::Float32 | DataType::Float64)),
        nulls: values.nulls,
        rows: values.rows,
    }
}

/// By column. Of some rows of a page as much is known as of all: that none is null, or each.
struct Known<'n>(BTreeMap<&'n str, Stats>);

impl ColumnStats for Known<'_> {
    fn stats(&self, column: &str) -> Option<Stats> {
        self.0.get(column).cloned()
    }
}
