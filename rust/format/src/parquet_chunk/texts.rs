//! Texts and binary values.

use std::cmp::Ordering;
use std::hash::{BuildHasher, Hasher};
use std::marker::PhantomData;

use arrow_array::cast::AsArray;
use arrow_array::types::{BinaryType, ByteArrayType, Utf8Type};
use arrow_array::{Array, GenericByteArray};
use foldhash::fast::RandomState;
use parquet::basic::Type as Physical;
use parquet::data_type::ByteArray;
use parquet::file::statistics::{Statistics, ValueStatistics};

use super::kind::{Dictionary, Kind, Told};
use super::slots::{Slots, TOGETHER};
use super::{TextExtremes, bounds};
use crate::counted::Counted;
use crate::extremes::{bytes_of_all, extremes, extremes_of, is_repeated};
use crate::short::{self, are_same};

/// Of the length that stands before each.
pub(super) const LENGTH: usize = 4;

pub(super) struct Texts<T>(PhantomData<T>);

pub(super) trait Type: ByteArrayType<Offset = i32> + Sized {
    /// Whether what is cut must stay a text.
    const IS_TEXT: bool;

    fn values(array: &dyn Array) -> Option<&GenericByteArray<Self>>;
}

impl Type for Utf8Type {
    const IS_TEXT: bool = true;

    fn values(array: &dyn Array) -> Option<&GenericByteArray<Self>> {
        array.as_string_opt()
    }
}

impl Type for BinaryType {
    const IS_TEXT: bool = false;

    fn values(array: &dyn Array) -> Option<&GenericByteArray<Self>> {
        array.as_binary_opt()
    }
}

impl<T: Type> Kind for Texts<T> {
    type Values = GenericByteArray<T>;
    type Bound = Vec<u8>;
    type Dictionary = TextDictionary<T>;
    const PHYSICAL: Physical = Physical::BYTE_ARRAY;

    fn values(array: &dyn Array) -> Option<&Self::Values> {
        T::values(array)
    }

    fn slice(values: &Self::Values, at: usize, rows: usize) -> Self::Values {
        values.slice(at, rows)
    }

    fn fitting(values: &Self::Values, at: usize, bytes: usize) -> usize {
        let ends = values.value_offsets().get(at..).unwrap_or_default();
        let start = ends.first().copied().unwrap_or_default();
        let fit = |rows: usize| ends.get(rows).is_some_and(|end| (end - start) as usize + LENGTH * rows <= bytes);
        let all = values.len() - at;
        if fit(all) {
            return all;
        }
        let (mut fitting, mut too_many) = (0, all);
        while too_many - fitting > 1 {
            let rows = fitting.midpoint(too_many);
            *(if fit(rows) { &mut fitting } else { &mut too_many }) = rows;
        }
        fitting
    }

    fn is_repeated(values: &Self::Values, before: Option<&Self::Values>) -> bool {
        values.null_count() == 0 && (before.is_some_and(|before| is_part(values, before)) || is_repeated(values))
    }

    fn same_at_first(values: &Self::Values, others: &Self::Values) -> usize {
        if values.values().ptr_eq(others.values()) && values.value_offsets().as_ptr() == others.value_offsets().as_ptr()
        {
            return values.len().min(others.len());
        }
        let lengths = values.offsets().lengths().zip(others.offsets().lengths());
        let as_long = lengths.take_while(|(a, b)| a == b).count();
        let (mut same, mut others_from) = (0, as_long + 1);
        while others_from - same > 1 {
            let count = same.midpoint(others_from);
            if bytes_of_all(&values.slice(0, count)) == bytes_of_all(&others.slice(0, count)) {
                same = count;
            } else {
                others_from = count;
            }
        }
        same
    }

    fn plain_bytes(values: &Self::Values) -> usize {
        match values.nulls() {
            None => bytes_of_all(values).len() + LENGTH * values.len(),
            Some(_) => values.iter().flatten().map(|value| LENGTH + bytes_of::<T>(value).len()).sum(),
        }
    }

    #[inline]
    fn bytes_at(values: &Self::Values, row: usize) -> usize {
        let ends = values.value_offsets();
        let length = ends.get(row).zip(ends.get(row + 1)).map_or(0, |(start, end)| end - start);
        LENGTH + length as usize
    }

    fn text_bytes(plain_bytes: usize, count: usize) -> Option<i64> {
        i64::try_from(plain_bytes - LENGTH * count).ok()
    }

    fn append_plain(values: &Self::Values, out: &mut Vec<u8>) {
        out.reserve(Self::plain_bytes(values));
        for_each(values, |value| append(value, out));
    }

    fn append_counted(texts: &Counted, out: &mut Vec<u8>) -> Option<(Vec<u8>, Vec<u8>)> {
        out.reserve(texts.bytes(LENGTH));
        texts.each(|text| append(text, out));
        texts.extremes()
    }

    fn extremes(values: &Self::Values) -> Option<(Vec<u8>, Vec<u8>)> {
        extremes(values).map(|(least, greatest)| (bytes_of::<T>(least).to_vec(), bytes_of::<T>(greatest).to_vec()))
    }

    fn order(a: &Vec<u8>, b: &Vec<u8>) -> Ordering {
        a.cmp(b)
    }

    fn bytes(bound: &Vec<u8>) -> Vec<u8> {
        bound.clone()
    }

    fn shorter_below(bound: &Vec<u8>, most: usize) -> Option<Vec<u8>> {
        bounds::shorter_below(bound, most, T::IS_TEXT)
    }

    fn shorter_above(bound: &Vec<u8>, most: usize) -> Option<Vec<u8>> {
        bounds::shorter_above(bound, most, T::IS_TEXT)
    }

    fn texts(extremes: TextExtremes) -> Option<TextExtremes> {
        Some(extremes)
    }

    fn statistics(told: Told<Vec<u8>>) -> Statistics {
        let (least, greatest) = told.bounds.unzip();
        let statistics = ValueStatistics::new(
            least.map(ByteArray::from),
            greatest.map(ByteArray::from),
            None,
            Some(told.nulls),
            false,
        );
        let statistics = statistics.with_min_is_exact(told.are_exact.0).with_max_is_exact(told.are_exact.1);
        Statistics::ByteArray(statistics.with_backwards_compatible_min_max(told.is_signed))
    }
}

fn bytes_of<T: ByteArrayType>(value: &T::Native) -> &[u8] {
    value.as_ref()
}

/// Whether it is the beginning of the very same column.
fn is_part<T: Type>(values: &GenericByteArray<T>, of: &GenericByteArray<T>) -> bool {
    (1..=of.len()).contains(&values.len())
        && values.values().ptr_eq(of.values())
        && values.value_offsets().as_ptr() == of.value_offsets().as_ptr()
}

#[inline(always)]
fn for_each<'v, T: Type>(values: &'v GenericByteArray<T>, mut take: impl FnMut(&'v [u8])) {
    if let Some(nulls) = values.nulls().filter(|nulls| nulls.null_count() > 0) {
        nulls.valid_indices().for_each(|row| take(bytes_of::<T>(values.value(row))));
        return;
    }
    let data = values.value_data();
    for ends in values.value_offsets().windows(2) {
        let [start, end] = ends else { continue };
        take(data.get(*start as usize..*end as usize).unwrap_or_default());
    }
}

#[inline]
fn append(value: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(value.len() as u32).to_le_bytes());
    short::append(value, out);
}

pub(super) struct TextDictionary<T> {
    plain: Vec<u8>,
    /// Where each value begins in `plain`, and behind the last one.
    starts: Vec<u32>,
    slots: Slots,
    hashes: RandomState,
    kind: PhantomData<fn() -> T>,
}

impl<T> Default for TextDictionary<T> {
    fn default() -> Self {
        let hashes = RandomState::default();
        Self { plain: Vec::new(), starts: vec![0], slots: Slots::new(), hashes, kind: PhantomData }
    }
}

impl<T: Type> TextDictionary<T> {
    #[inline(always)]
    fn hash(&self, value: &[u8]) -> u64 {
        let mut hasher = self.hashes.build_hasher();
        hasher.write(value);
        hasher.finish()
    }

    /// Of at most [`TOGETHER`] values.
    #[inline]
    fn append_places_of(&mut self, values: &[&[u8]], out: &mut Vec<u32>) {
        let likely = self.slots.likely(values.iter().map(|value| self.hash(value)));
        for (value, (hash, likely)) in values.iter().zip(likely.each()) {
            let found = likely.filter(|place| are_same(self.value(*place), value));
            out.push(found.unwrap_or_else(|| self.place(hash, value)));
        }
    }

    fn place(&mut self, hash: u64, value: &[u8]) -> u32 {
        let next = self.len() as u32;
        let (plain, starts) = (&self.plain, &self.starts);
        let place = self.slots.place(hash, next, |place| are_same(at(plain, starts, place), value));
        if place == next {
            append(value, &mut self.plain);
            self.starts.push(self.plain.len() as u32);
        }
        place
    }

    #[inline(always)]
    fn value(&self, place: u32) -> &[u8] {
        at(&self.plain, &self.starts, place)
    }
}

#[inline(always)]
fn at<'p>(plain: &'p [u8], starts: &[u32], place: u32) -> &'p [u8] {
    let Some([start, end]) = starts.get(place as usize..).and_then(<[u32]>::first_chunk) else { return &[] };
    plain.get(*start as usize + LENGTH..*end as usize).unwrap_or_default()
}

impl<T: Type> Dictionary for TextDictionary<T> {
    type Values = GenericByteArray<T>;
    type Bound = Vec<u8>;

    fn append_places(&mut self, values: &Self::Values, out: &mut Vec<u32>) {
        let mut waiting: [&[u8]; TOGETHER] = [&[]; TOGETHER];
        let mut count = 0;
        for_each(values, |value| {
            if let Some(place) = waiting.get_mut(count) {
                (*place, count) = (value, count + 1);
            }
            if count == TOGETHER {
                self.append_places_of(&waiting, out);
                count = 0;
            }
        });
        self.append_places_of(waiting.get(..count).unwrap_or_default(), out);
    }

    fn place_of(&mut self, values: &Self::Values, row: usize) -> Option<u32> {
        let value = (row < values.len()).then(|| bytes_of::<T>(values.value(row)))?;
        Some(self.place(self.hash(value), value))
    }

    fn len(&self) -> usize {
        self.starts.len() - 1
    }

    fn plain_bytes(&self) -> usize {
        self.plain.len()
    }

    fn into_plain(self) -> Vec<u8> {
        self.plain
    }

    fn append_plain(&self, places: &[u32], out: &mut Vec<u8>) {
        places.iter().for_each(|place| append(self.value(*place), out));
    }

    fn extremes(&self, places: impl Iterator<Item = u32>) -> Option<(Vec<u8>, Vec<u8>)> {
        let (least, greatest) = extremes_of(places.map(|place| self.value(place)))?;
        Some((least.to_vec(), greatest.to_vec()))
    }
}
