//! Changing a table: begin → locate → place → run → commit.
//!
//! *Control* steps (begin, place, commit) decide and are small; *tasks* (locate, run) touch rows, write at most one file
//! and never the timeline. Tasks are plain values with a byte form, so that any engine can run them anywhere.

mod action;
mod buckets;
mod local;
mod locate;
mod output;
mod place;
mod rechunk;
mod request;
mod rows;
mod task;

pub use action::Action;
pub(crate) use action::{by_partition, check_schema, lock, refuse_column_ids, stated_schema, write_schema};
pub use local::write;
pub use locate::{Locator, PARTITION_COLUMN, SLOT_COLUMN};
pub(crate) use output::{Output, count, rows_at_most};
pub use place::{GroupProfile, PlacedTask};
pub(crate) use rechunk::Rechunk;
pub use request::{CommitResult, WriteRequest};
pub(crate) use task::BATCH_ROWS;
pub use task::{Status, Task};
