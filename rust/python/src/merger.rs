//! Mergers that Python programs register: a function over Arrow batches, called once for each batch of pairs.

use std::sync::Arc;

use arrow_array::RecordBatch;
use hudini_table::merge::{self, MergeRows};
use hudini_table::{Error, Result};
use pyo3::prelude::*;

use crate::arrow::{Stream, rows_of};

struct Function(Py<PyAny>);

impl MergeRows for Function {
    fn merge(&self, old: &RecordBatch, new: &RecordBatch) -> Result<RecordBatch> {
        let stream = |rows: &RecordBatch| Stream::new(rows.schema(), std::iter::once(Ok(rows.clone())));
        Python::attach(|py| {
            let merged = self.0.bind(py).call1((stream(old), stream(new)))?;
            rows_of(&merged)
        })
        .map_err(|e: PyErr| Error::schema("a registered merger failed").caused_by(e))
        .and_then(|rows| match rows.collect::<std::result::Result<Vec<_>, _>>()?.as_slice() {
            [merged] => Ok(merged.clone()),
            several => Err(Error::schema(format!("a merger gave {} batches instead of one", several.len()))),
        })
    }
}

#[pyfunction]
pub(crate) fn register_merger(strategy_id: &str, function: Py<PyAny>) {
    merge::register(strategy_id, Arc::new(Function(function)));
}
