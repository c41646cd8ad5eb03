//! Time: the machine's, or one that only moves when told.

use std::fmt::Debug;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use chrono::{Local, TimeZone};

/// A source of time.
pub trait Clock: Send + Sync + Debug {
    /// Milliseconds since 1970-01-01T00:00Z; may jump, as wall clocks do.
    fn now_ms(&self) -> i64;

    /// Milliseconds since some fixed moment; never goes back. For durations and deadlines.
    fn monotonic_ms(&self) -> i64;

    /// Lets that much time pass.
    fn sleep_ms(&self, ms: u64);

    /// How far the machine's zone lies east of UTC at that moment.
    fn local_offset_ms(&self, epoch_ms: i64) -> i64;
}

fn saturating(d: Duration) -> i64 {
    i64::try_from(d.as_millis()).unwrap_or(i64::MAX)
}

/// The machine's clock.
#[derive(Debug, Clone)]
pub struct SystemClock {
    start: Instant,
}

impl SystemClock {
    pub fn new() -> Self {
        Self { start: Instant::now() }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn now_ms(&self) -> i64 {
        match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(since) => saturating(since),
            Err(before) => -saturating(before.duration()),
        }
    }

    fn monotonic_ms(&self) -> i64 {
        saturating(self.start.elapsed())
    }

    fn sleep_ms(&self, ms: u64) {
        std::thread::sleep(Duration::from_millis(ms));
    }

    fn local_offset_ms(&self, epoch_ms: i64) -> i64 {
        let local = Local.timestamp_millis_opt(epoch_ms).earliest();
        local.map_or(0, |local| i64::from(local.offset().local_minus_utc()) * 1000)
    }
}

/// A clock for tests: it stands still until it is moved, or ticks one millisecond at each look.
#[derive(Debug)]
pub struct ManualClock {
    wall: AtomicI64,
    elapsed: AtomicI64,
    tick: i64,
}

impl ManualClock {
    /// Stands still at `now_ms`.
    pub fn new(now_ms: i64) -> Self {
        Self { wall: AtomicI64::new(now_ms), elapsed: AtomicI64::new(0), tick: 0 }
    }

    /// Moves on by 1 ms after each `now_ms()`, so that code which waits for the next millisecond gets there.
    pub fn ticking(now_ms: i64) -> Self {
        Self { tick: 1, ..Self::new(now_ms) }
    }

    /// Sets the wall clock, forwards or back; monotonic time stays.
    pub fn set(&self, now_ms: i64) {
        self.wall.store(now_ms, Ordering::SeqCst);
    }

    /// Lets time pass on both clocks.
    pub fn advance(&self, ms: u64) {
        let ms = i64::try_from(ms).unwrap_or(i64::MAX);
        self.wall.fetch_add(ms, Ordering::SeqCst);
        self.elapsed.fetch_add(ms, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now_ms(&self) -> i64 {
        self.elapsed.fetch_add(self.tick, Ordering::SeqCst);
        self.wall.fetch_add(self.tick, Ordering::SeqCst)
    }

    fn monotonic_ms(&self) -> i64 {
        self.elapsed.load(Ordering::SeqCst)
    }

    fn sleep_ms(&self, ms: u64) {
        self.advance(ms);
    }

    fn local_offset_ms(&self, _epoch_ms: i64) -> i64 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manual_clock_moves_only_when_told() {
        let clock = ManualClock::new(1_000);
        assert_eq!((clock.now_ms(), clock.now_ms()), (1_000, 1_000));
        clock.sleep_ms(5);
        clock.advance(10);
        assert_eq!((clock.now_ms(), clock.monotonic_ms()), (1_015, 15));
        clock.set(7);
        assert_eq!((clock.now_ms(), clock.monotonic_ms()), (7, 15), "monotonic time survives a step of the wall clock");
    }

    #[test]
    fn a_ticking_clock_never_shows_the_same_millisecond_twice() {
        let clock = ManualClock::ticking(1_000);
        assert_eq!((clock.now_ms(), clock.now_ms(), clock.now_ms()), (1_000, 1_001, 1_002));
        assert_eq!(clock.monotonic_ms(), 3);
    }

    #[test]
    fn the_system_clock_is_past_2020_and_monotonic_time_does_not_go_back() {
        let clock = SystemClock::new();
        assert!(clock.now_ms() > 1_577_836_800_000);
        let before = clock.monotonic_ms();
        assert!(clock.monotonic_ms() >= before);
    }
}
