//! Where locks and signs of life lie, for who wants to see them all.

use super::{heart, lock, lock_file};
use crate::Result;
use crate::storage::{Entry, Storage};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LockKind {
    Table,
    Services,
    /// Held as long as a writer of ours lives.
    Life,
    /// Touched again and again by a writer, whoever's.
    Heartbeat,
    /// The lock file that Apache Hudi asks for.
    Shared,
}

impl LockKind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::Services => "services",
            Self::Life => "writer",
            Self::Heartbeat => "heartbeat",
            Self::Shared => "shared",
        }
    }
}

pub(crate) struct LockPlace {
    pub(crate) kind: LockKind,
    pub(crate) path: String,
    pub(crate) instant: Option<String>,
}

/// The table's own first, then those of writers by their instants. Not all need be there.
pub(crate) fn lock_places(storage: &dyn Storage) -> Result<Vec<LockPlace>> {
    let fixed = [
        (LockKind::Table, lock::PATH.to_owned()),
        (LockKind::Services, lock::SERVICES.to_owned()),
        (LockKind::Shared, lock_file::path_in_table()),
    ];
    let mut places: Vec<LockPlace> =
        fixed.into_iter().map(|(kind, path)| LockPlace { kind, path, instant: None }).collect();
    let mut of_writers = Vec::new();
    for time in heart::lives(storage)? {
        let path = heart::life_lock_path(&time);
        of_writers.push(LockPlace { kind: LockKind::Life, path, instant: Some(time) });
    }
    for entry in storage.list(heart::BEATS)? {
        if let Entry::File { name, .. } = entry {
            let path = heart::heartbeat_path(&name);
            of_writers.push(LockPlace { kind: LockKind::Heartbeat, path, instant: Some(name) });
        }
    }
    of_writers.sort_by(|a, b| (&a.instant, a.kind.name()).cmp(&(&b.instant, b.kind.name())));
    places.extend(of_writers);
    Ok(places)
}
