//! Changing a table: begin → locate → place → run → commit.
//!
//! *Control* steps (begin, place, commit) decide and are small; *tasks* (locate, run) touch rows, write at most one file
//! and never the timeline. Tasks are plain values with a byte form, so that any engine can run them anywhere.

mod action;
mod begin;
mod local;
mod locate;
mod located;
mod once;
mod place;
mod rechunk;
mod replace;
mod request;
mod rows;
mod sizes;
mod task;

pub use action::Action;
pub use local::{delete_partitions, write};
pub use locate::{Locator, PARTITION_COLUMN, SLOT_COLUMN};
pub use located::{Groups, Located};
pub use place::{GroupProfile, NEW_KEYS, PlacedTask};
pub use request::{CommitResult, SchemaMode, WriteRequest};
pub use task::{Status, Task};
