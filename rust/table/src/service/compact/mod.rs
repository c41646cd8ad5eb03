//! Compaction of merge-on-read tables: base file + logs of a slice → a new base file of the same file group.
//!
//! ```text
//!  schedule  control   lock · pin · take T, later than all there is · write the plan                   T.compaction.requested
//!  begin     control   lock · take a plan up that nobody is at · `T.compaction.inflight`               → [Task]
//!  run       task      one file group: marker, merged rows, new base file                              → Status
//!  commit    control   lock · still ours? · lost attempts' files away · `T_C.commit`
//! ```
//!
//! A plan that stands makes a new slice of its file groups at once: what completes after T is logged on top of the base file
//! to come. So writers need not wait, and a plan has to name exactly the logs that completed before T. A plan is kept until
//! it is done: an attempt that fails is rolled back, and the same T is taken up again.

mod action;
mod due;
mod plan;
mod round;
mod strategy;
mod task;

pub use action::Compaction;
pub(super) use due::why_due;
pub use round::{CompactRequest, Round, compact};
pub use task::{CompactionStatus, CompactionTask};

use crate::config::TableConfig;
use crate::{Error, Result};

/// Refuses tables that have nothing to compact, or that hudini does not write.
fn check_table(config: &TableConfig) -> Result<()> {
    if !config.is_mor() {
        return Err(Error::unsupported("compacting a copy-on-write table")
            .with_hint("it has no logs; its base files are merged with every write"));
    }
    config.check_writable()
}
