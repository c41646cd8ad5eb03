//! Plain values across the border: options in, dictionaries out.

use std::collections::BTreeMap;

use arrow_array::RecordBatch;
use hudini_table::options::{OPERATION, Operation, Options};
use hudini_table::scan::Explanation;
use hudini_table::write::CommitResult;
use hudini_table::{Error, HistoryEntry, Result};
use pyo3::prelude::*;
use pyo3::types::PyDict;

pub(crate) type Map = BTreeMap<String, String>;

pub(crate) fn options(given: Map) -> Result<Options> {
    Options::parse(given)
}

pub(crate) fn operation(word: &str) -> Result<Operation> {
    OPERATION.read(word)
}

/// The rows of a foreign stream; its errors become ours.
pub(crate) fn rows(
    reader: impl Iterator<Item = std::result::Result<RecordBatch, arrow_schema::ArrowError>> + Send,
) -> impl Iterator<Item = Result<RecordBatch>> + Send {
    reader.map(|batch| batch.map_err(|e| Error::schema("the given rows could not be read").caused_by(e)))
}

pub(crate) fn commit_result<'py>(py: Python<'py>, result: &CommitResult) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("instant", &result.instant)?;
    out.set_item("completed", &result.completed)?;
    out.set_item("action", result.action)?;
    out.set_item("operation", result.operation)?;
    out.set_item("inserted", result.inserted)?;
    out.set_item("updated", result.updated)?;
    out.set_item("deleted", result.deleted)?;
    out.set_item("files_added", result.files_added)?;
    out.set_item("files_removed", result.files_removed)?;
    out.set_item("bytes_written", result.bytes_written)?;
    out.set_item("seconds", result.seconds)?;
    out.set_item("retries", result.retries)?;
    Ok(out)
}

pub(crate) fn history_entry<'py>(py: Python<'py>, entry: &HistoryEntry) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("instant", &entry.instant)?;
    out.set_item("completed", &entry.completed)?;
    out.set_item("action", entry.action.name())?;
    out.set_item("operation", &entry.operation)?;
    out.set_item("inserted", entry.inserted)?;
    out.set_item("updated", entry.updated)?;
    out.set_item("deleted", entry.deleted)?;
    out.set_item("files", entry.files)?;
    out.set_item("bytes", entry.bytes)?;
    out.set_item("seconds", entry.seconds)?;
    out.set_item("metadata", &entry.metadata)?;
    Ok(out)
}

pub(crate) fn explanation<'py>(py: Python<'py>, plan: &Explanation) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("instant", &plan.instant)?;
    out.set_item("partitions", plan.partitions)?;
    out.set_item("slices", plan.slices)?;
    out.set_item("base_files", plan.base_files)?;
    out.set_item("base_bytes", plan.base_bytes)?;
    out.set_item("log_files", plan.log_files)?;
    out.set_item("log_bytes", plan.log_bytes)?;
    out.set_item("listing", plan.listing)?;
    out.set_item("merged_by", plan.merged_by)?;
    out.set_item("columns", &plan.columns)?;
    out.set_item("filter", &plan.filter)?;
    let pruned = PyDict::new(py);
    pruned.set_item("partitions", plan.pruned.partitions)?;
    pruned.set_item("slices", plan.pruned.slices)?;
    out.set_item("pruned", pruned)?;
    out.set_item("options_without_effect", &plan.options_without_effect)?;
    out.set_item("warnings", &plan.warnings)?;
    Ok(out)
}
