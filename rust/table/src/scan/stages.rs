//! Where the time of a scan goes: seconds of all its threads together, told by `explain`.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use crate::context::Clock;

/// What takes time once a scan runs.
#[derive(Debug, Clone, Copy)]
pub(super) enum Stage {
    /// Log files are read, and their records brought in order.
    Logs,
    /// Base files are read and decoded.
    Base,
    /// All else: rows are merged, filtered and brought into their shape.
    Merging,
}

const NAMES: [&str; 3] = ["logs", "base_files", "merging"];

/// Clones count together; the default counts nothing.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stages {
    counters: Option<Arc<Counters>>,
    /// What stages took that ended within the one under way. Of one thread.
    within: Arc<AtomicI64>,
}

#[derive(Debug)]
struct Counters {
    clock: Arc<dyn Clock>,
    millis: [AtomicI64; NAMES.len()],
}

impl Stages {
    pub(super) fn counted(clock: Arc<dyn Clock>) -> Self {
        let counters = Counters { clock, millis: Default::default() };
        Self { counters: Some(Arc::new(counters)), within: Arc::default() }
    }

    /// For another thread, which has stages of its own under way.
    pub(super) fn of_a_thread(&self) -> Self {
        Self { counters: self.counters.clone(), within: Arc::default() }
    }

    /// Time within another stage is that one's alone.
    pub(super) fn time<T>(&self, stage: Stage, work: impl FnOnce() -> T) -> T {
        let Some(counters) = &self.counters else { return work() };
        let (started, before) = (counters.clock.monotonic_ms(), self.within.load(Ordering::Relaxed));
        let done = work();
        let took = counters.clock.monotonic_ms() - started;
        let of_others = self.within.swap(before + took, Ordering::Relaxed) - before;
        if let Some(counter) = counters.millis.get(stage as usize) {
            counter.fetch_add(took - of_others, Ordering::Relaxed);
        }
        done
    }

    /// The time that an iterator takes for its items.
    pub(super) fn timed<I: Iterator>(&self, stage: Stage, mut items: I) -> impl Iterator<Item = I::Item> + use<I> {
        let stages = self.clone();
        std::iter::from_fn(move || stages.time(stage, || items.next()))
    }

    pub(super) fn seconds(&self) -> Vec<(&'static str, f64)> {
        let Some(counters) = &self.counters else { return Vec::new() };
        let seconds = counters.millis.iter().map(|counter| counter.load(Ordering::Relaxed) as f64 / 1000.0);
        NAMES.into_iter().zip(seconds).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::ManualClock;

    #[test]
    fn time_is_told_by_stages() {
        let clock = Arc::new(ManualClock::new(0));
        let stages = Stages::counted(clock.clone());
        let base = stages.timed(Stage::Base, (0..3).inspect(|_| clock.sleep_ms(100)));
        let other = stages.of_a_thread();
        stages.time(Stage::Merging, || {
            stages.time(Stage::Logs, || {
                clock.sleep_ms(1000);
                assert_eq!(base.count(), 3);
            });
            other.time(Stage::Base, || ());
            clock.sleep_ms(50);
        });
        assert_eq!(stages.seconds(), [("logs", 1.0), ("base_files", 0.3), ("merging", 0.05)]);
        let uncounted = Stages::default();
        assert_eq!(uncounted.time(Stage::Merging, || 7), 7);
        assert_eq!(uncounted.timed(Stage::Base, 0..3).count(), 3);
        assert_eq!(uncounted.seconds(), []);
    }
}
