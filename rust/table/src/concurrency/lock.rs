//! The table's lock: held while an instant is begun, while a commit is decided, and never while rows are written.
//!
//! On a local file system it is a lock of the operating system, freed by the kernel when its holder dies. Apache Hudi does
//! not ask for it; it keeps hudini's own writers apart.

use crate::context::Context;
use crate::storage::{LockGuard, Storage};
use crate::{Error, ErrorKind, Result};

const PATH: &str = ".hoodie/.locks/hudini.lock";
/// Of cleaning and archiving, which one writer does for all.
const SERVICES: &str = ".hoodie/.locks/hudini-services.lock";

/// Pause before the second try, doubled up to the longest pause.
const FIRST_PAUSE_MS: u64 = 1;
const LONGEST_PAUSE_MS: u64 = 32;

/// Waits for the table's lock, at most `wait_ms`.
pub fn table_lock(storage: &dyn Storage, context: &Context, wait_ms: u64) -> Result<Box<dyn LockGuard>> {
    wait_for(storage, context, PATH, "table's lock", wait_ms)
}

/// Waits until no other writer cleans or archives. Who wants the table's lock too takes it afterwards.
pub(crate) fn service_lock(storage: &dyn Storage, context: &Context, wait_ms: u64) -> Result<Box<dyn LockGuard>> {
    wait_for(storage, context, SERVICES, "lock of table services", wait_ms)
}

/// The same if nobody is at it.
pub(crate) fn try_service_lock(storage: &dyn Storage) -> Result<Option<Box<dyn LockGuard>>> {
    storage.try_lock(SERVICES)
}

fn wait_for(
    storage: &dyn Storage,
    context: &Context,
    path: &str,
    name: &str,
    wait_ms: u64,
) -> Result<Box<dyn LockGuard>> {
    let start = context.clock.monotonic_ms();
    let mut pause = FIRST_PAUSE_MS;
    loop {
        if let Some(guard) = storage.try_lock(path)? {
            return Ok(guard);
        }
        let waited = u64::try_from(context.clock.monotonic_ms() - start).unwrap_or(0);
        if waited >= wait_ms {
            return Err(Error::new(ErrorKind::LockUnavailable, format!("the {name} was not free within {wait_ms} ms"))
                .at_path(path)
                .with_hint("another writer is at work; raise hoodie.write.lock.wait_time_ms if it needs that long"));
        }
        context.clock.sleep_ms(pause.min(wait_ms - waited).max(1));
        pause = (pause * 2).min(LONGEST_PAUSE_MS);
    }
}
