//! Archived history: what the active timeline no longer holds.
//!
//! Layout 2 keeps it as a log-structured merge tree in `.hoodie/timeline/history`:
//!
//! ```text
//! _version_                          the number N of the newest manifest
//! manifest_N                         which history files are valid                    → [`Manifest`]
//! <least>_<greatest>_<level>.parquet one row an action, by requested time             → [`FileName`], [`Reader`], [`write`]
//! ```
//!
//! Archiving adds a file of level 0; files of one level are merged into one of the next. Layout 1 appends to log files,
//! see [`archive`]. Both give [`Entry`]s.

pub mod archive;
mod manifest;
mod name;
mod parquet;

pub use self::manifest::{HistoryFile, Manifest, VERSION_FILE, latest_version, manifest_name, parse_version};
pub use self::name::FileName;
pub use self::parquet::{Columns, Reader, completed_after, write};

use crate::instant::Action;

/// A completed action, whichever timeline it was archived from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub requested: String,
    /// Layout 1 may not have known it.
    pub completed: Option<String>,
    /// As it completed: a compaction is a commit. None if it was not asked for.
    pub action: Option<Action>,
    /// The completed file as it was, a container even where layout 1 had JSON; none if that was empty, or not asked for.
    pub metadata: Option<Vec<u8>>,
    /// Of a clean, compaction or log compaction the requested file. Of a replacing action the requested file too, or the
    /// inflight file if that held anything. Otherwise none.
    pub plan: Option<Vec<u8>>,
}

#[cfg(test)]
mod tests;
