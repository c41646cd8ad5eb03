//! One file slice: base rows and changes meet, merged batches come out.
//!
//! Order: base rows as they stand, then inserts as their keys arrived. It does not depend on batch sizes.

use std::iter::Peekable;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, BooleanArray, RecordBatch};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};
use arrow_select::filter::{filter, filter_record_batch};

use super::change::Change;
use super::custom;
use super::deleted::{deleted_rows, record_keys};
use super::deltas::Deltas;
use super::ordering::OrderingColumns;
use super::overlay::Overlay;
use super::packed::unpacked;
use super::rows::{self, Composition};
use super::splice::{Runs, splice};
use crate::extent::rows_at_once;
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

    /// Without some of the rows.
    fn without(self, gone: &[usize]) -> Result<Self> {
        let mut kept = BooleanBufferBuilder::new(self.rows.num_rows());
        kept.append_n(self.rows.num_rows(), true);
        gone.iter().for_each(|row| kept.set_bit(*row, false));
        let kept = BooleanArray::from(kept.finish());
        let changed = filter(&BooleanArray::from(self.changed), &kept)?;
        Ok(Self { rows: filter_record_batch(&self.rows, &kept)?, changed: changed.as_boolean().values().clone() })
    }
}

/// Rows of a base batch, each with the change that is about it.
type Met = Vec<(usize, Change)>;

/// What the merge did, complete once it is exhausted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MergeCounts {
    pub updated: u64,
    pub inserted: u64,
    pub deleted: u64,
    pub unchanged: u64,
}

/// The changes to the rows of a base file up to one of them.
#[derive(Debug)]
pub(super) struct Stretch {
    pub(super) deltas: Deltas,
    /// The first row that they are not about.
    pub(super) end: u64,
}

/// Stretches of one base file, from its first row on. The last one has no end.
pub(super) type Stretches = Box<dyn Iterator<Item = Result<Stretch>> + Send>;

/// An iterator over the merged slice.
pub struct SliceMerge {
    base: Batches,
    /// Base rows that belong to the next stretch.
    rest: Option<RecordBatch>,
    deltas: Deltas,
    /// The changes at hand that name rows by position and were not met so far, least first.
    positions: Peekable<std::vec::IntoIter<(u64, u32)>>,
    /// Where the changes at hand end, and those behind them.
    end: u64,
    stretches: Stretches,
    /// Rows of the base file so far.
    base_rows: u64,
    /// Inserts not handed out yet; `None` while base rows are coming.
    inserts: Option<std::vec::IntoIter<usize>>,
    batch_size: usize,
    /// How many inserts are handed out together: fewer, where they are wide.
    inserts_at_once: usize,
    /// Whether columns that come packed are to go unpacked.
    unpacks: bool,
    counts: MergeCounts,
}

impl std::fmt::Debug for SliceMerge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SliceMerge").field("changes", &self.deltas.len()).field("counts", &self.counts).finish()
    }
}

impl SliceMerge {
    /// Base and changes have the same schema, but columns of the base may be packed, and may come out packed then. The base
    /// rows are all of the file's, from the first on: positions count them.
    pub fn new(base: Batches, deltas: Deltas, batch_size: usize) -> Self {
        Self::starting_with(Stretch { deltas, end: u64::MAX }, Box::new(std::iter::empty()), base, batch_size)
    }

    /// The same with changes that come a stretch at a time. They name rows by position.
    pub(super) fn of_stretches(base: Batches, mut stretches: Stretches, batch_size: usize) -> Result<Self> {
        let first = stretches.next().ok_or_else(|| Error::internal("a slice without a stretch"))??;
        Ok(Self::starting_with(first, stretches, base, batch_size))
    }

    fn starting_with(first: Stretch, stretches: Stretches, base: Batches, batch_size: usize) -> Self {
        Self {
            base,
            rest: None,
            positions: first.deltas.by_position().into_iter().peekable(),
            deltas: first.deltas,
            end: first.end,
            stretches,
            base_rows: 0,
            inserts: None,
            batch_size: batch_size.max(1),
            inserts_at_once: 1,
            unpacks: false,
            counts: MergeCounts::default(),
        }
    }

    /// The same rows with no column packed.
    pub(crate) fn unpacked(self) -> Self {
        Self { unpacks: true, ..self }
    }

    /// Whether it begins with the keys of the base file, all of them. Rows that are met by position may have others.
    pub(crate) fn keeps_keys(&self) -> bool {
        !self.deltas.is_by_position() && !self.deltas.may_delete() && self.stretches.size_hint() == (0, Some(0))
    }

    pub fn counts(&self) -> MergeCounts {
        self.counts
    }

    /// The next rows of the base file that the changes at hand are about.
    fn next_base(&mut self) -> Option<Result<RecordBatch>> {
        let left = self.end.saturating_sub(self.base_rows);
        if left == 0 {
            return None;
        }
        let batch = match self.rest.take() {
            Some(rest) => rest,
            None => match self.base.next()? {
                Ok(batch) => batch,
                Err(e) => return Some(Err(e)),
            },
        };
        match usize::try_from(left) {
            Ok(left) if left < batch.num_rows() => {
                self.rest = Some(batch.slice(left, batch.num_rows() - left));
                Some(Ok(batch.slice(0, left)))
            }
            _ => Some(Ok(batch)),
        }
    }

    fn merge_base(&mut self, base: RecordBatch) -> Result<Merged> {
        let total = base.num_rows();
        let first = self.base_rows;
        self.base_rows += total as u64;
        if self.deltas.is_empty() {
            self.counts.unchanged += total as u64;
            return Ok(Merged::unchanged(self.shown(base)?));
        }
        let by_position = self.deltas.is_by_position();
        let rule = self.deltas.rule();
        let moves_rows = !self.deltas.composes() && self.deltas.merger().is_none();
        let is_seen = |name: &str| !moves_rows || rule.makes_keys(name) || rule.is_ordered_by(name);
        let base = unpacked(base, is_seen)?;
        let base = if by_position { base } else { self.deltas.rule().with_keys(base)? };
        let met = if by_position { self.meet_by_position(first) } else { self.meet_by_key(&base)? };
        if self.deltas.merger().is_some() {
            return self.merge_by_merger(&base, &met);
        }
        let ordering = OrderingColumns::of(&base, self.deltas.rule())?;
        if self.deltas.composes() {
            self.merge_columns(&base, &ordering, met)
        } else {
            self.merge_rows(base, &ordering, met)
        }
    }

    /// The rows before the next one that changes are about; the first of them stands at `first` in the file.
    fn meet_by_position(&mut self, first: u64) -> Met {
        let end = self.base_rows;
        let met = std::iter::from_fn(|| self.positions.next_if(|(position, _)| *position < end));
        let row = |(position, entry): (u64, u32)| Some((usize::try_from(position.checked_sub(first)?).ok()?, entry));
        let changes = met.filter_map(row).filter_map(|(row, entry)| Some((row, self.deltas.meet(entry as usize)?)));
        changes.collect()
    }

    fn meet_by_key(&mut self, base: &RecordBatch) -> Result<Met> {
        let keys = record_keys(base)?;
        let met = self.deltas.find_all(keys);
        Ok(met.into_iter().filter_map(|(row, entry)| Some((row, self.deltas.meet(entry)?))).collect())
    }

    /// Rows of the base file as they go out.
    fn shown(&self, base: RecordBatch) -> Result<RecordBatch> {
        if self.unpacks { unpacked(base, |_| true) } else { Ok(base) }
    }

    /// One row of two wins whole.
    fn merge_rows(&mut self, base: RecordBatch, ordering: &OrderingColumns, met: Met) -> Result<Merged> {
        let total = base.num_rows();
        let (mut overlay, mut gone) = (Overlay::default(), Vec::new());
        let mut changed = BooleanBufferBuilder::new(total);
        changed.append_n(total, false);
        for (row, change) in met {
            if !self.deltas.wins_over_base(&change, ordering, row)? {
                continue;
            }
            match change.row() {
                Some(place) => {
                    overlay.push(row, place);
                    changed.set_bit(row, true);
                }
                None => gone.push(row),
            }
        }
        let deleted = gone.len() as u64;
        self.counts.updated += overlay.len() as u64;
        self.counts.deleted += deleted;
        self.counts.unchanged += total as u64 - overlay.len() as u64 - deleted;
        let rows = match overlay.len() {
            0 => self.shown(base)?,
            _ => overlay.over(&base, self.deltas.batches(), self.unpacks)?,
        };
        let merged = Merged { rows, changed: changed.finish() };
        if gone.is_empty() { Ok(merged) } else { merged.without(&gone) }
    }

    /// The winner may lack columns, and takes those of the other.
    fn merge_columns(&mut self, base: &RecordBatch, ordering: &OrderingColumns, met: Met) -> Result<Merged> {
        let total = base.num_rows();
        let mut met = met.into_iter().peekable();
        let mut kept = Vec::with_capacity(total);
        let mut changed = BooleanBufferBuilder::new(total);
        for row in 0..total {
            let old = Composition::Whole((0, row));
            let merged = match met.next_if(|(at, _)| *at == row) {
                None => old.clone(),
                Some((_, change)) => match (self.deltas.wins_over_base(&change, ordering, row)?, change.columns()) {
                    (true, Some(new)) => self.deltas.patched(Some(base), &new, &old, true),
                    (false, Some(new)) => self.deltas.patched(Some(base), &old, &new, false),
                    (false, None) => old.clone(),
                    (true, None) => {
                        self.counts.deleted += 1;
                        continue;
                    }
                },
            };
            let is_old = merged == old;
            changed.append(!is_old);
            *(if is_old { &mut self.counts.unchanged } else { &mut self.counts.updated }) += 1;
            kept.push(merged);
        }
        let rows = rows::gather(&base.schema(), &self.sources(base), &kept)?;
        Ok(Merged { rows, changed: changed.finish() })
    }

    /// A custom merger decides about pairs of rows; a delete wins or loses by the rest of the rule.
    fn merge_by_merger(&mut self, base: &RecordBatch, met: &[(usize, Change)]) -> Result<Merged> {
        let total = base.num_rows();
        let ordering = OrderingColumns::of(base, self.deltas.rule())?;
        let (mut old, mut new) = (Vec::new(), Vec::new());
        for (row, change) in met {
            if let Some(place) = change.row() {
                old.push((0, *row));
                new.push(place);
            }
        }
        let decided = match self.deltas.merger() {
            Some(merger) if !new.is_empty() => {
                let changes: Vec<_> = self.deltas.batches().iter().collect();
                Some(custom::merge(merger, &[base], &old, &changes, &new)?)
            }
            _ => None,
        };
        let marker = self.deltas.rule().delete_marker.as_ref();
        let gone = decided.as_ref().map(|rows| deleted_rows(rows, marker)).transpose()?.flatten();
        let is_gone = |at: usize| gone.as_ref().is_some_and(|gone| gone.is_valid(at) && gone.value(at));
        let mut picks = Runs::default();
        let mut changed = BooleanBufferBuilder::new(total);
        let (mut met, mut next) = (met.iter().peekable(), 0..);
        for row in 0..total {
            let change = met.next_if(|(at, _)| *at == row).map(|(_, change)| change);
            let decided = change.and_then(Change::row).and_then(|_| next.next());
            match (change, decided) {
                (_, Some(at)) if is_gone(at) => self.counts.deleted += 1,
                (_, Some(at)) => {
                    picks.push(1, at, 1);
                    changed.append(true);
                    self.counts.updated += 1;
                }
                (Some(delete), None) if self.deltas.wins_over_base(delete, &ordering, row)? => self.counts.deleted += 1,
                _ => {
                    picks.push(0, row, 1);
                    changed.append(false);
                    self.counts.unchanged += 1;
                }
            }
        }
        let decided = decided.unwrap_or_else(|| RecordBatch::new_empty(base.schema()));
        let rows = splice(&base.schema(), &[base, &decided], &picks)?;
        Ok(Merged { rows, changed: changed.finish() })
    }

    fn next_inserts(&mut self) -> Option<Result<Merged>> {
        let inserts = self.inserts.get_or_insert_with(|| {
            self.inserts_at_once = rows_at_once(self.deltas.batches(), self.batch_size);
            self.deltas.inserts().into_iter()
        });
        let entries: Vec<_> = inserts.by_ref().take(self.inserts_at_once).collect();
        if entries.is_empty() {
            return None;
        }
        self.counts.inserted += entries.len() as u64;
        Some(self.inserted(&entries).map(Merged::all_changed))
    }

    fn inserted(&self, entries: &[usize]) -> Result<RecordBatch> {
        let schema = self.deltas.batches().first().map(RecordBatch::schema);
        let schema = schema.ok_or_else(|| Error::internal("rows picked from nothing"))?;
        let columns: Vec<_> = entries.iter().filter_map(|at| self.deltas.columns_of(*at)).collect();
        let empty = RecordBatch::new_empty(Arc::clone(&schema));
        rows::gather(&schema, &self.sources(&empty), &columns)
    }

    /// Source 0 is the base batch, source n + 1 the n-th batch of changes.
    fn sources<'a>(&'a self, base: &'a RecordBatch) -> Vec<&'a RecordBatch> {
        std::iter::once(base).chain(self.deltas.batches()).collect()
    }
}

impl Iterator for SliceMerge {
    type Item = Result<Merged>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            while self.inserts.is_none()
                && let Some(base) = self.next_base()
            {
                match base.and_then(|base| self.merge_base(base)) {
                    Ok(merged) if merged.rows.num_rows() == 0 => {}
                    other => return Some(other),
                }
            }
            if let Some(inserted) = self.next_inserts() {
                return Some(inserted);
            }
            match self.stretches.next()? {
                Ok(Stretch { deltas, end }) => {
                    self.positions = deltas.by_position().into_iter().peekable();
                    (self.deltas, self.end, self.inserts) = (deltas, end, None);
                }
                Err(e) => return Some(Err(e)),
            }
        }
    }
}
