//! What a caller asks of a write, and what the write answers.

use std::collections::BTreeMap;

use crate::options::{self, Operation, Options, Unsupported};
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
    /// What went wrong after the commit, which stands all the same: table services that are left to the next write.
    pub warnings: Vec<String>,
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
    refuse_metadata_table(given)?;
    service::check_options(given)?;
    given.get(&options::BUCKET_ENGINE)?;
    given.get(&options::LOG_BLOCK_FORMAT)?;
    given.get(&options::CONCURRENCY_MODE)?;
    given.get(&options::UNSUPPORTED).map(drop)
}

/// The default, which asks for it too, cannot be refused: nobody said it.
fn refuse_metadata_table(given: &Options) -> Result<()> {
    let warned = given.get_or_default(&options::UNSUPPORTED)? == Unsupported::Warn;
    if warned || given.get(&options::METADATA_ENABLE)? != Some(true) {
        return Ok(());
    }
    let key = options::METADATA_ENABLE.key();
    Err(Error::unsupported(format!("option {key}: no write keeps the metadata table"))
        .with_hint(format!("leave {key} out, or allow it with hudini.unsupported=warn; no row changes")))
}
