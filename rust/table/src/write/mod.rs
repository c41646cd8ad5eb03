//! Changing a table: begin → locate → place → run → commit.
//!
//! *Control* steps (begin, place, commit) decide and are small; *tasks* (locate, run) touch rows, write at most one file
//! and never the timeline. Tasks are plain values with a byte form, so that any engine can run them anywhere.

mod action;
mod buckets;
mod local;
mod locate;
mod place;
mod rechunk;
mod request;
mod rows;
mod task;

pub use action::Action;
pub use local::write;
pub use locate::{Locator, PARTITION_COLUMN, SLOT_COLUMN};
pub use place::{GroupProfile, PlacedTask};
pub use request::{CommitResult, WriteRequest};
pub use task::{Status, Task};
