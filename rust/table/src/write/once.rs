//! Writes under a key of their caller's: one that was committed is not done again.

use hudini_format::action::CommitMetadata;

use super::request::{CommitResult, IDEMPOTENCY_KEY, WriteRequest};
use crate::options::Operation;
use crate::storage::Storage;
use crate::table::Table;
use crate::timeline::{Instant, Timeline, again_if_gone};
use crate::{Error, Result};

pub(super) fn has_key(metadata: &CommitMetadata, key: &str) -> bool {
    key_of(metadata) == Some(key)
}

fn key_of(metadata: &CommitMetadata) -> Option<&str> {
    metadata.extra_metadata.as_ref()?.get(IDEMPOTENCY_KEY).map(String::as_str)
}

/// The key of a stream's batch counts on: a stream commits its batches one after the other.
fn batch_of(key: &str) -> Option<(&str, u64)> {
    let (stream, batch) = key.strip_prefix("stream ")?.rsplit_once(" batch ")?;
    Some((stream, batch.parse().ok()?))
}

/// What a commit under another key says of this one.
enum Other {
    Nothing,
    /// A later batch is there, and this one's commit is before it or was never made.
    Later,
    /// All before this one are older, so it is not there.
    Earlier,
}

impl Other {
    fn of(told: &str, key: &str) -> Self {
        match (batch_of(told), batch_of(key)) {
            (Some((one, told)), Some((other, asked))) if one == other && told > asked => Self::Later,
            (Some((one, told)), Some((other, asked))) if one == other && told < asked => Self::Earlier,
            _ => Self::Nothing,
        }
    }
}

/// Spark hands only the newest batch over again. Who hands over an older one counts anew from another checkpoint, and its
/// rows are others.
fn counts_anew(key: &str, newest: &str) -> Error {
    Error::option(format!(
        "'{key}' comes behind '{newest}', which was committed: the stream's batches are counted anew"
    ))
    .with_hint("a stream that begins from another checkpoint needs another query_id")
}

/// What a write under the request's key did, if there was one, however long ago.
pub fn committed(table: &Table, request: &WriteRequest) -> Result<Option<CommitResult>> {
    let Some(key) = &request.idempotency_key else { return Ok(None) };
    again_if_gone(|| find(table, request.operation, key))
}

/// What the write under that key did, if it was committed; `operation` says what it is called if the commit does not. The
/// history is asked only where the active timeline does not settle it.
fn find(table: &Table, operation: Operation, key: &str) -> Result<Option<CommitResult>> {
    let (config, storage) = (table.config()?, table.storage.as_ref());
    let active = Timeline::load(storage, &config)?;
    match look(storage, &active, operation, key)? {
        Looked::Found(done) => return Ok(Some(*done)),
        Looked::NotThere => return Ok(None),
        Looked::FurtherBack => {}
    }
    let mut archived = active.with_history(storage, &config)?;
    archived.instants.retain(Instant::is_archived);
    Ok(match look(storage, &archived, operation, key)? {
        Looked::Found(done) => Some(*done),
        Looked::NotThere | Looked::FurtherBack => None,
    })
}

enum Looked {
    Found(Box<CommitResult>),
    NotThere,
    /// If anywhere.
    FurtherBack,
}

fn look(storage: &dyn Storage, timeline: &Timeline, operation: Operation, key: &str) -> Result<Looked> {
    for instant in timeline.commits().rev() {
        let metadata = timeline.commit_metadata(storage, instant)?;
        let Some(told) = key_of(&metadata) else { continue };
        if told == key {
            let operation_then = metadata.operation_type.as_deref().and_then(|word| Operation::parse(word).ok());
            return Ok(Looked::Found(Box::new(result(operation_then.unwrap_or(operation), instant, &metadata))));
        }
        match Other::of(told, key) {
            Other::Nothing => {}
            Other::Later => return Err(counts_anew(key, told)),
            Other::Earlier => return Ok(Looked::NotThere),
        }
    }
    Ok(Looked::FurtherBack)
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
