//! What timeline files hold: plans and metadata of each action.
//!
//! | file | record |
//! |---|---|
//! | commit, deltacommit, replacecommit: inflight and completed | [`CommitMetadata`] |
//! | compaction, logcompaction: requested | [`CompactionPlan`] |
//! | rollback: requested | [`RollbackPlan`] |
//! | rollback: completed | [`RollbackMetadata`] |
//! | clean: completed | [`CleanMetadata`] |

mod clean;
mod commit;
mod compaction;
mod container;
mod rollback;

use apache_avro::Schema;
use serde::Serialize;

use crate::{Error, Result};

pub use clean::CleanMetadata;
pub use commit::{CommitMetadata, NO_PREVIOUS_COMMIT, RuntimeStats, SCHEMA_KEY, WriteStat};
pub use compaction::{CompactionOperation, CompactionPlan, CompactionStrategy};
pub use rollback::{InstantInfo, RollbackMetadata, RollbackPartitionMetadata, RollbackPlan, RollbackRequest};

/// The schema of one payload: its text as Apache Hudi writes it, and parsed.
struct PayloadSchema {
    text: &'static str,
    parsed: std::result::Result<Schema, String>,
}

impl PayloadSchema {
    fn new(text: &'static str) -> Self {
        Self { text, parsed: Schema::parse_str(text).map_err(|e| e.to_string()) }
    }

    fn encode<T: Serialize>(&self, value: &T) -> Result<Vec<u8>> {
        match &self.parsed {
            Ok(schema) => container::encode(value, self.text, schema),
            Err(e) => Err(Error::internal(format!("a built-in Avro schema does not parse: {e}"))),
        }
    }
}

#[cfg(test)]
mod tests;
