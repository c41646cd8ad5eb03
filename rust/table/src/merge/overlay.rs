//! Rows of a batch replaced in place.
//!
//! Mostly a change takes the place of a row, so that as many rows come out as there were: then the batch is copied whole,
//! and the others are written over it.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, BinaryType, ByteArrayType, Int32Type, Utf8Type};
use arrow_array::{
    Array, ArrayRef, DictionaryArray, GenericByteArray, PrimitiveArray, RecordBatch, RecordBatchOptions,
    downcast_primitive,
};
use arrow_buffer::{BooleanBufferBuilder, Buffer, NullBuffer, OffsetBuffer};
use arrow_schema::DataType;
use arrow_select::concat::concat;
use arrow_select::interleave::interleave;
use hudini_format::parquet_file::schema_of;

use super::rows::Place;
use super::splice::{Runs, splice_column, splice_values};
use crate::{Error, Result};

/// Which rows are replaced, from the first to the last, and by which.
#[derive(Debug, Default)]
pub(super) struct Overlay {
    rows: Vec<usize>,
    places: Vec<Place>,
}

impl Overlay {
    pub(super) fn push(&mut self, row: usize, place: Place) {
        self.rows.push(row);
        self.places.push(place);
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The batch with these rows replaced. Places are among `changes`. `unpacks` columns that are packed.
    pub(super) fn over(&self, base: &RecordBatch, changes: &[RecordBatch], unpacks: bool) -> Result<RecordBatch> {
        let column = |(at, under): (usize, &ArrayRef)| -> Result<ArrayRef> {
            let arrays: Vec<&dyn Array> =
                changes.iter().filter_map(|batch| Some(batch.columns().get(at)?.as_ref())).collect();
            self.column(under, interleave(&arrays, &self.places)?.as_ref(), unpacks)
        };
        let columns = base.columns().iter().enumerate().map(column).collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(base.num_rows()));
        Ok(RecordBatch::try_new_with_options(schema_of(&base.schema(), &columns), columns, &options)?)
    }

    fn column(&self, under: &ArrayRef, over: &dyn Array, unpacks: bool) -> Result<ArrayRef> {
        macro_rules! numbers {
            ($kind:ty) => {
                self.numbers::<$kind>(under, over)?
            };
        }
        let laid = downcast_primitive! {
            under.data_type() => (numbers),
            DataType::Utf8 => self.texts::<Utf8Type>(under, over)?,
            DataType::Binary => self.texts::<BinaryType>(under, over)?,
            DataType::Dictionary(..) if !unpacks => self.packed(under, over)?,
            DataType::Dictionary(_, values) => match values.as_ref() {
                DataType::Utf8 => self.unpacked::<Utf8Type>(under, over)?,
                _ => self.unpacked::<BinaryType>(under, over)?,
            },
            _ => None,
        };
        laid.map_or_else(|| splice_column(&[under.as_ref(), over], &self.runs(under.len())), Ok)
    }

    fn numbers<T: ArrowPrimitiveType>(&self, under: &ArrayRef, over: &dyn Array) -> Result<Option<ArrayRef>> {
        let numbers = under.as_primitive_opt::<T>().zip(over.as_primitive_opt::<T>());
        let Some((below, above)) = numbers else { return Ok(None) };
        let mut values = below.values().to_vec();
        for (row, value) in self.rows.iter().zip(above.values()) {
            if let Some(place) = values.get_mut(*row) {
                *place = *value;
            }
        }
        let laid = PrimitiveArray::<T>::try_new(values.into(), self.nulls(under, over))?;
        Ok(Some(Arc::new(laid.with_data_type(under.data_type().clone()))))
    }

    /// Texts and bytes, of which those that come are as long as those that go, as keys and codes are. `None` if they are
    /// not.
    fn texts<T: ByteArrayType<Offset = i32>>(&self, under: &ArrayRef, over: &dyn Array) -> Result<Option<ArrayRef>> {
        let texts = under.as_bytes_opt::<T>().zip(over.as_bytes_opt::<T>());
        let Some((below, above)) = texts else { return Ok(None) };
        let Some(first) = below.value_offsets().first().map(|start| *start as usize) else { return Ok(None) };
        let bytes = |texts: &GenericByteArray<T>, row: usize| -> Option<Range<usize>> {
            let offsets = texts.value_offsets();
            Some(*offsets.get(row)? as usize..*offsets.get(row + 1)? as usize)
        };
        let pieces = || self.rows.iter().enumerate().map(|(at, row)| Some((bytes(below, *row)?, bytes(above, at)?)));
        if !pieces().all(|pair| pair.is_some_and(|(old, new)| old.len() == new.len())) {
            return Ok(None);
        }
        let (old_bytes, new_bytes) = (below.value_data(), above.value_data());
        let is_same = |(old, new): (Range<usize>, Range<usize>)| old_bytes.get(old) == new_bytes.get(new);
        if below.null_count() + above.null_count() == 0 && pieces().flatten().all(is_same) {
            return Ok(Some(Arc::clone(under)));
        }
        let end = below.value_offsets().last().map_or(first, |end| *end as usize);
        let mut laid = old_bytes.get(first..end).unwrap_or_default().to_vec();
        for (old, new) in pieces().flatten() {
            if let (Some(place), Some(text)) = (laid.get_mut(old.start - first..old.end - first), new_bytes.get(new)) {
                place.copy_from_slice(text);
            }
        }
        let offsets = match first {
            0 => below.offsets().clone(),
            _ => OffsetBuffer::from_lengths(below.offsets().lengths()),
        };
        let laid = GenericByteArray::<T>::try_new(offsets, Buffer::from_vec(laid), self.nulls(under, over))?;
        Ok(Some(Arc::new(laid)))
    }

    /// Numbers of a dictionary: what comes goes behind its values.
    fn packed(&self, under: &ArrayRef, over: &dyn Array) -> Result<Option<ArrayRef>> {
        let Some(packed) = under.as_dictionary_opt::<Int32Type>() else { return Ok(None) };
        let values = concat(&[packed.values().as_ref(), over])?;
        let mut numbers = packed.keys().values().to_vec();
        for (row, number) in self.rows.iter().zip(packed.values().len()..) {
            if let Some(place) = numbers.get_mut(*row) {
                *place = i32::try_from(number).map_err(|_| Error::internal("2^31 values in a dictionary"))?;
            }
        }
        let numbers = PrimitiveArray::<Int32Type>::try_new(numbers.into(), self.nulls(packed.keys(), over))?;
        Ok(Some(Arc::new(DictionaryArray::try_new(numbers, values)?)))
    }

    /// The same, with the values in their rows: each is copied once.
    fn unpacked<T: ByteArrayType<Offset = i32>>(&self, under: &ArrayRef, over: &dyn Array) -> Result<Option<ArrayRef>> {
        let packed = under.as_dictionary_opt::<Int32Type>();
        let values = packed.and_then(|packed| Some((packed.keys(), packed.values().as_bytes_opt::<T>()?)));
        // A dictionary of a file has no nulls.
        let values = values.filter(|(_, values)| values.null_count() == 0);
        let (Some((numbers, values)), Some(above)) = (values, over.as_bytes_opt::<T>()) else { return Ok(None) };
        let (offsets, bytes) = splice_values(numbers.values(), values, above, &self.runs(under.len()))?;
        Ok(Some(Arc::new(GenericByteArray::<T>::try_new(offsets, bytes, self.nulls(numbers, over))?)))
    }

    fn nulls(&self, under: &dyn Array, over: &dyn Array) -> Option<NullBuffer> {
        if under.null_count() + over.null_count() == 0 {
            return None;
        }
        let mut valid = BooleanBufferBuilder::new(under.len());
        match under.nulls() {
            Some(nulls) => valid.append_buffer(nulls.inner()),
            None => valid.append_n(under.len(), true),
        }
        self.rows.iter().enumerate().for_each(|(at, row)| valid.set_bit(*row, over.is_valid(at)));
        Some(NullBuffer::new(valid.finish()))
    }

    /// The same as pieces of the batch, source 0, and of the rows that come, source 1.
    fn runs(&self, total: usize) -> Runs {
        let (mut runs, mut next) = (Runs::default(), 0);
        for (at, row) in self.rows.iter().enumerate() {
            runs.push(0, next, row - next);
            runs.push(1, at, 1);
            next = row + 1;
        }
        runs.push(0, next, total - next);
        runs
    }
}

#[cfg(test)]
mod tests {
    use super::super::splice::tests::columns;
    use super::*;
    use arrow_schema::{Field, Schema};
    use hudini_format::parquet_file::unpacked;
    use proptest::prelude::*;

    const ROWS: usize = 64;

    fn batch(seed: i64, nulls: bool) -> RecordBatch {
        let columns = columns(seed, ROWS, nulls);
        let field = |column: &ArrayRef| Field::new("c", column.data_type().clone(), true);
        let schema = Schema::new(columns.iter().map(field).collect::<Vec<_>>());
        RecordBatch::try_new(schema.into(), columns).unwrap()
    }

    /// Texts and bytes as numbers of a dictionary.
    fn packed(batch: &RecordBatch) -> RecordBatch {
        let columns: Vec<ArrayRef> = batch
            .columns()
            .iter()
            .map(|column| match column.data_type() {
                kind @ (DataType::Utf8 | DataType::Binary) => {
                    let packed = DataType::Dictionary(Box::new(DataType::Int32), Box::new(kind.clone()));
                    arrow_cast::cast(column, &packed).unwrap()
                }
                _ => Arc::clone(column),
            })
            .collect();
        RecordBatch::try_new(schema_of(&batch.schema(), &columns), columns).unwrap()
    }

    proptest! {
        #[test]
        fn replaced_rows_are_the_same_as_all_picked_one_by_one(
            replaced in prop::collection::btree_map(0..ROWS, (1_usize..3, 0..ROWS), 1..ROWS),
            by_rows_alike in any::<bool>(),
            is_packed in any::<bool>(),
            unpacks in any::<bool>(),
            nulls in prop::array::uniform3(any::<bool>()),
        ) {
            let batches: Vec<RecordBatch> =
                nulls.iter().enumerate().map(|(seed, nulls)| batch(seed as i64, *nulls)).collect();
            let sources: Vec<&RecordBatch> = batches.iter().collect();
            let mut overlay = Overlay::default();
            let mut places: Vec<Place> = (0..ROWS).map(|row| (0, row)).collect();
            for (row, (source, other)) in replaced {
                let other = if by_rows_alike { row } else { other };
                overlay.push(row, (source - 1, other));
                places[row] = (source, other);
            }
            let base = if is_packed { packed(&batches[0]) } else { batches[0].clone() };
            let laid = overlay.over(&base, &batches[1..], unpacks).unwrap();
            prop_assert!(!unpacks || laid.schema().fields() == batches[0].schema().fields());
            for (at, column) in laid.columns().iter().enumerate() {
                let column = &unpacked(column).unwrap();
                let arrays: Vec<&dyn Array> = sources.iter().map(|batch| batch.column(at).as_ref()).collect();
                prop_assert_eq!(column, &interleave(&arrays, &places).unwrap());
                column.to_data().validate_full().unwrap();
            }
        }
    }

    #[test]
    fn texts_that_stay_the_same_are_not_copied() {
        let batches = [batch(0, false), batch(1, false)];
        let mut overlay = Overlay::default();
        (0..ROWS).step_by(3).for_each(|row| overlay.push(row, (0, row)));
        let laid = overlay.over(&batches[0], &batches[1..], false).unwrap();
        let (keys, before) = (laid.column(5).as_string::<i32>(), batches[0].column(5).as_string::<i32>());
        assert!(keys.values().ptr_eq(before.values()));
    }
}
