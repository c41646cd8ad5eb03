//! A log: rows and deletes as they came, merged among themselves.

use arrow_array::RecordBatch;
use arrow_select::interleave::interleave_record_batch;
use hudini_format::action::{RuntimeStats, WriteStat};
use hudini_format::log::{DeleteRecord, OrderingValue};
use hudini_format::name::FIRST_LOG_VERSION;
use hudini_format::schema::meta;

use super::super::output::count;
use super::super::positions::{RowsOfKeys, sorted};
use super::super::rows::{with_column, with_sequence_numbers};
use super::{BATCH_ROWS, Run, Told};
use crate::Result;
use crate::concurrency::MarkerKind;
use crate::index;
use crate::log_file::{LogOf, LogWriter, WrittenLog};
use crate::merge::{self, Deltas};
use crate::metadata::ranges::Ranges;
use crate::view::in_partition;

/// Rows and deletes of a log, with the rows of the base file that they are about, if all have one.
struct Logged {
    picks: Vec<(usize, usize)>,
    picked: Vec<u64>,
    deletes: Vec<DeleteRecord>,
    deleted: Vec<u64>,
}

impl Run<'_> {
    pub(super) fn write_log(&self, name: &str, changes: &Deltas) -> Result<Told> {
        let task = self.task;
        let output = self.output();
        output.prepare_file(name, MarkerKind::Create)?;
        let Logged { picks, picked, deletes, deleted } = self.logged(changes)?;
        let sources: Vec<&RecordBatch> = changes.batches().iter().collect();
        let columns = self.file_schema();
        let path = in_partition(&task.partition, name);
        let base = task.slice.as_ref().map(|slice| slice.base_instant.as_str());
        let log = LogOf {
            instant: &task.instant,
            table: &task.table,
            columns: &columns,
            base_instant: base.unwrap_or_default(),
            parquet: task.logs.parquet.then_some(&task.options),
        };
        let mut log = LogWriter::new(self.storage.as_ref(), &path, log)?;
        let mut ranges = Ranges::new(&columns, &task.indexed)?;
        let mut row = 1;
        // Without positions there are as many chunks of none.
        let positions = picked.chunks(BATCH_ROWS).chain(std::iter::repeat(&[][..]));
        for (picks, positions) in picks.chunks(BATCH_ROWS).zip(positions) {
            let rows = interleave_record_batch(&sources, picks)?;
            let numbers = with_sequence_numbers(&rows, |_| true, &task.instant, task.number, row)?;
            row += rows.num_rows() as u64;
            let rows = with_column(&rows, meta::COMMIT_SEQNO, numbers)?;
            ranges.add(&rows)?;
            log.write_rows(&rows, positions)?;
        }
        log.write_deletes(&deletes, &deleted)?;
        let written = log.finish(|| output.check_still_wanted())?;
        Ok((self.log_stat(name, &written), ranges.finish()))
    }

    /// What goes into the log, in its order.
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

    fn log_stat(&self, name: &str, written: &WrittenLog) -> WriteStat {
        let millis = Some(self.context.clock.monotonic_ms() - self.started);
        WriteStat {
            prev_commit: Some(self.task.instant.clone()),
            num_writes: count(written.rows),
            num_update_writes: count(written.rows),
            num_deletes: count(written.deletes),
            log_version: i32::try_from(FIRST_LOG_VERSION).ok(),
            log_offset: Some(0),
            base_file: Some(String::new()),
            log_files: Some(vec![name.to_owned()]),
            runtime_stats: Some(RuntimeStats {
                total_scan_time: Some(0),
                total_create_time: Some(0),
                total_upsert_time: millis,
                ..RuntimeStats::default()
            }),
            ..self.output().file_stat(name, written.bytes)
        }
    }
}
