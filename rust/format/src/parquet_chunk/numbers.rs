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
use super::slots::Slots;

/// A number as Parquet stores it.
pub(super) trait Number: Copy + Debug + Default + Send + 'static {
    const PHYSICAL: Physical;
    const BYTES: usize;
    /// Whether there are values that are not a number.
    const IS_FLOAT: bool = false;

    fn bits(self) -> u64;
    fn append(self, out: &mut Vec<u8>);
    fn order(&self, other: &Self) -> Ordering;
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

            fn order(&self, other: &Self) -> Ordering {
                self.cmp(other)
            }

            fn statistics(values: ValueStatistics<Self>) -> Statistics {
                Statistics::$statistics(values)
            }
        }
    };
}

/// In the total order of IEEE 754, as the footer says.
macro_rules! float {
    ($native:ty, $physical:ident, $statistics:ident) => {
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

            fn order(&self, other: &Self) -> Ordering {
                self.total_cmp(other)
            }

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
float!(f32, FLOAT, Float);
float!(f64, DOUBLE, Double);

pub(super) struct Numbers<T>(PhantomData<T>);

impl<T: ArrowPrimitiveType<Native: Number>> Kind for Numbers<T> {
    type Values = PrimitiveArray<T>;
    type Bound = T::Native;
    type Dictionary = NumberDictionary<T>;
    const PHYSICAL: Physical = T::Native::PHYSICAL;

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
        a.order(b)
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
    least_and_greatest(numbers.clone().filter(|number| !number.is_odd())).or_else(|| least_and_greatest(numbers))
}

fn least_and_greatest<N: Number>(mut numbers: impl Iterator<Item = N>) -> Option<(N, N)> {
    let first = numbers.next()?;
    Some(numbers.fold((first, first), |(least, greatest), number| {
        let least = if number.order(&least) == Ordering::Less { number } else { least };
        let greatest = if number.order(&greatest) == Ordering::Greater { number } else { greatest };
        (least, greatest)
    }))
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
    #[inline]
    fn place(&mut self, number: T::Native) -> u32 {
        let bits = number.bits();
        let mut hasher = self.hashes.build_hasher();
        hasher.write_u64(bits);
        let next = self.numbers.len() as u32;
        let numbers = &self.numbers;
        let is_there = |place: u32| numbers.get(place as usize).is_some_and(|number| number.bits() == bits);
        let place = self.slots.place(hasher.finish(), next, is_there);
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
        for_each(values, |number| out.push(self.place(number)));
    }

    fn place_of(&mut self, values: &Self::Values, row: usize) -> Option<u32> {
        values.values().get(row).map(|number| self.place(*number))
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
