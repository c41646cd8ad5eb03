//! What keeps a table healthy.

mod compact;
mod publish;
mod rollback;

pub use compact::{CompactRequest, Compaction, CompactionStatus, CompactionTask, Round, compact};
pub(crate) use publish::{Done, publish};
pub use rollback::{is_rolled_back, recover, rollback};
