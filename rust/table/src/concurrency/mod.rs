//! Many writers on one table: who holds the lock, who is alive, which files an unfinished write has begun.

mod conflict;
mod heart;
mod lock;
mod lock_file;
mod markers;
mod places;

pub use conflict::{Stake, Touched, check as check_conflicts};
pub(crate) use conflict::{completed_since, is_compaction};
pub use heart::{Heart, is_dead};
pub(crate) use heart::{forget, has_life, lives, patience_ms, stand_in, stand_in_for, step_back};
pub use lock::{TableLock, table_lock};
pub(crate) use lock::{service_lock, try_service_lock};
pub(crate) use markers::TEMP;
pub use markers::{
    Marked, MarkerKind, clear_up, create as create_marker, delete as delete_marker, delete_all as delete_markers,
    is_marked, list as list_markers, remove_lost_files,
};
pub(crate) use places::{LockKind, lock_places};
