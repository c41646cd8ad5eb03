//! Traces of writers: who holds a lock, who gives signs of life, and which files unfinished writes have begun.

use std::collections::BTreeSet;

use crate::concurrency::{self, LockKind, Marked};
use crate::storage::Entry;
use crate::table::Table;
use crate::{ErrorKind, Result};

/// A lock or a sign of life that lies on storage.
#[derive(Debug, Clone, PartialEq)]
pub struct LockLine {
    pub kind: &'static str,
    pub path: String,
    /// Of a writer: the action that it is at.
    pub instant: Option<String>,
    /// `None` where a store cannot tell.
    pub held: Option<bool>,
    /// Since it was written last.
    pub age_ms: i64,
}

/// What is there of locks and signs of life. A lock is tried, and let go at once: nothing else tells whether it is held.
pub fn locks(table: &Table) -> Result<Vec<LockLine>> {
    let (storage, now) = (table.storage.as_ref(), table.context.clock.now_ms());
    let patience = concurrency::patience_ms(&table.options)?;
    let mut lines = Vec::new();
    for place in concurrency::lock_places(storage)? {
        let Some(file) = storage.head(&place.path)? else { continue };
        let age_ms = (now - file.modified_ms).max(0);
        let held = match place.kind {
            LockKind::Table | LockKind::Services | LockKind::Life => match storage.try_lock(&place.path) {
                Ok(guard) => Some(guard.is_none()),
                Err(e) if e.kind() == ErrorKind::UnsupportedFeature => None,
                Err(e) => return Err(e),
            },
            LockKind::Shared => Some(true),
            LockKind::Heartbeat => Some(age_ms <= patience),
        };
        lines.push(LockLine { kind: place.kind.name(), path: place.path, instant: place.instant, held, age_ms });
    }
    Ok(lines)
}

/// The files that unfinished writes have begun, with their instants.
pub fn markers(table: &Table) -> Result<Vec<(String, Marked)>> {
    let storage = table.storage.as_ref();
    let mut instants = BTreeSet::new();
    for entry in storage.list(concurrency::TEMP)? {
        if let Entry::Dir { name } = entry {
            instants.insert(name);
        }
    }
    let mut found = Vec::new();
    for instant in instants {
        found.extend(concurrency::list_markers(storage, &instant)?.into_iter().map(|marked| (instant.clone(), marked)));
    }
    Ok(found)
}
