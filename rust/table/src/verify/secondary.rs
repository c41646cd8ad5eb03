//! Secondary indexes against the rows: each value of the indexed column, with its record key.
//!
//! A reader goes by an index that lacks a row, and loses it; an entry of a row that is not there any more costs it time.
//! Null is not in the indexes of all releases, and no reader asks for it.

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use hudini_format::hash::fingerprint;
use hudini_format::metadata_record::Partition;
use hudini_format::schema::meta;

use super::base_files::{keep, several};
use super::findings::{At, Found, Level};
use super::rows::Keys;
use super::state::State;
use crate::metadata::{FOLDER, MetadataTable, SecondaryEntry};
use crate::scan::{Scan, ScanRequest, secondary_column, texts};
use crate::{Result, merge};

/// Entries as 128 bits of them, and whether a row has them.
type Entries = HashMap<u128, bool, FixedState>;

pub(super) fn check(state: &State<'_>, metadata: &MetadataTable, keys: &Keys, found: &mut Found) -> Result<()> {
    let read = metadata.definitions();
    let Some(definitions) = found.attempt("secondary_index", state.storage.as_ref(), FOLDER, read)? else {
        return Ok(());
    };
    for (name, definition) in definitions.iter() {
        let Some(partition) = Partition::parse(name).filter(|partition| metadata.has(partition)) else { continue };
        let Partition::SecondaryIndex(index) = &partition else { continue };
        let path = format!("{FOLDER}/{partition}");
        match secondary_column(definition) {
            Some(column) if keys.is_global => check_index(state, metadata, (index, column), keys, &path, found)?,
            _ => found.note("not_checked", At::path(&path), "a secondary index of a kind that is not read"),
        }
    }
    Ok(())
}

fn check_index(
    state: &State<'_>,
    metadata: &MetadataTable,
    (index, column): (&str, &str),
    keys: &Keys,
    path: &str,
    found: &mut Found,
) -> Result<()> {
    let Some(mut entries) = entries(state, metadata, index, path, found)? else { return Ok(()) };
    let request =
        ScanRequest { columns: Some(vec![meta::RECORD_KEY.to_owned(), column.to_owned()]), ..ScanRequest::default() };
    let planned = Scan::of_what_is_there(state.table, request);
    let Some(scan) = found.attempt("secondary_index", state.storage.as_ref(), path, planned)? else { return Ok(()) };
    let mut missing = (None, 0);
    for batch in scan.read()? {
        state.watch.check()?;
        // What is wrong with the rows was found when they were read first.
        let Some(rows) = Found::default().attempt("rows", state.storage.as_ref(), path, batch)? else { return Ok(()) };
        let Some(values) = rows.column_by_name(column).and_then(texts) else {
            found.note("not_checked", At::path(path), format!("a secondary index of column '{column}', by its type"));
            return Ok(());
        };
        let of_rows = merge::record_keys(&rows)?;
        for (key, value) in of_rows.iter().zip(values) {
            let (Some(key), Some(value)) = (key, value) else { continue };
            match entries.get_mut(&id(&value, key)) {
                Some(is_there) => *is_there = true,
                None if keys.is_doubled(key) => {}
                None => keep(&mut missing, key),
            }
        }
    }
    let gone = entries.values().filter(|is_there| !**is_there).count();
    let gone = (first_gone(metadata, index, &entries, gone)?, gone);
    // A write that came in between is in one and not in the other.
    let level = if state.is_written_to()? { Level::Warning } else { Level::Damage };
    for (level, told, what) in [
        (level, missing, format!("the index does not have the value of '{column}' for")),
        (Level::Warning, gone, format!("the index has a value of '{column}' that is not there any more, for")),
    ] {
        if let (Some(key), count) = told {
            found.add(level, "secondary_index", At::path(path), format!("{what} {}", several(&key, count)));
        }
    }
    Ok(())
}

fn entries(
    state: &State<'_>,
    metadata: &MetadataTable,
    index: &str,
    path: &str,
    found: &mut Found,
) -> Result<Option<Entries>> {
    let read = metadata.all_keys_with_values(index).and_then(|entries| {
        let mut known = Entries::default();
        for entry in entries {
            state.watch.check()?;
            let SecondaryEntry { value, record_key } = entry?;
            known.extend(value.map(|value| (id(&value, &record_key), false)));
        }
        Ok(known)
    });
    let entries = found.attempt("secondary_index", state.storage.as_ref(), path, read)?;
    found.count("secondary_entries", entries.as_ref().map_or(0, HashMap::len));
    Ok(entries)
}

/// The record key of the first entry that no row has.
fn first_gone(metadata: &MetadataTable, index: &str, entries: &Entries, count: usize) -> Result<Option<String>> {
    if count == 0 {
        return Ok(None);
    }
    for entry in metadata.all_keys_with_values(index)? {
        let SecondaryEntry { value, record_key } = entry?;
        if value.is_some_and(|value| entries.get(&id(&value, &record_key)) == Some(&false)) {
            return Ok(Some(record_key));
        }
    }
    Ok(None)
}

fn id(value: &str, key: &str) -> u128 {
    fingerprint([&value.len().to_string(), ":", value, key].concat().as_bytes())
}
