//! The table's lock: held while an instant is begun, while a commit is decided, and never while rows are written.
//!
//! On a local file system it is a lock of the operating system, freed by the kernel when its holder dies. Apache Hudi does
//! not ask for it; it keeps hudini's own writers apart.

use crate::context::Context;
use crate::storage::{LockGuard, Storage};
use crate::{Error, ErrorKind, Result};

const PATH: &str = ".hoodie/.locks/hudini.lock";

/// Pause before the second try, doubled up to the longest pause.
const FIRST_PAUSE_MS: u64 = 1;
const LONGEST_PAUSE_MS: u64 = 32;

/// Waits for the lock, at most `wait_ms`.
pub fn table_lock(storage: &dyn Storage, context: &Context, wait_ms: u64) -> Result<Box<dyn LockGuard>> {
    let start = context.clock.monotonic_ms();
    let mut pause = FIRST_PAUSE_MS;
    loop {
        if let Some(guard) = storage.try_lock(PATH)? {
            return Ok(guard);
        }
        let waited = u64::try_from(context.clock.monotonic_ms() - start).unwrap_or(0);
        if waited >= wait_ms {
            return Err(Error::new(
                ErrorKind::LockUnavailable,
                format!("the table's lock was not free within {wait_ms} ms"),
            )
            .at_path(PATH)
            .with_hint("another writer is committing; raise hoodie.write.lock.wait_time_ms if it needs that long"));
        }
        context.clock.sleep_ms(pause.min(wait_ms - waited).max(1));
        pause = (pause * 2).min(LONGEST_PAUSE_MS);
    }
}
