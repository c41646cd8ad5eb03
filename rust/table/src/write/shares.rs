//! The rows of each file group. Those in memory stay where they are until they are asked for; those on disk are brought
//! there once more, by file group, so that each group finds its own together.

use std::collections::BTreeMap;
use std::iter::Peekable;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::types::UInt32Type;
use arrow_array::{PrimitiveArray, RecordBatch};
use arrow_select::concat::concat_batches;
use arrow_select::interleave::interleave_record_batch;
use arrow_select::take::take_record_batch;

use super::kept::{Kept, Shelf, Shelved};
use crate::Result;
use crate::extent::{BATCH_BYTES, bytes_of};

/// Partition and slot.
pub(super) type Place = (String, i32);

/// The rows of each file group, in the order in which they came.
pub type Groups = BTreeMap<Place, Vec<Share>>;

/// Some of the rows of a file group.
#[derive(Debug, Clone)]
pub struct Share(Source);

#[derive(Debug, Clone)]
enum Source {
    /// They are brought together when they are asked for, so that they are not in memory twice.
    Memory(RecordBatch, Rows),
    Disk(Shelved),
}

/// Rows of a batch, in order; `None` of all.
type Rows = Option<Vec<u32>>;

impl Share {
    fn is_on_disk(&self) -> bool {
        matches!(self.0, Source::Disk(_))
    }

    fn opened(self) -> Result<Part> {
        let (batch, rows) = match self.0 {
            Source::Memory(batch, rows) => (batch, rows),
            Source::Disk(shelved) => (shelved.rows()?, None),
        };
        let count = rows.as_ref().map_or(batch.num_rows(), Vec::len);
        let width = bytes_of(&batch).div_ceil(batch.num_rows().max(1) as u64).max(1);
        Ok(Part { batch, rows: rows.map(Arc::new), left: 0..count, width })
    }
}

/// The rows of a group, so many at a time, or fewer wide ones, in the order in which they came. Those in memory are copied
/// once, from where they are to where they stand together; those on disk are there by one share at a time.
pub fn batches(shares: Vec<Share>, at_once: usize) -> impl Iterator<Item = Result<RecordBatch>> {
    let mut pieces = Pieces { shares: shares.into_iter().peekable(), open: None, at_once: at_once.max(1) };
    std::iter::from_fn(move || pieces.next().transpose())
}

struct Pieces {
    shares: Peekable<std::vec::IntoIter<Share>>,
    open: Option<Part>,
    at_once: usize,
}

impl Pieces {
    fn next(&mut self) -> Result<Option<RecordBatch>> {
        let (mut parts, mut room, mut bytes) = (Vec::new(), self.at_once, BATCH_BYTES);
        while room > 0
            && let Some(mut open) = self.opened(parts.is_empty())?
        {
            let fitting = open.rows_within(bytes).max(usize::from(parts.is_empty()));
            let part = open.split(room.min(fitting));
            room -= part.left.len();
            bytes = bytes.saturating_sub(part.bytes());
            parts.extend((!part.left.is_empty()).then_some(part));
            if !open.left.is_empty() {
                self.open = Some(open);
                break;
            }
        }
        together(&parts)
    }

    /// The share that is gone through. One on disk is only opened if it may be.
    fn opened(&mut self, may_read: bool) -> Result<Option<Part>> {
        if let Some(open) = self.open.take() {
            return Ok(Some(open));
        }
        self.shares.next_if(|share| may_read || !share.is_on_disk()).map(Share::opened).transpose()
    }
}

/// Some of the rows that a share has.
struct Part {
    batch: RecordBatch,
    rows: Option<Arc<Vec<u32>>>,
    /// Places among them.
    left: Range<usize>,
    /// What a row of the batch takes on average.
    width: u64,
}

impl Part {
    /// Takes the first rows away, at most so many.
    fn split(&mut self, most: usize) -> Self {
        let end = self.left.end.min(self.left.start + most);
        let (batch, rows) = (self.batch.clone(), self.rows.clone());
        let first = Self { batch, rows, left: self.left.start..end, width: self.width };
        self.left.start = end;
        first
    }

    fn bytes(&self) -> u64 {
        self.width.saturating_mul(self.left.len() as u64)
    }

    fn rows_within(&self, bytes: u64) -> usize {
        usize::try_from(bytes / self.width).unwrap_or(usize::MAX)
    }

    fn rows(&self) -> Option<&[u32]> {
        self.rows.as_ref().map(|rows| rows.get(self.left.clone()).unwrap_or_default())
    }
}

fn together(parts: &[Part]) -> Result<Option<RecordBatch>> {
    if let [part] = parts {
        let Some(rows) = part.rows() else { return Ok(Some(part.batch.slice(part.left.start, part.left.len()))) };
        return taken(&part.batch, rows).map(Some);
    }
    let mut places = Vec::with_capacity(parts.iter().map(|part| part.left.len()).sum());
    for (number, part) in parts.iter().enumerate() {
        match part.rows() {
            Some(rows) => places.extend(rows.iter().map(|row| (number, *row as usize))),
            None => places.extend(part.left.clone().map(|row| (number, row))),
        }
    }
    let batches: Vec<_> = parts.iter().map(|part| &part.batch).collect();
    Ok(if batches.is_empty() { None } else { Some(interleave_record_batch(&batches, &places)?) })
}

fn taken(batch: &RecordBatch, rows: &[u32]) -> Result<RecordBatch> {
    Ok(take_record_batch(batch, &PrimitiveArray::<UInt32Type>::from(rows.to_vec()))?)
}

/// Rows of one of the batches of a write.
#[derive(Debug, Clone)]
pub(super) struct Pick {
    batch: usize,
    rows: Rows,
    /// How many rows the batch has.
    of: usize,
}

impl Pick {
    /// Of the batch with this number, which has so many rows.
    pub(super) fn new(batch: usize, rows: Vec<u32>, of: usize) -> Self {
        Self { batch, rows: (rows.len() < of).then_some(rows), of }
    }

    /// Some of them, by their places among them.
    pub(super) fn part(&self, places: Vec<u32>) -> Self {
        let rows = match &self.rows {
            Some(rows) => places.iter().filter_map(|place| rows.get(*place as usize).copied()).collect(),
            None => places,
        };
        Self::new(self.batch, rows, self.of)
    }

    pub(super) fn count(&self) -> usize {
        self.rows.as_ref().map_or(self.of, Vec::len)
    }
}

/// The rows that were picked for each group. `accepted` are those in memory, `accept` makes such of others.
pub(super) fn shared(
    kept: &Kept,
    accepted: &[RecordBatch],
    picks: BTreeMap<Place, Vec<Pick>>,
    accept: impl Fn(&RecordBatch) -> Result<RecordBatch>,
) -> Result<Groups> {
    let mut groups = Groups::new();
    let mut on_disk: Vec<Vec<(Place, Rows)>> = vec![Vec::new(); kept.shelved().len()];
    for (place, picks) in picks {
        let group = groups.entry(place.clone()).or_default();
        for Pick { batch, rows, .. } in picks {
            if let Some(accepted) = accepted.get(batch) {
                group.push(Share(Source::Memory(accepted.clone(), rows)));
            } else if let Some(picked) = batch.checked_sub(accepted.len()).and_then(|at| on_disk.get_mut(at)) {
                picked.push((place.clone(), rows));
            }
        }
    }
    // A lost race leaves its file groups behind: their shelf is their own.
    let shelf = kept.new_shelf();
    let mut mover = Mover { shelf, most_waiting: kept.most_waiting(), groups, waiting: BTreeMap::new(), bytes: 0 };
    for (shelved, picked) in kept.shelved().iter().zip(on_disk) {
        let batch = accept(&shelved.rows()?)?;
        for (place, rows) in picked {
            mover.take(place, rows.map_or_else(|| Ok(batch.clone()), |rows| taken(&batch, &rows))?)?;
        }
    }
    Ok(mover.finish())
}

/// Collects rows by file group, and puts them on disk when they have become too many.
struct Mover {
    shelf: Arc<Shelf>,
    most_waiting: u64,
    groups: Groups,
    waiting: BTreeMap<Place, Vec<RecordBatch>>,
    bytes: u64,
}

impl Mover {
    fn take(&mut self, place: Place, rows: RecordBatch) -> Result<()> {
        self.bytes += bytes_of(&rows);
        self.waiting.entry(place).or_default().push(rows);
        if self.bytes > self.most_waiting { self.move_waiting() } else { Ok(()) }
    }

    fn move_waiting(&mut self) -> Result<()> {
        self.bytes = 0;
        for (place, batches) in std::mem::take(&mut self.waiting) {
            let Some(schema) = batches.first().map(RecordBatch::schema) else { continue };
            let shelved = Shelved::new(&self.shelf, &concat_batches(&schema, &batches)?)?;
            self.groups.entry(place).or_default().push(Share(Source::Disk(shelved)));
        }
        Ok(())
    }

    fn finish(self) -> Groups {
        let mut groups = self.groups;
        for (place, batches) in self.waiting {
            let shares = batches.into_iter().map(|batch| Share(Source::Memory(batch, None)));
            groups.entry(place).or_default().extend(shares);
        }
        groups
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use arrow_array::types::Int64Type;
    use arrow_array::{ArrayRef, Int64Array, StringArray};
    use rstest::rstest;

    use super::super::kept::Kept;
    use super::*;

    fn batch(numbers: Range<i64>) -> RecordBatch {
        let column: ArrayRef = Arc::new(Int64Array::from_iter_values(numbers));
        RecordBatch::try_from_iter([("n", column)]).unwrap()
    }

    fn here(numbers: Range<i64>, rows: Option<Vec<u32>>) -> Share {
        Share(Source::Memory(batch(numbers), rows))
    }

    fn there(numbers: Range<i64>) -> Share {
        let shelf = Kept::in_memory(Vec::new()).unwrap().new_shelf();
        Share(Source::Disk(Shelved::new(&shelf, &batch(numbers)).unwrap()))
    }

    #[rstest]
    #[case::nothing(vec![], vec![])]
    #[case::no_rows(vec![here(0..3, Some(vec![])), here(0..0, None)], vec![])]
    #[case::picked(vec![here(0..9, Some(vec![1, 2, 4, 6, 7]))], vec![vec![1, 2, 4, 6], vec![7]])]
    #[case::several(
        vec![here(0..9, Some(vec![1, 2])), here(10..13, None), here(20..29, Some(vec![0, 8]))],
        vec![vec![1, 2, 10, 11], vec![12, 20, 28]]
    )]
    #[case::on_disk(
        vec![here(0..3, None), there(10..15), there(20..22), here(30..31, None), there(40..41)],
        vec![vec![0, 1, 2], vec![10, 11, 12, 13], vec![14], vec![20, 21, 30], vec![40]]
    )]
    fn rows_come_so_many_at_a_time(#[case] shares: Vec<Share>, #[case] expected: Vec<Vec<i64>>) {
        let numbers = |batch: RecordBatch| batch.column(0).as_primitive::<Int64Type>().values().to_vec();
        let found: Vec<_> = batches(shares, 4).map(|batch| numbers(batch.unwrap())).collect();
        assert_eq!(found, expected);
    }

    /// By number alone they would be brought together until no column of texts can hold them.
    #[rstest]
    #[case::of_one_batch(3, 1)]
    #[case::of_several(1, 3)]
    fn wide_rows_come_fewer_at_a_time(#[case] rows: usize, #[case] batches_of_rows: usize) {
        let wide = "x".repeat(40 << 20);
        let texts: ArrayRef = Arc::new(StringArray::from_iter_values(std::iter::repeat_n(&wide, rows)));
        let batch = RecordBatch::try_from_iter([("t", texts)]).unwrap();
        let listed = (rows > 1).then(|| (0..).take(rows).collect());
        let shares = vec![Share(Source::Memory(batch, listed)); batches_of_rows];
        let found: Vec<_> = batches(shares, 1000).map(|batch| batch.unwrap().num_rows()).collect();
        assert_eq!(found, [1, 1, 1]);
    }
}
