//! One file group's share of a write: rows in, a base file out, or logs.

mod base;
mod changes;
mod log;
mod rolling;

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};
use hudini_format::action::WriteStat;
use hudini_format::key::KeyConfig;
use hudini_format::log::{DeleteRecord, OrderingValue};
use hudini_format::name::{BaseFileName, FIRST_LOG_VERSION, LogFileName, write_token};
use hudini_format::schema::evolve::Mapping;
use hudini_format::schema::meta;
use serde::{Deserialize, Serialize};

use self::changes::Changes;
use super::locate::Locator;
use super::output::Output;
use super::rows::{self, SameTexts, Stamp};
use crate::base_file::{self, WriteOptions};
use crate::bytes_form::BytesForm;
use crate::context::Context;
use crate::index::Index;
use crate::log_file::LogOptions;
use crate::merge::{Batches, Deltas, Memory, MergeRule};
use crate::metadata::ranges::ColumnRange;
use crate::options::Operation;
use crate::storage::Storage;
use crate::table::Location;
use crate::timeline::arrow_schema;
use crate::view::FileSlice;
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
    /// For the changes of tasks that run at once.
    pub(super) memory: Memory,
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
    pub(super) files: Vec<WroteFile>,
}

/// What a task tells of a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct WroteFile {
    pub(crate) stat: WriteStat,
    /// What it holds in the columns of which the table keeps statistics.
    pub(crate) ranges: Vec<ColumnRange>,
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
        self.run_on(&self.location.open()?, context, attempt, 1, input)
    }

    /// Runs on a storage that is open, beside others that share the memory. The number keeps the files of several attempts
    /// at one task apart.
    pub fn run_on<I>(
        &self,
        storage: &Arc<dyn Storage>,
        context: &Context,
        attempt: u32,
        at_once: usize,
        input: I,
    ) -> Result<Status>
    where
        I: IntoIterator<Item = Result<RecordBatch>>,
    {
        let (started, memory) = (context.clock.monotonic_ms(), self.memory.shared_by(at_once));
        let run = arrow_schema(&self.schema).map(|schema| Run {
            task: self,
            attempt,
            schema,
            storage,
            context,
            memory,
            started,
        });
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
    /// For the changes.
    memory: Memory,
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
        let files = match (task.kind, operation) {
            (FileKind::Log, _) => {
                let first = LogFileName {
                    file_id: task.file_id.clone(),
                    instant: task.instant.clone(),
                    version: FIRST_LOG_VERSION,
                    token: Some(token),
                    cdc: false,
                };
                let changes = self.changes(&keys, operation, input)?;
                self.write_logs(first, changes)?
            }
            (FileKind::Base, operation) => {
                let name = BaseFileName {
                    file_id: task.file_id.clone(),
                    write_token: token,
                    instant: task.instant.clone(),
                    extension: "parquet".to_owned(),
                };
                let name = name.to_string();
                vec![if operation.adds_as_is() {
                    self.append_to_base(&keys, &name, input)?
                } else {
                    let changes = self.changes(&keys, operation, input)?;
                    self.merge_into_base(&name, changes)?
                }]
            }
        };
        let (instant, partition, file_id) = (task.instant.clone(), task.partition.clone(), task.file_id.clone());
        Ok(Status { instant, partition, file_id, files })
    }

    /// Rows with their meta columns, in batches of a fixed size. Those of a base file get its name as they are written.
    fn stamped<'b, I>(&'b self, keys: &'b KeyConfig, input: I) -> impl Iterator<Item = Result<RecordBatch>> + 'b
    where
        I: IntoIterator<Item = Result<RecordBatch>>,
        I::IntoIter: 'b,
    {
        let task = self.task;
        let file_name = (task.kind == FileKind::Log).then_some(task.file_id.as_str());
        let mut stamp = Stamp {
            keys,
            schema: &self.schema,
            partition: &task.partition,
            same: SameTexts::new(&task.instant, &task.partition, file_name),
            rule: &task.rule,
            follows_keys: *task.locator.index() == Index::Records,
        };
        input.into_iter().flat_map(in_pieces).map(move |batch| stamp.rows(&batch?))
    }

    /// The incoming changes, merged among themselves by the table's rule.
    fn changes<I>(&self, keys: &KeyConfig, operation: Operation, input: I) -> Result<Changes>
    where
        I: IntoIterator<Item = Result<RecordBatch>>,
    {
        let task = self.task;
        if operation != Operation::Delete {
            return Changes::of_rows(&task.rule, self.stamped(keys, input), &self.memory);
        }
        let mut changes = Deltas::new(task.rule.clone())?;
        let mut named: Vec<&str> = keys.key_fields.iter().map(String::as_str).collect();
        named.extend(keys.partition_fields.iter().map(|field| field.name.as_str()));
        for batch in input {
            let naming = rows::in_table_types(&batch?, &self.schema, Some(&named))?;
            let deleted = keys.record_keys(&naming)?;
            changes.push_deletes(deleted.iter().flatten().map(|key| Ok(self.delete(key))))?;
        }
        Ok(Changes::Here(changes))
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
            Some(path) => base_file::read_packed(self.storage, &path, schema, &Mapping::default(), FILE_BATCH_ROWS),
            None => Ok(Box::new(std::iter::empty())),
        }
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
}
