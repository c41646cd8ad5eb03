//! A base file: the rows of the old one, and what is merged into them or added to them.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use hudini_format::action::WriteStat;
use hudini_format::key::KeyConfig;
use hudini_format::schema::meta;

use super::super::output::{self, unnamed};
use super::super::rechunk::Rechunk;
use super::super::rows::{sequence_numbers, some_sequence_numbers, with_column};
use super::changes::Changes;
use super::{FILE_BATCH_ROWS, Run, WroteFile};
use crate::Result;
use crate::base_file::{KeySummary, Numbered, WrittenFile};
use crate::concurrency::MarkerKind;
use crate::merge::{self, MergeCounts, Merged};
use crate::metadata::ranges::ColumnRange;

/// Rows with their meta columns.
type AddedRows<'b> = Box<dyn Iterator<Item = Result<RecordBatch>> + 'b>;

impl Run<'_> {
    pub(super) fn merge_into_base(&self, name: &str, changes: Changes) -> Result<WroteFile> {
        let schema = self.file_schema();
        let mut merge = changes.merged(&unnamed(&schema), |columns| self.base_rows(columns))?;
        let keys = self.keys(merge.keeps_keys())?;
        let (written, ranges) = self.write_base(name, &schema, keys, merge.by_ref())?;
        Ok(WroteFile { stat: self.base_stat(name, &written, merge.counts()), ranges })
    }

    /// Rows that are added, all of them or one a key.
    fn added<'b, I>(&'b self, keys: &'b KeyConfig, input: I) -> Result<AddedRows<'b>>
    where
        I: IntoIterator<Item = Result<RecordBatch>>,
        I::IntoIter: 'b,
    {
        if !self.task.combines {
            return Ok(Box::new(self.stamped(keys, input)));
        }
        let changes = self.changes(keys, self.task.operation()?, input)?;
        let merged = changes.merged(&unnamed(&self.file_schema()), |_| Ok(Box::new(std::iter::empty())))?;
        Ok(Box::new(merged.map(|merged| Ok(merged?.rows))))
    }

    /// Rows are added without a look at what is there: keys may repeat, as the operation promises.
    pub(super) fn append_to_base<I>(&self, keys: &KeyConfig, name: &str, input: I) -> Result<WroteFile>
    where
        I: IntoIterator<Item = Result<RecordBatch>>,
    {
        let schema = self.file_schema();
        let columns = unnamed(&schema);
        let mut inserted = 0;
        let old = self.base_rows(&columns)?.map(|batch| batch.map(Merged::unchanged));
        // Base files hold no deleted rows: readers would show them.
        let live = self.added(keys, input)?.map(|rows| rows.and_then(merge::without_deleted));
        let new = Rechunk::new(live, &columns, FILE_BATCH_ROWS).map(|batch| {
            let rows = batch?;
            inserted += rows.num_rows() as u64;
            Ok(Merged::all_changed(rows))
        });
        let (written, ranges) = self.write_base(name, &schema, self.keys(true)?, old.chain(new))?;
        let counts = MergeCounts { inserted, ..MergeCounts::default() };
        Ok(WroteFile { stat: self.base_stat(name, &written, counts), ranges })
    }

    fn write_base(
        &self,
        name: &str,
        schema: &SchemaRef,
        keys: KeySummary,
        merged: impl Iterator<Item = Result<Merged>>,
    ) -> Result<(WrittenFile, Vec<ColumnRange>)> {
        let task = self.task;
        let has_base = task.slice.as_ref().is_some_and(|s| s.base.is_some());
        let kind = if has_base { MarkerKind::Merge } else { MarkerKind::Create };
        let mut row = 0;
        let rows = merged.map(|merged| {
            let Merged { rows, changed } = merged?;
            let (first, count) = (row, rows.num_rows());
            row += count as u64;
            Ok(match changed.count_set_bits() {
                0 => rows.into(),
                all if all == count => {
                    Numbered { rows, numbers: Some(sequence_numbers(&task.instant, task.number, first, count)) }
                }
                _ => {
                    let is_changed = |at| changed.value(at);
                    let numbers = some_sequence_numbers(&rows, is_changed, &task.instant, task.number, first)?;
                    with_column(&rows, meta::COMMIT_SEQNO, numbers)?.into()
                }
            })
        });
        self.output().write_base(name, kind, schema, keys, rows)
    }

    /// What the new file is to say of its keys. `keeps` whether its first rows have those of the old one.
    fn keys(&self, keeps: bool) -> Result<KeySummary> {
        let slice = self.task.slice.as_ref();
        let Some((slice, base)) = slice.and_then(|slice| Some((slice, slice.base.as_ref()?))) else {
            return KeySummary::new(self.task.expected_rows);
        };
        let expected = self.task.expected_rows + output::rows_at_most(base);
        if keeps { KeySummary::going_on(self.storage, &slice.path(base), expected) } else { KeySummary::new(expected) }
    }

    fn base_stat(&self, name: &str, written: &WrittenFile, counts: MergeCounts) -> WriteStat {
        let slice = self.task.slice.as_ref();
        let base = slice.and_then(|slice| Some((slice.base_instant.as_str(), slice.base.as_ref()?)));
        self.output().base_stat(name, base, written, counts, self.started)
    }
}
