//! The log files of a task: one, and another one whenever the last is as large as it may get.

use arrow_array::RecordBatch;
use hudini_format::action::{RuntimeStats, WriteStat};
use hudini_format::log::DeleteRecord;
use hudini_format::name::LogFileName;

use super::super::output::count;
use super::{Run, WroteFile};
use crate::Result;
use crate::concurrency::MarkerKind;
use crate::log_file::{LogOf, LogWriter, WrittenLog};
use crate::metadata::ranges::Ranges;
use crate::view::in_partition;

pub(super) struct Rolling<'r> {
    run: &'r Run<'r>,
    of: LogOf<'r>,
    /// Of the file that is open, or of the next one.
    name: LogFileName,
    open: Option<Open<'r>>,
    finished: Vec<WroteFile>,
}

struct Open<'r> {
    log: LogWriter<'r>,
    ranges: Ranges,
}

impl<'r> Rolling<'r> {
    /// With its first file begun: what a task promised is there even if nothing is written to it.
    pub(super) fn new(run: &'r Run<'r>, of: LogOf<'r>, first: LogFileName) -> Result<Self> {
        let mut logs = Self { run, of, name: first, open: None, finished: Vec::new() };
        logs.open = Some(logs.begin()?);
        Ok(logs)
    }

    /// Positions are those of all rows, ascending over all calls, or of none.
    pub(super) fn write_rows(&mut self, rows: &RecordBatch, positions: &[u64]) -> Result<()> {
        let mut written = 0;
        while written < rows.num_rows() {
            let Open { log, ranges } = self.open()?;
            let taken = log.write_rows(rows, written, positions)?;
            ranges.add(&rows.slice(written, taken))?;
            written += taken;
        }
        Ok(())
    }

    /// Deletes stand behind the rows, so that a key in both ends deleted. Positions as those of rows.
    pub(super) fn write_deletes(&mut self, deletes: &[DeleteRecord], positions: &[u64]) -> Result<()> {
        if let Some(Open { log, .. }) = &mut self.open {
            log.flush_rows()?;
        }
        if deletes.is_empty() { Ok(()) } else { self.open()?.log.write_deletes(deletes, positions) }
    }

    pub(super) fn finish(mut self) -> Result<Vec<WroteFile>> {
        self.close()?;
        Ok(self.finished)
    }

    /// The file that takes more.
    fn open(&mut self) -> Result<&mut Open<'r>> {
        if self.open.as_ref().is_some_and(|open| open.log.is_full()) {
            self.close()?;
            self.name.version += 1;
        }
        let open = match self.open.take() {
            Some(open) => open,
            None => self.begin()?,
        };
        Ok(self.open.insert(open))
    }

    fn begin(&self) -> Result<Open<'r>> {
        let name = self.name.to_string();
        let task = self.run.task;
        self.run.output().prepare_file(&name, MarkerKind::Create)?;
        let path = in_partition(&task.partition, &name);
        let log = LogWriter::new(self.run.storage.as_ref(), &path, self.of.clone())?;
        Ok(Open { log, ranges: Ranges::new(self.of.columns, &task.indexed)? })
    }

    fn close(&mut self) -> Result<()> {
        let Some(Open { log, ranges }) = self.open.take() else { return Ok(()) };
        let name = self.name.to_string();
        let written = log.finish(|| self.run.output().check_wanted(&name, MarkerKind::Create))?;
        self.finished.push(WroteFile { stat: self.stat(&written), ranges: ranges.finish() });
        Ok(())
    }

    /// It names the files before it too, as Apache Hudi's does.
    fn stat(&self, written: &WrittenLog) -> WriteStat {
        let name = self.name.to_string();
        let before = self.finished.last().and_then(|file| file.stat.log_files.clone());
        let log_files = before.into_iter().flatten().chain([name.clone()]).collect();
        let millis = Some(self.run.context.clock.monotonic_ms() - self.run.started);
        WriteStat {
            prev_commit: Some(self.run.task.instant.clone()),
            num_writes: count(written.rows),
            num_update_writes: count(written.rows),
            num_deletes: count(written.deletes),
            log_version: i32::try_from(self.name.version).ok(),
            log_offset: Some(0),
            base_file: Some(String::new()),
            log_files: Some(log_files),
            runtime_stats: Some(RuntimeStats {
                total_scan_time: Some(0),
                total_create_time: Some(0),
                total_upsert_time: millis,
                ..RuntimeStats::default()
            }),
            ..self.run.output().file_stat(&name, written.bytes)
        }
    }
}
