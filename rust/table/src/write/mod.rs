//! Changing a table: begin → locate → place → run → commit.
//!
//! *Control* steps (begin, place, commit) decide and are small; *tasks* (locate, run) touch rows, write at most one file
//! and never the timeline. Tasks are plain values with a byte form, so that any engine can run them anywhere.

mod action;
mod asked;
mod begin;
mod grouped;
mod kept;
mod local;
mod locate;
mod located;
mod once;
mod output;
mod place;
mod positions;
mod rechunk;
mod record_lookup;
mod recorded;
mod replace;
mod request;
mod rows;
mod scattered;
mod shares;
mod sizes;
mod staged;
mod task;
mod widths;
mod workers;

pub use action::{Action, check};
pub(crate) use action::{by_partition, check_schema, lock, stated_schema};
pub use asked::asked;
pub(crate) use begin::{refuse_columns, refuse_operations, schema_text};
pub use kept::Kept;
pub use local::{delete_partitions, write};
pub use locate::{KEY_COLUMN, Locator, PARTITION_COLUMN, SLOT_COLUMN, WIDTH_COLUMN};
pub use located::Located;
pub use once::committed;
pub(crate) use output::{Output, count, rows_at_most, unnamed};
pub use place::{GroupProfile, NEW_KEYS, PlacedTask};
pub use record_lookup::{FILE_COLUMN, GROUP_COLUMN, RecordLookup, SCATTERED_COLUMN};
pub use recorded::RecordedGroup;
pub use request::{AddedFile, CommitResult, SchemaMode, WriteRequest};
pub use scattered::Choice;
pub use shares::{Groups, Share, batches};
pub(crate) use staged::sweep;
pub use staged::{Staged, Staging};
pub(crate) use task::FILE_BATCH_ROWS;
pub use task::{Status, Task};
pub use workers::{LookupTask, NewSlots};
