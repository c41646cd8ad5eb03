//! Signs of life: a pending write may be rolled back only when its writer is dead.
//!
//! Two signs, because one is exact and the other is shared. A lock named after the write is held as long as the writer's
//! process lives, so the next writer of ours knows at once. The heartbeat file is Apache Hudi's sign: it is touched again
//! and again, and too old a file, or none, means death to everybody else.

use std::sync::Arc;

use crate::context::Context;
use crate::context::ticker::Ticker;
use crate::options::{self, Options};
use crate::storage::{Entry, LockGuard, Storage};
use crate::{Error, ErrorKind, Result};

/// A beat comes several times within the interval that others allow for.
const BEATS_PER_INTERVAL: u64 = 3;

pub(super) const BEATS: &str = ".hoodie/.heartbeat";

pub(super) fn heartbeat_path(time: &str) -> String {
    format!("{BEATS}/{time}")
}

const LOCKS: &str = ".hoodie/.locks";
const LIFE_LOCK_SUFFIX: &str = ".alive";

pub(super) fn life_lock_path(time: &str) -> String {
    format!("{LOCKS}/{time}{LIFE_LOCK_SUFFIX}")
}

/// The life of one write, from before its requested file exists.
#[derive(Debug)]
pub struct Heart {
    storage: Arc<dyn Storage>,
    time: String,
    guard: Box<dyn LockGuard>,
    ticker: Ticker,
}

impl Heart {
    /// Callers hold the table's lock.
    pub fn start(storage: &Arc<dyn Storage>, options: &Options, time: &str) -> Result<Self> {
        let guard = storage.try_lock(&life_lock_path(time))?;
        let guard = guard.ok_or_else(|| {
            Error::new(ErrorKind::CommitConflict, "another writer lives under this instant").at_instant(time)
        })?;
        let path = heartbeat_path(time);
        storage.replace(&path, b"")?;
        let interval = options.get_or_default(&options::HEARTBEAT_INTERVAL_MS)?;
        let beating = Arc::clone(storage);
        // A missed beat is no failure: others allow for several.
        let ticker = Ticker::start(interval / BEATS_PER_INTERVAL, move || drop(beating.replace(&path, b"")));
        Ok(Self { storage: Arc::clone(storage), time: time.to_owned(), guard, ticker })
    }

    /// Whether nobody can have taken us for dead.
    pub fn stands(&self) -> Result<bool> {
        Ok(self.guard.still_held()? && self.storage.head(&heartbeat_path(&self.time))?.is_some())
    }

    /// Ends the life in good order, after the write has completed or was rolled back.
    pub fn stop(self) -> Result<()> {
        let Self { storage, time, guard, ticker } = self;
        // A beat after the heartbeat was removed would bring it back.
        drop(ticker);
        let forgotten = forget(storage.as_ref(), &time);
        drop(guard);
        forgotten
    }
}

/// Whether the writer of a pending instant is dead.
pub fn is_dead(storage: &dyn Storage, context: &Context, options: &Options, time: &str) -> Result<bool> {
    let life_lock = life_lock_path(time);
    if storage.head(&life_lock)?.is_some() {
        return Ok(storage.try_lock(&life_lock)?.is_some());
    }
    let Some(heartbeat) = storage.head(&heartbeat_path(time))? else { return Ok(true) };
    Ok(context.clock.now_ms() - heartbeat.modified_ms > patience_ms(options)?)
}

/// How long a writer may be silent before it counts as dead.
pub(crate) fn patience_ms(options: &Options) -> Result<i64> {
    let interval = options.get_or_default(&options::HEARTBEAT_INTERVAL_MS)?;
    let misses = options.get_or_default(&options::HEARTBEAT_MISSES)?;
    Ok(i64::try_from(interval.saturating_mul(u64::from(misses))).unwrap_or(i64::MAX))
}

/// Whether the action is, or was, a writer's of ours, so that it is known at once whether that one lives.
pub(crate) fn has_life(storage: &dyn Storage, time: &str) -> Result<bool> {
    Ok(storage.head(&life_lock_path(time))?.is_some())
}

/// The writes of which a life lock is left, held or not. It is the first thing that a write puts on storage and the last
/// that it removes: whatever else a dead writer left, this tells of it.
pub(crate) fn lives(storage: &dyn Storage) -> Result<Vec<String>> {
    let time = |entry: Entry| match entry {
        Entry::File { name, .. } => name.strip_suffix(LIFE_LOCK_SUFFIX).map(str::to_owned),
        Entry::Dir { .. } => None,
    };
    Ok(storage.list(LOCKS)?.into_iter().filter_map(time).collect())
}

/// Stands in for a dead writer while its write is rolled back, and lives as the rollback: should that be interrupted, `lives`
/// names both, and the next writer knows at once that nobody is at it any more.
pub(crate) fn stand_in(storage: &dyn Storage, time: &str) -> Result<Box<dyn LockGuard>> {
    storage.try_lock(&life_lock_path(time))?.ok_or_else(|| {
        Error::new(ErrorKind::CommitConflict, "somebody is alive under an instant that was to be taken over")
            .at_instant(time)
    })
}

/// Removes what a life leaves on storage, the life lock last.
pub(crate) fn forget(storage: &dyn Storage, time: &str) -> Result<()> {
    storage.delete(&heartbeat_path(time))?;
    step_back(storage, time)
}

/// Ends a life for which somebody stood in; the heartbeat, if there is one, is somebody else's.
pub(crate) fn step_back(storage: &dyn Storage, time: &str) -> Result<()> {
    storage.delete(&life_lock_path(time)).map(drop)
}
