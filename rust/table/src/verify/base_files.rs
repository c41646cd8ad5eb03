//! Base files: what their footers say, and deep whether it is true of their rows.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_schema::Schema;
use hudini_format::bloom::BloomFilter;
use hudini_format::metadata_record::{ColumnStats, Partition};
use hudini_format::schema::evolve::{Mapping, Projection};
use hudini_format::schema::meta;

use super::column_stats::Columns;
use super::findings::{At, Found, Level};
use super::state::{Kind, State};
use super::{each, listing};
use crate::Result;
use crate::base_file::groups::holds_any;
use crate::base_file::{self, Footer};
use crate::config::keys;
use crate::metadata::{FOLDER, MetadataTable, OfFiles};
use crate::scan::{DEFAULT_BATCH_ROWS, Of, in_every_file, stored_columns};
use crate::view::{FileSlice, in_partition};

pub(super) fn check(state: &State<'_>, deep: bool, found: &mut Found) -> Result<()> {
    let bases = state.data_files().filter(|(.., kind)| matches!(kind, Kind::Base(_)) && state.counts(kind));
    let bases: Vec<_> = bases.map(|(partition, file, kind)| (partition, file.name.as_str(), kind)).collect();
    found.merge(each(state, bases, |(partition, name, kind), found| {
        check_footer(state, partition, name, kind.instant(), found)
    })?);
    let newest: Vec<_> = state.slices.iter().filter(|slice| slice.base.is_some()).collect();
    found.merge(each(state, newest.clone(), |slice, found| check_columns(state, slice, found))?);
    if deep { check_rows(state, &newest, found) } else { Ok(()) }
}

fn check_footer(state: &State<'_>, partition: &str, name: &str, instant: &str, found: &mut Found) -> Result<()> {
    let path = in_partition(partition, name);
    let at = At::of(&path, instant);
    let read = base_file::footer(state.storage, &path);
    let Some(footer) = found.attempt("base_file", state.storage.as_ref(), &path, read)? else { return Ok(()) };
    found.count("footers", 1);
    let own = state.stated_of(partition, name).iter().find(|stated| stated.is_own);
    if let Some(rows) = own.and_then(|stated| stated.rows).filter(|rows| *rows != footer.rows) {
        found.damage("row_count", at, format!("the file has {} rows, and its commit says {rows}", footer.rows));
    }
    found.attempt("bloom_filter", state.storage.as_ref(), &path, footer.bloom())?;
    match footer.key_range() {
        (Some(least), Some(greatest)) if is_after(least, greatest) => {
            found.damage(
                "key_range",
                at,
                format!("the least record key '{least}' is beyond the greatest '{greatest}'"),
            );
        }
        (Some(_), None) | (None, Some(_)) => {
            found.warning("key_range", at, "the footer has one of least and greatest record key, and not the other");
        }
        _ => {}
    }
    Ok(())
}

/// The footer, if it can be read. What is wrong with it was found before.
fn footer_again(state: &State<'_>, path: &str) -> Result<Option<Footer>> {
    let read = base_file::footer(state.storage, path);
    Found::default().attempt("base_file", state.storage.as_ref(), path, read)
}

/// Whether the newest base files can be read in the table's columns.
fn check_columns(state: &State<'_>, slice: &FileSlice, found: &mut Found) -> Result<()> {
    // What a bootstrap took in has its columns elsewhere.
    let (Some(base), None) = (&slice.base, state.config.get(keys::BOOTSTRAP_PATH)) else { return Ok(()) };
    let path = slice.path(base);
    let Some(footer) = footer_again(state, &path)? else { return Ok(()) };
    let in_files = |name: &str| {
        let is_dropped = state.config.drops_partition_columns() && state.config.partition_by.iter().any(|p| p == name);
        let is_made = state.config.has_virtual_keys() && meta::is_meta(name);
        !(is_dropped || is_made)
    };
    let stored = stored_columns(&state.snapshot)?;
    let fields: Vec<_> = stored.fields().iter().filter(|field| in_files(field.name())).cloned().collect();
    let fits = state
        .snapshot
        .names_at(&slice.base_instant)
        .and_then(|names| Projection::new(&footer.schema, &Arc::new(Schema::new(fields)), &names));
    found.attempt("schema", state.storage.as_ref(), &path, fits)?;
    Ok(())
}

/// The rows of the newest base files, partition by partition: so much of what indexes say of them is held.
fn check_rows(state: &State<'_>, newest: &[&FileSlice], found: &mut Found) -> Result<()> {
    // What is wrong with the metadata table was found when its list was looked at.
    let metadata = listing::opened(state, &mut Found::default())?;
    let mut by_partition: BTreeMap<&str, Vec<&FileSlice>> = BTreeMap::new();
    newest.iter().for_each(|slice| by_partition.entry(&slice.partition).or_default().push(slice));
    for (partition, slices) in by_partition {
        let stated = match &metadata {
            Some(metadata) => Stated::of(state, metadata, partition, &slices, found)?,
            None => Stated::default(),
        };
        found.merge(each(state, slices, |slice, found| rows_of(state, slice, &stated, found))?);
    }
    Ok(())
}

/// What indexes of the metadata table say of the base files of a partition, by file name.
#[derive(Default)]
struct Stated {
    columns: BTreeMap<String, Vec<ColumnStats>>,
    blooms: BTreeMap<String, BloomFilter>,
    /// Of all files together.
    partition: Vec<ColumnStats>,
}

impl Stated {
    fn of(
        state: &State<'_>,
        metadata: &MetadataTable,
        partition: &str,
        slices: &[&FileSlice],
        found: &mut Found,
    ) -> Result<Self> {
        let mut stated = Self::default();
        let names: Vec<_> = stored_columns(&state.snapshot)?.fields().iter().map(|f| f.name().clone()).collect();
        if metadata.has(&Partition::ColumnStats) {
            let read = metadata.column_stats(&names, OfFiles::In(&[partition.to_owned()]));
            let stats = found.attempt("column_stats", state.storage.as_ref(), FOLDER, read)?;
            for stats in stats.unwrap_or_default() {
                stated.columns.entry(stats.file_name.clone().unwrap_or_default()).or_default().push(stats);
            }
        }
        // An index that is ahead may be of files that are not looked at.
        if metadata.has(&Partition::PartitionStats) && !metadata.is_ahead() {
            let read = metadata.partition_stats(&names, &[partition.to_owned()]);
            let stats = found.attempt("partition_stats", state.storage.as_ref(), FOLDER, read)?;
            let stats = stats.unwrap_or_default();
            // Of other columns some files may have values that nothing is said of.
            stated.partition = in_every_file(&stats.iter().collect::<Vec<_>>()).into_iter().cloned().collect();
        }
        if metadata.has(&Partition::BloomFilters) {
            let bases =
                slices.iter().filter_map(|slice| Some((partition.to_owned(), slice.base.as_ref()?.name.clone())));
            let read = metadata.bloom_filters(&bases.collect::<Vec<_>>());
            let blooms = found.attempt("bloom_filters", state.storage.as_ref(), FOLDER, read)?;
            let by_name = blooms.unwrap_or_default().into_iter().map(|((_, name), bloom)| (name, bloom));
            stated.blooms = by_name.collect();
        }
        Ok(stated)
    }
}

fn rows_of(state: &State<'_>, slice: &FileSlice, stated: &Stated, found: &mut Found) -> Result<()> {
    let Some(base) = &slice.base else { return Ok(()) };
    let path = slice.path(base);
    let Some(footer) = footer_again(state, &path)? else { return Ok(()) };
    let mut keys = Keys::of(state, &footer, stated.blooms.get(&base.name));
    let mut columns = Columns::of(&footer.schema, stated.columns.get(&base.name).map_or(&[], Vec::as_slice), Of::File);
    let mut partition = Columns::of(&footer.schema, &stated.partition, Of::Partition);
    let schema = Arc::new(footer.schema);
    let read = base_file::read(state.storage, &path, &schema, &Mapping::default(), DEFAULT_BATCH_ROWS);
    let Some(batches) = found.attempt("base_file", state.storage.as_ref(), &path, read)? else { return Ok(()) };
    for batch in batches {
        state.watch.check()?;
        let Some(rows) = found.attempt("base_file", state.storage.as_ref(), &path, batch)? else { return Ok(()) };
        found.count("base_rows", rows.num_rows());
        state.watch.add_rows(rows.num_rows());
        keys.take(&rows);
        columns.take(&rows)?;
        partition.take(&rows)?;
    }
    let at = At::of(&path, &slice.base_instant);
    keys.tell(at, found);
    columns.tell(at, found);
    // A write that came in between may have changed what is said of the partition.
    let worst = if partition.is_exceeded() && state.is_written_to()? { Level::Warning } else { Level::Damage };
    partition.tell_bounds("partition_stats", at, worst, found);
    Ok(())
}

/// The record keys of a file against what its footer and the metadata table say of them.
struct Keys<'s> {
    bloom: Option<BloomFilter>,
    listed: Option<&'s BloomFilter>,
    range: (Option<String>, Option<String>),
    /// One that the bloom filter does not have, and how many more.
    not_in_bloom: (Option<String>, usize),
    not_in_listed: (Option<String>, usize),
    outside: (Option<String>, usize),
    is_asked: bool,
}

impl<'s> Keys<'s> {
    fn of(state: &State<'_>, footer: &Footer, listed: Option<&'s BloomFilter>) -> Self {
        let (least, greatest) = footer.key_range();
        Self {
            bloom: footer.bloom().ok().flatten(),
            listed,
            range: (least.map(str::to_owned), greatest.map(str::to_owned)),
            not_in_bloom: (None, 0),
            not_in_listed: (None, 0),
            outside: (None, 0),
            is_asked: !state.config.has_virtual_keys(),
        }
    }

    fn take(&mut self, rows: &RecordBatch) {
        let keys = rows.column_by_name(meta::RECORD_KEY).and_then(|keys| keys.as_string_opt::<i32>());
        for key in keys.filter(|_| self.is_asked).into_iter().flatten().flatten() {
            let filters = [(self.bloom.as_ref(), &mut self.not_in_bloom), (self.listed, &mut self.not_in_listed)];
            for (filter, lacking) in filters {
                if filter.is_some_and(|filter| !holds_any(filter, std::iter::once(key))) {
                    keep(lacking, key);
                }
            }
            let (least, greatest) = &self.range;
            if least.as_deref().is_some_and(|least| is_after(least, key))
                || greatest.as_deref().is_some_and(|greatest| is_after(key, greatest))
            {
                keep(&mut self.outside, key);
            }
        }
    }

    fn tell(self, at: At<'_>, found: &mut Found) {
        found.count("bloom_filters", usize::from(self.listed.is_some()));
        if let (Some(key), count) = self.not_in_listed {
            let message = format!("the metadata table's bloom filter of the file lacks {}", several(&key, count));
            found.damage("bloom_filters", at, message);
        }
        if let (Some(key), count) = self.not_in_bloom {
            found.damage("bloom_filter", at, format!("the bloom filter lacks {}", several(&key, count)));
        }
        if let (Some(key), count) = self.outside {
            let message = format!("outside of the footer's least and greatest record key is {}", several(&key, count));
            found.damage("key_range", at, message);
        }
    }
}

/// Keeps the first, and counts all.
pub(super) fn keep(kept: &mut (Option<String>, usize), key: &str) {
    kept.0.get_or_insert_with(|| key.to_owned());
    kept.1 += 1;
}

/// A key by which several are told.
pub(super) fn several(key: &str, count: usize) -> String {
    match count {
        0 | 1 => format!("the key '{key}'"),
        count => format!("the key '{key}' ({count} keys in all)"),
    }
}

/// In the order of Java's strings, which is that of bytes but for characters beyond 16 bits.
fn is_after(a: &str, b: &str) -> bool {
    a > b && a.encode_utf16().gt(b.encode_utf16())
}
