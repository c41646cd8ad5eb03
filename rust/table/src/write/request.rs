//! What a caller asks of a write, and what the write answers.

use std::collections::BTreeMap;

use hudini_format::action::WriteStat;

use crate::options::{self, Operation, Options};
use crate::service;
use crate::{Error, Result};

/// What a caller wants written, without the rows.
#[derive(Debug, Clone)]
pub struct WriteRequest {
    pub operation: Operation,
    pub options: Options,
    /// What users attach to the commit.
    pub metadata: BTreeMap<String, String>,
    /// Of new file ids; by chance if none is given.
    pub seed: Option<u128>,
}

/// What a write did.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CommitResult {
    /// `None`: there was nothing to write, and nothing was committed.
    pub instant: Option<String>,
    pub completed: Option<String>,
    pub action: Option<&'static str>,
    pub operation: &'static str,
    pub inserted: u64,
    pub updated: u64,
    pub deleted: u64,
    pub files_added: u64,
    /// Base files that a newer one took the place of; a clean deletes them.
    pub files_removed: u64,
    pub bytes_written: u64,
    pub seconds: f64,
    pub retries: u32,
    /// What went wrong after the commit, which stands.
    pub warnings: Vec<String>,
}

impl CommitResult {
    /// The counts of what was written.
    pub(crate) fn of_stats(stats: &[WriteStat]) -> Self {
        let sum = |of: fn(&WriteStat) -> Option<i64>| {
            stats.iter().map(|s| u64::try_from(of(s).unwrap_or(0)).unwrap_or(0)).sum()
        };
        Self {
            inserted: sum(|s| s.num_inserts),
            updated: sum(|s| s.num_update_writes),
            deleted: sum(|s| s.num_deletes),
            files_added: stats.len() as u64,
            files_removed: stats.iter().filter(|s| s.prev_base_file.is_some()).count() as u64,
            bytes_written: sum(|s| s.file_size_in_bytes),
            ..Self::default()
        }
    }

    pub(crate) fn warned(mut self, warning: &str) -> Self {
        self.warnings.push(warning.to_owned());
        self
    }

    /// This and a later one in one.
    #[must_use]
    pub fn and(self, later: Self) -> Self {
        Self {
            inserted: self.inserted + later.inserted,
            updated: self.updated + later.updated,
            deleted: self.deleted + later.deleted,
            files_added: self.files_added + later.files_added,
            files_removed: self.files_removed + later.files_removed,
            bytes_written: self.bytes_written + later.bytes_written,
            seconds: self.seconds + later.seconds,
            retries: self.retries + later.retries,
            warnings: self.warnings.into_iter().chain(later.warnings).collect(),
            ..later
        }
    }
}

/// Metadata keys by which commits state the table's schema.
const RESERVED_METADATA: [&str; 2] = ["schema", "latest_schema"];

/// What the request's options say must be something that this writer does.
pub(super) fn check(given: &Options, metadata: &BTreeMap<String, String>) -> Result<()> {
    let keys = metadata.keys().chain(given.commit_metadata().keys());
    if let Some(key) = keys.into_iter().find(|key| RESERVED_METADATA.contains(&key.as_str())) {
        return Err(
            Error::option(format!("the metadata key '{key}' is Apache Hudi's own")).with_hint("choose another name")
        );
    }
    given.get_or_default(&options::INDEX_TYPE)?.require_bucket()?;
    service::check_options(given)?;
    given.get(&options::BUCKET_ENGINE)?;
    given.get(&options::LOG_BLOCK_FORMAT)?;
    given.get(&options::CONCURRENCY_MODE)?;
    given.get(&options::UNSUPPORTED).map(drop)
}
