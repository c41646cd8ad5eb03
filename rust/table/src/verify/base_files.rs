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
use super::findings::{At, Found};
use super::state::{Kind, State};
use super::{each, listing};
use crate::Result;
use crate::base_file::{self, Footer};
use crate::config::keys;
use crate::metadata::{MetadataTable, OfFiles};
use crate::scan::{DEFAULT_BATCH_ROWS, stored_columns};
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

/// Whether the newest base files can be read in the table's columns.
fn check_columns(state: &State<'_>, slice: &FileSlice, found: &mut Found) -> Result<()> {
    // What a bootstrap took in has its columns elsewhere.
    let (Some(base), None) = (&slice.base, state.config.get(keys::BOOTSTRAP_PATH)) else { return Ok(()) };
    let path = slice.path(base);
    let Ok(footer) = base_file::footer(state.storage, &path) else { return Ok(()) };
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

/// The rows of the newest base files, partition by partition: so much of the column statistics is held.
fn check_rows(state: &State<'_>, newest: &[&FileSlice], found: &mut Found) -> Result<()> {
    // What is wrong with the metadata table was found when its list was looked at.
    let metadata = listing::opened(state, &mut Found::default())?;
    let metadata = metadata.filter(|metadata| metadata.has(&Partition::ColumnStats));
    let mut by_partition: BTreeMap<&str, Vec<&FileSlice>> = BTreeMap::new();
    newest.iter().for_each(|slice| by_partition.entry(&slice.partition).or_default().push(slice));
    for (partition, slices) in by_partition {
        let stats = statistics(state, metadata.as_ref(), partition, found)?;
        found.merge(each(state, slices, |slice, found| rows_of(state, slice, &stats, found))?);
    }
    Ok(())
}

/// Column statistics of the files of a partition, by file name.
fn statistics(
    state: &State<'_>,
    metadata: Option<&MetadataTable>,
    partition: &str,
    found: &mut Found,
) -> Result<BTreeMap<String, Vec<ColumnStats>>> {
    let Some(metadata) = metadata else { return Ok(BTreeMap::new()) };
    let columns: Vec<_> = stored_columns(&state.snapshot)?.fields().iter().map(|f| f.name().clone()).collect();
    let read = metadata.column_stats(&columns, OfFiles::In(&[partition.to_owned()]));
    let stats = found.attempt("column_stats", state.storage.as_ref(), crate::metadata::FOLDER, read)?;
    let mut by_file: BTreeMap<String, Vec<ColumnStats>> = BTreeMap::new();
    for stats in stats.unwrap_or_default() {
        by_file.entry(stats.file_name.clone().unwrap_or_default()).or_default().push(stats);
    }
    Ok(by_file)
}

fn rows_of(
    state: &State<'_>,
    slice: &FileSlice,
    stats: &BTreeMap<String, Vec<ColumnStats>>,
    found: &mut Found,
) -> Result<()> {
    let Some(base) = &slice.base else { return Ok(()) };
    let path = slice.path(base);
    // A footer that cannot be read was found before.
    let Ok(footer) = base_file::footer(state.storage, &path) else { return Ok(()) };
    let mut keys = Keys::of(state, &footer);
    let mut columns = Columns::of(&footer.schema, stats.get(&base.name).map_or(&[], Vec::as_slice));
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
    }
    keys.tell(At::of(&path, &slice.base_instant), found);
    columns.tell(At::of(&path, &slice.base_instant), found);
    Ok(())
}

/// The record keys of a file against what its footer says of them.
struct Keys {
    bloom: Option<BloomFilter>,
    range: (Option<String>, Option<String>),
    /// One that the bloom filter does not have, and how many more.
    not_in_bloom: (Option<String>, usize),
    outside: (Option<String>, usize),
    is_asked: bool,
}

impl Keys {
    fn of(state: &State<'_>, footer: &Footer) -> Self {
        let (least, greatest) = footer.key_range();
        Self {
            bloom: footer.bloom().ok().flatten(),
            range: (least.map(str::to_owned), greatest.map(str::to_owned)),
            not_in_bloom: (None, 0),
            outside: (None, 0),
            is_asked: !state.config.has_virtual_keys(),
        }
    }

    fn take(&mut self, rows: &RecordBatch) {
        let keys = rows.column_by_name(meta::RECORD_KEY).and_then(|keys| keys.as_string_opt::<i32>());
        for key in keys.filter(|_| self.is_asked).into_iter().flatten().flatten() {
            // The empty key is in no filter.
            if !key.is_empty() && self.bloom.as_ref().is_some_and(|bloom| !bloom.contains(key)) {
                keep(&mut self.not_in_bloom, key);
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
        if let (Some(key), count) = self.not_in_bloom {
            found.damage("bloom_filter", at, format!("the bloom filter lacks {}", several(&key, count)));
        }
        if let (Some(key), count) = self.outside {
            let message = format!("outside of the footer's least and greatest record key is {}", several(&key, count));
            found.damage("key_range", at, message);
        }
    }
}

fn keep(kept: &mut (Option<String>, usize), key: &str) {
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
