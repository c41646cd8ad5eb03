//! One file group's share of a write: rows in, one file out.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};
use arrow_select::interleave::interleave_record_batch;
use hudini_format::action::{RuntimeStats, WriteStat};
use hudini_format::key::KeyConfig;
use hudini_format::log::{DeleteRecord, OrderingValue};
use hudini_format::name::{BaseFileName, FIRST_LOG_VERSION, LogFileName, write_token};
use hudini_format::schema::evolve::Mapping;
use hudini_format::schema::meta;
use serde::{Deserialize, Serialize};

use super::locate::Locator;
use super::output::{self, Output, count};
use super::positions::{RowsOfKeys, sorted};
use super::rechunk::Rechunk;
use super::rows::{self, Stamp, with_column, with_sequence_numbers};
use crate::base_file::{self, WriteOptions, WrittenFile};
use crate::bytes_form::BytesForm;
use crate::concurrency::MarkerKind;
use crate::context::Context;
use crate::index::{self, Index};
use crate::log_file::{LogOf, LogOptions, LogWriter, WrittenLog};
use crate::merge::{self, Batches, Deltas, MergeCounts, MergeRule, Merged, SliceMerge};
use crate::metadata::ranges::{ColumnRange, Ranges};
use crate::options::Operation;
use crate::storage::Storage;
use crate::table::Location;
use crate::timeline::arrow_schema;
use crate::view::{FileSlice, in_partition};
use crate::{Error, Result};

/// Rows that are worked on together.
pub(crate) const BATCH_ROWS: usize = 8192;

/// Rows in one batch on their way into a base file; fixed, so that the bytes do not depend on how the input was cut. Columns
/// are encoded one after the other, each with a dictionary of its own: to change between them often costs more than that
/// no cache holds a batch.
pub(crate) const FILE_BATCH_ROWS: usize = 8 * BATCH_ROWS;

/// What a task writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum FileKind {
    Base,
    Log,
}

/// All that a worker needs to know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Task {
    pub(super) location: Location,
    pub(super) table: String,
    pub(super) instant: String,
    /// Path of the file that stands as long as the write may go on.
    pub(super) inflight: String,
    pub(super) operation: String,
    pub(super) partition: String,
    /// Tells the tasks of a partition apart, in the names of their files and the numbers of their rows.
    pub(super) number: u32,
    pub(super) file_id: String,
    pub(super) kind: FileKind,
    /// What the group holds so far.
    pub(super) slice: Option<FileSlice>,
    /// Avro text, without meta columns.
    pub(super) schema: String,
    pub(super) rule: MergeRule,
    pub(super) locator: Locator,
    pub(super) options: WriteOptions,
    pub(super) logs: LogOptions,
    pub(super) expected_rows: u64,
    /// Columns of whose values the table keeps statistics.
    pub(super) indexed: Vec<String>,
    /// Whether rows that are added as they are become one a key first.
    pub(super) combines: bool,
}

impl BytesForm for Task {
    const KIND: (u8, &'static str) = (b'T', "task");
}

/// What a task did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Status {
    pub(super) instant: String,
    pub(super) partition: String,
    pub(super) file_id: String,
    pub(super) stat: WriteStat,
    /// What the file holds in the columns of which the table keeps statistics.
    pub(super) ranges: Vec<ColumnRange>,
}

impl BytesForm for Status {
    const KIND: (u8, &'static str) = (b'S', "status");
}

impl Task {
    /// Runs on a worker: opens the storage itself.
    pub fn run<I>(&self, context: &Context, input: I) -> Result<Status>
    where
        I: IntoIterator<Item = Result<RecordBatch>>,
    {
        // Who hands tasks out may run one twice, at the same time even, and does not tell.
        let attempt = (context.ids.next_u128() as u32) >> 1;
        self.run_on(&self.location.open()?, context, attempt, input)
    }

    /// Runs on a storage that is open. The number keeps the files of several attempts at one task apart.
    pub fn run_on<I>(&self, storage: &Arc<dyn Storage>, context: &Context, attempt: u32, input: I) -> Result<Status>
    where
        I: IntoIterator<Item = Result<RecordBatch>>,
    {
        let started = context.clock.monotonic_ms();
        let run =
            arrow_schema(&self.schema).map(|schema| Run { task: self, attempt, schema, storage, context, started });
        run.and_then(|run| run.go(input)).map_err(|e| e.at_instant(&self.instant))
    }

    /// Rows that were counted for it; of new ones, as many as are likely to come.
    pub fn expected_rows(&self) -> u64 {
        self.expected_rows
    }

    fn operation(&self) -> Result<Operation> {
        Operation::parse(&self.operation).map_err(|_| Error::option(format!("the operation '{}'", self.operation)))
    }
}

/// Rows and deletes of a log, with the rows of the base file that they are about, if all have one.
struct Logged {
    picks: Vec<(usize, usize)>,
    picked: Vec<u64>,
    deletes: Vec<DeleteRecord>,
    deleted: Vec<u64>,
}

/// What a task tells of its file.
type Told = (WriteStat, Vec<ColumnRange>);

/// Rows with their meta columns.
type AddedRows<'b> = Box<dyn Iterator<Item = Result<RecordBatch>> + 'b>;

/// A large batch in pieces, so that its meta columns take little room. None is copied.
fn in_pieces(batch: Result<RecordBatch>) -> impl Iterator<Item = Result<RecordBatch>> {
    let (batch, error) = batch.map_or_else(|e| (None, Some(Err(e))), |batch| (Some(batch), None));
    let pieces = batch.into_iter().flat_map(|batch| {
        let rows = batch.num_rows();
        let starts = (0..rows).step_by(FILE_BATCH_ROWS);
        starts.map(move |start| Ok(batch.slice(start, FILE_BATCH_ROWS.min(rows - start))))
    });
    pieces.chain(error)
}

struct Run<'a> {
    task: &'a Task,
    attempt: u32,
    /// Of the table, without meta columns.
    schema: Schema,
    storage: &'a Arc<dyn Storage>,
    context: &'a Context,
    started: i64,
}

impl Run<'_> {
    fn go<I>(&self, input: I) -> Result<Status>
    where
        I: IntoIterator<Item = Result<RecordBatch>>,
    {
        let task = self.task;
        let keys = task.locator.key_config()?;
        let operation = task.operation()?;
        let token = write_token(task.number, 0, self.attempt);
        let (stat, ranges) = match (task.kind, operation) {
            (FileKind::Log, _) => {
                let name = LogFileName {
                    file_id: task.file_id.clone(),
                    instant: task.instant.clone(),
                    version: FIRST_LOG_VERSION,
                    token: Some(token),
                    cdc: false,
                };
                let changes = self.changes(&keys, operation, &task.file_id, input)?;
                self.write_log(&name.to_string(), &changes)?
            }
            (FileKind::Base, operation) => {
                let name = BaseFileName {
                    file_id: task.file_id.clone(),
                    write_token: token,
                    instant: task.instant.clone(),
                    extension: "parquet".to_owned(),
                };
                let name = name.to_string();
                if operation.adds_as_is() {
                    self.append_to_base(&keys, &name, input)?
                } else {
                    let changes = self.changes(&keys, operation, &name, input)?;
                    self.merge_into_base(&name, changes)?
                }
            }
        };
        let (instant, partition, file_id) = (task.instant.clone(), task.partition.clone(), task.file_id.clone());
        Ok(Status { instant, partition, file_id, stat, ranges })
    }

    /// Rows with their meta columns, in batches of a fixed size.
    fn stamped<'b, I>(
        &'b self,
        keys: &'b KeyConfig,
        file_name: &'b str,
        input: I,
    ) -> impl Iterator<Item = Result<RecordBatch>> + 'b
    where
        I: IntoIterator<Item = Result<RecordBatch>>,
        I::IntoIter: 'b,
    {
        let stamp = Stamp {
            keys,
            schema: &self.schema,
            instant: &self.task.instant,
            partition: &self.task.partition,
            file_name,
            rule: &self.task.rule,
            follows_keys: *self.task.locator.index() == Index::Records,
        };
        input.into_iter().flat_map(in_pieces).map(move |batch| stamp.rows(&batch?))
    }

    /// The incoming changes, merged among themselves by the table's rule.
    fn changes<I>(&self, keys: &KeyConfig, operation: Operation, file_name: &str, input: I) -> Result<Deltas>
    where
        I: IntoIterator<Item = Result<RecordBatch>>,
    {
        let mut changes = Deltas::new(self.task.rule.clone())?;
        if operation == Operation::Delete {
            let mut named: Vec<&str> = keys.key_fields.iter().map(String::as_str).collect();
            named.extend(keys.partition_fields.iter().map(|field| field.name.as_str()));
            for batch in input {
                let naming = rows::in_table_types(&batch?, &self.schema, Some(&named))?;
                let deleted = keys.record_keys(&naming)?;
                changes.push_deletes(deleted.iter().flatten().map(|key| Ok(self.delete(key))))?;
            }
        } else {
            for batch in self.stamped(keys, file_name, input) {
                changes.push_rows(batch?)?;
            }
        }
        Ok(changes)
    }

    fn delete(&self, key: &str) -> DeleteRecord {
        DeleteRecord {
            key: Some(key.to_owned()),
            partition: Some(self.task.partition.clone()),
            ordering: OrderingValue::NONE,
        }
    }

    fn file_schema(&self) -> SchemaRef {
        Arc::new(meta::with_meta(&self.schema))
    }

    /// The rows of the group's base file, if there is one.
    fn base_rows(&self, schema: &SchemaRef) -> Result<Batches> {
        match self.task.slice.as_ref().and_then(|slice| Some(slice.path(slice.base.as_ref()?))) {
            Some(path) => base_file::read(self.storage, &path, schema, &Mapping::default(), FILE_BATCH_ROWS),
            None => Ok(Box::new(std::iter::empty())),
        }
    }

    fn merge_into_base(&self, name: &str, changes: Deltas) -> Result<Told> {
        let schema = self.file_schema();
        let mut merge = SliceMerge::new(self.base_rows(&schema)?, changes, FILE_BATCH_ROWS);
        let (written, ranges) = self.write_base(name, &schema, merge.by_ref())?;
        Ok((self.base_stat(name, &written, merge.counts()), ranges))
    }

    /// Rows that are added, all of them or one a key.
    fn added<'b, I>(&'b self, keys: &'b KeyConfig, file_name: &'b str, input: I) -> Result<AddedRows<'b>>
    where
        I: IntoIterator<Item = Result<RecordBatch>>,
        I::IntoIter: 'b,
    {
        if !self.task.combines {
            return Ok(Box::new(self.stamped(keys, file_name, input)));
        }
        let changes = self.changes(keys, self.task.operation()?, file_name, input)?;
        let merged = SliceMerge::new(Box::new(std::iter::empty()), changes, FILE_BATCH_ROWS);
        Ok(Box::new(merged.map(|merged| Ok(merged?.rows))))
    }

    /// Rows are added without a look at what is there: keys may repeat, as the operation promises.
    fn append_to_base<I>(&self, keys: &KeyConfig, name: &str, input: I) -> Result<Told>
    where
        I: IntoIterator<Item = Result<RecordBatch>>,
    {
        let schema = self.file_schema();
        let mut inserted = 0;
        let old = self.base_rows(&schema)?.map(|batch| batch.map(Merged::unchanged));
        // Base files hold no deleted rows: readers would show them.
        let live = self.added(keys, name, input)?.map(|rows| rows.and_then(merge::without_deleted));
        let new = Rechunk::new(live, &schema, FILE_BATCH_ROWS).map(|batch| {
            let rows = batch?;
            inserted += rows.num_rows() as u64;
            Ok(Merged::all_changed(rows))
        });
        let (written, ranges) = self.write_base(name, &schema, old.chain(new))?;
        let counts = MergeCounts { inserted, ..MergeCounts::default() };
        Ok((self.base_stat(name, &written, counts), ranges))
    }

    fn write_base(
        &self,
        name: &str,
        schema: &SchemaRef,
        merged: impl Iterator<Item = Result<Merged>>,
    ) -> Result<(WrittenFile, Vec<ColumnRange>)> {
        let task = self.task;
        let has_base = task.slice.as_ref().is_some_and(|s| s.base.is_some());
        let kind = if has_base { MarkerKind::Merge } else { MarkerKind::Create };
        let expected = task.expected_rows + self.base_row_estimate();
        let mut row = 0;
        let rows = merged.map(|merged| {
            let Merged { rows, changed } = merged?;
            if changed.count_set_bits() == 0 {
                row += rows.num_rows() as u64;
                return Ok(rows);
            }
            let numbers = with_sequence_numbers(&rows, |at| changed.value(at), &task.instant, task.number, row)?;
            row += rows.num_rows() as u64;
            with_column(&rows, meta::COMMIT_SEQNO, numbers)
        });
        self.output().write_base(name, kind, schema, expected, rows)
    }

    fn output(&self) -> Output<'_> {
        let task = self.task;
        Output {
            storage: self.storage.as_ref(),
            context: self.context,
            table: &task.table,
            instant: &task.instant,
            inflight: &task.inflight,
            partition: &task.partition,
            file_id: &task.file_id,
            options: &task.options,
            indexed: &task.indexed,
        }
    }

    fn base_row_estimate(&self) -> u64 {
        self.task.slice.as_ref().and_then(|s| s.base.as_ref()).map_or(0, output::rows_at_most)
    }

    fn write_log(&self, name: &str, changes: &Deltas) -> Result<Told> {
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

    fn base_stat(&self, name: &str, written: &WrittenFile, counts: MergeCounts) -> WriteStat {
        let slice = self.task.slice.as_ref();
        let base = slice.and_then(|slice| Some((slice.base_instant.as_str(), slice.base.as_ref()?)));
        self.output().base_stat(name, base, written, counts, self.started)
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
