//! Many keys at a time into one row of a filter: their hashes are made side by side, with the widest instructions that the
//! processor has. Thirty hashes a key would otherwise be a fifth of the work on a base file.

use super::modulus::Modulus;
use super::{KeyHash, Position, Shape};
use crate::hash::MurmurLanes;

/// Keys that are hashed side by side. A compiler unrolls loops of fewer, and does not see then what they are.
const LANES: usize = 128;
/// Keys that are longer are hashed one by one.
const MOST_BYTES: usize = 1 << 10;

pub(super) fn add_all<'k>(shape: Shape, row: &mut [u8], keys: impl Iterator<Item = &'k str>) {
    // Keys of one length are hashed by the same steps.
    let mut by_length: Vec<Vec<&'k [u8]>> = Vec::new();
    let mut lanes = MurmurLanes::new();
    for key in keys {
        let is_wide = shape.hash == KeyHash::Murmur && key.len() <= MOST_BYTES;
        if is_wide && by_length.len() <= key.len() {
            by_length.resize_with(key.len() + 1, Vec::new);
        }
        let Some(waiting) = by_length.get_mut(key.len()).filter(|_| is_wide) else {
            shape.add(row, key);
            continue;
        };
        waiting.push(key.as_bytes());
        if waiting.len() == LANES {
            add_group(shape, row, waiting, &mut lanes);
            waiting.clear();
        }
    }
    by_length.iter().filter(|rest| !rest.is_empty()).for_each(|rest| add_group(shape, row, rest, &mut lanes));
}

/// Adds keys of one length.
fn add_group(shape: Shape, row: &mut [u8], keys: &[&[u8]], lanes: &mut MurmurLanes<LANES>) {
    lanes.take(keys);
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        #[expect(unsafe_code, reason = "the processor was asked whether it has these instructions")]
        // SAFETY: it has them.
        return unsafe { set_with_avx2(shape, row, lanes, keys.len()) };
    }
    set(shape, row, lanes, keys.len());
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn set_with_avx2(shape: Shape, row: &mut [u8], lanes: &MurmurLanes<LANES>, keys: usize) {
    set(shape, row, lanes, keys);
}

/// Sets the bits of so many keys.
#[inline(always)]
fn set(shape: Shape, row: &mut [u8], lanes: &MurmurLanes<LANES>, keys: usize) {
    let bits = Modulus::new(shape.bits);
    let mut hashes = [0; LANES];
    let (mut bytes, mut masks) = ([0; LANES], [0; LANES]);
    for _ in 0..shape.hashes {
        lanes.hash(&mut hashes);
        for ((byte, mask), hash) in bytes.iter_mut().zip(&mut masks).zip(&hashes) {
            (*byte, *mask) = Position::split(bits.remainder(hash.unsigned_abs()));
        }
        bytes.iter().zip(&masks).take(keys).for_each(|(byte, mask)| Position(*byte as usize, *mask as u8).set(row));
    }
}
