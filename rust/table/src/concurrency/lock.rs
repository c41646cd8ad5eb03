//! The table's lock: held while an instant is begun, while a commit is decided, and never while rows are written.
//!
//! On a local file system it is a lock of the operating system, freed by the kernel when its holder dies. Apache Hudi does
//! not ask for it; it keeps hudini's own writers apart. Where the options name the lock file that Apache Hudi asks for, that is
//! taken as well, behind it.

use std::sync::Arc;

use super::lock_file::LockFile;
use crate::context::Context;
use crate::options::{self, LockProvider, Options};
use crate::storage::{LockGuard, Storage};
use crate::{Error, ErrorKind, Result};

pub(super) const PATH: &str = ".hoodie/.locks/hudini.lock";
/// Of cleaning and archiving, which one writer does for all.
pub(super) const SERVICES: &str = ".hoodie/.locks/hudini-services.lock";

/// Pause before the second try, doubled up to the longest pause.
const FIRST_PAUSE_MS: u64 = 1;
const LONGEST_PAUSE_MS: u64 = 32;

/// Waits for the table's lock.
pub fn table_lock(storage: &Arc<dyn Storage>, context: &Context, options: &Options) -> Result<Box<dyn LockGuard>> {
    let patience = Patience::of(context, options)?;
    let ours = patience.wait("table's lock", PATH, || storage.try_lock(PATH))?;
    let file = match options.get_or_default(&options::LOCK_PROVIDER)? {
        LockProvider::InProcess => return Ok(ours),
        LockProvider::FileSystem => LockFile::of(storage, context, options)?,
    };
    let shared = patience.wait("lock file that Apache Hudi asks for", &file.shown(), || file.try_lock(context))?;
    Ok(Box::new(Both { shared, ours }))
}

/// Waits until no other writer cleans or archives. Who wants the table's lock too takes it afterwards.
pub(crate) fn service_lock(storage: &dyn Storage, context: &Context, options: &Options) -> Result<Box<dyn LockGuard>> {
    Patience::of(context, options)?.wait("lock of table services", SERVICES, || storage.try_lock(SERVICES))
}

/// The same if nobody is at it.
pub(crate) fn try_service_lock(storage: &dyn Storage) -> Result<Option<Box<dyn LockGuard>>> {
    storage.try_lock(SERVICES)
}

/// Let go in this order.
#[derive(Debug)]
struct Both {
    shared: Box<dyn LockGuard>,
    ours: Box<dyn LockGuard>,
}

impl LockGuard for Both {
    fn still_held(&self) -> Result<bool> {
        Ok(self.ours.still_held()? && self.shared.still_held()?)
    }
}

/// How long one call waits, in all.
struct Patience<'a> {
    context: &'a Context,
    start: i64,
    wait_ms: u64,
}

impl<'a> Patience<'a> {
    fn of(context: &'a Context, options: &Options) -> Result<Self> {
        let wait_ms = options.get_or_default(&options::LOCK_WAIT_MS)?;
        Ok(Self { context, start: context.clock.monotonic_ms(), wait_ms })
    }

    fn wait(
        &self,
        name: &str,
        path: &str,
        try_lock: impl Fn() -> Result<Option<Box<dyn LockGuard>>>,
    ) -> Result<Box<dyn LockGuard>> {
        let clock = &self.context.clock;
        let mut pause = FIRST_PAUSE_MS;
        loop {
            if let Some(guard) = try_lock()? {
                return Ok(guard);
            }
            let waited = u64::try_from(clock.monotonic_ms() - self.start).unwrap_or(0);
            if waited >= self.wait_ms {
                let message = format!("the {name} was not free within {} ms", self.wait_ms);
                return Err(Error::new(ErrorKind::LockUnavailable, message).at_path(path).with_hint(
                    "another writer is at work; raise hoodie.write.lock.wait_time_ms if it needs that long",
                ));
            }
            clock.sleep_ms(pause.min(self.wait_ms - waited).max(1));
            pause = (pause * 2).min(LONGEST_PAUSE_MS);
        }
    }
}
