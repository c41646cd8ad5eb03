//! The rows of a write, which are gone through more than once: in memory as far as they may be, the rest on disk.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::RecordBatch;

use crate::extent::{MOST_WAITING, bytes_of};
use crate::merge::Memory;
use crate::storage::scratch::Scratch;
use crate::{Error, Result};

/// Batches in the order in which they came.
#[derive(Debug)]
pub struct Kept {
    here: Vec<RecordBatch>,
    /// Those behind them.
    shelved: Vec<Shelved>,
    /// Where there is room on disk.
    folder: Option<String>,
    /// What batches that are brought to disk may take in memory until then.
    most_waiting: u64,
}

impl Kept {
    /// Half of the memory is for rows that stay in it, the other half for bringing those on disk to their file groups.
    pub(crate) fn of(input: impl Iterator<Item = Result<RecordBatch>>, memory: Memory) -> Result<Self> {
        let half = memory.bytes / 2;
        let most_waiting = half.min(MOST_WAITING);
        let mut kept = Self { here: Vec::new(), shelved: Vec::new(), folder: memory.folder, most_waiting };
        let shelf = kept.new_shelf();
        let mut bytes = 0;
        for batch in input {
            let batch = batch?;
            if batch.num_rows() == 0 {
                continue;
            }
            bytes += bytes_of(&batch);
            if bytes <= half {
                kept.here.push(batch);
            } else {
                kept.shelved.push(Shelved::new(&shelf, &batch)?);
            }
        }
        Ok(kept)
    }

    /// Rows that are in memory whatever becomes of them.
    pub fn in_memory(batches: Vec<RecordBatch>) -> Result<Self> {
        Self::of(batches.into_iter().map(Ok), Memory { bytes: u64::MAX, folder: None })
    }

    pub(super) fn len(&self) -> usize {
        self.here.len() + self.shelved.len()
    }

    /// One of those on disk, by its number among all.
    pub(super) fn read(&self, number: usize) -> Result<RecordBatch> {
        let shelved = number.checked_sub(self.here.len()).and_then(|at| self.shelved.get(at));
        shelved.ok_or_else(|| Error::internal(format!("batch {number} of a write is not on disk")))?.rows()
    }

    /// Those in memory, which are the first.
    pub(super) fn here(&self) -> &[RecordBatch] {
        &self.here
    }

    /// Those on disk, which come behind them.
    pub(super) fn shelved(&self) -> &[Shelved] {
        &self.shelved
    }

    /// All of them.
    pub(super) fn batches(&self) -> impl Iterator<Item = Result<RecordBatch>> {
        self.here.iter().cloned().map(Ok).chain(self.shelved.iter().map(Shelved::rows))
    }

    /// Another one, which goes with what is put there.
    pub(super) fn new_shelf(&self) -> Arc<Shelf> {
        Arc::new(Shelf { folder: self.folder.clone(), scratch: Mutex::default() })
    }

    pub(super) fn most_waiting(&self) -> u64 {
        self.most_waiting
    }
}

/// A place on disk that is made when it is needed.
#[derive(Debug)]
pub(super) struct Shelf {
    folder: Option<String>,
    scratch: Mutex<Option<Scratch>>,
}

impl Shelf {
    fn with<T>(&self, work: impl FnOnce(&mut Scratch) -> Result<T>) -> Result<T> {
        let mut scratch = self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *scratch {
            Some(scratch) => work(scratch),
            none => work(none.insert(Scratch::new(self.folder.as_deref())?)),
        }
    }
}

/// A batch on disk.
#[derive(Debug, Clone)]
pub(super) struct Shelved {
    shelf: Arc<Shelf>,
    at: Range<u64>,
}

impl Shelved {
    pub(super) fn new(shelf: &Arc<Shelf>, rows: &RecordBatch) -> Result<Self> {
        Ok(Self { shelf: Arc::clone(shelf), at: shelf.with(|scratch| scratch.append_rows(rows))? })
    }

    /// What it takes there.
    pub(super) fn bytes(&self) -> u64 {
        self.at.end - self.at.start
    }

    pub(super) fn rows(&self) -> Result<RecordBatch> {
        self.shelf.with(|scratch| scratch.read_rows(&self.at))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int64Array};
    use rstest::rstest;

    use super::*;

    fn batch(first: i64) -> RecordBatch {
        let column: ArrayRef = Arc::new(Int64Array::from_iter_values(first..first + 10));
        RecordBatch::try_from_iter([("n", column)]).unwrap()
    }

    #[rstest]
    #[case::nothing(0, 0)]
    #[case::half_of_it(320, 2)]
    #[case::all(u64::MAX, 5)]
    fn what_memory_has_no_room_for_is_on_disk(#[case] bytes: u64, #[case] here: usize) {
        let batches = (0..5).map(|n| Ok(batch(n))).chain([Ok(batch(0).slice(0, 0))]);
        let kept = Kept::of(batches, Memory { bytes, folder: None }).unwrap();
        assert_eq!((kept.here().len(), kept.shelved().len(), kept.len()), (here, 5 - here, 5));
        let on_disk = (here..5).map(|number| kept.read(number).unwrap());
        let all: Vec<RecordBatch> = kept.here().iter().cloned().chain(on_disk).collect();
        assert_eq!(all, (0..5).map(batch).collect::<Vec<_>>());
        assert!(kept.read(5).is_err());
    }
}
