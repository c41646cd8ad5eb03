//! Changes whose places in the base file are known, brought to disk by stretches of it.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{RecordBatch, RecordBatchOptions, UInt64Array};
use arrow_schema::{DataType, Field, Schema};
use arrow_select::interleave::interleave_record_batch;
use hudini_format::log::{DeleteRecord, OrderingValue, delete};

use super::blocks::{PositionsLeft, Taker};
use super::deleted::record_keys;
use super::deltas::{Deltas, too_few_positions};
use super::places::Places;
use super::rule::MergeRule;
use super::slice::Stretch;
use crate::extent::MOST_WAITING;
use crate::storage::scratch::Scratch;
use crate::{Error, Result};

/// The column that says the place of a row, behind those of the table.
const PLACE: &str = "place";
/// How many times what is stored rows take in memory, at a guess; stretches that come out too large are divided again.
const GROWTH: u64 = 2;
const MOST_STRETCHES: u64 = 1024;

/// A row to delete, by its place.
type Delete = (u64, OrderingValue);

/// Changes of one kind, in the order of the log.
#[derive(Debug)]
enum Piece {
    Rows { at: Range<u64>, present: Option<Vec<bool>> },
    Deletes(Vec<Delete>),
}

/// What is on disk of a stretch.
#[derive(Debug)]
struct Stored {
    places: Range<u64>,
    pieces: Vec<Piece>,
    bytes: u64,
}

/// Divides changes among stretches of one length.
#[derive(Debug)]
struct Divider {
    start: u64,
    width: u64,
    stretches: Vec<Stored>,
    /// Rows with their places, not written yet; all have the same columns.
    waiting: Vec<RecordBatch>,
    waiting_bytes: u64,
    present: Option<Vec<bool>>,
    most_waiting: u64,
}

impl Divider {
    /// Into so many parts; what is placed behind the range goes into its last part.
    fn new(places: Range<u64>, parts: u64, most_waiting: u64) -> Self {
        let length = places.end.saturating_sub(places.start).max(1);
        let width = length.div_ceil(parts.clamp(1, MOST_STRETCHES));
        let bounds = |part: u64| places.start + part * width..(places.start + (part + 1) * width).min(places.end);
        let stored = |part| Stored { places: bounds(part), pieces: Vec::new(), bytes: 0 };
        Self {
            start: places.start,
            width,
            stretches: (0..length.div_ceil(width)).map(stored).collect(),
            waiting: Vec::new(),
            waiting_bytes: 0,
            present: None,
            most_waiting,
        }
    }

    fn stretch_of(&self, place: u64) -> usize {
        let last = self.stretches.len().saturating_sub(1);
        usize::try_from(place.saturating_sub(self.start) / self.width).map_or(last, |at| at.min(last))
    }

    fn rows(&mut self, scratch: &mut Scratch, rows: RecordBatch, present: Option<&[bool]>) -> Result<()> {
        if self.present.as_deref() != present || self.waiting_bytes > self.most_waiting {
            self.flush(scratch)?;
            self.present = present.map(<[bool]>::to_vec);
        }
        self.waiting_bytes += rows.get_array_memory_size() as u64;
        self.waiting.push(rows);
        Ok(())
    }

    fn deletes(&mut self, scratch: &mut Scratch, deletes: impl Iterator<Item = Result<Delete>>) -> Result<()> {
        self.flush(scratch)?;
        for delete in deletes {
            let delete = delete?;
            let at = self.stretch_of(delete.0);
            if let Some(stretch) = self.stretches.get_mut(at) {
                stretch.bytes += size_of::<Delete>() as u64;
                match stretch.pieces.last_mut() {
                    Some(Piece::Deletes(deletes)) => deletes.push(delete),
                    _ => stretch.pieces.push(Piece::Deletes(vec![delete])),
                }
            }
        }
        Ok(())
    }

    /// Writes the rows that wait, those of each stretch together.
    fn flush(&mut self, scratch: &mut Scratch) -> Result<()> {
        let waiting = std::mem::take(&mut self.waiting);
        self.waiting_bytes = 0;
        let mut by_stretch: Vec<Vec<(usize, usize)>> = vec![Vec::new(); self.stretches.len()];
        for (batch, rows) in waiting.iter().enumerate() {
            for (row, place) in places_of(rows)?.values().iter().enumerate() {
                if let Some(rows) = by_stretch.get_mut(self.stretch_of(*place)) {
                    rows.push((batch, row));
                }
            }
        }
        let waiting: Vec<&RecordBatch> = waiting.iter().collect();
        for (stretch, rows) in self.stretches.iter_mut().zip(by_stretch).filter(|(_, rows)| !rows.is_empty()) {
            let at = scratch.append_rows(&interleave_record_batch(&waiting, &rows)?)?;
            stretch.bytes += at.end - at.start;
            stretch.pieces.push(Piece::Rows { at, present: self.present.clone() });
        }
        Ok(())
    }

    fn finish(mut self, scratch: &mut Scratch) -> Result<Vec<Stored>> {
        self.flush(scratch)?;
        Ok(self.stretches)
    }
}

/// Takes changes in, and brings them to the stretches where their rows are.
pub(super) struct Scatter<'a> {
    rule: MergeRule,
    /// By key; `None` where the logs say positions.
    places: Option<&'a Places>,
    divider: Divider,
    scratch: Scratch,
    most_bytes: u64,
}

impl<'a> Scatter<'a> {
    /// For base rows and inserts up to `end`, of which the logs hold some bytes.
    pub(super) fn new(
        scratch: Scratch,
        rule: MergeRule,
        places: Option<&'a Places>,
        end: u64,
        content_bytes: u64,
        most_bytes: u64,
    ) -> Self {
        let share = share_of(most_bytes);
        let parts = content_bytes.saturating_mul(GROWTH).div_ceil(share);
        Self { rule, places, divider: Divider::new(0..end, parts, share), scratch, most_bytes }
    }

    pub(super) fn finish(mut self) -> Result<ByStretch> {
        let stretches = self.divider.finish(&mut self.scratch)?;
        let (rule, scratch, most_bytes) = (self.rule, self.scratch, self.most_bytes);
        Ok(ByStretch { rule, scratch, stretches: stretches.into(), most_bytes })
    }
}

impl Taker for Scatter<'_> {
    fn wants_positions(&self) -> bool {
        self.places.is_none()
    }

    fn rows(
        &mut self,
        rows: RecordBatch,
        positions: Option<&mut PositionsLeft>,
        present: Option<&[bool]>,
    ) -> Result<()> {
        let (rows, places) = match self.places {
            None => {
                let places: UInt64Array = positions.into_iter().flatten().take(rows.num_rows()).collect();
                (rows, places)
            }
            Some(places) => {
                let rows = self.rule.with_keys(rows)?;
                let place = |key: Option<&str>| places.of_key(key.unwrap_or_default());
                let places = record_keys(&rows)?.iter().map(place).collect::<Result<Vec<_>>>()?;
                (rows, places.into())
            }
        };
        if places.len() != rows.num_rows() {
            return Err(too_few_positions());
        }
        self.divider.rows(&mut self.scratch, with_places(&rows, places)?, present)
    }

    fn deletes(&mut self, deletes: delete::Records<'_>, mut positions: Option<&mut PositionsLeft>) -> Result<()> {
        let places = self.places;
        let placed = deletes.filter_map(|delete| {
            let DeleteRecord { key, ordering, .. } = match delete {
                Ok(delete) => delete,
                Err(e) => return Some(Err(e)),
            };
            let place = match places {
                None => positions.as_mut().and_then(|left| left.next()).ok_or_else(too_few_positions),
                // A delete that names no row deletes none.
                Some(places) => places.of_key(&key?),
            };
            Some(place.map(|place| (place, ordering)))
        });
        self.divider.deletes(&mut self.scratch, placed)
    }
}

/// The changes of a slice, a stretch of its base file after the other.
pub(super) struct ByStretch {
    rule: MergeRule,
    scratch: Scratch,
    stretches: VecDeque<Stored>,
    most_bytes: u64,
}

impl ByStretch {
    /// One that does not fit into memory is divided, down to single rows.
    fn next_stretch(&mut self) -> Result<Option<Stretch>> {
        while let Some(stored) = self.stretches.pop_front() {
            let length = stored.places.end.saturating_sub(stored.places.start);
            if length <= 1 || stored.bytes <= self.most_bytes / 2 {
                return self.load(stored).map(Some);
            }
            for part in self.divided(stored)?.into_iter().rev() {
                self.stretches.push_front(part);
            }
        }
        Ok(None)
    }

    fn divided(&mut self, stored: Stored) -> Result<Vec<Stored>> {
        let share = share_of(self.most_bytes);
        let mut divider = Divider::new(stored.places, stored.bytes.div_ceil(share).max(2), share);
        for piece in stored.pieces {
            match piece {
                Piece::Deletes(deletes) => divider.deletes(&mut self.scratch, deletes.into_iter().map(Ok))?,
                Piece::Rows { at, present } => {
                    let rows = self.scratch.read_rows(&at)?;
                    divider.rows(&mut self.scratch, rows, present.as_deref())?;
                }
            }
        }
        divider.finish(&mut self.scratch)
    }

    fn load(&mut self, stored: Stored) -> Result<Stretch> {
        let mut deltas = Deltas::new(self.rule.clone())?;
        for piece in stored.pieces {
            match piece {
                Piece::Deletes(deletes) => {
                    let (places, deletes): (Vec<_>, Vec<_>) = deletes.into_iter().unzip();
                    let record = |ordering| Ok(DeleteRecord { key: None, partition: None, ordering });
                    deltas.push_deletes_at(deletes.into_iter().map(record), &mut places.into_iter())?;
                }
                Piece::Rows { at, present } => {
                    let rows = self.scratch.read_rows(&at)?;
                    let places = places_of(&rows)?.clone();
                    let mut places = places.values().iter().copied();
                    let rows = without_places(&rows)?;
                    match present {
                        None => deltas.push_rows_at(rows, &mut places)?,
                        Some(present) => deltas.push_partial(rows, present, Some(&mut places))?,
                    }
                }
            }
        }
        let end = if self.stretches.is_empty() { u64::MAX } else { stored.places.end };
        Ok(Stretch { deltas, end })
    }
}

impl Iterator for ByStretch {
    type Item = Result<Stretch>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_stretch().transpose()
    }
}

/// What may wait to be written, and what a stretch should come to: a part of the limit.
fn share_of(most_bytes: u64) -> u64 {
    (most_bytes / 4).clamp(1, MOST_WAITING)
}

fn with_places(rows: &RecordBatch, places: UInt64Array) -> Result<RecordBatch> {
    let place = Arc::new(Field::new(PLACE, DataType::UInt64, false));
    let fields: Vec<_> = rows.schema_ref().fields().iter().cloned().chain(std::iter::once(place)).collect();
    let mut columns = rows.columns().to_vec();
    columns.push(Arc::new(places));
    Ok(RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)?)
}

fn places_of(rows: &RecordBatch) -> Result<&UInt64Array> {
    let places = rows.columns().last().and_then(|places| places.as_primitive_opt::<UInt64Type>());
    places.ok_or_else(|| Error::internal("rows without their places"))
}

fn without_places(rows: &RecordBatch) -> Result<RecordBatch> {
    let of_table = rows.num_columns().saturating_sub(1);
    let fields = rows.schema_ref().fields().iter().take(of_table).cloned().collect::<Vec<_>>();
    let columns = rows.columns().iter().take(of_table).cloned().collect();
    let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
    Ok(RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options)?)
}
