//! What chunks need to know of the values of a column.

use std::cmp::Ordering;

use arrow_array::Array;
use parquet::basic::Type as Physical;
use parquet::file::statistics::Statistics;

use super::TextExtremes;
use crate::counted::Counted;

/// A kind of values: how they are laid down, told apart and compared.
pub(super) trait Kind: 'static {
    type Values: Array + Clone + Send;
    /// A value by itself.
    type Bound: Clone + Send;
    type Dictionary: Dictionary<Values = Self::Values, Bound = Self::Bound>;
    const PHYSICAL: Physical;
    /// Whether to compare all values is less work than to find out which of a dictionary's are among them.
    const IS_QUICKLY_COMPARED: bool = false;

    fn values(array: &dyn Array) -> Option<&Self::Values>;

    /// The part of them that is looked at next.
    fn slice(values: &Self::Values, at: usize, rows: usize) -> Self::Values;

    /// How many of these values take so many bytes.
    fn fitting(values: &Self::Values, at: usize, bytes: usize) -> usize;

    /// Whether every row has the same value, where that is quickly seen. `before` are values of which that is known.
    fn is_repeated(values: &Self::Values, before: Option<&Self::Values>) -> bool;

    /// How many values at the beginning are the same in both, for kinds that come packed.
    fn same_at_first(_values: &Self::Values, _others: &Self::Values) -> usize {
        0
    }

    /// Bytes of all that are not null, as [`Kind::append_plain`] lays them down.
    fn plain_bytes(values: &Self::Values) -> usize;

    /// Of one of them, for kinds that come packed.
    fn bytes_at(_values: &Self::Values, _row: usize) -> usize {
        0
    }

    /// The same without their lengths, of kinds that have lengths.
    fn text_bytes(_plain_bytes: usize, _count: usize) -> Option<i64> {
        None
    }

    /// Parquet's PLAIN encoding of all that are not null.
    fn append_plain(values: &Self::Values, out: &mut Vec<u8>);

    /// The same of texts, and their extremes. `None` if there are none, and for other kinds.
    fn append_counted(_texts: &Counted, _out: &mut Vec<u8>) -> Option<(Self::Bound, Self::Bound)> {
        None
    }

    /// `None` if all are null.
    fn extremes(values: &Self::Values) -> Option<(Self::Bound, Self::Bound)>;

    fn order(a: &Self::Bound, b: &Self::Bound) -> Ordering;

    /// Whether it bounds nothing: not a number. Such a value is a bound only where there is no other.
    fn is_odd(_bound: &Self::Bound) -> bool {
        false
    }

    /// How many are not a number, for kinds of which that is told.
    fn odd_values(_values: &Self::Values) -> Option<u64> {
        None
    }

    fn bytes(bound: &Self::Bound) -> Vec<u8>;

    /// A shorter bound below it, for kinds that may be too long.
    fn shorter_below(_bound: &Self::Bound, _most: usize) -> Option<Self::Bound> {
        None
    }

    fn shorter_above(_bound: &Self::Bound, _most: usize) -> Option<Self::Bound> {
        None
    }

    /// Extremes as a caller may want to have them.
    fn texts(_extremes: (Self::Bound, Self::Bound)) -> Option<TextExtremes> {
        None
    }

    fn statistics(told: Told<Self::Bound>) -> Statistics;
}

/// What statistics say.
pub(super) struct Told<B> {
    /// Both may be cut short already.
    pub(super) bounds: Option<(B, B)>,
    pub(super) are_exact: (bool, bool),
    pub(super) nulls: u64,
    pub(super) odd_values: Option<u64>,
    pub(super) is_signed: bool,
}

/// The distinct values of a chunk, in the order in which they came.
pub(super) trait Dictionary: Default + Send + Sized {
    type Values;
    type Bound;

    /// Appends the places of all values that are not null.
    fn append_places(&mut self, values: &Self::Values, out: &mut Vec<u32>);

    /// The place of one of the values. `None` if there is no such row.
    fn place_of(&mut self, values: &Self::Values, row: usize) -> Option<u32>;

    fn len(&self) -> usize;

    /// Of all values, as they are laid down.
    fn plain_bytes(&self) -> usize;

    fn into_plain(self) -> Vec<u8>;

    fn append_plain(&self, places: &[u32], out: &mut Vec<u8>);

    /// Of the values at these places.
    fn extremes(&self, places: impl Iterator<Item = u32>) -> Option<(Self::Bound, Self::Bound)>;
}
