//! Digests by which buckets are found and named.

use md5::{Digest, Md5};
use xxhash_rust::xxh3::xxh3_128;
use xxhash_rust::xxh32::xxh32;

/// xxHash32 without a seed.
pub(super) fn xx32(bytes: &[u8]) -> u32 {
    xxh32(bytes, 0)
}

/// 128 bits that stand for some bytes: of two keys they are the same by chance never.
pub fn fingerprint(bytes: &[u8]) -> u128 {
    xxh3_128(bytes)
}

/// `java.util.UUID.nameUUIDFromBytes`: version 3, without a namespace.
pub(super) fn name_uuid(name: &[u8]) -> String {
    const VERSION: u128 = 0xf << 76;
    const VARIANT: u128 = 0b11 << 62;
    let digest: [u8; 16] = Md5::digest(name).into();
    let bits = u128::from_be_bytes(digest) & !VERSION & !VARIANT | 3 << 76 | 0b10 << 62;
    let group = |low: u32, digits: u32| bits >> low & ((1 << (4 * digits)) - 1);
    let [a, b, c, d, e] = [group(96, 8), group(80, 4), group(64, 4), group(48, 4), group(0, 12)];
    format!("{a:08x}-{b:04x}-{c:04x}-{d:04x}-{e:012x}")
}
