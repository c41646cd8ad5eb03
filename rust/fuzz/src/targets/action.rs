//! Payloads of timeline files. The first byte says which kind the rest is read as.

use hudini_format::action::{CleanMetadata, CommitMetadata, CompactionPlan, RollbackMetadata, RollbackPlan};

use super::{Input, Target, decode, nothing_to_mend, survives};

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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Commit,
    CompactionPlan,
    RollbackPlan,
    Rollback,
    Clean,
}

impl Kind {
    const ALL: [Self; 5] = [Self::Commit, Self::CompactionPlan, Self::RollbackPlan, Self::Rollback, Self::Clean];

    fn of(choice: u8) -> Self {
        Self::ALL[usize::from(choice) % Self::ALL.len()]
    }
}

fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let kind = Kind::of(input.choice());
    let bytes = input.rest();
    match kind {
        Kind::Commit => {
            if let Some(commit) = decode(bytes, CommitMetadata::decode) {
                survives(&commit, CommitMetadata::encode, CommitMetadata::decode);
                let _ = (commit.write_stats().count(), commit.schema());
            }
        }
        Kind::CompactionPlan => {
            if let Some(plan) = decode(bytes, CompactionPlan::decode) {
                survives(&plan, CompactionPlan::encode, CompactionPlan::decode);
            }
        }
        Kind::RollbackPlan => {
            if let Some(plan) = decode(bytes, RollbackPlan::decode) {
                survives(&plan, RollbackPlan::encode, RollbackPlan::decode);
            }
        }
        Kind::Rollback => {
            if let Some(metadata) = decode(bytes, RollbackMetadata::decode) {
                survives(&metadata, RollbackMetadata::encode, RollbackMetadata::decode);
            }
        }
        Kind::Clean => {
            decode(bytes, CleanMetadata::decode);
        }
    }
}
