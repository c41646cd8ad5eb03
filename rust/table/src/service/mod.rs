//! What keeps a table healthy.

mod archive;
mod begin;
mod clean;
mod compact;
mod metadata;
mod paths;
mod publish;
mod rollback;
mod undo;
mod upkeep;

pub(crate) use begin::{Others, refuse_under_restore};
pub use clean::{CleanRequest, CleanResult, clean};
pub use compact::{CompactRequest, Compaction, CompactionStatus, CompactionTask, Round, compact};
pub(crate) use publish::{Done, publish};
pub(crate) use rollback::{is_rolled_back, recover, rollback};
pub use undo::{RollbackResult, roll_back};
pub use upkeep::{ArchiveResult, Due, archive, due, would_archive};
pub(crate) use upkeep::{after_commit, check_options};
