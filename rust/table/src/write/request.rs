//! What a caller asks of a write, and what the write answers.

use std::collections::BTreeMap;

use hudini_format::action::WriteStat;

use crate::context::Watch;
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
    /// Who may end the write before it commits.
    pub watch: Watch,
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
            watch: Watch::default(),
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
    /// The files that were added.
    pub files: Vec<AddedFile>,
    /// Given, and of no effect on writes.
    pub options_without_effect: Vec<String>,
}

/// A file that a commit brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddedFile {
    pub partition: String,
    pub file_id: String,
    pub name: String,
    /// The file of which it takes the place.
    pub replaces: Option<String>,
    /// In a base file those that it holds, in a log those that it changes.
    pub rows: u64,
    pub deletes: u64,
    pub bytes: u64,
}

fn counted(number: Option<i64>) -> u64 {
    number.and_then(|n| u64::try_from(n).ok()).unwrap_or(0)
}

impl AddedFile {
    fn of(stat: &WriteStat) -> Self {
        let path = stat.path.as_deref().unwrap_or_default();
        Self {
            partition: stat.partition_path.clone().unwrap_or_default(),
            file_id: stat.file_id.clone().unwrap_or_default(),
            name: path.rsplit('/').next().unwrap_or(path).to_owned(),
            replaces: stat.prev_base_file.clone(),
            rows: counted(stat.num_writes),
            deletes: counted(stat.num_deletes),
            bytes: counted(stat.file_size_in_bytes),
        }
    }
}

impl CommitResult {
    /// What was written, counted.
    pub(crate) fn of_stats<'s>(stats: impl IntoIterator<Item = &'s WriteStat>) -> Self {
        let mut result = Self::default();
        for stat in stats {
            result.inserted += counted(stat.num_inserts);
            result.updated += counted(stat.num_update_writes);
            result.deleted += counted(stat.num_deletes);
            result.files_added += 1;
            result.files_removed += u64::from(stat.prev_base_file.is_some());
            result.bytes_written += counted(stat.file_size_in_bytes);
            result.files.push(AddedFile::of(stat));
        }
        result
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
            files: self.files.into_iter().chain(later.files).collect(),
            ..later
        }
    }
}

impl WriteRequest {
    /// Whether its commit tells something, rows or no rows. `handle`: the options of the table's handle.
    pub(super) fn tells(&self, handle: &Options) -> bool {
        let told = [&self.metadata, self.options.commit_metadata(), handle.commit_metadata()];
        told.iter().any(|told| !told.is_empty())
    }

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
