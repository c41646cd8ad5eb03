//! Digests by which Apache Hudi names things: xxHash, MD5, and the UUIDs that Java makes of bytes.

use md5::{Digest, Md5};
use xxhash_rust::{xxh32::xxh32, xxh64::xxh64};

/// The seed of all identifiers. Java widens the `int` 0xdabadaba with its sign.
const SEED: i32 = 0xdaba_daba_u32.cast_signed();

/// xxHash64 of an identifier, as in keys of column statistics.
pub fn xx64(text: &str) -> [u8; 8] {
    xxh64(text.as_bytes(), i64::from(SEED).cast_unsigned()).to_be_bytes()
}

/// MD5 of an identifier, as in keys of bloom filters and column statistics.
pub fn md5(text: &str) -> [u8; 16] {
    md5_bytes(text.as_bytes())
}

/// xxHash32 without a seed, as consistent hashing takes it.
pub(super) fn xx32(bytes: &[u8]) -> u32 {
    xxh32(bytes, 0)
}

/// `java.util.UUID.nameUUIDFromBytes`: version 3, without a namespace.
pub(super) fn name_uuid(name: &[u8]) -> String {
    const VERSION: u128 = 0xf << 76;
    const VARIANT: u128 = 0b11 << 62;
    let bits = u128::from_be_bytes(md5_bytes(name)) & !VERSION & !VARIANT | 3 << 76 | 0b10 << 62;
    let group = |low: u32, digits: u32| bits >> low & ((1 << (4 * digits)) - 1);
    let [a, b, c, d, e] = [group(96, 8), group(80, 4), group(64, 4), group(48, 4), group(0, 12)];
    format!("{a:08x}-{b:04x}-{c:04x}-{d:04x}-{e:012x}")
}

fn md5_bytes(bytes: &[u8]) -> [u8; 16] {
    Md5::digest(bytes).into()
}
