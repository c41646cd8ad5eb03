//! The least and the greatest of many texts, by their bytes.

use std::cmp::Ordering;

use arrow_array::types::ByteArrayType;
use arrow_array::{Array, GenericByteArray};

use crate::short;

/// `None` if all are null.
pub fn extremes<T: ByteArrayType<Offset = i32>>(values: &GenericByteArray<T>) -> Option<(&T::Native, &T::Native)> {
    let (least, greatest) = match values.nulls().filter(|nulls| nulls.null_count() > 0) {
        Some(nulls) => {
            rows_of(of_each(each(values).zip(nulls.iter()).filter(|(_, is_valid)| *is_valid).map(|(text, _)| text)))
        }
        None if is_repeated(values) => Some((0, 0)),
        None => rows_of(of_each(each(values))),
    }?;
    Some((values.value(least), values.value(greatest)))
}

/// Of some values; `None` if there are none.
pub fn extremes_of<'v>(values: impl Iterator<Item = &'v [u8]>) -> Option<(&'v [u8], &'v [u8])> {
    let (least, greatest) = of_each(values.enumerate().map(|(row, bytes)| Text::new(row, bytes)))?;
    Some((least.bytes, greatest.bytes))
}

/// The bytes of the values and nothing else: an array may be a slice of one.
pub fn bytes_of_all<T: ByteArrayType<Offset = i32>>(values: &GenericByteArray<T>) -> &[u8] {
    let bounds = values.value_offsets().first().zip(values.value_offsets().last());
    bounds.and_then(|(start, end)| values.value_data().get(*start as usize..*end as usize)).unwrap_or_default()
}

/// Values with their rows.
fn each<T: ByteArrayType<Offset = i32>>(values: &GenericByteArray<T>) -> impl Iterator<Item = Text<'_>> {
    let (ends, data) = (values.value_offsets(), values.value_data());
    ends.windows(2).enumerate().filter_map(|(row, ends)| {
        let [start, end] = ends else { return None };
        Some(Text::new(row, data.get(*start as usize..*end as usize)?))
    })
}

/// Whether every row has the same value, as in most meta columns. That is seen in one comparison of the column's bytes
/// with themselves, a value further on.
pub fn is_repeated<T: ByteArrayType<Offset = i32>>(values: &GenericByteArray<T>) -> bool {
    let (Some(first), all) = (each(values).next(), bytes_of_all(values)) else { return false };
    let length = first.bytes.len();
    let further_on = all.get(length..).zip(all.len().checked_sub(length).and_then(|most| all.get(..most)));
    all.len() == length * values.len()
        && further_on.is_some_and(|(later, earlier)| later == earlier)
        && each(values).all(|text| text.bytes.len() == length)
}

fn rows_of(extremes: Option<(Text<'_>, Text<'_>)>) -> Option<(usize, usize)> {
    extremes.map(|(least, greatest)| (least.row, greatest.row))
}

/// The least and the greatest.
fn of_each<'v>(mut values: impl Iterator<Item = Text<'v>>) -> Option<(Text<'v>, Text<'v>)> {
    let first = values.next()?;
    Some(values.fold((first, first), |(least, greatest), value| {
        // Most columns that are in order ascend.
        if value.order(&greatest) == Ordering::Greater {
            (least, value)
        } else if value.order(&least) == Ordering::Less {
            (value, greatest)
        } else {
            (least, greatest)
        }
    }))
}

/// A text with its first bytes at hand, which settle most comparisons.
#[derive(Clone, Copy)]
struct Text<'v> {
    row: usize,
    head: u64,
    bytes: &'v [u8],
}

impl<'v> Text<'v> {
    #[inline]
    fn new(row: usize, bytes: &'v [u8]) -> Self {
        let head = match bytes.first_chunk() {
            Some(head) => u64::from_be_bytes(*head),
            // Zeros stand for what is missing, so an equal head says nothing yet.
            None => {
                let mut head = [0; 8];
                head.iter_mut().zip(bytes).for_each(|(place, byte)| *place = *byte);
                u64::from_be_bytes(head)
            }
        };
        Self { row, head, bytes }
    }

    #[inline]
    fn order(&self, other: &Self) -> Ordering {
        self.head.cmp(&other.head).then_with(|| match self.bytes.len().max(other.bytes.len()) {
            // The head is all of them; what is longer has zeros at its end.
            ..=8 => self.bytes.len().cmp(&other.bytes.len()),
            _ => short::order(self.bytes, other.bytes),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::StringArray;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn extremes_are_those_of_sorting(
            values in prop_oneof![
                prop::collection::vec(prop::option::of("[ab\\x00é]{0,3}|prefixed[ab]{0,2}"), 0..20),
                ("[ab]{0,10}", 1_usize..20).prop_map(|(text, count)| vec![Some(text); count]),
            ],
            skipped in 0_usize..3,
        ) {
            let skipped = skipped.min(values.len());
            let array = StringArray::from(values.clone()).slice(skipped, values.len() - skipped);
            let mut sorted: Vec<&str> = values[skipped..].iter().flatten().map(String::as_str).collect();
            sorted.sort_unstable();
            let expected = sorted.first().copied().zip(sorted.last().copied());
            prop_assert_eq!(extremes(&array), expected);
            let of_bytes = extremes_of(array.iter().flatten().map(str::as_bytes));
            prop_assert_eq!(of_bytes, expected.map(|(least, greatest)| (least.as_bytes(), greatest.as_bytes())));
        }
    }
}
