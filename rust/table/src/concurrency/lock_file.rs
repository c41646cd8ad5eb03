//! The lock file of Apache Hudi's `FileSystemBasedLockProvider`, for tables that both engines write at the same time.
//!
//! Who creates the file has the lock, and removes it when done. Apache Hudi breaks a lock that is older than
//! `hoodie.write.lock.filesystem.expire` allows, and so do we; by default none ever is, and the lock of a writer that died stays
//! until somebody removes it. One of our own need not stay: writers of one machine and table are kept apart by its kernel
//! before they come here, so what one of them left was a dead writer's.
//!
//! It counts its age from when it was written, and is not renewed while it is held: that would be to write it anew, and between
//! a look and the writing somebody may have broken the old one and laid his own. Who holds it asks for it before the deed.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use hudini_format::instant::format_time;

use crate::context::Context;
use crate::options::{self, Options};
use crate::storage::{self, LockGuard, Meta, Put, Storage};
use crate::{Error, Result};

const NAME: &str = "lock";
/// Where the file lies, unless an option names a folder.
const FOLDER: &str = ".hoodie";
const MS_PER_MINUTE: i64 = 60_000;

pub(super) fn path_in_table() -> String {
    format!("{FOLDER}/{NAME}")
}

/// What the file says of its holder. The first two names are Apache Hudi's, which shows the text and goes by nothing in it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Holder {
    lock_create_time: String,
    lock_thread_name: String,
    /// The machine, from one start of it to the next, whose kernel keeps our writers of a table apart.
    hudini_machine: Option<String>,
    /// Where tables share a folder for their locks, and so one lock.
    hudini_table: Option<String>,
}

/// Where the file is, and what counts as left behind.
#[derive(Debug)]
pub(super) struct LockFile {
    storage: Arc<dyn Storage>,
    path: String,
    machine: Option<String>,
    table: Option<String>,
    expire_ms: i64,
}

impl LockFile {
    pub(super) fn of(table: &Arc<dyn Storage>, context: &Context, options: &Options) -> Result<Self> {
        let folder = options.get(&options::LOCK_FOLDER)?.filter(|folder| !folder.is_empty());
        let (storage, path, of) = match folder {
            Some(folder) => {
                let storage = storage::open(&folder, &Default::default(), Arc::clone(&context.ids))?;
                (storage, NAME.to_owned(), Some(table.root().to_owned()))
            }
            None => (Arc::clone(table), path_in_table(), None),
        };
        let minutes = i64::from(options.get_or_default(&options::LOCK_EXPIRE_MINUTES)?);
        Ok(Self { storage, path, machine: context.ids.machine(), table: of, expire_ms: minutes * MS_PER_MINUTE })
    }

    /// For messages.
    pub(super) fn shown(&self) -> String {
        format!("{}/{}", self.storage.root(), self.path)
    }

    /// Takes the lock if it is free. Callers hold the lock of the operating system.
    pub(super) fn try_lock(&self, context: &Context) -> Result<Option<Box<dyn LockGuard>>> {
        let now = context.clock.now_ms();
        let holder = Holder {
            lock_create_time: format_time(now, 0),
            lock_thread_name: format!("hudini {:032x}", context.ids.next_u128()),
            hudini_machine: self.machine.clone(),
            hudini_table: self.table.clone(),
        };
        let text = serde_json::to_vec(&holder).map_err(|e| Error::internal(format!("a lock's holder as JSON: {e}")))?;
        let put = match self.storage.head(&self.path)? {
            None => self.storage.create(&self.path, &text)?,
            Some(meta) if self.is_left_behind(&meta, now)? => {
                self.storage.put_if_match(&self.path, &text, &meta.etag)?
            }
            Some(_) => Put::Refused,
        };
        Ok(match put {
            Put::Refused => None,
            Put::Done(meta) => {
                let (storage, path) = (Arc::clone(&self.storage), self.path.clone());
                Some(Box::new(Held { storage, path, etag: meta.etag }))
            }
        })
    }

    fn is_left_behind(&self, meta: &Meta, now: i64) -> Result<bool> {
        if self.expire_ms > 0 && now - meta.modified_ms > self.expire_ms {
            return Ok(true);
        }
        let Some(bytes) = self.storage.read(&self.path)? else { return Ok(false) };
        // What Apache Hudi wrote, often nothing, is no holder of ours.
        let Ok(holder) = serde_json::from_slice::<Holder>(&bytes) else { return Ok(false) };
        let is_of_table = holder.hudini_table == self.table;
        Ok(is_of_table && self.machine.is_some() && holder.hudini_machine == self.machine)
    }
}

#[derive(Debug)]
struct Held {
    storage: Arc<dyn Storage>,
    path: String,
    etag: String,
}

impl LockGuard for Held {
    fn still_held(&self) -> Result<bool> {
        Ok(self.storage.head(&self.path)?.is_some_and(|meta| meta.etag == self.etag))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // One that cannot be removed is left behind, and the next writer of ours knows that.
        if self.still_held().is_ok_and(|held| held) {
            let _ = self.storage.delete(&self.path);
        }
    }
}
