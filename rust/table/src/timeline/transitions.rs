//! The steps of an action's life on storage: requested → inflight → completed. Every file is created, none rewritten.

use hudini_format::instant::{Action, InstantFile};

use super::Instant;
use crate::concurrency::TableLock;
use crate::config::TableConfig;
use crate::storage::{Put, Storage};
use crate::{Error, ErrorKind, Result};

/// Writes the requested file, if the lock under which that was decided is still held.
pub fn request(
    storage: &dyn Storage,
    config: &TableConfig,
    lock: &TableLock,
    time: &str,
    action: Action,
    plan: &[u8],
) -> Result<()> {
    lock.check().map_err(|e| e.at_instant(time))?;
    create(storage, config, &InstantFile::requested(time, action), plan, time)
}

/// Writes the inflight file.
pub fn to_inflight(storage: &dyn Storage, config: &TableConfig, time: &str, action: Action, body: &[u8]) -> Result<()> {
    create(storage, config, &InstantFile::inflight(time, action), body, time)
}

/// Writes the completed file: this is the commit. Nothing is completed once the lock under which that was decided is lost;
/// what was begun is then undone like any conflict, or by the next writer.
///
/// When storage fails here, the file may be there all the same; the caller looks before it decides anything.
pub fn complete(
    storage: &dyn Storage,
    config: &TableConfig,
    lock: &TableLock,
    time: &str,
    completed: &str,
    action: Action,
    body: &[u8],
) -> Result<()> {
    lock.check().map_err(|e| e.at_instant(time))?;
    create(storage, config, &InstantFile::completed(time, completed, action), body, time)
}

/// Whether nobody took the action off the timeline before it was begun: its requested file stands.
pub fn requested_exists(storage: &dyn Storage, config: &TableConfig, time: &str, action: Action) -> Result<bool> {
    Ok(storage.head(&path(config, &InstantFile::requested(time, action)))?.is_some())
}

/// Whether the action is still ours to finish: its inflight file stands.
pub fn inflight_exists(storage: &dyn Storage, config: &TableConfig, time: &str, action: Action) -> Result<bool> {
    Ok(storage.head(&path(config, &InstantFile::inflight(time, action)))?.is_some())
}

/// Takes a pending instant off the timeline, inflight before requested, so that a crash leaves it pending.
pub fn remove_pending(storage: &dyn Storage, config: &TableConfig, instant: &Instant) -> Result<()> {
    instant.files.iter().rev().try_for_each(|file| storage.delete(&path(config, file)).map(drop))
}

/// Takes what was done of a plan off the timeline; the plan stays.
pub fn back_to_requested(storage: &dyn Storage, config: &TableConfig, instant: &Instant) -> Result<()> {
    let inflight = InstantFile::inflight(&instant.requested, instant.action);
    storage.delete(&path(config, &inflight)).map(drop)
}

fn path(config: &TableConfig, file: &str) -> String {
    format!("{}/{file}", config.timeline_dir())
}

fn create(storage: &dyn Storage, config: &TableConfig, file: &str, body: &[u8], time: &str) -> Result<()> {
    let path = path(config, file);
    match storage.create(&path, body).map_err(|e| e.at_instant(time))? {
        Put::Done(_) => Ok(()),
        Put::Refused => Err(Error::new(ErrorKind::CommitConflict, "another writer made this timeline file first")
            .at_path(path)
            .at_instant(time)),
    }
}
