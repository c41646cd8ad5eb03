//! What keeps a table healthy.

mod rollback;

pub use rollback::{recover, rollback};
