//! Merged rows: whether each key is there once, and where it belongs.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::cast::AsArray;
use arrow_array::{RecordBatch, StringArray};
use foldhash::fast::FixedState;
use hashbrown::hash_map::{Entry, HashMap};
use hudini_format::hash::{bucket_of_file_id, fingerprint};
use hudini_format::metadata_record::Partition;
use hudini_format::schema::meta;

use super::base_files::several;
use super::findings::{At, Found, Level, MOST};
use super::state::State;
use super::{each, listing};
use crate::Result;
use crate::config::{Buckets, keys as properties};
use crate::index::is_within_partitions;
use crate::scan::{DEFAULT_BATCH_ROWS, Manner, Scan, ScanRequest, Split};
use crate::timeline::Timeline;
use crate::view::FileSlice;

/// The keys of the table's rows, each as 128 bits of it.
pub(super) struct Keys {
    /// To the number of its slice.
    pub(super) by_key: HashMap<u128, u32, FixedState>,
    pub(super) slices: Vec<Arc<(FileSlice, Split)>>,
    /// Whether a key is there once in the table, or once in each partition.
    pub(super) is_global: bool,
    /// Keys that are there several times, and which two slices have them. Of many the first.
    doubled: BTreeSet<(String, u32, u32)>,
    doublings: usize,
}

impl Keys {
    pub(super) fn id(&self, partition: &str, key: &str) -> u128 {
        if self.is_global {
            return fingerprint(key.as_bytes());
        }
        // No path has a zero in it.
        fingerprint([partition, "\0", key].concat().as_bytes())
    }

    /// Whether the key is known to be there several times.
    pub(super) fn is_doubled(&self, key: &str) -> bool {
        let from = (key.to_owned(), 0, 0);
        self.doublings > self.doubled.len() || self.doubled.range(from..).next().is_some_and(|(other, ..)| other == key)
    }

    fn take(&mut self, number: u32, partition: &str, keys: &StringArray) {
        for key in keys.iter().flatten() {
            match self.by_key.entry(self.id(partition, key)) {
                Entry::Vacant(free) => drop(free.insert(number)),
                Entry::Occupied(taken) => {
                    let other = *taken.get();
                    self.doublings += 1;
                    self.doubled.insert((key.to_owned(), number.min(other), number.max(other)));
                    // Which ones are kept must not depend on who came first.
                    if self.doubled.len() > MOST {
                        self.doubled.pop_last();
                    }
                }
            }
        }
    }
}

/// Reads all slices. The keys are for the indexes; `None` if the rows have none.
pub(super) fn check(state: &State<'_>, found: &mut Found) -> Result<Option<Keys>> {
    let has_keys = !state.config.has_virtual_keys();
    let columns =
        if has_keys { vec![meta::RECORD_KEY.to_owned(), meta::PARTITION_PATH.to_owned()] } else { Vec::new() };
    let request = ScanRequest { columns: Some(columns), ..ScanRequest::default() };
    let planned = Scan::of_what_is_there(state.table, request);
    let Some(scan) = found.attempt("slice", state.storage.as_ref(), "", planned)? else { return Ok(None) };
    let storage = state.storage.as_ref();
    let buckets = state.config.simple_buckets(storage)?.filter(|_| has_keys);
    let slices: Vec<_> = scan.by_slice().into_iter().map(Arc::new).collect();
    let keys = Keys {
        by_key: HashMap::default(),
        slices: slices.clone(),
        is_global: is_global(state)?
            && !is_within_partitions(storage, &state.config, slices.iter().map(|slice| &slice.0))?,
        doubled: BTreeSet::new(),
        doublings: 0,
    };
    let keys = Mutex::new(keys);
    let numbered: Vec<_> = (0_u32..).zip(slices).collect();
    found.merge(each(state, numbered, |(number, slice), found| {
        let mut place = Place { slice: &slice.0, buckets: buckets.as_ref(), wrong: [(None, 0), (None, 0)] };
        let read = slice.1.read_on(state.storage, Manner::alone(DEFAULT_BATCH_ROWS));
        let Some(batches) = found.attempt("slice", state.storage.as_ref(), &first_path(&slice.0), read)? else {
            return Ok(());
        };
        for batch in batches {
            state.watch.check()?;
            let Some(rows) = found.attempt("slice", state.storage.as_ref(), &first_path(&slice.0), batch)? else {
                break;
            };
            found.count("rows", rows.num_rows());
            state.watch.add_rows(rows.num_rows());
            let Some(of_rows) = text_column(&rows, meta::RECORD_KEY) else { continue };
            place.take(&rows, of_rows);
            if !state.config.record_key.is_empty() {
                keys.lock().unwrap_or_else(PoisonError::into_inner).take(number, &slice.0.partition, of_rows);
            }
        }
        place.tell(found);
        Ok(())
    })?);
    let keys = keys.into_inner().unwrap_or_else(PoisonError::into_inner);
    if !has_keys {
        found.note("not_checked", At::default(), "keys of a table without meta fields (virtual keys)");
        return Ok(None);
    }
    tell_doubled(state, &keys, found)?;
    found.count("keys", keys.by_key.len());
    Ok((!state.config.record_key.is_empty()).then_some(keys))
}

fn text_column<'r>(rows: &'r RecordBatch, name: &str) -> Option<&'r StringArray> {
    rows.column_by_name(name).and_then(|column| column.as_string_opt::<i32>())
}

/// A path for what is said of a whole slice.
pub(super) fn first_path(slice: &FileSlice) -> String {
    let first = slice.base.as_ref().or(slice.logs.first());
    first.map_or_else(|| slice.partition.clone(), |file| slice.path(file))
}

/// Where the rows of a slice should be.
struct Place<'s> {
    slice: &'s FileSlice,
    buckets: Option<&'s Buckets>,
    /// A key in a wrong bucket and one in a wrong folder, and how many of them.
    wrong: [(Option<String>, usize); 2],
}

impl Place<'_> {
    fn take(&mut self, rows: &RecordBatch, keys: &StringArray) {
        let [bucket, folder] = &mut self.wrong;
        let keep = |kept: &mut (Option<String>, usize), key: &str| {
            kept.0.get_or_insert_with(|| key.to_owned());
            kept.1 += 1;
        };
        if let Some(buckets) = self.buckets {
            let own = bucket_of_file_id(&self.slice.file_id);
            let is_wrong = |key: &&str| Some(buckets.today(key)) != own;
            keys.iter().flatten().filter(is_wrong).for_each(|key| keep(bucket, key));
        }
        let paths = text_column(rows, meta::PARTITION_PATH).into_iter().flatten();
        for (key, path) in keys.iter().zip(paths) {
            if path.is_some_and(|path| path != self.slice.partition) {
                keep(folder, key.unwrap_or_default());
            }
        }
    }

    fn tell(self, found: &mut Found) {
        let path = first_path(self.slice);
        let at = At::of(&path, &self.slice.base_instant);
        let [bucket, folder] = self.wrong;
        if let (Some(key), count) = bucket {
            let message = format!("{} belongs to another bucket than the file group's", several(&key, count));
            found.damage("wrong_bucket", at, message);
        }
        if let (Some(key), count) = folder {
            let message = format!("{} belongs to another partition than its folder's", several(&key, count));
            found.damage("wrong_partition", at, message);
        }
    }
}

/// Whether some index of the table takes a key to be there once.
fn is_global(state: &State<'_>) -> Result<bool> {
    let kind = state.config.get(properties::INDEX_TYPE).unwrap_or_default().to_uppercase();
    if kind.starts_with("GLOBAL_") {
        return Ok(true);
    }
    // What is wrong with the metadata table was found when its list was looked at.
    let metadata = listing::opened(state, &mut Found::default())?;
    let Some(metadata) = metadata.filter(|metadata| metadata.has(&Partition::RecordIndex)) else { return Ok(false) };
    Ok(!metadata.record_index_is_partitioned().unwrap_or(true))
}

/// Writes that let a key be there twice are inserts. Where none is known to have been, two rows of a key are damage.
fn tell_doubled(state: &State<'_>, keys: &Keys, found: &mut Found) -> Result<()> {
    if keys.doublings == 0 {
        return Ok(());
    }
    let level = if may_double(state)? { Level::Warning } else { Level::Damage };
    let path = |number: u32| keys.slices.get(number as usize).map(|slice| first_path(&slice.0)).unwrap_or_default();
    for (key, one, other) in &keys.doubled {
        let (one, other) = (path(*one), path(*other));
        let where_else = if one == other { "twice".to_owned() } else { format!("here and in {other}") };
        found.add(level, "duplicate_key", At::path(&one), format!("the key '{key}' is there {where_else}"));
    }
    found.more(level, "duplicate_key", keys.doublings.saturating_sub(keys.doubled.len()));
    Ok(())
}

/// Whether some write of the table, as far as anybody knows, need not have looked for keys.
fn may_double(state: &State<'_>) -> Result<bool> {
    let whole: Timeline = state.timeline.clone().with_history(state.storage.as_ref(), &state.config)?;
    for instant in whole.commits() {
        let metadata = whole.commit_metadata(state.storage.as_ref(), instant)?;
        let operation = metadata.operation_type.unwrap_or_default().to_uppercase();
        if !KEEPS_KEYS.contains(&operation.trim_end_matches("_PREPPED")) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Operations that never make a second row of a key.
const KEEPS_KEYS: [&str; 7] = ["UPSERT", "DELETE", "DELETE_PARTITION", "COMPACT", "LOG_COMPACT", "CLUSTER", "INDEX"];
