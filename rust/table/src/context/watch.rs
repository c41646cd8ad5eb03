//! A long call seen from outside: how far it is, and whether it is still wanted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::{Error, Result};

/// Held by who does the work and by who watches it; clones are the same watch.
#[derive(Debug, Clone, Default)]
pub struct Watch(Arc<Figures>);

#[derive(Debug, Default)]
struct Figures {
    cancelled: AtomicBool,
    parts: AtomicU64,
    done: AtomicU64,
    rows: AtomicU64,
    bytes: AtomicU64,
}

/// How far a call is. Parts are file slices, or what else it goes through one by one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    pub parts: u64,
    pub done: u64,
    pub rows: u64,
    /// Read from storage.
    pub bytes: u64,
}

impl Watch {
    /// Asks the work to end. It does so with an error, at the next file access or batch of rows.
    pub fn cancel(&self) {
        self.0.cancelled.store(true, Ordering::SeqCst);
    }

    /// An error once the work is not wanted any more.
    pub fn check(&self) -> Result<()> {
        if self.0.cancelled.load(Ordering::SeqCst) { Err(Error::internal("the work was cancelled")) } else { Ok(()) }
    }

    /// More parts are to be done.
    pub fn expect(&self, parts: usize) {
        self.0.parts.fetch_add(parts as u64, Ordering::Relaxed);
    }

    pub fn part_done(&self) {
        self.0.done.fetch_add(1, Ordering::Relaxed);
    }

    pub fn add_rows(&self, rows: usize) {
        self.0.rows.fetch_add(rows as u64, Ordering::Relaxed);
    }

    pub fn add_bytes(&self, bytes: usize) {
        self.0.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub fn progress(&self) -> Progress {
        let figure = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Progress {
            parts: figure(&self.0.parts),
            done: figure(&self.0.done),
            rows: figure(&self.0.rows),
            bytes: figure(&self.0.bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_cancels_is_heard_by_all() {
        let watch = Watch::default();
        let other = watch.clone();
        assert!(other.check().is_ok());
        watch.cancel();
        assert!(other.check().is_err());
    }

    #[test]
    fn figures_add_up() {
        let watch = Watch::default();
        watch.expect(3);
        watch.part_done();
        watch.add_rows(5);
        watch.add_rows(2);
        watch.add_bytes(9);
        assert_eq!(watch.progress(), Progress { parts: 3, done: 1, rows: 7, bytes: 9 });
    }
}
