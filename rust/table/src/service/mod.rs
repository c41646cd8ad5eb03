//! What keeps a table healthy.

mod publish;
mod rollback;

pub(crate) use publish::{Done, publish};
pub use rollback::{is_rolled_back, recover, rollback};
