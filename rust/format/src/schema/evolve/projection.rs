//! Rows of a file as rows of the schema that is wanted.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{Schema, SchemaRef};

use super::apply::fill;
use super::promotion::{Mapping, Misfit, Promotion, Slot, find_fields};
use crate::{Error, Result};

/// How batches with the columns of a file become batches of another schema. Made once for each file.
#[derive(Debug, Clone)]
pub struct Projection {
    /// The columns of the file that are needed, ascending.
    columns: Vec<usize>,
    /// By position among those.
    slots: Vec<Slot>,
    wanted: SchemaRef,
}

impl Projection {
    /// Finds the wanted columns in the file by name, or by the names that `names` has for them.
    pub fn new(file: &Schema, wanted: &SchemaRef, names: &Mapping) -> Result<Self> {
        let mut slots = find_fields(file.fields(), wanted.fields(), names).map_err(Misfit::into_error)?;
        let from = |slot: &Slot| match slot {
            Slot::From(at, _) => Some(*at),
            Slot::Missing => None,
        };
        let mut columns: Vec<usize> = slots.iter().filter_map(from).collect();
        columns.sort_unstable();
        columns.dedup();
        for slot in &mut slots {
            if let Slot::From(at, _) = slot {
                *at = columns.binary_search(at).map_err(|_| Error::internal("a column went missing"))?;
            }
        }
        Ok(Self { columns, slots, wanted: Arc::clone(wanted) })
    }

    /// The positions in the file of the columns that are needed, ascending.
    pub fn columns(&self) -> &[usize] {
        &self.columns
    }

    /// The position in the file of a wanted column, by its own position, if its values are wanted as they are there.
    pub fn unchanged(&self, wanted: usize) -> Option<usize> {
        match self.slots.get(wanted)? {
            Slot::From(at, Promotion::Same) => self.columns.get(*at).copied(),
            _ => None,
        }
    }

    /// Whether the file lacks a wanted column, so that it is null.
    pub fn is_missing(&self, wanted: usize) -> bool {
        matches!(self.slots.get(wanted), Some(Slot::Missing))
    }

    /// The rows of a batch that has exactly those columns, in that order.
    pub fn apply(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let rows = batch.num_rows();
        if batch.num_columns() != self.columns.len() {
            return Err(Error::internal("a batch with other columns than were asked for"));
        }
        if batch.schema_ref() == &self.wanted && self.is_identity() {
            return Ok(batch.clone());
        }
        let columns = fill(&self.slots, batch.columns(), self.wanted.fields(), rows)?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::clone(&self.wanted), columns, &options)
            .map_err(|e| Error::schema("the file's rows do not fit the table's schema").caused_by(e))
    }

    /// Whether batches are those of the file, all columns as they are.
    pub fn is_identity(&self) -> bool {
        self.slots.iter().enumerate().all(|(at, slot)| *slot == Slot::From(at, Promotion::Same))
    }
}
