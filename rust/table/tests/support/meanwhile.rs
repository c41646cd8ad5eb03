//! A store in which something else happens at one of a reader's calls.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};

use bytes::Bytes;
use hudini_table::Result;
use hudini_table::storage::{Entry, LockGuard, Meta, Put, Storage, Ticket, Writer};

type Act = Box<dyn FnOnce() + Send>;

pub struct Meanwhile {
    me: Weak<Self>,
    store: Arc<dyn Storage>,
    calls: AtomicUsize,
    when: When,
    act: Mutex<Option<Act>>,
}

/// When it happens.
enum When {
    /// Just before the call of that number, counted from 1.
    Call(usize),
    /// While that folder is listed for the first time: entries of these places were looked at before, the others after it.
    Listing { dir: String, before: Range<usize> },
}

impl Meanwhile {
    /// `act` happens just before the call of that number, counted from 1.
    pub fn new(store: Arc<dyn Storage>, at: usize, act: impl FnOnce() + Send + 'static) -> Arc<Self> {
        Self::when(store, When::Call(at), act)
    }

    /// `act` happens while that folder is listed: entries of the places `before` were looked at by then.
    pub fn within_list(
        store: Arc<dyn Storage>,
        dir: &str,
        before: Range<usize>,
        act: impl FnOnce() + Send + 'static,
    ) -> Arc<Self> {
        Self::when(store, When::Listing { dir: dir.to_owned(), before }, act)
    }

    fn when(store: Arc<dyn Storage>, when: When, act: impl FnOnce() + Send + 'static) -> Arc<Self> {
        let act = Mutex::new(Some(Box::new(act) as Act));
        Arc::new_cyclic(|me| Self { me: me.clone(), store, calls: AtomicUsize::new(0), when, act })
    }

    pub fn happened(&self) -> bool {
        self.act.lock().unwrap().is_none()
    }

    fn call(&self) -> &dyn Storage {
        let number = self.calls.fetch_add(1, Ordering::SeqCst) + 1;
        if matches!(self.when, When::Call(at) if at == number) {
            self.act.lock().unwrap().take().unwrap()();
        }
        self.store.as_ref()
    }

    /// What of a folder is seen that is listed entry by entry, what was there at first and is not there any more being left
    /// out.
    fn torn(&self, dir: &str, before: &Range<usize>, act: Act) -> Result<Vec<Entry>> {
        let entries = self.store.list(dir)?;
        act();
        let left: BTreeSet<String> = self.store.list(dir)?.iter().map(|entry| entry.name().to_owned()).collect();
        let seen = entries.into_iter().enumerate();
        let seen = seen.filter(|(at, entry)| before.contains(at) || left.contains(entry.name()));
        Ok(seen.map(|(_, entry)| entry).collect())
    }
}

impl fmt::Debug for Meanwhile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Meanwhile").finish_non_exhaustive()
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
        if let When::Listing { dir: of, before } = &self.when
            && of == dir
            && let Some(act) = self.act.lock().unwrap().take()
        {
            return self.torn(dir, before, act);
        }
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
        let writer = self.call().writer(path)?;
        Ok(Box::new(Counted { writer, calls: self.me.upgrade().unwrap() }))
    }

    fn discard_unfinished(&self, path: &str) -> Result<()> {
        self.call().discard_unfinished(path)
    }

    fn try_lock(&self, path: &str) -> Result<Option<Box<dyn LockGuard>>> {
        self.call().try_lock(path)
    }
}

/// That a file shows is a call as well.
struct Counted {
    writer: Box<dyn Writer>,
    calls: Arc<Meanwhile>,
}

impl fmt::Debug for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.writer.fmt(f)
    }
}

impl Writer for Counted {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.writer.write(bytes)
    }

    fn close(self: Box<Self>) -> Result<Put> {
        self.calls.call();
        self.writer.close()
    }
}
