//! What goes into logs: rows and deletes as they came, merged among themselves.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use arrow_select::interleave::interleave_record_batch;
use hudini_format::log::{DeleteRecord, OrderingValue};
use hudini_format::name::LogFileName;
use hudini_format::schema::meta;

use super::super::positions::{rows_of, sorted};
use super::super::rows::{sequence_numbers, with_column};
use super::changes::{Changes, Waiting};
use super::rolling::Rolling;
use super::{BATCH_ROWS, Run, WroteFile};
use crate::Result;
use crate::extent::rows_at_once;
use crate::index;
use crate::log_file::LogOf;
use crate::merge::{self, Deltas, ForLogs, Memory};

/// Rows and deletes of logs, with the rows of the base file that they are about, if all have one.
struct Logged {
    picks: Vec<(usize, usize)>,
    picked: Vec<u64>,
    deletes: Deletes,
}

#[derive(Default)]
struct Deletes {
    records: Vec<DeleteRecord>,
    rows: Vec<u64>,
}

impl Run<'_> {
    pub(super) fn write_logs(&self, first: LogFileName, changes: Changes) -> Result<Vec<WroteFile>> {
        let task = self.task;
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
        let deletes = match changes {
            Changes::Here(changes) => {
                let Logged { picks, picked, deletes } = self.logged(&changes)?;
                self.write_rows(&mut logs, &mut 1, changes.batches(), &picks, &picked)?;
                deletes
            }
            Changes::OnDisk(rows, memory) => self.write_from_disk(&mut logs, rows, &memory, &columns)?,
        };
        logs.write_deletes(&deletes.records, &deletes.rows)?;
        logs.finish()
    }

    /// The rows that were picked from batches. `row` is the number of the first one.
    fn write_rows(
        &self,
        logs: &mut Rolling<'_>,
        row: &mut u64,
        batches: &[RecordBatch],
        picks: &[(usize, usize)],
        picked: &[u64],
    ) -> Result<()> {
        let task = self.task;
        let sources: Vec<&RecordBatch> = batches.iter().collect();
        // Without positions there are as many chunks of none.
        let at_once = rows_at_once(batches, BATCH_ROWS);
        let positions = picked.chunks(at_once).chain(std::iter::repeat(&[][..]));
        for (picks, positions) in picks.chunks(at_once).zip(positions) {
            let rows = interleave_record_batch(&sources, picks)?;
            let numbers = sequence_numbers(&task.instant, task.number, *row, rows.num_rows()).to_array()?;
            *row += rows.num_rows() as u64;
            logs.write_rows(&with_column(&rows, meta::COMMIT_SEQNO, Arc::new(numbers))?, positions)?;
        }
        Ok(())
    }

    /// Writes rows that do not fit into memory, some at a time; what is left are the deletes.
    fn write_from_disk(
        &self,
        logs: &mut Rolling<'_>,
        mut rows: Waiting,
        memory: &Memory,
        columns: &SchemaRef,
    ) -> Result<Deletes> {
        let base = self.tells_rows().then_some(|keys: &SchemaRef| self.base_rows(keys));
        let changes = ForLogs::from_disk(&mut rows, columns, base, memory)?;
        drop(rows);
        let are_placed = changes.are_placed;
        let mut row = 1;
        let mut all = Deletes::default();
        for changes in changes {
            let changes = changes?;
            let (mut picked, picks): (Vec<_>, Vec<_>) = changes.placed_rows().into_iter().unzip();
            if !are_placed {
                picked.clear();
            }
            self.write_rows(logs, &mut row, changes.batches(), &picks, &picked)?;
            for delete in changes.placed_deletes() {
                let (place, key, ordering) = delete?;
                all.records.push(DeleteRecord { ordering, ..self.delete(key) });
                all.rows.extend(are_placed.then_some(place));
            }
        }
        Ok(all)
    }

    /// Whether logs are to say which rows of the base file they are about.
    fn tells_rows(&self) -> bool {
        self.task.logs.positions && self.task.slice.as_ref().is_some_and(|slice| slice.base.is_some())
    }

    /// What goes into logs, in their order.
    fn logged(&self, changes: &Deltas) -> Result<Logged> {
        let delete = |(key, ordering): (&str, OrderingValue)| DeleteRecord { ordering, ..self.delete(key) };
        let records = changes.deletes().map(|deleted| Ok(delete(deleted?))).collect::<Result<Vec<_>>>()?;
        let picks = changes.rows();
        let Some((rows_of_picks, rows_of_deletes)) = self.rows_told(changes.batches(), &picks, &records)? else {
            return Ok(Logged { picks, picked: Vec::new(), deletes: Deletes { records, rows: Vec::new() } });
        };
        let (picks, picked) = sorted(picks, rows_of_picks);
        let (records, rows) = sorted(records, rows_of_deletes);
        Ok(Logged { picks, picked, deletes: Deletes { records, rows } })
    }

    /// Which rows of the base file the picked rows and the deletes are about, if logs are to say so and all have one there:
    /// a reader that meets one without goes by keys.
    fn rows_told(
        &self,
        batches: &[RecordBatch],
        picks: &[(usize, usize)],
        deletes: &[DeleteRecord],
    ) -> Result<Option<(Vec<u64>, Vec<u64>)>> {
        if !self.tells_rows() {
            return Ok(None);
        }
        let columns = batches.iter().map(merge::record_keys).collect::<Result<Vec<_>>>()?;
        let keys_of_rows = picks.iter().filter_map(|(batch, row)| columns.get(*batch).map(|keys| keys.value(*row)));
        let keys_of_deletes = deletes.iter().filter_map(|delete| delete.key.as_deref());
        let keys: Vec<&str> = keys_of_rows.chain(keys_of_deletes).collect();
        let rows = rows_of(&keys, self.base_rows(&index::key_column())?)?;
        Ok(rows.map(|mut rows| {
            let rows_of_deletes = rows.split_off(picks.len().min(rows.len()));
            (rows, rows_of_deletes)
        }))
    }
}
