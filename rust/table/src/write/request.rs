//! What a caller asks of a write, and what the write answers.

use std::collections::BTreeMap;

use crate::options::{self, IndexType, Operation, Options, Unsupported};
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
    /// What `DeletePartitions` takes away, by path.
    pub partitions: Vec<String>,
    pub schema_mode: SchemaMode,
    /// A write under a key that a commit has already is not done again.
    pub idempotency_key: Option<String>,
}

/// What becomes of rows whose columns are not quite those of the table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SchemaMode {
    /// They are refused.
    #[default]
    Strict,
    /// New columns are added to the table, behind its own; columns that the rows lack are null.
    Evolve,
}

impl SchemaMode {
    pub fn parse(word: &str) -> Result<Self> {
        match word {
            "strict" => Ok(Self::Strict),
            "evolve" => Ok(Self::Evolve),
            _ => Err(Error::option(format!("schema_mode is 'evolve' or 'strict', not '{word}'"))),
        }
    }
}

impl WriteRequest {
    pub fn new(operation: Operation) -> Self {
        Self {
            operation,
            options: Options::default(),
            metadata: BTreeMap::new(),
            seed: None,
            partitions: Vec::new(),
            schema_mode: SchemaMode::default(),
            idempotency_key: None,
        }
    }
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
}

/// Metadata keys that mean something.
const RESERVED_METADATA: [&str; 3] = ["schema", "latest_schema", IDEMPOTENCY_KEY];

/// Metadata key under which a commit keeps the key that its caller gave.
pub(super) const IDEMPOTENCY_KEY: &str = "hudini.idempotency.key";

/// What the request's options say must be something that this writer does.
pub(super) fn check(operation: Operation, given: &Options, metadata: &BTreeMap<String, String>) -> Result<()> {
    let told = given.get(&options::OPERATION)?;
    if let Some(told) = told.filter(|told| *told != operation && (told.replaces() || operation.replaces())) {
        return Err(Error::option(format!("{}={told}, and this is {operation}", options::OPERATION.key())));
    }
    let keys = metadata.keys().chain(given.commit_metadata().keys());
    if let Some(key) = keys.into_iter().find(|key| RESERVED_METADATA.contains(&key.as_str())) {
        return Err(Error::option(format!("the metadata key '{key}' has a meaning of its own"))
            .with_hint("choose another name"));
    }
    given.get(&options::INDEX_TYPE)?.map_or(Ok(()), IndexType::require_writable)?;
    refuse_metadata_table(given)?;
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
