//! Batches of one size, so that what is written does not depend on how the input was cut.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use arrow_select::coalesce::BatchCoalescer;

use crate::Result;

/// Batches of a fixed size, however the input was cut.
pub(crate) struct Rechunk<I> {
    input: Option<I>,
    coalescer: BatchCoalescer,
    rows: usize,
}

impl<I> Rechunk<I> {
    pub(crate) fn new(input: I, schema: &SchemaRef, rows: usize) -> Self {
        Self { input: Some(input), coalescer: BatchCoalescer::new(Arc::clone(schema), rows), rows }
    }
}

impl<I: Iterator<Item = Result<RecordBatch>>> Iterator for Rechunk<I> {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(batch) = self.coalescer.next_completed_batch() {
                return Some(Ok(batch));
            }
            let pushed = match self.input.as_mut()?.next() {
                // Nothing to cut and nothing to join.
                Some(Ok(batch)) if self.coalescer.is_empty() && batch.num_rows() == self.rows => {
                    return Some(Ok(batch));
                }
                Some(Ok(batch)) => self.coalescer.push_batch(batch),
                Some(Err(e)) => return Some(Err(e)),
                None => {
                    self.input = None;
                    self.coalescer.finish_buffered_batch()
                }
            };
            if let Err(e) = pushed {
                return Some(Err(e.into()));
            }
            if self.input.is_none() {
                return self.coalescer.next_completed_batch().map(Ok);
            }
        }
    }
}

#[cfg(test)]
mod tests {
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
        assert_eq!(sizes(vec![]), [0; 0]);
    }

    #[test]
    fn an_error_comes_through() {
        let input = vec![Ok(batch(0..1)), Err(crate::Error::storage("gone"))];
        let mut rows = Rechunk::new(input.into_iter(), &batch(0..0).schema(), 4);
        assert!(rows.next().unwrap().is_err());
    }
}
