//! A store in which something else happens at one of a reader's calls.

use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use hudini_table::Result;
use hudini_table::storage::{Entry, LockGuard, Meta, Put, Storage, Ticket, Writer};

type Act = Box<dyn FnOnce() + Send>;

pub struct Meanwhile {
    store: Arc<dyn Storage>,
    calls: AtomicUsize,
    at: usize,
    act: Mutex<Option<Act>>,
}

impl Meanwhile {
    /// `act` happens just before the call of that number, counted from 1.
    pub fn new(store: Arc<dyn Storage>, at: usize, act: impl FnOnce() + Send + 'static) -> Arc<Self> {
        Arc::new(Self { store, calls: AtomicUsize::new(0), at, act: Mutex::new(Some(Box::new(act))) })
    }

    pub fn happened(&self) -> bool {
        self.act.lock().unwrap().is_none()
    }

    fn call(&self) -> &dyn Storage {
        if self.calls.fetch_add(1, Ordering::SeqCst) + 1 == self.at {
            let act = self.act.lock().unwrap().take();
            act.unwrap()();
        }
        self.store.as_ref()
    }
}

impl fmt::Debug for Meanwhile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Meanwhile").field("at", &self.at).finish_non_exhaustive()
    }
}

impl Storage for Meanwhile {
    fn root(&self) -> &str {
        self.store.root()
    }

    fn head(&self, path: &str) -> Result<Option<Meta>> {
        self.call().head(path)
    }

    fn read(&self, path: &str) -> Result<Option<Bytes>> {
        self.call().read(path)
    }

    fn submit(&self, path: &str, ranges: Vec<Range<u64>>) -> Box<dyn Ticket> {
        self.call().submit(path, ranges)
    }

    fn list(&self, dir: &str) -> Result<Vec<Entry>> {
        self.call().list(dir)
    }

    fn create(&self, path: &str, bytes: &[u8]) -> Result<Put> {
        self.call().create(path, bytes)
    }

    fn replace(&self, path: &str, bytes: &[u8]) -> Result<Meta> {
        self.call().replace(path, bytes)
    }

    fn put_if_match(&self, path: &str, bytes: &[u8], etag: &str) -> Result<Put> {
        self.call().put_if_match(path, bytes, etag)
    }

    fn delete(&self, path: &str) -> Result<bool> {
        self.call().delete(path)
    }

    fn make_dir(&self, dir: &str) -> Result<()> {
        self.call().make_dir(dir)
    }

    fn delete_dir(&self, dir: &str) -> Result<()> {
        self.call().delete_dir(dir)
    }

    fn writer(&self, path: &str) -> Result<Box<dyn Writer>> {
        self.call().writer(path)
    }

    fn discard_unfinished(&self, path: &str) -> Result<()> {
        self.call().discard_unfinished(path)
    }

    fn try_lock(&self, path: &str) -> Result<Option<Box<dyn LockGuard>>> {
        self.call().try_lock(path)
    }
}
