//! Signs of life: a pending write may be rolled back only when its writer is dead.
//!
//! Two signs, because one is exact and the other is shared. A lock named after the write is held as long as the writer's
//! process lives, so the next writer of ours knows at once when it does no more. The heartbeat file is Apache Hudi's sign: it
//! is touched again and again, and too old a file, or none, means death to everybody else. So a process that is stopped counts
//! as dead as well, after a while; when it goes on it knows by its own pulse, and commits nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use crate::context::ticker::Ticker;
use crate::context::{Clock, Context};
use crate::options::{self, Options};
use crate::site::Site;
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
    pulse: Arc<Pulse>,
    ticker: Ticker,
}

/// When the heart last beat, as others see it.
#[derive(Debug)]
struct Pulse {
    clock: Arc<dyn Clock>,
    last_ms: AtomicI64,
    patience_ms: i64,
}

/// Of the digits of any number of milliseconds.
const LONGEST_BEAT: u64 = 20;

/// What our heartbeat files hold: others may have other options. Those of Apache Hudi are empty, and it looks at their age alone.
fn beat_of(patience_ms: i64) -> String {
    patience_ms.to_string()
}

fn told_by(beat: &[u8]) -> Option<i64> {
    str::from_utf8(beat).ok()?.parse().ok().filter(|ms| *ms >= 0)
}

impl Pulse {
    /// Whether everybody knows that we live.
    fn is_felt(&self) -> bool {
        self.clock.now_ms() - self.last_ms.load(Ordering::SeqCst) <= self.patience_ms
    }

    /// Once it was silent for too long it stays so: others may have made up their minds, and Apache Hudi does not look again.
    fn beat(&self, storage: &dyn Storage, path: &str) {
        let now = self.clock.now_ms();
        if self.is_felt() && storage.replace(path, beat_of(self.patience_ms).as_bytes()).is_ok() {
            self.last_ms.store(now, Ordering::SeqCst);
        }
    }
}

impl Heart {
    /// Callers hold the table's lock.
    pub fn start(storage: &Arc<dyn Storage>, context: &Context, options: &Options, time: &str) -> Result<Self> {
        let guard = storage.try_lock(&life_lock_path(time))?;
        let guard = guard.ok_or_else(|| {
            Error::new(ErrorKind::CommitConflict, "another writer lives under this instant").at_instant(time)
        })?;
        let path = heartbeat_path(time);
        let clock = Arc::clone(&context.clock);
        let pulse = Pulse { last_ms: AtomicI64::new(clock.now_ms()), patience_ms: patience_ms(options)?, clock };
        storage.replace(&path, beat_of(pulse.patience_ms).as_bytes())?;
        let interval = options.get_or_default(&options::HEARTBEAT_INTERVAL_MS)?;
        let (pulse, beating) = (Arc::new(pulse), Arc::clone(storage));
        let beats = Arc::clone(&pulse);
        // A missed beat is no failure: others allow for several.
        let ticker = Ticker::start(interval / BEATS_PER_INTERVAL, move || beats.beat(beating.as_ref(), &path));
        Ok(Self { storage: Arc::clone(storage), time: time.to_owned(), guard, pulse, ticker })
    }

    /// Whether nobody can have taken us for dead.
    pub fn stands(&self) -> Result<bool> {
        let is_felt = self.pulse.is_felt() && self.guard.still_held()?;
        Ok(is_felt && self.storage.head(&heartbeat_path(&self.time))?.is_some())
    }

    /// Whether we were taken for dead, and failed for that: rollbacks and cleans take away files and folders under the feet of
    /// a writer that does not know yet.
    pub fn explains(&self, failure: &Error) -> bool {
        let is_of_files = matches!(failure.kind(), ErrorKind::StorageFailure | ErrorKind::InstantCleaned);
        is_of_files && self.stands().is_ok_and(|stands| !stands)
    }

    /// Ends the life in good order, after the write has completed or was rolled back.
    pub fn stop(self) -> Result<()> {
        let Self { storage, time, guard, ticker, .. } = self;
        // A beat after the heartbeat was removed would bring it back.
        drop(ticker);
        let forgotten = forget(storage.as_ref(), &time);
        drop(guard);
        forgotten
    }
}

/// Whether the writer of a pending instant is dead: its process is gone, or was silent for so long that it commits no more.
pub fn is_dead(storage: &dyn Storage, context: &Context, options: &Options, time: &str) -> Result<bool> {
    let life_lock = life_lock_path(time);
    let is_ours = storage.head(&life_lock)?.is_some();
    if is_ours && storage.try_lock(&life_lock)?.is_some() {
        return Ok(true);
    }
    let path = heartbeat_path(time);
    // One of ours takes the lock before its heart beats, and gives it up after that.
    let Some(heartbeat) = storage.head(&path)? else { return Ok(!is_ours) };
    let beat = if is_ours && heartbeat.size <= LONGEST_BEAT { storage.read(&path)? } else { None };
    let patience = beat.as_deref().and_then(told_by).map_or_else(|| patience_ms(options), Ok)?;
    Ok(context.clock.now_ms() - heartbeat.modified_ms > patience)
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

/// The same where the dead writer's process may be there still, stopped: its lock is on a file that is no more.
pub(crate) fn stand_in_for(site: Site<'_>, time: &str) -> Result<Box<dyn LockGuard>> {
    let storage = site.store();
    let path = life_lock_path(time);
    if let Some(guard) = storage.try_lock(&path)? {
        return Ok(guard);
    }
    if is_dead(storage, site.context, site.options, time)? {
        storage.delete(&path)?;
    }
    stand_in(storage, time)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::ManualClock;
    use crate::storage::memory::Memory;

    fn pulse() -> (Arc<ManualClock>, Memory, Pulse) {
        let clock = Arc::new(ManualClock::new(0));
        let storage = Memory::new("t", Arc::clone(&clock) as _);
        let pulse = Pulse { clock: Arc::clone(&clock) as _, last_ms: AtomicI64::new(0), patience_ms: 100 };
        (clock, storage, pulse)
    }

    #[test]
    fn a_pulse_that_was_not_felt_for_too_long_does_not_come_back() {
        let (clock, storage, pulse) = pulse();
        for _ in 0..3 {
            clock.advance(60);
            pulse.beat(&storage, "beat");
        }
        assert!(pulse.is_felt());
        clock.advance(101);
        assert!(!pulse.is_felt());
        pulse.beat(&storage, "beat");
        assert!(!pulse.is_felt());
        assert_eq!(storage.head("beat").unwrap().unwrap().modified_ms, 180);
    }

    #[test]
    fn a_beat_that_did_not_arrive_is_none() {
        let (clock, storage, pulse) = pulse();
        for _ in 0..2 {
            clock.advance(60);
            pulse.beat(&storage, "no/../path");
        }
        assert!(!pulse.is_felt());
    }
}
