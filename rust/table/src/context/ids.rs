//! Chance: 128 bits at a time, from the operating system or from a seed.

use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// A source of random numbers. They must be unique, not secret.
pub trait Ids: Send + Sync + Debug {
    fn next_u128(&self) -> u128;

    /// The machine from one start of it to the next, as its kernel names that: the same for all processes that a lock of
    /// the operating system keeps apart. `None` where there is no such name.
    fn machine(&self) -> Option<String>;
}

/// The operating system's random source. It is asked anew for each number: a generator kept in memory would repeat
/// itself in a forked child.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemIds;

/// A new random text at each start of a Linux.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

impl Ids for SystemIds {
    fn next_u128(&self) -> u128 {
        let mut bytes = [0; 16];
        match getrandom::fill(&mut bytes) {
            Ok(()) => u128::from_le_bytes(bytes),
            Err(_) => unlikely_to_repeat(),
        }
    }

    fn machine(&self) -> Option<String> {
        std::fs::read_to_string(BOOT_ID).ok().map(|id| id.trim().to_owned()).filter(|id| !id.is_empty())
    }
}

/// For a system that refuses randomness: process, nanosecond and a count, which differ between any two calls.
fn unlikely_to_repeat() -> u128 {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    let nanos = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_nanos());
    let call = (u64::from(std::process::id()) << 32) ^ CALLS.fetch_add(1, Ordering::Relaxed);
    let low = mix(call ^ mix(nanos as u64));
    (u128::from(mix(nanos as u64)) << 64) | u128::from(low)
}

/// The same numbers for the same seed (splitmix64), for tests and for ids that a plan must be able to repeat.
#[derive(Debug)]
pub struct SeededIds {
    state: AtomicU64,
}

/// The odd step of splitmix64: 2^64 divided by the golden ratio.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

impl SeededIds {
    pub fn new(seed: u64) -> Self {
        Self { state: AtomicU64::new(seed) }
    }
}

impl Ids for SeededIds {
    fn next_u128(&self) -> u128 {
        // One atomic step for both halves, so that threads never share a half.
        let before = self.state.fetch_add(STEP.wrapping_mul(2), Ordering::Relaxed);
        let high = mix(before.wrapping_add(STEP));
        let low = mix(before.wrapping_add(STEP.wrapping_mul(2)));
        (u128::from(high) << 64) | u128::from(low)
    }

    fn machine(&self) -> Option<String> {
        Some("seeded".to_owned())
    }
}

/// The finaliser of splitmix64: a bijection that spreads each input bit over all output bits.
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_seed_gives_the_published_splitmix64_numbers() {
        let ids = SeededIds::new(1_234_567);
        assert_eq!(ids.next_u128(), (6_457_827_717_110_365_317u128 << 64) | 3_203_168_211_198_807_973);
        assert_eq!(ids.next_u128(), (9_817_491_932_198_370_423u128 << 64) | 4_593_380_528_125_082_431);
    }

    #[test]
    fn numbers_do_not_repeat() {
        let seeded = SeededIds::new(0);
        let all: BTreeSet<u128> =
            (0..500).flat_map(|_| [seeded.next_u128(), SystemIds.next_u128(), unlikely_to_repeat()]).collect();
        assert_eq!(all.len(), 1_500);
    }
}
