//! The rows of each file group. Those in memory stay where they are until they are asked for; those on disk are brought
//! there once more, by file group, so that each group finds its own together.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::types::UInt32Type;
use arrow_array::{PrimitiveArray, RecordBatch};
use arrow_select::concat::concat_batches;
use arrow_select::take::take_record_batch;

use super::kept::{Kept, Shelf, Shelved, bytes_of};
use crate::Result;

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
    /// Batches of at most so many rows.
    pub fn batches(self, at_once: usize) -> impl Iterator<Item = Result<RecordBatch>> {
        let found = match self.0 {
            Source::Memory(batch, rows) => Ok((batch, rows)),
            Source::Disk(shelved) => shelved.rows().map(|batch| (batch, None)),
        };
        let (found, error) = found.map_or_else(|e| (None, Some(Err(e))), |found| (Some(found), None));
        found.into_iter().flat_map(move |(batch, rows)| parts(batch, rows, at_once)).chain(error)
    }
}

fn parts(batch: RecordBatch, rows: Rows, at_once: usize) -> impl Iterator<Item = Result<RecordBatch>> {
    let total = rows.as_ref().map_or(batch.num_rows(), Vec::len);
    (0..total).step_by(at_once.max(1)).map(move |start| {
        let count = at_once.min(total - start);
        match &rows {
            None => Ok(batch.slice(start, count)),
            Some(rows) => taken(&batch, rows.get(start..start + count).unwrap_or_default()),
        }
    })
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
