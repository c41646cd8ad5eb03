//! Values of a datum off the front of a slice: each function hands back the value and what follows it.
//!
//! Beside `wire::Reader` it knows no file offset: rows are read by the million, and the block that holds them says where
//! they lie. Position and end travel by value, so that they stay in registers from one value to the next.

use crate::{Error, Result};

/// The first bytes, as many as `count`.
#[inline(always)]
pub(super) fn take(rest: &[u8], count: usize) -> Result<(&[u8], &[u8])> {
    rest.split_at_checked(count).ok_or_else(|| short(count, rest))
}

#[inline(always)]
pub(super) fn array<const N: usize>(rest: &[u8]) -> Result<([u8; N], &[u8])> {
    match rest.split_first_chunk::<N>() {
        Some((head, tail)) => Ok((*head, tail)),
        None => Err(short(N, rest)),
    }
}

#[cold]
#[inline(never)]
fn short(count: usize, rest: &[u8]) -> Error {
    Error::corrupt(format!("an Avro value of {count} bytes where {} are left", rest.len()))
}

/// A zigzag varint.
#[inline(always)]
pub(super) fn long(rest: &[u8]) -> Result<(i64, &[u8])> {
    let (raw, rest) = varint(rest)?;
    Ok(((raw >> 1).cast_signed() ^ -(raw & 1).cast_signed(), rest))
}

#[inline(always)]
pub(super) fn int(rest: &[u8]) -> Result<(i32, &[u8])> {
    let (long, rest) = long(rest)?;
    match i32::try_from(long) {
        Ok(int) => Ok((int, rest)),
        Err(_) => Err(wide(long)),
    }
}

#[cold]
#[inline(never)]
fn wide(long: i64) -> Error {
    Error::corrupt(format!("the Avro int {long} exceeds 32 bits"))
}

/// The highest bit of each byte: set in all bytes of a varint but its last.
const MORE: u64 = 0x8080_8080_8080_8080;

/// Seven bits a byte, least first. One byte is by far the commonest; up to eight are read as one word.
#[inline(always)]
fn varint(rest: &[u8]) -> Result<(u64, &[u8])> {
    if let [byte, tail @ ..] = rest
        && *byte < 0x80
    {
        return Ok((u64::from(*byte), tail));
    }
    if let Some((bits, word)) = varint_word(rest)
        && let Some(tail) = rest.get(bits as usize / 8..)
    {
        return Ok((gather(word & (u64::MAX >> (64 - bits))), tail));
    }
    varint_by_byte(rest)
}

/// The next eight bytes, and how many of their bits belong to the varint in front, if it ends there.
#[inline(always)]
fn varint_word(rest: &[u8]) -> Option<(u32, u64)> {
    let word = u64::from_le_bytes(*rest.first_chunk()?);
    let ends = !word & MORE;
    (ends != 0).then(|| (ends.trailing_zeros() + 1, word))
}

/// Closes the gaps that the eight highest bits leave: first between bytes, then between pairs, then between fours.
#[inline(always)]
fn gather(word: u64) -> u64 {
    let word = (word & 0x007f_007f_007f_007f) | ((word & 0x7f00_7f00_7f00_7f00) >> 1);
    let word = (word & 0x0000_3fff_0000_3fff) | ((word & 0x3fff_0000_3fff_0000) >> 2);
    (word & 0x0000_0000_0fff_ffff) | ((word & 0x0fff_ffff_0000_0000) >> 4)
}

/// Near the end of the datum, and for the longest numbers.
#[inline(never)]
fn varint_by_byte(rest: &[u8]) -> Result<(u64, &[u8])> {
    let mut raw: u64 = 0;
    let mut bytes = rest.iter();
    for (byte, shift) in bytes.by_ref().zip((0..u64::BITS).step_by(7)) {
        let bits = u64::from(byte & 0x7f);
        if bits << shift >> shift != bits {
            return Err(Error::corrupt("an Avro number of more than 64 bits"));
        }
        raw |= bits << shift;
        if byte & 0x80 == 0 {
            return Ok((raw, bytes.as_slice()));
        }
    }
    Err(Error::corrupt("an Avro number that does not end"))
}

/// What follows a varint.
#[inline(always)]
pub(super) fn after_number(rest: &[u8]) -> Result<&[u8]> {
    if let Some((bits, _)) = varint_word(rest)
        && let Some(tail) = rest.get(bits as usize / 8..)
    {
        return Ok(tail);
    }
    Ok(varint_by_byte(rest)?.1)
}

/// What follows a length: the bytes of the value, and what follows those. The first slice does not end with the value,
/// because a copy is faster that may take more than it needs.
#[inline(always)]
pub(super) fn bytes(rest: &[u8]) -> Result<(&[u8], &[u8])> {
    if let Some((length, from)) = short_length(rest)
        && let Some(tail) = from.get(length..)
    {
        return Ok((from, tail));
    }
    let (length, from) = long(rest)?;
    Ok((from, after(from, length)?))
}

/// A length of one or two bytes. Texts come in both: which it is decides no branch, only how far to go.
#[inline(always)]
fn short_length(rest: &[u8]) -> Option<(usize, &[u8])> {
    let [first, second] = *rest.first_chunk()?;
    let more = first >> 7;
    let raw = usize::from(first & 0x7f) | ((usize::from(second & 0x7f) << 7) * usize::from(more));
    let ends = more & (second >> 7) == 0;
    // Odd numbers are negative.
    let from = rest.get(1 + usize::from(more)..)?;
    (ends && raw & 1 == 0).then_some((raw >> 1, from))
}

/// What follows the first `length` bytes.
#[inline(always)]
pub(super) fn after(rest: &[u8], length: i64) -> Result<&[u8]> {
    match usize::try_from(length).ok().and_then(|length| rest.get(length..)) {
        Some(tail) => Ok(tail),
        None => Err(long_length(length, rest)),
    }
}

#[cold]
#[inline(never)]
fn long_length(length: i64, rest: &[u8]) -> Error {
    Error::corrupt(format!("an Avro length of {length} where {} bytes are left", rest.len()))
}

#[inline(always)]
pub(super) fn boolean(rest: &[u8]) -> Result<(bool, &[u8])> {
    match rest {
        [0, rest @ ..] => Ok((false, rest)),
        [1, rest @ ..] => Ok((true, rest)),
        [other, ..] => Err(Error::corrupt(format!("the Avro boolean {other}"))),
        [] => Err(short(1, rest)),
    }
}

/// The head of a block of an array or map: how many items follow (none at the end), and the size in bytes that some
/// writers state.
#[inline]
pub(super) fn block(rest: &[u8]) -> Result<(u64, Option<i64>, &[u8])> {
    let (count, rest) = long(rest)?;
    if count >= 0 {
        return Ok((count.unsigned_abs(), None, rest));
    }
    let (size, rest) = long(rest)?;
    Ok((count.unsigned_abs(), Some(size), rest))
}

/// Whether a union of null and one other type holds a value.
#[inline(always)]
pub(super) fn branch(rest: &[u8], null: u8, value: u8) -> Result<(bool, &[u8])> {
    match rest {
        [byte, rest @ ..] if *byte == value => Ok((true, rest)),
        [byte, rest @ ..] if *byte == null => Ok((false, rest)),
        _ => long_branch(rest, value),
    }
}

/// What may be set in a byte that states the branch of a union of two: 0 and 1 are 0 and 2 as zigzag numbers.
const BRANCH: u8 = 0b10;

/// What follows null or a value of fixed size, number, text.
///
/// Nulls come at random, so these three take no branch for them: how long a value is that would start here is computed in
/// any case, and then counts or not.
#[inline(always)]
pub(super) fn after_nullable_fixed(rest: &[u8], null: u8, value: u8, size: usize) -> Result<&[u8]> {
    match over_nullable(rest, value, size) {
        Some(tail) => Ok(tail),
        None => over_branch(rest, null, value, |rest| Ok(take(rest, size)?.1)),
    }
}

#[inline(always)]
pub(super) fn after_nullable_number(rest: &[u8], null: u8, value: u8) -> Result<&[u8]> {
    if let Some((bits, _)) = rest.get(1..).and_then(varint_word)
        && let Some(tail) = over_nullable(rest, value, bits as usize / 8)
    {
        return Ok(tail);
    }
    over_branch(rest, null, value, after_number)
}

#[inline(always)]
pub(super) fn after_nullable_bytes(rest: &[u8], null: u8, value: u8) -> Result<&[u8]> {
    // The branch, and a length of one or two bytes as in `short_length`, out of one word.
    if let Some(word) = rest.first_chunk() {
        let word = u32::from_le_bytes(*word);
        let more = word >> 15 & 1;
        let length = (word >> 9 & 0x3f) | (word >> 10 & 0x1fc0 & more.wrapping_neg());
        let counts = u32::from(word & 0xff == u32::from(value)).wrapping_neg();
        let longer_or_negative = (word & word >> 8 & 0x8000) | (word & 0x100);
        let is_rare = (word & u32::from(!BRANCH)) | (counts & longer_or_negative);
        if is_rare == 0
            && let Some(tail) = rest.get(1 + (counts & (1 + more + length)) as usize..)
        {
            return Ok(tail);
        }
    }
    over_branch(rest, null, value, |rest| Ok(bytes(rest)?.1))
}

/// Goes over a branch of one byte, and the value if there is one.
#[inline(always)]
fn over_nullable(rest: &[u8], value: u8, length: usize) -> Option<&[u8]> {
    let met = *rest.first()?;
    if met & !BRANCH != 0 {
        return None;
    }
    let counts = usize::from(met == value).wrapping_neg();
    rest.get(1 + (length & counts)..)
}

/// The same for what is rarer, or wrong.
#[inline(always)]
fn over_branch<'a>(
    rest: &'a [u8],
    null: u8,
    value: u8,
    over: impl FnOnce(&'a [u8]) -> Result<&'a [u8]>,
) -> Result<&'a [u8]> {
    match branch(rest, null, value)? {
        (true, rest) => over(rest),
        (false, rest) => Ok(rest),
    }
}

/// A branch that no byte of its own states: none at all, or a number longer than it had to be.
#[cold]
#[inline(never)]
fn long_branch(rest: &[u8], value: u8) -> Result<(bool, &[u8])> {
    match long(rest)? {
        (branch @ (0 | 1), rest) => Ok((branch * 2 == i64::from(value), rest)),
        (branch, _) => Err(Error::corrupt(format!("branch {branch} of a union of two"))),
    }
}

/// A count of items that the bytes left can hold.
pub(super) fn checked_count(count: u64, fewest_bytes: usize, rest: &[u8]) -> Result<usize> {
    let fits = |count: &usize| count.checked_mul(fewest_bytes).is_some_and(|needed| needed <= rest.len());
    usize::try_from(count)
        .ok()
        .filter(fits)
        .ok_or_else(|| Error::corrupt(format!("an Avro block of {count} items where {} bytes are left", rest.len())))
}

/// The branch of a union of one.
pub(super) fn branch_zero(rest: &[u8]) -> Result<&[u8]> {
    match long(rest)? {
        (0, rest) => Ok(rest),
        (branch, _) => Err(Error::corrupt(format!("branch {branch} of a union of one"))),
    }
}
