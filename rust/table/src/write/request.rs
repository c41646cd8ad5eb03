//! What a caller asks of a write, and what the write answers.

use std::collections::BTreeMap;

use hudini_format::action::WriteStat;

use crate::options::{self, IndexType, Operation, Options};
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
    /// What `DeletePartitions` takes away, by path.
    pub partitions: Vec<String>,
    pub schema_mode: SchemaMode,
    /// A write under a key that a commit has already is not done again.
    pub idempotency_key: Option<String>,
    /// Whether the caller has all rows in memory anyway, so that none need go to disk.
    pub is_in_memory: bool,
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
            is_in_memory: false,
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

impl WriteRequest {
    /// The partitions to delete, by argument or by option.
    pub(super) fn doomed(&self) -> Result<Vec<String>> {
        let Some(told) = self.options.get(&options::PARTITIONS_TO_DELETE)? else { return Ok(self.partitions.clone()) };
        if self.operation == Operation::DeletePartitions && (self.partitions.is_empty() || self.partitions == told) {
            return Ok(told);
        }
        let key = options::PARTITIONS_TO_DELETE.key();
        Err(Error::option(format!("{key} is {}, which this {} does not do", told.join(","), self.operation))
            .with_hint("leave the option out"))
    }
}

/// Metadata keys that mean something.
const RESERVED_METADATA: [&str; 3] = ["schema", "latest_schema", IDEMPOTENCY_KEY];

/// Metadata key under which a commit keeps the key that its caller gave.
pub(super) const IDEMPOTENCY_KEY: &str = "hudini.idempotency.key";

/// What the request's options say must be something that this writer does. `given`: with those of the table's handle, of
/// which the operation is one for all its writes.
pub(super) fn check(request: &WriteRequest, given: &Options) -> Result<()> {
    let operation = request.operation;
    if let Some(told) = request.options.get(&options::OPERATION)?.filter(|told| *told != operation) {
        return Err(Error::option(format!("{}={told}, and this is {operation}", options::OPERATION.key()))
            .with_hint("leave the option out, or call what it names"));
    }
    let keys = request.metadata.keys().chain(given.commit_metadata().keys());
    if let Some(key) = keys.into_iter().find(|key| RESERVED_METADATA.contains(&key.as_str())) {
        return Err(Error::option(format!("the metadata key '{key}' has a meaning of its own"))
            .with_hint("choose another name"));
    }
    given.get(&options::INDEX_TYPE)?.map_or(Ok(()), IndexType::require_writable)?;
    if given.get_or_default(&options::COLUMN_DROP)? {
        return Err(Error::unsupported(format!("{}=true", options::COLUMN_DROP.key()))
            .with_hint("columns that the rows lack are null; leave the option out"));
    }
    service::check_options(given)?;
    given.get(&options::BUCKET_ENGINE)?;
    given.get(&options::LOG_BLOCK_FORMAT)?;
    given.get(&options::CONCURRENCY_MODE)?;
    given.get(&options::UNSUPPORTED).map(drop)
}
