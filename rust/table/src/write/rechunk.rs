//! Batches of one size, so that what is written does not depend on how the input was cut.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use arrow_select::concat::concat_batches;

use super::widths;
use crate::Result;
use crate::extent::BATCH_BYTES;

/// Batches of so many rows, or of fewer if those are wide, however the input was cut. What is not cut or joined is not copied
/// either.
pub(crate) struct Rechunk<I> {
    input: Option<I>,
    schema: SchemaRef,
    rows: usize,
    bytes: u64,
    /// What the next batch is made of so far.
    open: Open,
    done: VecDeque<RecordBatch>,
}

#[derive(Default)]
struct Open {
    parts: Vec<RecordBatch>,
    rows: usize,
    bytes: u64,
}

impl<I> Rechunk<I> {
    pub(crate) fn new(input: I, schema: &SchemaRef, rows: usize) -> Self {
        let (schema, open, done) = (Arc::clone(schema), Open::default(), VecDeque::new());
        Self { input: Some(input), schema, rows: rows.max(1), bytes: BATCH_BYTES, open, done }
    }

    fn take(&mut self, mut batch: RecordBatch) -> Result<()> {
        while batch.num_rows() > 0 {
            let (count, bytes) = self.fitting(&batch);
            if count > 0 {
                self.open.parts.push(batch.slice(0, count));
                self.open.rows += count;
                self.open.bytes += bytes;
                batch = batch.slice(count, batch.num_rows() - count);
            }
            if batch.num_rows() > 0 || self.open.rows >= self.rows {
                self.close()?;
            }
        }
        Ok(())
    }

    /// How many of its first rows belong into the open batch, and what those take.
    fn fitting(&self, batch: &RecordBatch) -> (usize, u64) {
        let count = batch.num_rows().min(self.rows.saturating_sub(self.open.rows));
        let room = self.bytes.saturating_sub(self.open.bytes);
        let all = widths::of_all(&batch.slice(0, count));
        if all <= room {
            return (count, all);
        }
        let mut fitting = (0, 0);
        for width in widths::of_rows(&batch.slice(0, count), &batch.schema()) {
            let bytes = fitting.1 + width.unsigned_abs();
            // A row that is too wide for any batch has one for itself.
            if bytes > room && self.open.rows + fitting.0 > 0 {
                break;
            }
            fitting = (fitting.0 + 1, bytes);
        }
        fitting
    }

    fn close(&mut self) -> Result<()> {
        let parts = std::mem::take(&mut self.open).parts;
        match parts.as_slice() {
            [] => {}
            [part] => self.done.push_back(part.clone()),
            parts => self.done.push_back(concat_batches(&self.schema, parts)?),
        }
        Ok(())
    }
}

impl<I: Iterator<Item = Result<RecordBatch>>> Iterator for Rechunk<I> {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(batch) = self.done.pop_front() {
                return Some(Ok(batch));
            }
            let taken = match self.input.as_mut()?.next() {
                Some(batch) => batch.and_then(|batch| self.take(batch)),
                None => {
                    self.input = None;
                    self.close()
                }
            };
            if let Err(e) = taken {
                return Some(Err(e));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use arrow_array::types::Int32Type;
    use arrow_array::{ArrayRef, Int32Array, StringArray};
    use rstest::rstest;

    use super::*;

    fn batch(values: std::ops::Range<i32>) -> RecordBatch {
        let column: ArrayRef = Arc::new(Int32Array::from_iter_values(values));
        RecordBatch::try_from_iter([("v", column)]).unwrap()
    }

    fn sizes(input: Vec<RecordBatch>) -> Vec<usize> {
        let schema = batch(0..0).schema();
        Rechunk::new(input.into_iter().map(Ok), &schema, 4).map(|b| b.unwrap().num_rows()).collect()
    }

    #[test]
    fn the_cut_of_the_input_does_not_show() {
        assert_eq!(sizes(vec![batch(0..10)]), [4, 4, 2]);
        assert_eq!(sizes((0..10).map(|i| batch(i..i + 1)).collect()), [4, 4, 2]);
        assert_eq!(sizes(vec![batch(0..0), batch(0..8), batch(0..0)]), [4, 4]);
        assert_eq!(sizes(vec![batch(0..4), batch(0..3), batch(0..4), batch(0..4)]), [4, 4, 4, 3]);
        assert_eq!(sizes(vec![batch(0..2), batch(0..0), batch(0..1)]), [3]);
        assert_eq!(sizes(vec![batch(0..4), batch(0..3)]), [4, 3]);
        assert_eq!(sizes(vec![batch(0..3), batch(3..9), batch(9..10)]), [4, 4, 2]);
        assert_eq!(sizes(vec![]), [0; 0]);
    }

    #[rstest]
    #[case::narrow(&[1, 1, 1, 1, 1], &[4, 1])]
    #[case::wide(&[8, 8, 5, 5, 5, 5], &[2, 3, 1])]
    #[case::too_wide(&[1, 30, 30, 1, 1], &[1, 1, 1, 2])]
    #[case::just_fitting(&[16, 8, 8, 4, 4, 4, 4], &[1, 2, 4])]
    fn wide_rows_are_fewer_in_a_batch(#[case] widths: &[usize], #[case] expected: &[usize]) {
        let texts = |widths: &[usize]| {
            let column: ArrayRef =
                Arc::new(StringArray::from_iter_values(widths.iter().map(|width| "x".repeat(*width))));
            RecordBatch::try_from_iter([("t", column)]).unwrap()
        };
        let schema = texts(&[]).schema();
        for at_once in 1..=widths.len() {
            let input = widths.chunks(at_once).map(|widths| Ok(texts(widths)));
            let cut = Rechunk { bytes: 16, ..Rechunk::new(input, &schema, 4) };
            assert_eq!(cut.map(|batch| batch.unwrap().num_rows()).collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn rows_keep_their_order() {
        let input = vec![batch(0..3), batch(3..9), batch(9..10), batch(10..14), batch(14..16), batch(16..17)];
        let cut = Rechunk::new(input.into_iter().map(Ok), &batch(0..0).schema(), 4);
        let values: Vec<i32> =
            cut.flat_map(|b| b.unwrap().column(0).as_primitive::<Int32Type>().values().to_vec()).collect();
        assert_eq!(values, (0..17).collect::<Vec<_>>());
    }

    #[test]
    fn an_error_comes_through() {
        let input = vec![Ok(batch(0..1)), Err(crate::Error::storage("gone"))];
        let mut rows = Rechunk::new(input.into_iter(), &batch(0..0).schema(), 4);
        assert!(rows.next().unwrap().is_err());
    }
}
