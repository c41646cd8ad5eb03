//! What timeline files hold: plans and metadata of each action.
//!
//! | action | requested | inflight | completed |
//! |---|---|---|---|
//! | commit, deltacommit | empty | [`CommitMetadata`] | [`CommitMetadata`] |
//! | replacecommit | [`RequestedReplaceMetadata`] | [`CommitMetadata`] | [`CommitMetadata`] |
//! | clustering | [`RequestedReplaceMetadata`] | empty | [`CommitMetadata`] |
//! | compaction, logcompaction | [`CompactionPlan`] | empty | [`CommitMetadata`] |
//! | clean | [`CleanerPlan`] | empty or [`CleanerPlan`] | [`CleanMetadata`] |
//! | rollback | [`RollbackPlan`] | empty | [`RollbackMetadata`] |
//! | restore | [`RestorePlan`] | empty | [`RestoreMetadata`] |
//! | savepoint | | empty | [`SavepointMetadata`] |
//! | indexing | [`IndexPlan`] | empty | [`IndexCommitMetadata`] |
//! | schemacommit | empty | empty | the history of schemas, JSON |
//!
//! An inflight commit holds the workload profile: statistics that say what is about to be written. Any of the files may
//! be empty; requested commits may hold a [`CommitMetadata`] of nothing, where a table was upgraded or downgraded. Layout 1 has [`CommitMetadata`] as JSON, everything else is one Avro record in a container file.
//!
//! Files of other releases are read by the schema that they carry. Fields that we do not know are kept in `extra`, and
//! the file's schema in `writer_schema`: written again, such a payload has lost nothing.

mod bootstrap;
mod clean;
mod clustering;
mod commit;
mod compaction;
mod container;
pub(crate) mod datum;
mod extra;
mod files;
mod form;
mod indexing;
pub(crate) mod json;
mod lists;
mod metered;
mod outline;
mod payload;
mod restore;
mod rollback;
mod savepoint;

pub use bootstrap::{BootstrapFile, BootstrapFileStatus, BootstrapPath};
pub use clean::{ActionInstant, CleanFileInfo, CleanMetadata, CleanPartitionMetadata, CleanerPlan};
pub use clustering::{ClusteringGroup, ClusteringPlan, ClusteringStrategy, RequestedReplaceMetadata, SliceInfo};
pub use commit::{CommitMetadata, NO_PREVIOUS_COMMIT, RuntimeStats, SCHEMA_KEY, WriteStat};
pub use compaction::{CompactionOperation, CompactionPlan, CompactionStrategy};
pub use extra::{Extra, WriterSchema};
pub use files::CommitFiles;
pub use indexing::{IndexCommitMetadata, IndexPartitionInfo, IndexPlan};
pub use outline::{CommitOutline, FilesWithRows};
pub use payload::{Payload, datum_to_json, to_json};
pub use restore::{RestoreMetadata, RestorePlan};
pub use rollback::{InstantInfo, RollbackMetadata, RollbackPartitionMetadata, RollbackPlan, RollbackRequest};
pub use savepoint::{SavepointMetadata, SavepointPartitionMetadata};

#[cfg(test)]
mod tests;
