//! A store that is watched: what is read is counted, and work that is not wanted any more is refused.
//!
//! Whatever a read of a table does, or a task of a write, it comes here again and again. So this is where a long one can be
//! ended. What one call makes or deletes is never refused: who cleans up after such work can do so here.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::{Entry, LockGuard, Meta, Put, Storage, Ticket, Writer};
use crate::Result;
use crate::context::Watch;

/// Another store, watched.
#[derive(Debug, Clone)]
pub struct Watched {
    store: Arc<dyn Storage>,
    watch: Watch,
}

impl Watched {
    pub fn new(store: Arc<dyn Storage>, watch: Watch) -> Self {
        Self { store, watch }
    }
}

#[derive(Debug)]
struct WatchedWriter {
    writer: Box<dyn Writer>,
    watch: Watch,
}

impl Writer for WatchedWriter {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.watch.check()?;
        self.writer.write(bytes)
    }

    fn close(self: Box<Self>) -> Result<Put> {
        self.watch.check()?;
        self.writer.close()
    }
}

#[derive(Debug)]
struct WatchedTicket {
    ticket: Box<dyn Ticket>,
    watch: Watch,
}

impl Ticket for WatchedTicket {
    fn wait(self: Box<Self>) -> Result<Vec<Bytes>> {
        self.watch.check()?;
        let parts = self.ticket.wait()?;
        self.watch.add_bytes(parts.iter().map(Bytes::len).sum());
        Ok(parts)
    }
}

impl Storage for Watched {
    fn root(&self) -> &str {
        self.store.root()
    }

    fn head(&self, path: &str) -> Result<Option<Meta>> {
        self.watch.check()?;
        self.store.head(path)
    }

    fn read(&self, path: &str) -> Result<Option<Bytes>> {
        self.watch.check()?;
        let bytes = self.store.read(path)?;
        self.watch.add_bytes(bytes.as_ref().map_or(0, Bytes::len));
        Ok(bytes)
    }

    fn submit(&self, path: &str, ranges: Vec<Range<u64>>) -> Box<dyn Ticket> {
        Box::new(WatchedTicket { ticket: self.store.submit(path, ranges), watch: self.watch.clone() })
    }

    fn list(&self, dir: &str) -> Result<Vec<Entry>> {
        self.watch.check()?;
        self.store.list(dir)
    }

    fn create(&self, path: &str, bytes: &[u8]) -> Result<Put> {
        self.store.create(path, bytes)
    }

    fn replace(&self, path: &str, bytes: &[u8]) -> Result<Meta> {
        self.store.replace(path, bytes)
    }

    fn put_if_match(&self, path: &str, bytes: &[u8], etag: &str) -> Result<Put> {
        self.store.put_if_match(path, bytes, etag)
    }

    fn delete(&self, path: &str) -> Result<bool> {
        self.store.delete(path)
    }

    fn make_dir(&self, dir: &str) -> Result<()> {
        self.store.make_dir(dir)
    }

    fn delete_dir(&self, dir: &str) -> Result<()> {
        self.store.delete_dir(dir)
    }

    fn writer(&self, path: &str) -> Result<Box<dyn Writer>> {
        Ok(Box::new(WatchedWriter { writer: self.store.writer(path)?, watch: self.watch.clone() }))
    }

    fn discard_unfinished(&self, path: &str) -> Result<()> {
        self.store.discard_unfinished(path)
    }

    fn try_lock(&self, path: &str) -> Result<Option<Box<dyn LockGuard>>> {
        self.store.try_lock(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::ManualClock;
    use crate::storage::memory::Memory;

    #[test]
    fn reads_count_until_they_are_not_wanted() {
        let memory: Arc<dyn Storage> = Arc::new(Memory::new("t", Arc::new(ManualClock::new(0))));
        memory.replace("f", b"12345").unwrap();
        let watch = Watch::default();
        let store = Watched::new(memory, watch.clone());
        store.read("f").unwrap();
        let one: Range<u64> = 1..3;
        store.submit("f", vec![one.clone()]).wait().unwrap();
        assert_eq!(watch.progress().bytes, 7);
        let under_way = store.submit("f", vec![one]);
        watch.cancel();
        assert!(under_way.wait().is_err());
        assert!(store.read("f").is_err() && store.head("f").is_err() && store.list("").is_err());
    }
}
