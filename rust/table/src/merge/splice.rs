//! Rows of several batches put into one, a run of neighbours at a time.
//!
//! Mostly a base batch goes through with some rows replaced: what lies between those is copied in one piece.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, BinaryType, ByteArrayType, Utf8Type};
use arrow_array::{
    Array, ArrayRef, GenericByteArray, PrimitiveArray, RecordBatch, RecordBatchOptions, downcast_primitive, make_array,
};
use arrow_buffer::{BooleanBufferBuilder, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_data::ArrayData;
use arrow_data::transform::MutableArrayData;
use arrow_schema::{ArrowError, DataType, SchemaRef};
use arrow_select::interleave::interleave;

use super::rows::Place;
use crate::{Error, Result};

/// Below this many rows a run, on average, rows are picked one by one: that costs less than starting on a run.
const WORTHWHILE: usize = 4;

/// Rows of one source that lie side by side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    source: usize,
    start: usize,
    rows: usize,
}

/// Which rows come out, in their order.
#[derive(Debug, Default)]
pub(super) struct Runs {
    runs: Vec<Run>,
    rows: usize,
}

impl Runs {
    pub(super) fn push(&mut self, source: usize, start: usize, rows: usize) {
        if rows == 0 {
            return;
        }
        self.rows += rows;
        match self.runs.last_mut() {
            Some(last) if last.source == source && last.start + last.rows == start => last.rows += rows,
            _ => self.runs.push(Run { source, start, rows }),
        }
    }

    fn places(&self) -> Vec<Place> {
        self.runs.iter().flat_map(|run| (run.start..run.start + run.rows).map(|row| (run.source, row))).collect()
    }

    /// The same, but with the few rows that lie side by side in changes as rows of one more source; and where those are.
    fn with_picked(&self, picked: usize) -> (Self, Vec<Place>) {
        let (mut runs, mut places) = (Self::default(), Vec::new());
        for run in &self.runs {
            if run.source == 0 || run.rows >= WORTHWHILE {
                runs.push(run.source, run.start, run.rows);
            } else {
                runs.push(picked, places.len(), run.rows);
                places.extend((run.start..run.start + run.rows).map(|row| (run.source, row)));
            }
        }
        (runs, places)
    }

    /// Whether there are so many that rows are better picked one by one.
    fn are_short(&self) -> bool {
        self.rows < self.runs.len() * WORTHWHILE
    }

    /// The same with the sources numbered anew, of which only those in use are left; and these.
    fn of_used_sources(&self, sources: usize) -> (Vec<Run>, Vec<usize>) {
        let mut numbers = vec![usize::MAX; sources];
        let mut used = Vec::new();
        let renumber = |run: &Run| {
            let number = numbers.get_mut(run.source)?;
            if *number == usize::MAX {
                *number = used.len();
                used.push(run.source);
            }
            Some(Run { source: *number, ..*run })
        };
        (self.runs.iter().filter_map(renumber).collect(), used)
    }
}

impl FromIterator<Place> for Runs {
    fn from_iter<I: IntoIterator<Item = Place>>(places: I) -> Self {
        let mut runs = Self::default();
        places.into_iter().for_each(|(source, row)| runs.push(source, row, 1));
        runs
    }
}

/// The rows in one batch; also of batches without columns. The first source is of the base file, the others of changes.
pub(super) fn splice(schema: &SchemaRef, sources: &[&RecordBatch], runs: &Runs) -> Result<RecordBatch> {
    if runs.rows == 0 {
        return Ok(RecordBatch::new_empty(Arc::clone(schema)));
    }
    // Rows of changes come from all over them. A loop that does nothing else waits for several of them at a time.
    let (spliced, places) = runs.with_picked(sources.len());
    let column = |at: usize| {
        let mut arrays: Vec<&dyn Array> =
            sources.iter().filter_map(|batch| Some(batch.columns().get(at)?.as_ref())).collect();
        if runs.are_short() || places.is_empty() {
            return splice_column(&arrays, runs);
        }
        let picked = interleave(&arrays, &places)?;
        arrays.push(picked.as_ref());
        splice_column(&arrays, &spliced)
    };
    let columns = (0..schema.fields().len()).map(column).collect::<Result<Vec<_>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(runs.rows));
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?)
}

macro_rules! splice_numbers_of {
    ($kind:ty, $sources:expr, $runs:expr) => {
        splice_numbers::<$kind>($sources, $runs)
    };
}
/// The same for one column, of which there is a row at least.
pub(super) fn splice_column(sources: &[&dyn Array], runs: &Runs) -> Result<ArrayRef> {
    if let [run] = runs.runs.as_slice()
        && let Some(source) = sources.get(run.source)
    {
        return Ok(source.slice(run.start, run.rows));
    }
    if runs.are_short() {
        return Ok(interleave(sources, &runs.places())?);
    }
    let Some(first) = sources.first() else { return Err(Error::internal("rows spliced from nothing")) };
    downcast_primitive! {
        first.data_type() => (splice_numbers_of, sources, runs),
        DataType::Utf8 => splice_bytes::<Utf8Type>(sources, runs),
        DataType::Binary => splice_bytes::<BinaryType>(sources, runs),
        _ => splice_any(sources, runs),
    }
}

fn splice_numbers<T: ArrowPrimitiveType>(sources: &[&dyn Array], runs: &Runs) -> Result<ArrayRef> {
    let numbers: Vec<&PrimitiveArray<T>> = sources.iter().filter_map(|source| source.as_primitive_opt()).collect();
    let mut values = Vec::with_capacity(runs.rows);
    for run in &runs.runs {
        let run = numbers.get(run.source).and_then(|source| source.values().get(run.start..run.start + run.rows));
        values.extend_from_slice(run.unwrap_or_default());
    }
    let spliced = PrimitiveArray::<T>::try_new(values.into(), splice_nulls(sources, runs))?;
    let data_type = sources.first().map_or(T::DATA_TYPE, |source| source.data_type().clone());
    Ok(Arc::new(spliced.with_data_type(data_type)))
}

/// Texts and bytes: their room is counted first, and filled a run at a time.
fn splice_bytes<T: ByteArrayType<Offset = i32>>(sources: &[&dyn Array], runs: &Runs) -> Result<ArrayRef> {
    let texts: Vec<&GenericByteArray<T>> = sources.iter().filter_map(|source| source.as_bytes_opt()).collect();
    let pieces = || runs.runs.iter().filter_map(|run| Some((texts.get(run.source)?, run)));
    let bounds = |source: &GenericByteArray<T>, run: &Run| -> Option<(usize, usize)> {
        let offsets = source.value_offsets();
        Some((*offsets.get(run.start)? as usize, *offsets.get(run.start + run.rows)? as usize))
    };
    let total: usize = pieces().filter_map(|(source, run)| bounds(source, run)).map(|(start, end)| end - start).sum();
    if i32::try_from(total).is_err() {
        return Err(ArrowError::OffsetOverflowError(total).into());
    }
    let mut offsets: Vec<i32> = Vec::with_capacity(runs.rows + 1);
    let mut values: Vec<u8> = Vec::with_capacity(total);
    offsets.push(0);
    for (source, run) in pieces() {
        if let (Some((start, end)), Some(ends)) =
            (bounds(source, run), source.value_offsets().get(run.start + 1..=run.start + run.rows))
        {
            let shift = values.len() as i32 - start as i32;
            offsets.extend(ends.iter().map(|end| end + shift));
            values.extend_from_slice(source.value_data().get(start..end).unwrap_or_default());
        }
    }
    let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
    let nulls = splice_nulls(sources, runs);
    Ok(Arc::new(GenericByteArray::<T>::try_new(offsets, Buffer::from_vec(values), nulls)?))
}

/// Texts and bytes of source 0 by their numbers among `values`, and those of source 1.
pub(super) fn splice_values<T: ByteArrayType<Offset = i32>>(
    numbers: &[i32],
    values: &GenericByteArray<T>,
    changes: &GenericByteArray<T>,
    runs: &Runs,
) -> Result<(OffsetBuffer<i32>, Buffer)> {
    let mut offsets: Vec<i32> = Vec::with_capacity(runs.rows + 1);
    let mut total = 0_usize;
    offsets.push(0);
    each_text(numbers, values, changes, runs, |text| {
        total += text.len();
        offsets.push(total as i32);
    });
    if i32::try_from(total).is_err() {
        return Err(ArrowError::OffsetOverflowError(total).into());
    }
    let mut bytes: Vec<u8> = Vec::with_capacity(total);
    each_text(numbers, values, changes, runs, |text| bytes.extend_from_slice(text));
    Ok((OffsetBuffer::new(ScalarBuffer::from(offsets)), Buffer::from_vec(bytes)))
}

fn each_text<T: ByteArrayType<Offset = i32>>(
    numbers: &[i32],
    values: &GenericByteArray<T>,
    changes: &GenericByteArray<T>,
    runs: &Runs,
    mut take: impl FnMut(&[u8]),
) {
    for run in &runs.runs {
        let rows = run.start..run.start + run.rows;
        if run.source == 0 {
            let numbers = numbers.get(rows).unwrap_or_default();
            numbers.iter().for_each(|number| take(bytes_at(values, *number as usize)));
        } else {
            rows.for_each(|row| take(bytes_at(changes, row)));
        }
    }
}

/// None of a number that stands for nothing, as those of nulls may.
fn bytes_at<T: ByteArrayType<Offset = i32>>(texts: &GenericByteArray<T>, at: usize) -> &[u8] {
    match texts.value_offsets().get(at..).unwrap_or_default() {
        [start, end, ..] => texts.value_data().get(*start as usize..*end as usize).unwrap_or_default(),
        _ => &[],
    }
}

fn splice_nulls(sources: &[&dyn Array], runs: &Runs) -> Option<NullBuffer> {
    if sources.iter().all(|source| source.null_count() == 0) {
        return None;
    }
    let mut valid = BooleanBufferBuilder::new(runs.rows);
    for run in &runs.runs {
        match sources.get(run.source).and_then(|source| source.nulls()) {
            None => valid.append_n(run.rows, true),
            Some(nulls) => valid.append_buffer(&nulls.inner().slice(run.start, run.rows)),
        }
    }
    Some(NullBuffer::new(valid.finish()))
}

fn splice_any(sources: &[&dyn Array], runs: &Runs) -> Result<ArrayRef> {
    let (numbered, used) = runs.of_used_sources(sources.len());
    let data: Vec<ArrayData> = used.iter().filter_map(|at| Some(sources.get(*at)?.to_data())).collect();
    let mut spliced = MutableArrayData::try_new(data.iter().collect(), false, runs.rows)?;
    for run in numbered {
        spliced.try_extend(run.source, run.start, run.start + run.rows)?;
    }
    Ok(make_array(spliced.freeze()))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    use arrow_array::types::Int32Type;
    use arrow_array::{BinaryArray, BooleanArray, Int64Array, ListArray, StringArray};
    use proptest::prelude::*;

    /// Texts, bytes, longs, booleans and lists, some of them null, and the same texts whatever the seed; the same columns
    /// without nulls; slices of both.
    pub(in crate::merge) fn columns(seed: i64, rows: usize, nulls: bool) -> Vec<ArrayRef> {
        let kept = |row: usize| !(nulls && (row + seed as usize).is_multiple_of(3));
        let text = |row: usize| kept(row).then(|| format!("{seed}-{row}-{}", "x".repeat(row % 5)));
        let numbers = |row: usize| kept(row).then(|| seed * 1000 + row as i64);
        let skipped = 2.min(rows);
        let full: [ArrayRef; 6] = [
            Arc::new((0..rows + skipped).map(text).collect::<StringArray>()),
            Arc::new((0..rows + skipped).map(|row| text(row).map(String::into_bytes)).collect::<BinaryArray>()),
            Arc::new((0..rows + skipped).map(numbers).collect::<Int64Array>()),
            Arc::new((0..rows + skipped).map(|row| kept(row).then_some(row % 2 == 0)).collect::<BooleanArray>()),
            Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(
                (0..rows + skipped).map(|row| kept(row).then(|| vec![Some(row as i32); row % 3])),
            )),
            Arc::new((0..rows + skipped).map(|row| kept(row).then(|| format!("key {row}"))).collect::<StringArray>()),
        ];
        full.iter().map(|column| column.slice(skipped, rows)).collect()
    }

    proptest! {
        #[test]
        fn runs_are_the_same_rows_as_one_by_one(
            pieces in prop::collection::vec((0_usize..3, 0_usize..40, 0_usize..25), 1..20),
            nulls in prop::array::uniform3(any::<bool>()),
        ) {
            let rows = 64;
            let sources: Vec<Vec<ArrayRef>> =
                nulls.iter().enumerate().map(|(seed, nulls)| columns(seed as i64, rows, *nulls)).collect();
            let mut runs = Runs::default();
            pieces.iter().for_each(|(source, start, rows)| runs.push(*source, *start, *rows));
            prop_assume!(runs.rows > 0);
            for at in 0..6 {
                let arrays: Vec<&dyn Array> = sources.iter().map(|columns| columns[at].as_ref()).collect();
                let spliced = splice_column(&arrays, &runs).unwrap();
                prop_assert_eq!(&spliced, &interleave(&arrays, &runs.places()).unwrap());
                spliced.to_data().validate_full().unwrap();
            }
        }
    }

    #[test]
    fn neighbours_are_one_run() {
        let runs: Runs = [(0, 0), (0, 1), (1, 2), (1, 3), (0, 2)].into_iter().collect();
        assert_eq!((runs.runs.len(), runs.rows), (3, 5));
    }
}
