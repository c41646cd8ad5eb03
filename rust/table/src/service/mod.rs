//! What keeps a table healthy.

mod begin;
mod clean;
mod paths;
mod publish;
mod rollback;

pub(crate) use begin::refuse_under_restore;
pub use clean::{CleanRequest, CleanResult, clean};
pub(crate) use publish::{Done, publish};
pub use rollback::{is_rolled_back, recover, rollback};
