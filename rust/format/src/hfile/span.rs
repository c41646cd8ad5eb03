//! Which keys are wanted, and where in an index they may be.
//!
//! Keys are ordered by their bytes. But Apache Hudi's log blocks are sorted as Java compares strings, by UTF-16 units:
//! there characters beyond U+FFFF come before those from U+E000 on. So a key that holds either kind may be in one of two
//! places, and both are looked into.

use std::cmp::Ordering;
use std::ops::{Bound, Range};

use super::index::IndexEntry;

/// First byte, in UTF-8, of the characters from which the two orders differ.
const FIRST_AMBIGUOUS: u8 = 0xee;
/// First byte of characters beyond U+FFFF.
const FIRST_SUPPLEMENTARY: u8 = 0xf0;

/// Keys that are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Span<'k> {
    All,
    Key(&'k [u8]),
    Prefix(&'k [u8]),
    /// Between two keys, in the order of bytes.
    Range(Bound<&'k [u8]>, Bound<&'k [u8]>),
}

impl Span<'_> {
    pub fn contains(&self, key: &[u8]) -> bool {
        match *self {
            Self::All => true,
            Self::Key(wanted) => key == wanted,
            Self::Prefix(prefix) => key.starts_with(prefix),
            Self::Range(from, to) => {
                (match from {
                    Bound::Included(from) => key >= from,
                    Bound::Excluded(from) => key > from,
                    Bound::Unbounded => true,
                }) && (match to {
                    Bound::Included(to) => key <= to,
                    Bound::Excluded(to) => key < to,
                    Bound::Unbounded => true,
                })
            }
        }
    }

    /// The entries whose blocks may hold wanted keys: one stretch of them, or two, one in each order.
    pub(super) fn windows(&self, entries: &[IndexEntry]) -> [Range<usize>; 2] {
        let start_of =
            |key: &[u8], order: Order| entries.partition_point(|e| order(&e.key, key).is_lt()).saturating_sub(1);
        match *self {
            Self::All => [0..entries.len(), 0..0],
            Self::Key(key) => each_order(key, |order| {
                let behind = entries.partition_point(|e| order(&e.key, key).is_le());
                behind.saturating_sub(1)..behind
            }),
            Self::Prefix(prefix) => each_order(prefix, |order| {
                let inside = |e: &IndexEntry| order(&e.key, prefix).is_lt() || e.key.starts_with(prefix);
                start_of(prefix, order)..entries.partition_point(inside)
            }),
            Self::Range(from, to) => {
                // Up to the first ambiguous character both orders agree.
                let from = bound_key(from).map_or(0, |from| start_of(unambiguous(from), <[u8]>::cmp));
                let to = bound_key(to).map_or(entries.len(), |to| {
                    let to = unambiguous(to);
                    entries.partition_point(|e| e.key.as_slice() <= to || e.key.starts_with(to))
                });
                [from..to, 0..0]
            }
        }
    }
}

type Order = fn(&[u8], &[u8]) -> Ordering;

fn each_order(key: &[u8], window: impl Fn(Order) -> Range<usize>) -> [Range<usize>; 2] {
    [window(<[u8]>::cmp), if is_ambiguous(key) { window(java_order) } else { 0..0 }]
}

fn bound_key(bound: Bound<&[u8]>) -> Option<&[u8]> {
    match bound {
        Bound::Included(key) | Bound::Excluded(key) => Some(key),
        Bound::Unbounded => None,
    }
}

/// Whether there are keys before which it comes in one order, and behind which in the other; they are ambiguous too.
pub fn is_ambiguous(key: &[u8]) -> bool {
    key.iter().any(|byte| *byte >= FIRST_AMBIGUOUS)
}

/// Whether a key comes before another one, whichever way a file is sorted.
pub fn is_before(key: &[u8], other: &[u8]) -> bool {
    key < other && (!is_ambiguous(other) || java_order(key, other).is_lt())
}

/// The part of a key before its first ambiguous character.
fn unambiguous(key: &[u8]) -> &[u8] {
    let at = key.iter().position(|byte| *byte >= FIRST_AMBIGUOUS);
    at.and_then(|at| key.get(..at)).unwrap_or(key)
}

/// The order of UTF-16 units, on UTF-8. These first bytes never stand within a character, so it is enough to move those
/// of U+E000 to U+FFFF behind those of the characters beyond.
fn java_order(a: &[u8], b: &[u8]) -> Ordering {
    let rank = |byte: &u8| match *byte {
        FIRST_AMBIGUOUS..FIRST_SUPPLEMENTARY => byte + 0x10,
        other => other,
    };
    a.iter().map(rank).cmp(b.iter().map(rank))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn java_order_is_that_of_utf16(a in any::<String>(), b in any::<String>()) {
            let expected = a.encode_utf16().cmp(b.encode_utf16());
            prop_assert_eq!(java_order(a.as_bytes(), b.as_bytes()), expected);
        }
    }
}
