//! The metadata table's list of files against what lies on storage.

use std::collections::BTreeMap;

use hudini_format::metadata_record::Partition;

use super::findings::{At, Found};
use super::state::{Kind, State};
use crate::metadata::{FOLDER, ListedFiles, MetadataTable};
use crate::view::{DataFile, in_partition};
use crate::{ErrorKind, Result};

pub(super) fn check(state: &State<'_>, found: &mut Found) -> Result<()> {
    let Some(metadata) = opened(state, found)? else { return Ok(()) };
    if !metadata.has(&Partition::Files) {
        return Ok(());
    }
    if let Err(error) = metadata.check_knows_all(&state.timeline) {
        if error.kind() != ErrorKind::CorruptFile {
            return Err(error);
        }
        let at = At { path: Some(FOLDER), instant: error.instant() };
        found.damage("metadata_listing", at, error.message());
    }
    let Some(listed) = found.attempt("metadata_table", state.storage.as_ref(), FOLDER, metadata.files())? else {
        return Ok(());
    };
    found.count("metadata_files", listed.values().map(Vec::len).sum());
    not_on_storage(state, &listed, found)?;
    not_listed(state, &listed, found);
    Ok(())
}

/// The metadata table, unless there is none or it cannot be read.
pub(super) fn opened(state: &State<'_>, found: &mut Found) -> Result<Option<MetadataTable>> {
    let opened = MetadataTable::open(state.storage, &state.config, &state.timeline);
    // A table that claims to have one, and has not, has damage: everybody who looks for it fails.
    match opened {
        Err(error) if matches!(error.kind(), ErrorKind::TableNotFound) => {
            found.damage(
                "metadata_table",
                At::path(FOLDER),
                format!("the table has no metadata table, and says it has: {error}"),
            );
            Ok(None)
        }
        other => Ok(found.attempt("metadata_table", state.storage.as_ref(), FOLDER, other)?.flatten()),
    }
}

fn not_on_storage(state: &State<'_>, listed: &ListedFiles, found: &mut Found) -> Result<()> {
    let mut taken = None;
    for (partition, files) in listed {
        for file in files.iter().filter(|file| !state.has_file(partition, &file.name)) {
            let path = in_partition(partition, &file.name);
            if state.storage.head(&path)?.is_some() {
                continue;
            }
            let taken = match &taken {
                Some(taken) => taken,
                None => taken.insert(state.taken()?),
            };
            if taken.has(partition, &file.name) {
                found.warning("metadata_listing", At::path(&path), "the metadata table lists a file that a clean took");
            } else {
                found.damage("metadata_listing", At::path(&path), "the metadata table lists a file that is not there");
            }
        }
    }
    Ok(())
}

fn not_listed(state: &State<'_>, listed: &ListedFiles, found: &mut Found) {
    let sizes: BTreeMap<(&str, &str), u64> = listed
        .iter()
        .flat_map(|(partition, files)| files.iter().map(|f| ((partition.as_str(), f.name.as_str()), f.size)))
        .collect();
    for (partition, file, kind) in state.data_files() {
        let path = in_partition(partition, &file.name);
        match sizes.get(&(partition, file.name.as_str())) {
            // Of what a rollback appended to, version 6 says so; it stays after an upgrade.
            Some(1) if matches!(kind, Kind::Log(_)) => {}
            Some(size) if *size != file.size => {
                let message = format!("the file has {} bytes, and the metadata table says {size}", file.size);
                found.damage("metadata_listing", At::path(&path), message);
            }
            None if is_read(state, partition, file, &kind) => {
                let message = "the metadata table does not list the file: who reads through it misses its rows";
                found.damage("metadata_listing", At::of(&path, kind.instant()), message);
            }
            _ => {}
        }
    }
}

/// Whether readers who list the folder take the file in. Of the logs of version 6, those that a commit names.
fn is_read(state: &State<'_>, partition: &str, file: &DataFile, kind: &Kind) -> bool {
    let by_slice = matches!(kind, Kind::Log(_)) && state.snapshot.logs_named_by_slice;
    state.counts(kind) && (!by_slice || !state.stated_of(partition, &file.name).is_empty())
}
