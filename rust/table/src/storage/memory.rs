//! Files in memory, for tests and for planning without a disk. Shared by all clones of a handle, and by nobody else unless
//! the store has a name.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use super::{Entry, LockGuard, Meta, Put, Storage, Ticket, Writer};
use super::{complete, dir_parts, file_parts, not_there, part_len};
use crate::context::{Clock, SystemClock};
use crate::{Error, Result};

/// A tree of files in memory. Clones share it.
#[derive(Debug, Clone)]
pub struct Memory {
    shown: String,
    clock: Arc<dyn Clock>,
    tree: Arc<Mutex<Tree>>,
}

#[derive(Debug, Default)]
struct Tree {
    files: BTreeMap<String, (Bytes, Meta)>,
    dirs: BTreeSet<String>,
    /// Writers that have not ended, by number.
    unfinished: BTreeMap<u64, String>,
    /// Locks that are held, with the number of the guard.
    locks: BTreeMap<String, u64>,
    last: u64,
}

/// The stores with names, which live as long as the process.
static NAMED: Mutex<BTreeMap<String, Memory>> = Mutex::new(BTreeMap::new());

impl Memory {
    /// The store of that name in this process.
    pub fn named(name: &str) -> Result<Self> {
        let name = name.trim_matches('/');
        if name.is_empty() {
            return Err(Error::option("memory:// without a name").with_hint("write memory://name"));
        }
        let mut named = NAMED.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || Self::new(name, Arc::new(SystemClock::new()));
        Ok(named.entry(name.to_owned()).or_insert_with(new).clone())
    }

    /// An empty store; `name` is for messages, the clock gives modification times.
    pub fn new(name: &str, clock: Arc<dyn Clock>) -> Self {
        Self { shown: format!("memory://{name}"), clock, tree: Arc::default() }
    }

    /// The paths of writes that were begun and neither closed, dropped nor discarded; sorted.
    pub fn unfinished(&self) -> Vec<String> {
        let mut paths: Vec<String> = self.tree().unfinished.values().cloned().collect();
        paths.sort_unstable();
        paths
    }

    fn tree(&self) -> MutexGuard<'_, Tree> {
        // Each change is made whole before anything can panic, so a poisoned tree is sound.
        self.tree.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn shown(&self, path: &str) -> String {
        format!("{}/{path}", self.shown)
    }
}

impl Tree {
    fn number(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    fn store(&mut self, path: &str, bytes: Bytes, now: i64) -> Result<Meta> {
        self.make_dirs(parent(path))?;
        let meta = Meta { size: bytes.len() as u64, modified_ms: now, etag: format!("{:x}", self.number()) };
        self.files.insert(path.to_owned(), (bytes, meta.clone()));
        Ok(meta)
    }

    fn create(&mut self, path: &str, bytes: Bytes, now: i64) -> Result<Put> {
        if self.files.contains_key(path) || self.dirs.contains(path) {
            return Ok(Put::Refused);
        }
        self.store(path, bytes, now).map(Put::Done)
    }

    fn make_dirs(&mut self, dir: &str) -> Result<()> {
        let mut dir = dir;
        while !dir.is_empty() {
            if self.files.contains_key(dir) {
                return Err(Error::storage("a file is where a directory should be").at_path(dir));
            }
            self.dirs.insert(dir.to_owned());
            dir = parent(dir);
        }
        Ok(())
    }

    fn read(&self, path: &str, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let (bytes, meta) = self.files.get(path).ok_or_else(not_there)?;
        let part = |range: &Range<u64>| {
            let len = part_len(range, meta.size)?;
            let found = usize::try_from(range.start).ok().zip(usize::try_from(range.end).ok());
            let found = found.and_then(|(start, end)| bytes.get(start..end)).unwrap_or_default();
            complete(bytes.slice_ref(found), len, range.start)
        };
        ranges.iter().map(part).collect()
    }
}

impl Storage for Memory {
    fn root(&self) -> &str {
        &self.shown
    }

    fn head(&self, path: &str) -> Result<Option<Meta>> {
        file_parts(path)?;
        Ok(self.tree().files.get(path).map(|(_, meta)| meta.clone()))
    }

    fn read(&self, path: &str) -> Result<Option<Bytes>> {
        file_parts(path)?;
        Ok(self.tree().files.get(path).map(|(bytes, _)| bytes.clone()))
    }

    fn submit(&self, path: &str, ranges: Vec<Range<u64>>) -> Box<dyn Ticket> {
        Box::new(Parts { store: self.clone(), path: path.to_owned(), ranges })
    }

    fn list(&self, dir: &str) -> Result<Vec<Entry>> {
        dir_parts(dir)?;
        let tree = self.tree();
        let child = |path: &str| {
            let inside = if dir.is_empty() { Some(path) } else { path.strip_prefix(dir)?.strip_prefix('/') };
            inside.filter(|name| !name.contains('/')).map(str::to_owned)
        };
        let file = |(path, (_, meta)): (&String, &(Bytes, Meta))| Some((child(path)?, meta.clone()));
        let files = tree.files.iter().filter_map(file).map(|(name, meta)| Entry::File { name, meta });
        let dirs = tree.dirs.iter().filter_map(|path| child(path)).map(|name| Entry::Dir { name });
        let mut entries: Vec<Entry> = files.chain(dirs).collect();
        entries.sort_unstable_by(|a, b| a.name().cmp(b.name()));
        Ok(entries)
    }

    fn create(&self, path: &str, bytes: &[u8]) -> Result<Put> {
        file_parts(path)?;
        self.tree().create(path, Bytes::copy_from_slice(bytes), self.clock.now_ms())
    }

    fn replace(&self, path: &str, bytes: &[u8]) -> Result<Meta> {
        file_parts(path)?;
        let mut tree = self.tree();
        if tree.dirs.contains(path) {
            return Err(Error::storage("a directory is where a file should be").at_path(self.shown(path)));
        }
        tree.store(path, Bytes::copy_from_slice(bytes), self.clock.now_ms())
    }

    fn put_if_match(&self, path: &str, bytes: &[u8], etag: &str) -> Result<Put> {
        file_parts(path)?;
        let mut tree = self.tree();
        match tree.files.get(path) {
            Some((_, meta)) if meta.etag == etag => {
                tree.store(path, Bytes::copy_from_slice(bytes), self.clock.now_ms()).map(Put::Done)
            }
            _ => Ok(Put::Refused),
        }
    }

    fn delete(&self, path: &str) -> Result<bool> {
        file_parts(path)?;
        let mut tree = self.tree();
        tree.locks.remove(path);
        Ok(tree.files.remove(path).is_some())
    }

    fn make_dir(&self, dir: &str) -> Result<()> {
        dir_parts(dir)?;
        self.tree().make_dirs(dir)
    }

    fn delete_dir(&self, dir: &str) -> Result<()> {
        dir_parts(dir)?;
        let mut tree = self.tree();
        let below = |path: &str| dir.is_empty() || path.strip_prefix(dir).is_some_and(|rest| rest.starts_with('/'));
        tree.files.retain(|path, _| !below(path));
        tree.unfinished.retain(|_, path| !below(path));
        tree.locks.retain(|path, _| !below(path));
        tree.dirs.retain(|path| path != dir && !below(path));
        Ok(())
    }

    fn writer(&self, path: &str) -> Result<Box<dyn Writer>> {
        file_parts(path)?;
        let mut tree = self.tree();
        tree.make_dirs(parent(path))?;
        let number = tree.number();
        tree.unfinished.insert(number, path.to_owned());
        Ok(Box::new(MemoryWriter { store: self.clone(), path: path.to_owned(), number, written: Vec::new() }))
    }

    fn discard_unfinished(&self, path: &str) -> Result<()> {
        file_parts(path)?;
        self.tree().unfinished.retain(|_, unfinished| unfinished != path);
        Ok(())
    }

    fn try_lock(&self, path: &str) -> Result<Option<Box<dyn LockGuard>>> {
        file_parts(path)?;
        let mut tree = self.tree();
        if tree.locks.contains_key(path) {
            return Ok(None);
        }
        if tree.dirs.contains(path) {
            return Err(Error::storage("a directory is where a lock should be").at_path(self.shown(path)));
        }
        if !tree.files.contains_key(path) {
            tree.store(path, Bytes::new(), self.clock.now_ms())?;
        }
        let number = tree.number();
        tree.locks.insert(path.to_owned(), number);
        Ok(Some(Box::new(MemoryGuard { store: self.clone(), path: path.to_owned(), number })))
    }
}

#[derive(Debug)]
struct Parts {
    store: Memory,
    path: String,
    ranges: Vec<Range<u64>>,
}

impl Ticket for Parts {
    fn wait(self: Box<Self>) -> Result<Vec<Bytes>> {
        file_parts(&self.path)?;
        self.store.tree().read(&self.path, &self.ranges).map_err(|e| e.at_path(self.store.shown(&self.path)))
    }
}

#[derive(Debug)]
struct MemoryWriter {
    store: Memory,
    path: String,
    number: u64,
    written: Vec<u8>,
}

impl Writer for MemoryWriter {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.written.extend_from_slice(bytes);
        Ok(())
    }

    fn close(mut self: Box<Self>) -> Result<Put> {
        let written = Bytes::from(std::mem::take(&mut self.written));
        let mut tree = self.store.tree();
        if tree.unfinished.remove(&self.number).is_none() {
            return Err(Error::storage("the write was discarded").at_path(self.store.shown(&self.path)));
        }
        tree.create(&self.path, written, self.store.clock.now_ms())
    }
}

impl Drop for MemoryWriter {
    fn drop(&mut self) {
        self.store.tree().unfinished.remove(&self.number);
    }
}

#[derive(Debug)]
struct MemoryGuard {
    store: Memory,
    path: String,
    number: u64,
}

impl LockGuard for MemoryGuard {
    fn still_held(&self) -> Result<bool> {
        Ok(self.store.tree().locks.get(&self.path) == Some(&self.number))
    }
}

impl Drop for MemoryGuard {
    fn drop(&mut self) {
        let mut tree = self.store.tree();
        if tree.locks.get(&self.path) == Some(&self.number) {
            tree.locks.remove(&self.path);
        }
    }
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(parent, _)| parent)
}
