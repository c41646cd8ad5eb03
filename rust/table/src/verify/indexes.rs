//! The metadata table's records, and what it says of record keys against the rows.

use foldhash::fast::FixedState;
use hashbrown::HashSet;
use hudini_format::metadata_record::Partition;

use super::base_files::several;
use super::findings::{At, Found, Level};
use super::listing;
use super::rows::{Keys, first_path};
use super::secondary;
use super::state::State;
use crate::metadata::{self, FOLDER, MetadataTable};
use crate::scan::{DEFAULT_BATCH_ROWS, Manner};
use crate::{Result, merge};

pub(super) fn check(state: &State<'_>, keys: Option<&Keys>, found: &mut Found) -> Result<()> {
    // What is wrong with the metadata table as a whole was found when its list was looked at.
    let Some(metadata) = listing::opened(state, &mut Found::default())? else { return Ok(()) };
    for name in metadata.partitions() {
        check_records(state, name, found)?;
    }
    let Some(keys) = keys else { return Ok(()) };
    if metadata.has(&Partition::RecordIndex) {
        check_record_index(state, &metadata, keys, found)?;
    }
    secondary::check(state, &metadata, keys, found)
}

/// Whether all records of a partition can be read.
fn check_records(state: &State<'_>, name: &str, found: &mut Found) -> Result<()> {
    let path = format!("{FOLDER}/{name}");
    let read = metadata::rows(state.table, Some(name));
    let Some(records) = found.attempt("metadata_table", state.storage.as_ref(), &path, read)? else { return Ok(()) };
    for batch in records.rows {
        state.watch.check()?;
        let read = found.attempt("metadata_table", state.storage.as_ref(), &path, batch)?;
        found.count("metadata_records", read.map_or(0, |batch| batch.num_rows()));
    }
    Ok(())
}

fn check_record_index(state: &State<'_>, metadata: &MetadataTable, keys: &Keys, found: &mut Found) -> Result<()> {
    let path = format!("{FOLDER}/{}", Partition::RecordIndex);
    let located = metadata.all_record_locations();
    let Some(located) = found.attempt("record_index", state.storage.as_ref(), &path, located)? else { return Ok(()) };
    let mut seen: HashSet<u128, FixedState> = HashSet::default();
    let (mut elsewhere, mut absent) = ((None, 0), (None, 0));
    let keep = |kept: &mut (Option<String>, usize), key: String| {
        kept.0.get_or_insert(key);
        kept.1 += 1;
    };
    for located in located {
        state.watch.check()?;
        let Some((key, entry)) = found.attempt("record_index", state.storage.as_ref(), &path, located)? else { break };
        found.count("record_locations", 1);
        let id = keys.id(&entry.partition, &key);
        let slice = keys.by_key.get(&id).and_then(|number| keys.slices.get(*number as usize));
        let Some((slice, _)) = slice.map(AsRef::as_ref) else {
            keep(&mut absent, key);
            continue;
        };
        seen.insert(id);
        let is_there = slice.partition == entry.partition && slice.file_id == entry.file_id.to_string();
        if !is_there && !keys.is_doubled(&key) {
            keep(&mut elsewhere, key);
        }
    }
    // It has one place for a key that may have several.
    let is_complete = keys.is_global || metadata.record_index_is_partitioned()?;
    let missing = if is_complete && seen.len() < keys.by_key.len() { missing_key(state, keys, &seen)? } else { None };
    let missing = (missing, keys.by_key.len() - seen.len());
    // A write that came in between is in one and not in the other.
    let level = if state.is_written_to()? { Level::Warning } else { Level::Damage };
    for (level, told, what) in [
        (level, elsewhere, "the record index has another place for"),
        (level, missing, "the record index does not have"),
        (Level::Warning, absent, "the record index has a place for what is not there:"),
    ] {
        if let (Some(key), count) = told {
            found.add(level, "record_index", At::path(&path), format!("{what} {}", several(&key, count)));
        }
    }
    Ok(())
}

/// The first key of the rows that is not among those.
fn missing_key(state: &State<'_>, keys: &Keys, seen: &HashSet<u128, FixedState>) -> Result<Option<String>> {
    for slice in &keys.slices {
        let (slice, split) = slice.as_ref();
        for batch in
            split.read_on(state.storage, Manner::alone(DEFAULT_BATCH_ROWS)).map_err(|e| e.at_path(first_path(slice)))?
        {
            let batch = batch?;
            let of_rows = merge::record_keys(&batch)?;
            let missing = of_rows.iter().flatten().find(|key| !seen.contains(&keys.id(&slice.partition, key)));
            if let Some(key) = missing {
                return Ok(Some(key.to_owned()));
            }
        }
    }
    Ok(None)
}
