//! Columns that have the values of the record keys, as the one key field of most tables: their chunks are encoded once.

use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch, StringArray};
use arrow_schema::{DataType, FieldRef, Schema};
use hudini_format::extremes::bytes_of_all;
use hudini_format::schema::meta;

/// Places of columns that had the same values as the record keys in all rows so far.
#[derive(Debug, Default)]
pub(super) struct Twins {
    keys: usize,
    twins: Vec<usize>,
}

impl Twins {
    /// All that may turn out to be.
    pub(super) fn possible(schema: &Schema) -> Self {
        let Some((keys, field)) = schema.column_with_name(meta::RECORD_KEY) else { return Self::default() };
        let is_alike = |(place, other): (usize, &FieldRef)| {
            let is_behind = place > keys && *other.data_type() == DataType::Utf8;
            (is_behind && other.is_nullable() == field.is_nullable()).then_some(place)
        };
        Self { keys, twins: schema.fields().iter().enumerate().filter_map(is_alike).collect() }
    }

    /// Where the keys are, for a column that has their values.
    pub(super) fn keys_of(&self, place: usize) -> Option<usize> {
        self.twins.contains(&place).then_some(self.keys)
    }

    pub(super) fn are_keys(&self, place: usize) -> bool {
        place == self.keys && !self.twins.is_empty()
    }

    /// None but such columns, and none if the keys are not.
    pub(super) fn keep(&mut self, may_be: impl Fn(usize) -> bool) {
        self.twins.retain(|twin| may_be(*twin) && may_be(self.keys));
    }

    /// Those that have other values in a batch.
    pub(super) fn parting(&self, batch: &RecordBatch) -> Vec<usize> {
        let texts = |place: usize| batch.columns().get(place).and_then(|column| column.as_string_opt::<i32>());
        let is_other = |place: &usize| {
            let both = texts(self.keys).zip(texts(*place));
            !both.is_some_and(|(keys, values)| have_same_bytes(keys, values))
        };
        self.twins.iter().copied().filter(is_other).collect()
    }

    pub(super) fn part(&mut self, parting: &[usize]) {
        self.twins.retain(|place| !parting.contains(place));
    }
}

/// Whether they have the same texts in all rows, and no nulls.
fn have_same_bytes(a: &StringArray, b: &StringArray) -> bool {
    let are_shared = || {
        a.value_data().as_ptr() == b.value_data().as_ptr() && a.value_offsets().as_ptr() == b.value_offsets().as_ptr()
    };
    a.len() == b.len()
        && a.null_count() + b.null_count() == 0
        && (are_shared() || (bytes_of_all(a) == bytes_of_all(b) && starts(a).eq(starts(b))))
}

/// Where each text starts, from the first one on.
fn starts(texts: &StringArray) -> impl Iterator<Item = i32> {
    let first = texts.value_offsets().first().copied().unwrap_or_default();
    texts.value_offsets().iter().map(move |start| start - first)
}
