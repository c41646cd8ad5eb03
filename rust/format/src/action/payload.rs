//! Any timeline file: which record it must hold, and what it does hold.

use serde_json::Value;

use super::container::{Container, MAGIC};
use super::datum::{Budget, Decoder};
use super::{
    CleanMetadata, CleanerPlan, CommitMetadata, CompactionPlan, IndexCommitMetadata, IndexPlan,
    RequestedReplaceMetadata, RestoreMetadata, RestorePlan, RollbackMetadata, RollbackPlan, SavepointMetadata, json,
};
use crate::instant::{Action, State};
use crate::schema::Record;
use crate::{Error, Result};

/// The content of a timeline file, typed by the file's action and state.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Payload {
    Empty,
    Commit(CommitMetadata),
    RequestedReplace(RequestedReplaceMetadata),
    CompactionPlan(CompactionPlan),
    CleanerPlan(CleanerPlan),
    Clean(CleanMetadata),
    RollbackPlan(RollbackPlan),
    Rollback(RollbackMetadata),
    RestorePlan(RestorePlan),
    Restore(RestoreMetadata),
    Savepoint(SavepointMetadata),
    IndexPlan(IndexPlan),
    Index(IndexCommitMetadata),
    /// The JSON text of a table's schemas, newest first.
    Schemas(String),
}

impl Payload {
    /// Decodes a file of either layout. Where a file ought to be empty and is not, its bytes are refused.
    pub fn decode(action: Action, state: State, bytes: &[u8]) -> Result<Self> {
        if bytes.is_empty() {
            return Ok(Self::Empty);
        }
        match (action, state) {
            (action, State::Completed) if action.writes_data() => CommitMetadata::decode(bytes).map(Self::Commit),
            // Upgrades and downgrades fill requested files too.
            (Action::Commit | Action::DeltaCommit, _) | (Action::ReplaceCommit, State::Inflight) => {
                CommitMetadata::decode(bytes).map(Self::Commit)
            }
            (Action::ReplaceCommit | Action::Clustering, State::Requested) => {
                RequestedReplaceMetadata::decode(bytes).map(Self::RequestedReplace)
            }
            // An upgrade from version 6 gives every replacing action the name of clustering, its profile stays.
            (Action::Clustering, State::Inflight) => CommitMetadata::decode(bytes).map(Self::Commit),
            (Action::Compaction | Action::LogCompaction, State::Requested | State::Inflight) => {
                CompactionPlan::decode(bytes).map(Self::CompactionPlan)
            }
            (Action::Clean, State::Completed) => CleanMetadata::decode(bytes).map(Self::Clean),
            (Action::Clean, _) => CleanerPlan::decode(bytes).map(Self::CleanerPlan),
            (Action::Rollback, State::Completed) => RollbackMetadata::decode(bytes).map(Self::Rollback),
            (Action::Rollback, _) => RollbackPlan::decode(bytes).map(Self::RollbackPlan),
            (Action::Restore, State::Completed) => RestoreMetadata::decode(bytes).map(Self::Restore),
            (Action::Restore, _) => RestorePlan::decode(bytes).map(Self::RestorePlan),
            (Action::Savepoint, State::Completed) => SavepointMetadata::decode(bytes).map(Self::Savepoint),
            (Action::Indexing, State::Completed) => IndexCommitMetadata::decode(bytes).map(Self::Index),
            (Action::Indexing, _) => IndexPlan::decode(bytes).map(Self::IndexPlan),
            (Action::SchemaCommit, State::Completed) => Ok(Self::Schemas(json::text(bytes, "schema history")?)),
            (action, state) => {
                let message = format!("{} bytes in a file {action}.{} that should be empty", bytes.len(), state.name());
                Err(Error::corrupt(message).at_offset(0))
            }
        }
    }

    /// Encodes for layout 2.
    pub fn encode(&self) -> Result<Vec<u8>> {
        match self {
            Self::Empty => Ok(Vec::new()),
            Self::Commit(payload) => payload.encode(),
            Self::RequestedReplace(payload) => payload.encode(),
            Self::CompactionPlan(payload) => payload.encode(),
            Self::CleanerPlan(payload) => payload.encode(),
            Self::Clean(payload) => payload.encode(),
            Self::RollbackPlan(payload) => payload.encode(),
            Self::Rollback(payload) => payload.encode(),
            Self::RestorePlan(payload) => payload.encode(),
            Self::Restore(payload) => payload.encode(),
            Self::Savepoint(payload) => payload.encode(),
            Self::IndexPlan(payload) => payload.encode(),
            Self::Index(payload) => payload.encode(),
            Self::Schemas(text) => Ok(text.clone().into_bytes()),
        }
    }
}

/// Shows a timeline file of either layout with every field that it holds, known or not, under Apache Hudi's names and in
/// the file's order. An empty file is null. Meant for eyes: the tree takes far more memory than [`Payload`].
pub fn to_json(bytes: &[u8]) -> Result<Value> {
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    if !bytes.starts_with(MAGIC) {
        return json::tree(bytes, "a timeline file");
    }
    let container = Container::parse(bytes)?;
    let budget = Budget::of_tree(bytes.len().max(container.record.len()));
    tree(&container.record, container.offset, &Record::parse(container.schema)?, budget)
}

/// Shows one Avro datum with every field that it holds, of any schema: also of one that has no columns, such as that of
/// metadata records. Logical types are left out: a date is a number. `offset` is the datum's, for errors.
pub fn datum_to_json(datum: &[u8], offset: u64, schema: &Record) -> Result<Value> {
    tree(datum, offset, schema, Budget::of_tree(datum.len()))
}

fn tree(datum: &[u8], offset: u64, schema: &Record, budget: Budget) -> Result<Value> {
    let mut decoder = Decoder::new(datum, offset, budget);
    let value = decoder.read(schema)?;
    decoder.finish()?;
    Ok(value)
}
