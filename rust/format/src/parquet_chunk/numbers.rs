//! Numbers, dates and times.

use std::cmp::Ordering;
use std::fmt::Debug;
use std::hash::{BuildHasher, Hasher};
use std::marker::PhantomData;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrowPrimitiveType, PrimitiveArray};
use foldhash::fast::RandomState;
use parquet::basic::Type as Physical;
use parquet::file::statistics::{Statistics, ValueStatistics};

use super::kind::{Dictionary, Kind, Told};
use super::slots::{Slots, TOGETHER};

/// A number as Parquet stores it.
pub(super) trait Number: Copy + Debug + Default + Send + 'static {
    const PHYSICAL: Physical;
    const BYTES: usize;
    /// Whether there are values that are not a number.
    const IS_FLOAT: bool = false;

    fn bits(self) -> u64;
    fn append(self, out: &mut Vec<u8>);
    /// A whole number in the order of all, which a processor compares without a branch.
    fn rank(self) -> i64;
    fn of_rank(rank: i64) -> Self;
    fn is_odd(self) -> bool {
        false
    }
    fn statistics(values: ValueStatistics<Self>) -> Statistics;
}

macro_rules! whole_number {
    ($native:ty, $physical:ident, $statistics:ident) => {
        impl Number for $native {
            const PHYSICAL: Physical = Physical::$physical;
            const BYTES: usize = size_of::<$native>();

            fn bits(self) -> u64 {
                self as u64
            }

            fn append(self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }

            #[inline(always)]
            fn rank(self) -> i64 {
                self.into()
            }

            fn of_rank(rank: i64) -> Self {
                rank as $native
            }

            fn statistics(values: ValueStatistics<Self>) -> Statistics {
                Statistics::$statistics(values)
            }
        }
    };
}

/// In the total order of IEEE 754, as the crate has it: that of the bits as a whole number, but those below zero descend.
/// `type_order` says what footers make of it.
macro_rules! float {
    ($native:ty, $bits:ty, $physical:ident, $statistics:ident) => {
        impl Number for $native {
            const PHYSICAL: Physical = Physical::$physical;
            const BYTES: usize = size_of::<$native>();
            const IS_FLOAT: bool = true;

            fn bits(self) -> u64 {
                self.to_bits().into()
            }

            fn append(self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }

            #[inline(always)]
            fn rank(self) -> i64 {
                let bits = self.to_bits().cast_signed();
                (bits ^ ((bits >> (<$bits>::BITS - 1)) & <$bits>::MAX)).into()
            }

            fn of_rank(rank: i64) -> Self {
                let rank = rank as $bits;
                Self::from_bits((rank ^ ((rank >> (<$bits>::BITS - 1)) & <$bits>::MAX)).cast_unsigned())
            }

            #[inline(always)]
            fn is_odd(self) -> bool {
                self.is_nan()
            }

            fn statistics(values: ValueStatistics<Self>) -> Statistics {
                Statistics::$statistics(values)
            }
        }
    };
}

whole_number!(i32, INT32, Int32);
whole_number!(i64, INT64, Int64);
float!(f32, i32, FLOAT, Float);
float!(f64, i64, DOUBLE, Double);

pub(super) struct Numbers<T>(PhantomData<T>);

impl<T: ArrowPrimitiveType<Native: Number>> Kind for Numbers<T> {
    type Values = PrimitiveArray<T>;
    type Bound = T::Native;
    type Dictionary = NumberDictionary<T>;
    const PHYSICAL: Physical = T::Native::PHYSICAL;
    const IS_QUICKLY_COMPARED: bool = true;

    fn values(array: &dyn Array) -> Option<&Self::Values> {
        array.as_primitive_opt()
    }

    fn slice(values: &Self::Values, at: usize, rows: usize) -> Self::Values {
        values.slice(at, rows)
    }

    fn fitting(values: &Self::Values, at: usize, bytes: usize) -> usize {
        (values.len() - at).min(bytes / T::Native::BYTES)
    }

    fn is_repeated(_values: &Self::Values, _before: Option<&Self::Values>) -> bool {
        false
    }

    fn plain_bytes(values: &Self::Values) -> usize {
        (values.len() - values.null_count()) * T::Native::BYTES
    }

    fn append_plain(values: &Self::Values, out: &mut Vec<u8>) {
        out.reserve(Self::plain_bytes(values));
        for_each(values, |number| number.append(out));
    }

    fn extremes(values: &Self::Values) -> Option<(T::Native, T::Native)> {
        if values.null_count() > 0 {
            return extremes(values.iter().flatten());
        }
        extremes(values.values().iter().copied())
    }

    fn order(a: &T::Native, b: &T::Native) -> Ordering {
        a.rank().cmp(&b.rank())
    }

    fn is_odd(bound: &T::Native) -> bool {
        bound.is_odd()
    }

    fn odd_values(values: &Self::Values) -> Option<u64> {
        let count = || {
            let mut odd = 0;
            for_each(values, |number| odd += u64::from(number.is_odd()));
            odd
        };
        T::Native::IS_FLOAT.then(count)
    }

    fn bytes(bound: &T::Native) -> Vec<u8> {
        let mut bytes = Vec::new();
        bound.append(&mut bytes);
        bytes
    }

    fn statistics(told: Told<T::Native>) -> Statistics {
        let (least, greatest) = told.bounds.unzip();
        let statistics = ValueStatistics::new(least, greatest, None, Some(told.nulls), false);
        let statistics = statistics.with_nan_count(told.odd_values);
        T::Native::statistics(statistics.with_backwards_compatible_min_max(told.is_signed))
    }
}

#[inline]
fn for_each<T: ArrowPrimitiveType>(values: &PrimitiveArray<T>, mut take: impl FnMut(T::Native)) {
    if values.null_count() > 0 {
        return values.iter().flatten().for_each(take);
    }
    values.values().iter().for_each(|number| take(*number));
}

/// What is not a number counts only where there is nothing else.
fn extremes<N: Number>(numbers: impl Iterator<Item = N> + Clone) -> Option<(N, N)> {
    if N::IS_FLOAT && numbers.clone().any(Number::is_odd) {
        let all = numbers.clone();
        return ranked(numbers.filter(|number| !number.is_odd())).or_else(|| ranked(all));
    }
    ranked(numbers)
}

fn ranked<N: Number>(mut numbers: impl Iterator<Item = N>) -> Option<(N, N)> {
    let first = numbers.next()?.rank();
    let (least, greatest) = numbers.fold((first, first), |(least, greatest), number| {
        let rank = number.rank();
        (least.min(rank), greatest.max(rank))
    });
    Some((N::of_rank(least), N::of_rank(greatest)))
}

pub(super) struct NumberDictionary<T: ArrowPrimitiveType> {
    numbers: Vec<T::Native>,
    slots: Slots,
    hashes: RandomState,
}

impl<T: ArrowPrimitiveType> Default for NumberDictionary<T> {
    fn default() -> Self {
        Self { numbers: Vec::new(), slots: Slots::new(), hashes: RandomState::default() }
    }
}

impl<T: ArrowPrimitiveType<Native: Number>> NumberDictionary<T> {
    #[inline(always)]
    fn hash(&self, number: T::Native) -> u64 {
        let mut hasher = self.hashes.build_hasher();
        hasher.write_u64(number.bits());
        hasher.finish()
    }

    #[inline(always)]
    fn is_at(&self, place: u32, number: T::Native) -> bool {
        self.numbers.get(place as usize).is_some_and(|there| there.bits() == number.bits())
    }

    /// Of at most [`TOGETHER`] numbers.
    #[inline]
    fn append_places_of(&mut self, numbers: &[T::Native], out: &mut Vec<u32>) {
        let likely = self.slots.likely(numbers.iter().map(|number| self.hash(*number)));
        for (number, (hash, likely)) in numbers.iter().zip(likely.each()) {
            let found = likely.filter(|place| self.is_at(*place, *number));
            out.push(found.unwrap_or_else(|| self.place(hash, *number)));
        }
    }

    fn place(&mut self, hash: u64, number: T::Native) -> u32 {
        let next = self.numbers.len() as u32;
        let numbers = &self.numbers;
        let is_there = |place: u32| numbers.get(place as usize).is_some_and(|there| there.bits() == number.bits());
        let place = self.slots.place(hash, next, is_there);
        if place == next {
            self.numbers.push(number);
        }
        place
    }

    fn at(&self, places: impl Iterator<Item = u32>) -> impl Iterator<Item = T::Native> {
        places.filter_map(|place| self.numbers.get(place as usize).copied())
    }
}

impl<T: ArrowPrimitiveType<Native: Number>> Dictionary for NumberDictionary<T> {
    type Values = PrimitiveArray<T>;
    type Bound = T::Native;

    fn append_places(&mut self, values: &Self::Values, out: &mut Vec<u32>) {
        if values.null_count() == 0 {
            return values.values().chunks(TOGETHER).for_each(|numbers| self.append_places_of(numbers, out));
        }
        let numbers: Vec<_> = values.iter().flatten().collect();
        numbers.chunks(TOGETHER).for_each(|numbers| self.append_places_of(numbers, out));
    }

    fn place_of(&mut self, values: &Self::Values, row: usize) -> Option<u32> {
        let number = *values.values().get(row)?;
        Some(self.place(self.hash(number), number))
    }

    fn len(&self) -> usize {
        self.numbers.len()
    }

    fn plain_bytes(&self) -> usize {
        self.numbers.len() * T::Native::BYTES
    }

    fn into_plain(self) -> Vec<u8> {
        let mut plain = Vec::with_capacity(self.plain_bytes());
        self.numbers.iter().for_each(|number| number.append(&mut plain));
        plain
    }

    fn append_plain(&self, places: &[u32], out: &mut Vec<u8>) {
        self.at(places.iter().copied()).for_each(|number| number.append(out));
    }

    fn extremes(&self, places: impl Iterator<Item = u32>) -> Option<(T::Native, T::Native)> {
        let numbers: Vec<_> = self.at(places).collect();
        extremes(numbers.into_iter())
    }
}
