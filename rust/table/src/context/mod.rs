//! What comes from outside: time, chance, threads and memory.
//!
//! A [`Context`] is handed down, never looked up, so that the same calls with the same context write the same bytes.
//! Only this room and `storage` may touch the machine's own clock, random source or file system.
#![allow(clippy::disallowed_methods, reason = "this room is where the system's clock and random source come in")]

mod clock;
pub(crate) mod heap;
mod ids;
pub mod pool;
pub mod ticker;
mod watch;

use std::sync::Arc;

pub use clock::{Clock, ManualClock, SystemClock};
pub use ids::{Ids, SeededIds, SystemIds};
pub use watch::{Progress, Watch};

/// The outside world of one table handle.
#[derive(Debug, Clone)]
pub struct Context {
    pub clock: Arc<dyn Clock>,
    pub ids: Arc<dyn Ids>,
    /// How many threads may work at once; at least one.
    pub threads: usize,
}

impl Context {
    /// The machine's clock and random source; without a number, as many threads as the machine offers.
    pub fn system(threads: Option<usize>) -> Self {
        let offered = || std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            clock: Arc::new(SystemClock::new()),
            ids: Arc::new(SystemIds),
            threads: threads.unwrap_or_else(offered).max(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_always_a_thread() {
        assert_eq!(Context::system(Some(0)).threads, 1);
        assert_eq!(Context::system(Some(3)).threads, 3);
        assert!(Context::system(None).threads >= 1);
    }
}
