//! The incoming changes of a task, merged among themselves by the table's rule: in memory as far as they fit.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Field, SchemaRef};

use super::super::kept::Kept;
use super::FILE_BATCH_ROWS;
use crate::Result;
use crate::extent::bytes_of;
use crate::merge::{self, Batches, Deltas, Memory, MergeRule, SliceMerge, Taker};

pub(super) enum Changes {
    Here(Deltas),
    OnDisk(Waiting, Memory),
}

impl Changes {
    /// Of rows with their meta columns.
    pub(super) fn of_rows(
        rule: &MergeRule,
        rows: impl Iterator<Item = Result<RecordBatch>>,
        memory: &Memory,
    ) -> Result<Self> {
        let kept = Kept::of(rows, memory.clone())?;
        if !kept.shelved().is_empty() {
            return Ok(Self::OnDisk(Waiting { rule: rule.clone(), rows: kept }, memory.clone()));
        }
        let mut changes = Deltas::new(rule.clone())?;
        kept.here().iter().try_for_each(|rows| changes.push_rows(rows.clone()))?;
        Ok(Self::Here(changes))
    }

    /// Merged into a base file, which is opened in the columns that are asked for.
    pub(super) fn merged(
        self,
        columns: &SchemaRef,
        base: impl Fn(&SchemaRef) -> Result<Batches>,
    ) -> Result<SliceMerge> {
        match self {
            Self::Here(changes) => Ok(SliceMerge::new(base(columns)?, changes, FILE_BATCH_ROWS)),
            Self::OnDisk(mut rows, memory) => {
                merge::merged_from_disk(&mut rows, columns, base, FILE_BATCH_ROWS, &memory, u64::MAX)
            }
        }
    }
}

/// Rows that do not fit into memory. None of them says which row of the base file it is about.
pub(super) struct Waiting {
    rule: MergeRule,
    rows: Kept,
}

impl merge::Changes for Waiting {
    fn rule(&self) -> &MergeRule {
        &self.rule
    }

    fn goes_by_position(&self) -> bool {
        false
    }

    fn content_bytes(&self) -> u64 {
        let shelved = self.rows.shelved().iter().map(|shelved| shelved.bytes());
        self.rows.here().iter().map(bytes_of).chain(shelved).sum()
    }

    fn read(&mut self, columns: &SchemaRef, taker: &mut impl Taker) -> Result<()> {
        for rows in self.rows.batches() {
            let rows = rows?;
            let of_name = |field: &Arc<Field>| rows.schema_ref().index_of(field.name());
            let wanted = columns.fields().iter().map(of_name).collect::<Result<Vec<_>, _>>()?;
            taker.rows(rows.project(&wanted)?, None, None)?;
        }
        Ok(())
    }
}
