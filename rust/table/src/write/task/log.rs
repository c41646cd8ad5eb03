//! What goes into logs: rows and deletes as they came, merged among themselves.

use arrow_array::RecordBatch;
use arrow_select::interleave::interleave_record_batch;
use hudini_format::log::{DeleteRecord, OrderingValue};
use hudini_format::name::LogFileName;
use hudini_format::schema::meta;

use super::super::positions::{RowsOfKeys, sorted};
use super::super::rows::{with_column, with_sequence_numbers};
use super::rolling::Rolling;
use super::{BATCH_ROWS, Run, WroteFile};
use crate::Result;
use crate::index;
use crate::log_file::LogOf;
use crate::merge::{self, Deltas};

/// Rows and deletes of logs, with the rows of the base file that they are about, if all have one.
struct Logged {
    picks: Vec<(usize, usize)>,
    picked: Vec<u64>,
    deletes: Vec<DeleteRecord>,
    deleted: Vec<u64>,
}

impl Run<'_> {
    pub(super) fn write_logs(&self, first: LogFileName, changes: &Deltas) -> Result<Vec<WroteFile>> {
        let task = self.task;
        let Logged { picks, picked, deletes, deleted } = self.logged(changes)?;
        let sources: Vec<&RecordBatch> = changes.batches().iter().collect();
        let columns = self.file_schema();
        let base = task.slice.as_ref().map(|slice| slice.base_instant.as_str());
        let of = LogOf {
            instant: &task.instant,
            table: &task.table,
            columns: &columns,
            base_instant: base.unwrap_or_default(),
            options: &task.logs,
            parquet: task.logs.parquet.then_some(&task.options),
        };
        let mut logs = Rolling::new(self, of, first)?;
        let mut row = 1;
        // Without positions there are as many chunks of none.
        let positions = picked.chunks(BATCH_ROWS).chain(std::iter::repeat(&[][..]));
        for (picks, positions) in picks.chunks(BATCH_ROWS).zip(positions) {
            let rows = interleave_record_batch(&sources, picks)?;
            let numbers = with_sequence_numbers(&rows, |_| true, &task.instant, task.number, row)?;
            row += rows.num_rows() as u64;
            logs.write_rows(&with_column(&rows, meta::COMMIT_SEQNO, numbers)?, positions)?;
        }
        logs.write_deletes(&deletes, &deleted)?;
        logs.finish()
    }

    /// What goes into logs, in their order.
    fn logged(&self, changes: &Deltas) -> Result<Logged> {
        let delete = |(key, ordering): (&str, OrderingValue)| DeleteRecord { ordering, ..self.delete(key) };
        let deletes = changes.deletes().map(|deleted| Ok(delete(deleted?))).collect::<Result<Vec<_>>>()?;
        let picks = changes.rows();
        if !self.task.logs.positions || self.task.slice.as_ref().is_none_or(|slice| slice.base.is_none()) {
            return Ok(Logged { picks, picked: Vec::new(), deletes, deleted: Vec::new() });
        }
        let columns = changes.batches().iter().map(merge::record_keys).collect::<Result<Vec<_>>>()?;
        let keys_of_rows = || picks.iter().filter_map(|(batch, row)| columns.get(*batch).map(|keys| keys.value(*row)));
        let keys_of_deletes = || deletes.iter().filter_map(|delete| delete.key.as_deref());
        let keys = self.base_rows(&index::key_column())?;
        let found = RowsOfKeys::find(keys_of_rows().chain(keys_of_deletes()), keys)?;
        let (rows_of_picks, rows_of_deletes) = (found.of(keys_of_rows()), found.of(keys_of_deletes()));
        let (picks, picked) = sorted(picks, rows_of_picks);
        let (deletes, deleted) = sorted(deletes, rows_of_deletes);
        Ok(Logged { picks, picked, deletes, deleted })
    }
}
