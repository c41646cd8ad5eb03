//! Files against the timeline.

use hudini_format::instant::Layout;

use super::findings::{At, Found};
use super::state::{Kind, State, Stated, path_of};
use crate::Result;
use crate::view::{DataFile, FileKey, PARTITION_FILE, in_partition};

pub(super) fn check(state: &State<'_>, found: &mut Found) -> Result<()> {
    for (partition, file, kind) in state.data_files() {
        let path = in_partition(partition, &file.name);
        let stated = state.stated_of(partition, &file.name);
        if stated.is_empty() {
            check_unnamed(state, &path, &kind, found);
        } else {
            check_size(state, &path, file, &kind, stated, found);
        }
    }
    for (partition, file, kind) in state.change_logs() {
        let stated = state.stated_of(partition, &file.name);
        check_size(state, &in_partition(partition, &file.name), file, &kind, stated, found);
    }
    missing(state, found)
}

/// A file that no completed commit of the active timeline names.
fn check_unnamed(state: &State<'_>, path: &str, kind: &Kind, found: &mut Found) {
    let instant = kind.instant();
    let at = At::of(path, instant);
    if state.snapshot.is_archived(instant) {
        return;
    }
    if matches!(kind, Kind::Log(_)) && state.snapshot.logs_named_by_slice {
        found.note("leftover_file", at, "a log file that no completed commit names; its blocks answer for themselves");
        return;
    }
    let known = |timeline: &crate::timeline::Timeline| timeline.find(instant).map(|found| found.is_completed());
    match (known(&state.timeline), known(&state.later)) {
        (Some(true), _) => match kind {
            Kind::Base(_) => {
                found.damage("unnamed_file", at, "a base file that its commit does not name, and that readers take in");
            }
            Kind::Log(_) => {
                found.warning("unnamed_file", at, "a log file that its commit does not name, and that readers take in");
            }
        },
        (_, Some(true)) => {}
        (Some(false), _) | (_, Some(false)) => {
            found.note("leftover_file", at, "a file of a write that has not completed; readers pass it over");
        }
        (None, None) => {
            found.note("leftover_file", at, "a file of no write that the timeline knows; readers pass it over")
        }
    }
}

fn check_size(state: &State<'_>, path: &str, file: &DataFile, kind: &Kind, stated: &[Stated], found: &mut Found) {
    // A log of version 6 grows with each commit; what a later one tells of it holds.
    let newest = stated.iter().filter(|stated| stated.is_own).map(|stated| stated.bytes).max().unwrap_or(0);
    if newest == 0 || file.size == newest {
        return;
    }
    let may_grow = matches!(kind, Kind::Log(_)) && state.snapshot.logs_named_by_slice;
    if may_grow && file.size > newest {
        return;
    }
    let instant = stated.last().map(|stated| stated.instant.as_str());
    let at = At { path: Some(path), instant };
    let message = format!("the file has {} bytes, and its commit says {newest}", file.size);
    if matches!(kind, Kind::Log(_)) && file.size > newest {
        // An attempt that was torn and made again; readers pass over what is no block.
        found.warning("file_size", at, message);
    } else {
        found.damage("file_size", at, message);
    }
}

/// Files that commits name and that are gone, though no clean took them.
fn missing(state: &State<'_>, found: &mut Found) -> Result<()> {
    let is_gone = |(key, stated): &(&FileKey, &Vec<Stated>)| {
        stated.iter().any(|stated| stated.is_own) && !state.has_file(&key.0, &key.1)
    };
    let gone: Vec<_> = state.stated.iter().filter(is_gone).collect();
    if gone.is_empty() {
        return Ok(());
    }
    let taken = state.taken()?;
    let mut hidden = None;
    for (key, stated) in gone.into_iter().filter(|(key, _)| !taken.has(&key.0, &key.1)) {
        let (path, instant) = (path_of(key), stated.last().map(|stated| stated.instant.as_str()));
        if state.storage.head(&path)?.is_none() {
            let message = "the file is gone, and no clean took it";
            found.damage("missing_file", At { path: Some(&path), instant }, message);
        } else if !state.files.contains_key(&key.0) && hidden.replace(&key.0) != Some(&key.0) {
            let message =
                format!("a folder with files that commits name has no {PARTITION_FILE}: readers do not see it");
            found.damage("partition_file", At::path(&key.0), message);
        }
    }
    Ok(())
}

/// Whether bytes at that place were written by the commit that the file is named by. Behind what a commit tells of a log of
/// version 6, another write may have been cut short.
pub(super) fn is_of_commit(state: &State<'_>, offset: u64, stated: &[Stated]) -> bool {
    let mut own = stated.iter().filter(|stated| stated.is_own);
    match (state.timeline.layout, own.next(), own.next()) {
        (Layout::Two, ..) => true,
        (Layout::One, Some(only), None) => offset < only.bytes,
        (Layout::One, ..) => false,
    }
}
