//! What keeps a table healthy.

mod rollback;

pub use rollback::{is_rolled_back, recover, rollback};
