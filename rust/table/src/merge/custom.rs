//! Mergers of somebody's own: a table names one by its strategy id, a program registers it under that id.
//!
//! Rows come in batches, each old row beside the new one of the same key, and one row has to come back for each pair. As in
//! Apache Hudi, a merger is not asked about deletes.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use arrow_array::RecordBatch;
use arrow_select::interleave::interleave_record_batch;

use super::rows::Place;
use crate::{Error, Result};

/// Decides what becomes of pairs of rows: the older ones, and the newer ones in the same order.
pub trait MergeRows: Send + Sync {
    /// As many rows, in the same order and the same columns. A row whose column `_hoodie_is_deleted` is true is gone.
    fn merge(&self, old: &RecordBatch, new: &RecordBatch) -> Result<RecordBatch>;
}

/// A registered merger.
#[derive(Clone)]
pub(super) struct Merger(Arc<dyn MergeRows>);

impl fmt::Debug for Merger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Merger")
    }
}

/// By strategy id. Of the whole process, because tables are opened anywhere in it.
static REGISTERED: RwLock<BTreeMap<String, Merger>> = RwLock::new(BTreeMap::new());

/// Registers a merger for the tables that name its strategy id; one that was there is replaced.
pub fn register(strategy_id: &str, merger: Arc<dyn MergeRows>) {
    let mut registered = REGISTERED.write().unwrap_or_else(PoisonError::into_inner);
    registered.insert(strategy_id.to_ascii_lowercase(), Merger(merger));
}

pub(super) fn find(strategy_id: &str) -> Result<Merger> {
    let registered = REGISTERED.read().unwrap_or_else(PoisonError::into_inner);
    registered.get(&strategy_id.to_ascii_lowercase()).cloned().ok_or_else(|| unknown(strategy_id))
}

/// Whether this process has a merger for the strategy.
pub(crate) fn check(strategy_id: &str) -> Result<()> {
    find(strategy_id).map(drop)
}

fn unknown(strategy_id: &str) -> Error {
    Error::unsupported(format!("the merge strategy {strategy_id}: no merger is registered for it"))
        .with_hint("hudini.register_merger(strategy_id, function) registers one in this process")
}

/// The outcome for rows that stand beside each other.
pub(super) fn merge(
    merger: &Merger,
    old_batches: &[&RecordBatch],
    old: &[Place],
    new_batches: &[&RecordBatch],
    new: &[Place],
) -> Result<RecordBatch> {
    let old = interleave_record_batch(old_batches, old)?;
    let new = interleave_record_batch(new_batches, new)?;
    let merged = merger.0.merge(&old, &new)?;
    if merged.num_rows() != new.num_rows() {
        let message = format!("a merger gave {} rows for {} pairs", merged.num_rows(), new.num_rows());
        return Err(Error::schema(message).with_hint("give one row for each pair, in their order"));
    }
    let columns = new.schema();
    let column = |field: &arrow_schema::FieldRef| {
        let column = merged.column_by_name(field.name()).filter(|c| c.data_type() == field.data_type());
        column.cloned().ok_or_else(|| {
            Error::schema(format!(
                "a merger gave rows without the column '{}' of type {}",
                field.name(),
                field.data_type()
            ))
        })
    };
    let arrays = columns.fields().iter().map(column).collect::<Result<Vec<_>>>()?;
    RecordBatch::try_new(columns, arrays).map_err(|e| Error::schema("a merger gave rows that do not fit").caused_by(e))
}
