//! One file slice = base file + changes → rows, by the table's merge mode.

mod blocks;
mod bounded;
mod change;
mod custom;
mod deleted;
mod deltas;
mod index;
mod keys;
mod log;
pub(crate) mod ordering;
mod overlay;
mod packed;
mod places;
mod ranges;
mod rows;
mod rule;
mod slice;
mod splice;
mod survey;

pub(crate) use blocks::Taker;
pub(crate) use bounded::{Changes, ForLogs, Memory, merged, merged_from_disk};
pub(crate) use custom::check as check_merger;
pub use custom::{MergeRows, register};
pub(crate) use deleted::{check_markers, record_keys, refuse_changelog, without_deleted};
pub use deltas::Deltas;
pub use keys::VirtualKeys;
pub use log::{LogStats, SliceLogs};
pub(crate) use rule::columns_of;
pub use rule::{DeleteMarker, DeleteOrder, MergeRule, Placeholder};
pub use slice::{Batches, MergeCounts, Merged, SliceMerge};
pub(crate) use survey::visible_blocks;
