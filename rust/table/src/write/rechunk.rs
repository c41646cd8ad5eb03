//! Batches of one size, so that what is written does not depend on how the input was cut.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use arrow_select::coalesce::BatchCoalescer;

use crate::Result;

/// Batches of a fixed size, however the input was cut. What is not cut or joined is not copied either.
pub(crate) struct Rechunk<I> {
    input: Option<I>,
    /// A batch that is too small, but may be the last one.
    small: Option<RecordBatch>,
    coalescer: BatchCoalescer,
    rows: usize,
}

impl<I> Rechunk<I> {
    pub(crate) fn new(input: I, schema: &SchemaRef, rows: usize) -> Self {
        Self { input: Some(input), small: None, coalescer: BatchCoalescer::new(Arc::clone(schema), rows), rows }
    }

    /// Takes a batch in; gives it back if it is as it should be.
    fn take(&mut self, batch: RecordBatch) -> Result<Option<RecordBatch>> {
        let small = self.small.take();
        if self.coalescer.is_empty() && small.is_none() && batch.num_rows() <= self.rows {
            let is_small = batch.num_rows() < self.rows;
            self.small = (is_small && batch.num_rows() > 0).then(|| batch.clone());
            return Ok((!is_small).then_some(batch));
        }
        small.into_iter().chain([batch]).try_for_each(|batch| self.coalescer.push_batch(batch))?;
        Ok(None)
    }

    /// What is left at the end.
    fn last(&mut self) -> Result<Option<RecordBatch>> {
        if let Some(small) = self.small.take() {
            return Ok(Some(small));
        }
        self.coalescer.finish_buffered_batch()?;
        Ok(self.coalescer.next_completed_batch())
    }
}

impl<I: Iterator<Item = Result<RecordBatch>>> Iterator for Rechunk<I> {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(batch) = self.coalescer.next_completed_batch() {
                return Some(Ok(batch));
            }
            let Some(batch) = self.input.as_mut()?.next() else {
                self.input = None;
                return self.last().transpose();
            };
            if let Some(done) = batch.and_then(|batch| self.take(batch)).transpose() {
                return Some(done);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use arrow_array::types::Int32Type;
    use arrow_array::{ArrayRef, Int32Array};

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
