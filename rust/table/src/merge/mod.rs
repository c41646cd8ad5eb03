//! One file slice = base file + changes → rows, by the table's merge mode.

mod deltas;
mod log;
pub(crate) mod ordering;
mod slice;

pub use deltas::{Deltas, MergeRule};
pub(crate) use deltas::{record_keys, without_deleted};
pub(crate) use log::visible_blocks;
pub use log::{LogStats, read_logs};
pub use slice::{Batches, MergeCounts, Merged, SliceMerge};
