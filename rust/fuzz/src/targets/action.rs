//! Payloads of timeline files. The first byte says which kind the rest is read as.

use hudini_format::ErrorKind;
use hudini_format::action::{CommitOutline, Payload, to_json};
use hudini_format::instant::{Action, State};

use super::{Input, Target, decode, decode_declared, nothing_to_mend, survives};

pub(super) const TARGET: Target = Target {
    name: "action",
    run,
    words: &[
        b"Obj\x01",
        b"avro.schema",
        b"avro.codec",
        b"deflate",
        b"partitionToWriteStats",
        b"partitionToReplaceFileIds",
        b"extraMetadata",
        b"operationType",
        b"\"type\":",
        b"[\"null\",",
        b"\"record\"",
        b"\"array\"",
        b"\"map\"",
        b"\"fixed\"",
        b"\"name\":",
        b"\"fields\":[",
        b"{",
        b"}",
        b"null",
        b"1e999",
    ],
    mend: nothing_to_mend,
};

/// What the first byte chooses.
const KINDS: [(Action, State); 16] = [
    (Action::Commit, State::Completed),
    (Action::Compaction, State::Requested),
    (Action::Rollback, State::Requested),
    (Action::Rollback, State::Completed),
    (Action::Clean, State::Completed),
    (Action::Clean, State::Requested),
    (Action::ReplaceCommit, State::Completed),
    (Action::ReplaceCommit, State::Requested),
    (Action::Clustering, State::Requested),
    (Action::LogCompaction, State::Inflight),
    (Action::Restore, State::Requested),
    (Action::Restore, State::Completed),
    (Action::Savepoint, State::Completed),
    (Action::Indexing, State::Requested),
    (Action::Indexing, State::Completed),
    (Action::SchemaCommit, State::Completed),
];

/// A shown tree names each value, even a null of one byte.
const SHOWN: usize = 32;

/// The choice for a timeline file.
pub(crate) fn choice_of(action: Action, state: State) -> Option<u8> {
    let kind = match (action, state) {
        (Action::DeltaCommit, _) | (Action::Commit | Action::ReplaceCommit, State::Inflight) => KINDS[0],
        (Action::LogCompaction, State::Requested) => KINDS[1],
        kind => kind,
    };
    KINDS.iter().position(|k| *k == kind).and_then(|at| u8::try_from(at).ok())
}

fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let (action, state) = KINDS[usize::from(input.choice()) % KINDS.len()];
    let bytes = input.rest();
    let read = |bytes: &[u8]| Payload::decode(action, state, bytes);
    if let Some(payload) = decode(bytes, read) {
        // A schema of the file's own may read a field as ours, and have no place for it when it comes back.
        match payload.encode() {
            Err(error) if error.kind() == ErrorKind::SchemaMismatch => {}
            _ => drop(survives(&payload, Payload::encode, read)),
        }
        if let Payload::Commit(commit) = &payload {
            let outline = CommitOutline::decode(bytes).expect("what can be read in full can be read in part");
            assert!(outline.schema() == commit.schema() && outline.operation_type == commit.operation_type);
            let _ = commit.write_stats().count();
        }
    }
    decode_declared(bytes, bytes.len() * SHOWN, to_json);
}
