//! The local engine: the stages of a write on this machine's threads.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use arrow_array::types::UInt32Type;
use arrow_array::{PrimitiveArray, RecordBatch};
use arrow_schema::SchemaRef;
use arrow_select::take::take_record_batch;

use super::action::Action;
use super::place::{GroupProfile, PlacedTask};
use super::request::{CommitResult, WriteRequest};
use super::task::Status;
use crate::context::pool::run_all;
use crate::options::{self, Options};
use crate::service::Round;
use crate::table::Table;
use crate::{Error, ErrorKind, Result};

/// The rows of each file group, in the order in which they came.
type Groups = BTreeMap<(String, i32), Vec<RecordBatch>>;

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
    // Read once: a retry needs the rows again.
    let batches = input.collect::<Result<Vec<_>>>()?;
    let options = request.options.clone().with(&table.options);
    let retries = options.get_or_default(&options::CONFLICT_RETRIES)?;
    let patience = options.get_or_default(&options::LOCK_WAIT_MS)? / QUICK;
    let mut exclusive = false;
    for attempt in 0.. {
        let start = table.context.clock.monotonic_ms();
        match write_once(table, schema, &batches, request, exclusive) {
            Err(e) if e.kind() == ErrorKind::CommitConflict && attempt < retries => {
                let took = u64::try_from(table.context.clock.monotonic_ms() - start).unwrap_or(0);
                exclusive = attempt + 1 >= OPTIMISTIC_ATTEMPTS && took < patience;
            }
            other => {
                let result = CommitResult { retries: attempt, ..other? };
                return Ok(if result.instant.is_some() { followed_up(table, &options, result) } else { result });
            }
        }
    }
    Err(Error::internal("a write neither succeeded nor failed"))
}

/// Does what is due after a commit. The commit stands whatever becomes of that, so a failure is a warning.
fn followed_up(table: &Table, options: &Options, result: CommitResult) -> CommitResult {
    match Round::after_write(table, options).and_then(Round::run) {
        Ok(_) => result,
        Err(e) => result.warned(&format!("the compaction after the write failed: {e}")),
    }
}

fn write_once(
    table: &Table,
    schema: &SchemaRef,
    batches: &[RecordBatch],
    request: &WriteRequest,
    exclusive: bool,
) -> Result<CommitResult> {
    if batches.iter().all(|batch| batch.num_rows() == 0) {
        return Ok(CommitResult { operation: request.operation.word(), ..CommitResult::default() });
    }
    let begin = if exclusive { Action::begin_exclusive } else { Action::begin };
    let mut action = begin(table, schema, request.clone())?;
    match run(table, &mut action, batches) {
        Ok(statuses) => action.commit(statuses),
        Err(e) => Err(match action.abort() {
            Ok(()) => e,
            Err(cleanup) => e.with_hint(format!("cleaning up failed too ({cleanup}); the next writer does it")),
        }),
    }
}

fn run(table: &Table, action: &mut Action, batches: &[RecordBatch]) -> Result<Vec<Status>> {
    let groups = group(table, action, batches)?;
    let profile: Vec<_> = groups.iter().map(|((partition, slot), rows)| profile(partition, *slot, rows)).collect();
    let tasks = action.place(&profile)?;
    let groups = Mutex::new(groups);
    run_all(table.context.threads, tasks, |_, placed: PlacedTask| {
        let key = (placed.partition, placed.slot);
        let rows = groups.lock().unwrap_or_else(PoisonError::into_inner).remove(&key).unwrap_or_default();
        placed.task.run_on(&table.storage, &table.context, ONLY_ATTEMPT, rows.into_iter().map(Ok))
    })
}

fn profile(partition: &str, slot: i32, rows: &[RecordBatch]) -> GroupProfile {
    let count = rows.iter().map(|batch| batch.num_rows() as u64).sum();
    GroupProfile { partition: partition.to_owned(), slot, rows: count }
}

/// Locates every row and brings those of one group together.
fn group(table: &Table, action: &Action, batches: &[RecordBatch]) -> Result<Groups> {
    let (intake, locator) = (action.intake()?, action.locator());
    let parts = run_all(table.context.threads, batches.iter().collect(), |_, batch: &RecordBatch| {
        let batch = &intake.accept(batch)?;
        let (partitions, slots) = locator.places(batch)?;
        let mut rows: BTreeMap<(&str, i32), Vec<u32>> = BTreeMap::new();
        for row in 0..batch.num_rows() {
            let index = u32::try_from(row).map_err(|_| Error::unsupported("a batch of more than 4 billion rows"))?;
            rows.entry((partitions.value(row), slots.value(row))).or_default().push(index);
        }
        let take = |(group, rows): ((&str, i32), Vec<u32>)| {
            let indices = PrimitiveArray::<UInt32Type>::from(rows);
            Ok(((group.0.to_owned(), group.1), take_record_batch(batch, &indices)?))
        };
        rows.into_iter().map(take).collect::<Result<Vec<_>>>()
    })?;
    let mut groups = Groups::new();
    for (group, rows) in parts.into_iter().flatten() {
        groups.entry(group).or_default().push(rows);
    }
    Ok(groups)
}
