//! A folder of a store as a store of its own.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::{Entry, LockGuard, Meta, Put, Storage, Ticket, Writer};
use crate::Result;

/// The metadata table lies within its table's folder, and is a table all the same.
#[derive(Debug, Clone)]
pub struct Folder {
    store: Arc<dyn Storage>,
    dir: String,
    root: String,
}

impl Folder {
    /// `dir` need not be there.
    pub fn new(store: Arc<dyn Storage>, dir: &str) -> Self {
        let root = format!("{}/{dir}", store.root().trim_end_matches('/'));
        Self { store, dir: dir.to_owned(), root }
    }

    /// Of a file: the empty path is none here, and none there.
    fn path(&self, path: &str) -> String {
        format!("{}/{path}", self.dir)
    }

    fn dir(&self, dir: &str) -> String {
        if dir.is_empty() { self.dir.clone() } else { self.path(dir) }
    }
}

impl Storage for Folder {
    fn root(&self) -> &str {
        &self.root
    }

    fn head(&self, path: &str) -> Result<Option<Meta>> {
        self.store.head(&self.path(path))
    }

    fn read(&self, path: &str) -> Result<Option<Bytes>> {
        self.store.read(&self.path(path))
    }

    fn submit(&self, path: &str, ranges: Vec<Range<u64>>) -> Box<dyn Ticket> {
        self.store.submit(&self.path(path), ranges)
    }

    fn list(&self, dir: &str) -> Result<Vec<Entry>> {
        self.store.list(&self.dir(dir))
    }

    fn create(&self, path: &str, bytes: &[u8]) -> Result<Put> {
        self.store.create(&self.path(path), bytes)
    }

    fn replace(&self, path: &str, bytes: &[u8]) -> Result<Meta> {
        self.store.replace(&self.path(path), bytes)
    }

    fn put_if_match(&self, path: &str, bytes: &[u8], etag: &str) -> Result<Put> {
        self.store.put_if_match(&self.path(path), bytes, etag)
    }

    fn delete(&self, path: &str) -> Result<bool> {
        self.store.delete(&self.path(path))
    }

    fn make_dir(&self, dir: &str) -> Result<()> {
        self.store.make_dir(&self.dir(dir))
    }

    fn delete_dir(&self, dir: &str) -> Result<()> {
        self.store.delete_dir(&self.dir(dir))
    }

    fn writer(&self, path: &str) -> Result<Box<dyn Writer>> {
        self.store.writer(&self.path(path))
    }

    fn discard_unfinished(&self, path: &str) -> Result<()> {
        self.store.discard_unfinished(&self.path(path))
    }

    fn try_lock(&self, path: &str) -> Result<Option<Box<dyn LockGuard>>> {
        self.store.try_lock(&self.path(path))
    }
}
