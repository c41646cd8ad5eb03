//! Plain values across the border: options in, dictionaries out.

use std::collections::BTreeMap;

use arrow_array::RecordBatch;
use hudini_table::base_file::LeftOut;
use hudini_table::concurrency::Marked;
use hudini_table::inspect::{IndexLine, LockLine, PartitionLine};
use hudini_table::options::{OPERATION, Operation, Options};
use hudini_table::scan::{Explanation, Ran};
use hudini_table::verify::{Finding, Report};
use hudini_table::view::{DataFile, FileSlice};
use hudini_table::write::{AddedFile, CommitResult};
use hudini_table::{Error, HistoryEntry, Result};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::Value;

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
    out.set_item("warnings", &result.warnings)?;
    out.set_item("options_without_effect", &result.options_without_effect)?;
    let files = result.files.iter().map(|file| added_file(py, file)).collect::<PyResult<Vec<_>>>()?;
    out.set_item("files", files)?;
    Ok(out)
}

fn added_file<'py>(py: Python<'py>, file: &AddedFile) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("partition", &file.partition)?;
    out.set_item("file_id", &file.file_id)?;
    out.set_item("name", &file.name)?;
    out.set_item("replaces", &file.replaces)?;
    out.set_item("rows", file.rows)?;
    out.set_item("deletes", file.deletes)?;
    out.set_item("bytes", file.bytes)?;
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
    let by = PyDict::new(py);
    for (evidence, count) in &plan.pruned.by {
        by.set_item(evidence.name(), count)?;
    }
    pruned.set_item("by", by)?;
    out.set_item("pruned", pruned)?;
    let seconds = PyDict::new(py);
    for (stage, ms) in &plan.took {
        seconds.set_item(stage, *ms as f64 / 1000.0)?;
    }
    out.set_item("seconds", seconds)?;
    out.set_item("options_without_effect", &plan.options_without_effect)?;
    out.set_item("warnings", &plan.warnings)?;
    Ok(out)
}

pub(crate) fn lock<'py>(py: Python<'py>, line: &LockLine) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("lock", line.kind)?;
    out.set_item("path", &line.path)?;
    out.set_item("instant", &line.instant)?;
    out.set_item("held", line.held)?;
    out.set_item("age_seconds", line.age_ms as f64 / 1000.0)?;
    Ok(out)
}

pub(crate) fn marker<'py>(py: Python<'py>, instant: &str, marked: &Marked) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("instant", instant)?;
    out.set_item("partition", &marked.partition)?;
    out.set_item("file", &marked.file)?;
    out.set_item("kind", marked.kind.name())?;
    Ok(out)
}

pub(crate) fn ran<'py>(py: Python<'py>, ran: &Ran) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("rows", ran.rows)?;
    out.set_item("bytes", ran.bytes)?;
    out.set_item("seconds", ran.seconds)?;
    let stages = PyDict::new(py);
    for (stage, seconds) in &ran.stages {
        stages.set_item(stage, seconds)?;
    }
    out.set_item("stages", stages)?;
    out.set_item("log_blocks", ran.log_blocks)?;
    out.set_item("log_blocks_by_kind", &ran.log_blocks_by_kind)?;
    out.set_item("corrupt_log_blocks", ran.corrupt_log_blocks)?;
    out.set_item("merged_by_position", ran.merged_by_position)?;
    out.set_item("merged_by_key", ran.merged_by_key)?;
    let LeftOut { by_keys, by_statistics, by_blooms, rows_by_pages } = ran.left_out;
    let by = PyDict::new(py);
    let evidence = [
        ("footer_bloom_filters", by_keys),
        ("parquet_statistics", by_statistics),
        ("parquet_bloom_filters", by_blooms),
        ("page_index", rows_by_pages),
    ];
    for (name, count) in evidence.into_iter().filter(|(_, count)| *count > 0) {
        by.set_item(name, count)?;
    }
    let pruned = PyDict::new(py);
    pruned.set_item("row_groups", by_keys + by_statistics + by_blooms)?;
    pruned.set_item("rows", rows_by_pages)?;
    pruned.set_item("by", by)?;
    out.set_item("pruned", pruned)?;
    Ok(out)
}

pub(crate) fn report<'py>(py: Python<'py>, report: &Report) -> PyResult<Bound<'py, PyDict>> {
    let finding = |finding: &Finding| -> PyResult<Bound<'py, PyDict>> {
        let out = PyDict::new(py);
        out.set_item("level", finding.level.name())?;
        out.set_item("check", finding.check)?;
        out.set_item("path", &finding.path)?;
        out.set_item("instant", &finding.instant)?;
        out.set_item("message", &finding.message)?;
        Ok(out)
    };
    let out = PyDict::new(py);
    out.set_item("ok", report.ok())?;
    out.set_item("findings", report.findings.iter().map(finding).collect::<PyResult<Vec<_>>>()?)?;
    out.set_item("checked", &report.checked)?;
    out.set_item("seconds", report.seconds)?;
    Ok(out)
}

pub(crate) fn partition<'py>(py: Python<'py>, line: &PartitionLine) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("partition", &line.partition)?;
    out.set_item("slices", line.slices)?;
    out.set_item("base_files", line.base_files)?;
    out.set_item("base_bytes", line.base_bytes)?;
    out.set_item("log_files", line.log_files)?;
    out.set_item("log_bytes", line.log_bytes)?;
    Ok(out)
}

pub(crate) fn slice<'py>(py: Python<'py>, slice: &FileSlice) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("partition", &slice.partition)?;
    out.set_item("file_id", &slice.file_id)?;
    out.set_item("base_instant", &slice.base_instant)?;
    out.set_item("base_file", slice.base.as_ref().map(|base| &base.name))?;
    out.set_item("log_files", slice.logs.iter().map(|log| &log.name).collect::<Vec<_>>())?;
    out.set_item("bytes", slice.bytes())?;
    Ok(out)
}

pub(crate) fn file<'py>(
    py: Python<'py>,
    slice: &FileSlice,
    kind: &str,
    file: &DataFile,
) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("partition", &slice.partition)?;
    out.set_item("file_id", &slice.file_id)?;
    out.set_item("kind", kind)?;
    out.set_item("name", &file.name)?;
    out.set_item("bytes", file.size)?;
    Ok(out)
}

pub(crate) fn index<'py>(py: Python<'py>, line: &IndexLine) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    let definition = line.definition.as_ref();
    let option = |(key, value): (&String, &Value)| {
        (key.clone(), value.as_str().map_or_else(|| value.to_string(), str::to_owned))
    };
    out.set_item("name", &line.name)?;
    out.set_item("state", line.state.name())?;
    out.set_item("type", definition.map(|index| &index.index_type))?;
    out.set_item("function", definition.map(|index| &index.index_function))?;
    out.set_item("columns", definition.map(|index| &index.source_fields))?;
    out.set_item("options", definition.map(|index| index.index_options.iter().map(option).collect::<Map>()))?;
    out.set_item("version", definition.and_then(|index| index.version.as_ref()))?;
    Ok(out)
}
