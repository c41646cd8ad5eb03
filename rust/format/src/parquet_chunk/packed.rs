//! Values that come as numbers of another file's dictionary: each value is looked up once, not once a row.

use arrow_array::types::Int32Type;
use arrow_array::{Array, DictionaryArray, PrimitiveArray};
use arrow_select::take::take;
use parquet::errors::{ParquetError, Result};

use super::kind::{Dictionary, Kind};
use super::{Chunk, ChunkWriter};

const UNKNOWN: u32 = u32::MAX;

/// The places of values met before.
pub(super) struct Known<K: Kind> {
    values: Option<K::Values>,
    /// By value; [`UNKNOWN`] of those that no row had.
    places: Vec<u32>,
}

impl<K: Kind> Default for Known<K> {
    fn default() -> Self {
        Self { values: None, places: Vec::new() }
    }
}

impl<K: Kind> Known<K> {
    /// Goes on with these values, of which the first ones are often those of before: batches of one file share them.
    fn meet(&mut self, values: &K::Values) {
        let same = self.values.as_ref().map_or(0, |before| K::same_at_first(before, values));
        self.places.truncate(same);
        self.places.resize(values.len(), UNKNOWN);
        self.values = Some(values.clone());
    }
}

impl<K: Kind> Chunk<K> {
    pub(super) fn write_packed(&mut self, packed: &DictionaryArray<Int32Type>) -> Result<()> {
        let unfit = || ParquetError::General(format!("a column chunk of {} values", packed.data_type()));
        let values = K::values(packed.values().as_ref()).ok_or_else(unfit)?;
        self.known.meet(values);
        let mut at = 0;
        while at < packed.len() {
            if self.filling().is_none() {
                let rest = packed.keys().slice(at, packed.len() - at);
                let unpacked = take(packed.values().as_ref(), &rest, None)?;
                return self.write(unpacked.as_ref());
            }
            let rows = (packed.len() - at).min(self.page_rows - self.page.rows);
            self.take_packed(values, &packed.keys().slice(at, rows)).ok_or_else(unfit)?;
            at += rows;
            self.end_what_is_full()?;
        }
        Ok(())
    }

    /// `None` if there are numbers of no value.
    fn take_packed(&mut self, values: &K::Values, numbers: &PrimitiveArray<Int32Type>) -> Option<()> {
        if self.has_levels {
            self.page.append_levels(numbers);
        }
        self.page.rows += numbers.len();
        self.page.has_packed = true;
        let dictionary = self.dictionary.as_mut()?;
        let (known, page) = (&mut self.known.places, &mut self.page);
        if let ([known], 0) = (known.as_mut_slice(), numbers.null_count()) {
            // All rows have the one value that there is.
            *known = dictionary.place_of(values, 0)?;
            page.places.resize(page.places.len() + numbers.len(), *known);
            page.plain_bytes += K::bytes_at(values, 0) * numbers.len();
            return Some(());
        }
        let mut take = |number: i32| -> Option<()> {
            let row = usize::try_from(number).ok()?;
            let place = known.get_mut(row)?;
            if *place == UNKNOWN {
                *place = dictionary.place_of(values, row)?;
            }
            page.places.push(*place);
            page.plain_bytes += K::bytes_at(values, row);
            Some(())
        };
        match numbers.nulls().filter(|nulls| nulls.null_count() > 0) {
            None => numbers.values().iter().try_for_each(|number| take(*number)),
            Some(nulls) => nulls.valid_indices().try_for_each(|row| take(*numbers.values().get(row)?)),
        }
    }
}
