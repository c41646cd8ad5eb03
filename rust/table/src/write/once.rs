//! Writes under a key of their caller's: one that was committed is not done again.

use hudini_format::action::CommitMetadata;

use super::request::{CommitResult, IDEMPOTENCY_KEY, WriteRequest};
use crate::Result;
use crate::options::Operation;
use crate::table::Table;
use crate::timeline::{Instant, Timeline};

pub(super) fn has_key(metadata: &CommitMetadata, key: &str) -> bool {
    metadata.extra_metadata.as_ref().and_then(|extra| extra.get(IDEMPOTENCY_KEY)).is_some_and(|found| found == key)
}

/// How far back is looked for a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Back {
    ToTheFirst,
    /// To the oldest that is not archived.
    ToTheArchived,
}

/// What a write under the request's key did, if there was one, however long ago.
pub fn committed(table: &Table, request: &WriteRequest) -> Result<Option<CommitResult>> {
    let Some(key) = &request.idempotency_key else { return Ok(None) };
    find(table, request.operation, key, Back::ToTheFirst)
}

/// What the write under that key did, if it was committed; `operation` says what it is called if the commit does not.
pub(super) fn find(table: &Table, operation: Operation, key: &str, back: Back) -> Result<Option<CommitResult>> {
    let (config, storage) = (table.config()?, table.storage.as_ref());
    let mut found = Timeline::load(storage, &config)?;
    if back == Back::ToTheFirst {
        found = found.with_history(storage, &config)?;
    }
    for instant in found.commits().rev() {
        let metadata = found.commit_metadata(storage, instant)?;
        if has_key(&metadata, key) {
            let told = metadata.operation_type.as_deref().and_then(|word| Operation::parse(word).ok());
            return Ok(Some(result(told.unwrap_or(operation), instant, &metadata)));
        }
    }
    Ok(None)
}

fn result(operation: Operation, instant: &Instant, metadata: &CommitMetadata) -> CommitResult {
    let mut result = CommitResult {
        instant: Some(instant.requested.clone()),
        completed: instant.completed.clone(),
        action: Some(instant.action.name()),
        operation: operation.word(),
        ..CommitResult::of_stats(metadata.write_stats())
    };
    let replaced = metadata.partition_to_replace_file_ids.iter().flatten();
    result.files_removed += replaced.map(|(_, ids)| ids.len() as u64).sum::<u64>();
    result
}
