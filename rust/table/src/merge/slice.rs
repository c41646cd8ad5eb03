//! One file slice: base rows and changes meet, merged batches come out.
//!
//! Order: base rows as they stand, then inserts as their keys arrived. It does not depend on batch sizes.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};
use arrow_select::interleave::interleave_record_batch;

use super::deltas::{Change, Deltas, record_keys};
use super::ordering::OrderingColumns;
use crate::{Error, Result};

/// Batches of the rows of a base file, with meta columns.
pub type Batches = Box<dyn Iterator<Item = Result<RecordBatch>> + Send>;

/// Merged rows, and which of them came from the changes.
#[derive(Debug)]
pub struct Merged {
    pub rows: RecordBatch,
    pub changed: BooleanBuffer,
}

impl Merged {
    pub fn unchanged(rows: RecordBatch) -> Self {
        Self { changed: BooleanBuffer::new_unset(rows.num_rows()), rows }
    }

    pub fn all_changed(rows: RecordBatch) -> Self {
        Self { changed: BooleanBuffer::new_set(rows.num_rows()), rows }
    }
}

/// What the merge did, complete once it is exhausted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MergeCounts {
    pub updated: u64,
    pub inserted: u64,
    pub deleted: u64,
    pub unchanged: u64,
}

/// An iterator over the merged slice.
pub struct SliceMerge {
    base: Batches,
    deltas: Deltas,
    /// Inserts not handed out yet; `None` while base rows are coming.
    inserts: Option<std::vec::IntoIter<(usize, usize)>>,
    batch_size: usize,
    counts: MergeCounts,
}

impl std::fmt::Debug for SliceMerge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SliceMerge").field("changes", &self.deltas.len()).field("counts", &self.counts).finish()
    }
}

impl SliceMerge {
    /// Base and changes have the same schema.
    pub fn new(base: Batches, deltas: Deltas, batch_size: usize) -> Self {
        Self { base, deltas, inserts: None, batch_size: batch_size.max(1), counts: MergeCounts::default() }
    }

    pub fn counts(&self) -> MergeCounts {
        self.counts
    }

    fn merge_base(&mut self, base: RecordBatch) -> Result<Merged> {
        let total = base.num_rows();
        if self.deltas.is_empty() {
            self.counts.unchanged += total as u64;
            return Ok(Merged::unchanged(base));
        }
        let keys = record_keys(&base)?.clone();
        let ordering = OrderingColumns::of(&base, &self.deltas.rule().ordering)?;
        // Source 0 is the base batch, source n + 1 the n-th batch of changes.
        let mut picks = Vec::with_capacity(total);
        let mut changed = BooleanBufferBuilder::new(total);
        let mut same = true;
        for row in 0..total {
            let change = self.deltas.meet(keys.value(row));
            let winner = match change {
                Some(change) if self.deltas.wins_over_base(&change, &ordering, row)? => Some(change),
                _ => None,
            };
            same &= winner.is_none();
            match winner {
                None => {
                    picks.push((0, row));
                    changed.append(false);
                    self.counts.unchanged += 1;
                }
                Some(Change::Row { batch, row }) => {
                    picks.push((batch + 1, row));
                    changed.append(true);
                    self.counts.updated += 1;
                }
                Some(Change::Delete { .. }) => self.counts.deleted += 1,
            }
        }
        let rows = if same { base } else { self.pick(Some(&base), &picks)? };
        Ok(Merged { rows, changed: changed.finish() })
    }

    fn next_inserts(&mut self) -> Option<Result<Merged>> {
        let inserts = self.inserts.get_or_insert_with(|| self.deltas.inserts().into_iter());
        let picks: Vec<_> = inserts.by_ref().take(self.batch_size).map(|(batch, row)| (batch + 1, row)).collect();
        if picks.is_empty() {
            return None;
        }
        self.counts.inserted += picks.len() as u64;
        Some(self.pick(None, &picks).map(Merged::all_changed))
    }

    fn pick(&self, base: Option<&RecordBatch>, picks: &[(usize, usize)]) -> Result<RecordBatch> {
        let changes = self.deltas.batches();
        let schema = base.or(changes.first()).map(RecordBatch::schema);
        let schema = schema.ok_or_else(|| Error::internal("rows picked from nothing"))?;
        let empty = RecordBatch::new_empty(Arc::clone(&schema));
        let sources: Vec<&RecordBatch> = std::iter::once(base.unwrap_or(&empty)).chain(changes).collect();
        if picks.is_empty() {
            return Ok(empty);
        }
        Ok(interleave_record_batch(&sources, picks)?)
    }
}

impl Iterator for SliceMerge {
    type Item = Result<Merged>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.inserts.is_none() {
            match self.base.next() {
                Some(batch) => match batch.and_then(|base| self.merge_base(base)) {
                    Ok(merged) if merged.rows.num_rows() == 0 => {}
                    other => return Some(other),
                },
                None => break,
            }
        }
        self.next_inserts()
    }
}
