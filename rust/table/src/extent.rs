//! What rows take in memory, and how many of them stand in one batch.

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::DataType;

/// What a batch takes that is put together of others: offsets have 32 bits, and such a batch is in memory beside what it was
/// made of. Few rows are so wide that their number alone would not keep them below.
pub(crate) const BATCH_BYTES: u64 = 64 << 20;

/// What is brought to disk at a time, at most: offsets have 32 bits there too.
pub(crate) const MOST_WAITING: u64 = 256 << 20;

/// What the rows of a batch take, and not the buffers that it shares with others. Of views nobody knows.
pub(crate) fn bytes_of(batch: &RecordBatch) -> u64 {
    let of = |column: &ArrayRef| {
        let is_view = matches!(column.data_type(), DataType::Utf8View | DataType::BinaryView);
        let shown = if is_view { None } else { column.to_data().get_slice_memory_size().ok() };
        shown.unwrap_or_else(|| column.get_array_memory_size()) as u64
    };
    batch.columns().iter().map(of).sum()
}

/// How many rows may stand in one batch, at most so many, if all are as wide as these are on average.
pub(crate) fn rows_at_once<'b>(batches: impl IntoIterator<Item = &'b RecordBatch>, most: usize) -> usize {
    let sizes = batches.into_iter().map(|batch| (batch.num_rows() as u64, bytes_of(batch)));
    let (rows, bytes) = sizes.fold((0_u64, 0_u64), |(rows, bytes), batch| (rows + batch.0, bytes + batch.1));
    let fitting = BATCH_BYTES.saturating_mul(rows).checked_div(bytes).unwrap_or(u64::MAX);
    usize::try_from(fitting).unwrap_or(usize::MAX).clamp(1, most.max(1))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Int64Array, StringArray};
    use rstest::rstest;

    use super::*;

    fn numbers() -> RecordBatch {
        let column: ArrayRef = Arc::new(Int64Array::from_iter_values(0..10));
        RecordBatch::try_from_iter([("n", column)]).unwrap()
    }

    #[test]
    fn a_slice_takes_what_it_shows() {
        assert_eq!(bytes_of(&numbers()), 80);
        assert_eq!(bytes_of(&numbers().slice(3, 4)), 32);
    }

    #[rstest]
    #[case::narrow(10, 50, 50)]
    #[case::wide(1 << 20, 50, 50)]
    #[case::wider(4 << 20, 50, 15)]
    #[case::more_than_a_batch(100 << 20, 50, 1)]
    #[case::of_nothing_asked(10, 0, 1)]
    fn rows_stand_together_by_their_number_and_by_what_they_take(
        #[case] width: usize,
        #[case] most: usize,
        #[case] expected: usize,
    ) {
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["x".repeat(width)]));
        let batch = RecordBatch::try_from_iter([("t", texts)]).unwrap();
        assert_eq!(rows_at_once([&batch, &batch], most), expected);
        assert_eq!(rows_at_once([], most), most.max(1));
    }
}
