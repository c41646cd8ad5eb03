//! The table's lock: held while an instant is begun, while a commit is decided, and never while rows are written.
//!
//! On a local file system it is a lock of the operating system, freed by the kernel when its holder dies. Apache Hudi does
//! not ask for it; it keeps hudini's own writers apart. Where the options name the lock file that Apache Hudi asks for, that is
//! taken as well, behind it. That one may expire while it is held, and a kernel's lock may lose its file: so who decides under
//! the lock asks for it once more right before the deed ([`TableLock::check`]).

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

/// The table's lock, held until this is dropped. What is decided under it takes it along (`site::Locked`).
#[derive(Debug)]
pub struct TableLock {
    /// In the order in which they are let go, with the paths where they lie.
    held: Vec<(Box<dyn LockGuard>, String)>,
}

impl TableLock {
    /// Refuses to go on if somebody took the lock away: another writer may be deciding at this very moment.
    pub fn check(&self) -> Result<()> {
        let Some(path) = self.lost()? else { return Ok(()) };
        Err(Error::new(ErrorKind::CommitConflict, "the table's lock was taken away while it was held")
            .at_path(path)
            .with_hint(format!(
                "do it again; if it was held for longer than {} allows, raise that",
                options::LOCK_EXPIRE_MINUTES.key()
            )))
    }

    /// Where the part of it lies that is somebody else's by now.
    fn lost(&self) -> Result<Option<&str>> {
        for (guard, path) in &self.held {
            if !guard.still_held()? {
                return Ok(Some(path));
            }
        }
        Ok(None)
    }
}

/// Waits for the table's lock.
pub fn table_lock(storage: &Arc<dyn Storage>, context: &Context, options: &Options) -> Result<TableLock> {
    let patience = Patience::of(context, options)?;
    let ours = patience.wait("table's lock", PATH, || storage.try_lock(PATH))?;
    let file = match options.get_or_default(&options::LOCK_PROVIDER)? {
        LockProvider::InProcess => return Ok(TableLock { held: vec![(ours, PATH.to_owned())] }),
        LockProvider::FileSystem => LockFile::of(storage, context, options)?,
    };
    let shown = file.shown();
    let shared = patience.wait("lock file that Apache Hudi asks for", &shown, || file.try_lock(context))?;
    Ok(TableLock { held: vec![(shared, shown), (ours, PATH.to_owned())] })
}

/// Waits until no other writer cleans or archives. Who wants the table's lock too takes it afterwards.
pub(crate) fn service_lock(storage: &dyn Storage, context: &Context, options: &Options) -> Result<Box<dyn LockGuard>> {
    Patience::of(context, options)?.wait("lock of table services", SERVICES, || storage.try_lock(SERVICES))
}

/// The same if nobody is at it.
pub(crate) fn try_service_lock(storage: &dyn Storage) -> Result<Option<Box<dyn LockGuard>>> {
    storage.try_lock(SERVICES)
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
