//! Locks of the operating system on a file.
//!
//! The kernel frees such a lock when the process dies. It belongs to the open file, so two handles in one process
//! exclude each other too. The file stays when the lock is released: were it removed, one process could lock the
//! removed file and another a new one of the same name.
//!
//! A forked child shares the open file: it does not release the lock when it drops its copy, but if the parent dies
//! first, the lock stays until the child ends too.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::process;

use super::{absent, failed, inode};
use crate::Result;
use crate::storage::LockGuard;

#[derive(Debug)]
struct Held {
    file: File,
    path: PathBuf,
    shown: String,
    owner: u32,
}

pub(super) fn try_lock(path: &Path, shown: &str) -> Result<Option<Box<dyn LockGuard>>> {
    let wrong = |e| failed("the lock can't be taken", shown, e);
    if let Some(dir) = path.parent() {
        fs::create_dir_all(dir).map_err(wrong)?;
    }
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).map_err(wrong)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(None),
        Err(TryLockError::Error(e)) => return Err(wrong(e)),
    }
    let held = Held { file, path: path.to_owned(), shown: shown.to_owned(), owner: process::id() };
    // Someone may have removed the file between our opening and our locking it.
    Ok(if held.still_held()? { Some(Box::new(held)) } else { None })
}

impl LockGuard for Held {
    fn still_held(&self) -> Result<bool> {
        let wrong = |e| failed("the lock can't be checked", &self.shown, e);
        let named = match fs::metadata(&self.path) {
            Ok(meta) => meta,
            Err(e) if absent(&e) => return Ok(false),
            Err(e) => return Err(wrong(e)),
        };
        let ours = self.file.metadata().map_err(wrong)?;
        Ok(self.owner == process::id() && inode(&named) == inode(&ours))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // Closing alone would leave the lock with a forked child that has a copy; a child must not release ours.
        if self.owner == process::id() {
            // Closing the file, which follows, is all that can still be done.
            let _ = self.file.unlock();
        }
    }
}
