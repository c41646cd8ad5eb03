//! The local engine: the stages of a write on this machine's threads.

use std::sync::{Mutex, PoisonError};

use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};

use super::action::Action;
use super::kept::Kept;
use super::located::Located;
use super::once;
use super::place::PlacedTask;
use super::request::{CommitResult, WriteRequest};
use super::shares;
use super::task::{FILE_BATCH_ROWS, Status};
use crate::context::Watch;
use crate::context::pool::run_all;
use crate::merge::Memory;
use crate::options::{self, Operation, Options};
use crate::service::Round;
use crate::table::Table;
use crate::{Error, ErrorKind, Result};

/// Each task is run once here: what fails is begun anew under another instant. So the names of files do not depend on
/// chance, nor on the order in which threads come to their tasks.
const ONLY_ATTEMPT: u32 = 0;

/// Attempts that trust to luck. A writer that lost so often keeps the lock for the next, or busy neighbours would make
/// it lose for ever.
const OPTIMISTIC_ATTEMPTS: u32 = 2;

/// ... unless its attempts take so long that others would give up waiting: they wait this many times longer.
const QUICK: u64 = 4;

/// Writes rows as one atomic commit. When another writer was faster on the same file groups, it starts anew from the newer
/// state, as often as the options allow.
pub fn write(
    table: &Table,
    schema: &SchemaRef,
    input: impl Iterator<Item = Result<RecordBatch>>,
    request: &WriteRequest,
) -> Result<CommitResult> {
    let options = request.options.clone().with(&table.options);
    let memory = Memory::of(&options)?;
    let memory = if request.is_in_memory { Memory { bytes: u64::MAX, ..memory } } else { memory };
    // A retry needs the rows again.
    let rows = Kept::of(input.map(|rows| request.watch.check().and(rows)), memory)?;
    let retries = options.get_or_default(&options::CONFLICT_RETRIES)?;
    if let Some(done) = once::committed(table, request)? {
        return Ok(done);
    }
    let patience = options.get_or_default(&options::LOCK_WAIT_MS)? / QUICK;
    let mut exclusive = false;
    for attempt in 0.. {
        let start = table.context.clock.monotonic_ms();
        match write_once(table, schema, &rows, request, exclusive) {
            Err(e) if e.kind() == ErrorKind::CommitConflict && attempt < retries => {
                let took = u64::try_from(table.context.clock.monotonic_ms() - start).unwrap_or(0);
                exclusive = attempt + 1 >= OPTIMISTIC_ATTEMPTS && took < patience;
            }
            other => {
                let result = CommitResult { retries: attempt, ..other? };
                return Ok(if result.instant.is_some() {
                    followed_up(table, &options, &request.watch, result)
                } else {
                    result
                });
            }
        }
    }
    Err(Error::internal("a write neither succeeded nor failed"))
}

/// Does what is due after a commit. The commit stands whatever becomes of that, so a failure is a warning.
fn followed_up(table: &Table, options: &Options, watch: &Watch, result: CommitResult) -> CommitResult {
    match Round::after_write(table, options).and_then(|round| round.run(watch)) {
        Ok(_) => result,
        Err(e) => result.warned(&format!("the compaction after the write failed: {e}")),
    }
}

/// Takes away the partitions that the request names.
pub fn delete_partitions(table: &Table, request: &WriteRequest) -> Result<CommitResult> {
    write(table, &SchemaRef::new(Schema::empty()), std::iter::empty(), request)
}

fn write_once(
    table: &Table,
    schema: &SchemaRef,
    rows: &Kept,
    request: &WriteRequest,
    exclusive: bool,
) -> Result<CommitResult> {
    let empties = matches!(request.operation, Operation::OverwriteTable | Operation::DeletePartitions);
    if rows.len() == 0 && !empties && !request.tells(&table.options) {
        return Ok(CommitResult { operation: request.operation.word(), ..CommitResult::default() });
    }
    let begin = if exclusive { Action::begin_exclusive } else { Action::begin };
    let mut action = begin(table, schema, request.clone())?;
    let attempt = |action: &mut Action| match action.done_before()? {
        Some(done) => Ok(Attempt::DoneBefore(done)),
        None => run(&table.watched(&request.watch), action, rows, &request.watch).map(Attempt::Ran),
    };
    match attempt(&mut action) {
        Ok(Attempt::DoneBefore(done)) => action.abort().map(|()| done),
        Ok(Attempt::Ran(statuses)) => action.commit(statuses),
        Err(e) => Err(action.tasks_failed(e)),
    }
}

enum Attempt {
    DoneBefore(CommitResult),
    Ran(Vec<Status>),
}

/// Until the commit the write can be ended.
fn run(table: &Table, action: &mut Action, rows: &Kept, watch: &Watch) -> Result<Vec<Status>> {
    let located = Located::of(table, action, rows)?;
    let tasks = action.place(&located.profile())?;
    let groups = Mutex::new(located.placed(action)?);
    let at_once = table.context.threads.min(tasks.len());
    run_all(table.context.threads, tasks, |_, placed: PlacedTask| {
        let key = (placed.partition, placed.slot);
        let rows = groups.lock().unwrap_or_else(PoisonError::into_inner).remove(&key).unwrap_or_default();
        let rows = shares::batches(rows, FILE_BATCH_ROWS).map(|rows| watch.check().and(rows));
        placed.task.run_on(&table.storage, &table.context, ONLY_ATTEMPT, at_once, rows)
    })
}
