//! Short texts, by their first and their last bytes: a call of `memcmp` or `memcpy`, or a loop, takes longer than to compare
//! or to copy a few bytes twice.

use std::cmp::Ordering;

/// Whether they have the same bytes.
#[inline(always)]
pub fn are_same(a: &[u8], b: &[u8]) -> bool {
    match a.len() {
        length if length != b.len() => false,
        0..4 => a.iter().eq(b),
        4..8 => ends::<4>(a) == ends::<4>(b),
        8..=16 => ends::<8>(a) == ends::<8>(b),
        17..=32 => ends::<16>(a) == ends::<16>(b),
        _ => a == b,
    }
}

/// The order of their bytes.
#[inline(always)]
pub fn order(a: &[u8], b: &[u8]) -> Ordering {
    match a.len() {
        length if length != b.len() => a.cmp(b),
        8..=16 => order_of_ends(a, b, |end: &[u8; 8]| u64::from_be_bytes(*end)),
        17..=32 => order_of_ends(a, b, |end: &[u8; 16]| u128::from_be_bytes(*end)),
        _ => a.cmp(b),
    }
}

/// By what the first and the last bytes are as numbers.
#[inline(always)]
fn order_of_ends<N: Ord, const LENGTH: usize>(a: &[u8], b: &[u8], number: impl Fn(&[u8; LENGTH]) -> N) -> Ordering {
    let numbers = |text| ends(text).map(|(first, last)| (number(first), number(last)));
    numbers(a).cmp(&numbers(b))
}

/// Appends the bytes.
#[inline(always)]
pub fn append(text: &[u8], out: &mut Vec<u8>) {
    match text.len() {
        8..=16 => append_ends::<8>(text, out),
        17..=32 => append_ends::<16>(text, out),
        _ => out.extend_from_slice(text),
    }
}

#[inline(always)]
fn append_ends<const LENGTH: usize>(text: &[u8], out: &mut Vec<u8>) {
    let Some((first, last)) = ends::<LENGTH>(text) else { return };
    let start = out.len();
    out.extend_from_slice(first);
    out.truncate(start + text.len() - LENGTH);
    out.extend_from_slice(last);
}

/// The first and the last bytes of a text that has so many. They overlap where it has less than twice as many.
#[inline(always)]
fn ends<const LENGTH: usize>(text: &[u8]) -> Option<(&[u8; LENGTH], &[u8; LENGTH])> {
    text.first_chunk().zip(text.last_chunk())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn texts_are_copied_and_compared_byte_for_byte(text in prop::collection::vec(any::<u8>(), 0..40), at in any::<prop::sample::Index>()) {
            let mut out = vec![7];
            append(&text, &mut out);
            prop_assert_eq!(&out[1..], &text[..]);
            prop_assert!(are_same(&text, &out[1..]));
            prop_assert!(!are_same(&text, &out));
            prop_assert_eq!(order(&text, &out), text.cmp(&out));
            if !text.is_empty() {
                out[1 + at.index(text.len())] ^= 1;
                prop_assert!(!are_same(&text, &out[1..]));
                prop_assert_eq!(order(&text, &out[1..]), text[..].cmp(&out[1..]));
                prop_assert_eq!(order(&out[1..], &text), out[1..].cmp(&text));
            }
            prop_assert_eq!(order(&text, &text), Ordering::Equal);
        }
    }
}
