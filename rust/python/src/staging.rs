//! Writes that name a save mode and options: what they mean, rows that tasks leave on storage, and the commit of them.

use std::sync::Arc;

use arrow_array::RecordBatchReader;
use hudini_table::Result;
use hudini_table::bytes_form::BytesForm;
use hudini_table::context::Context;
use hudini_table::write::{self, SchemaMode, Staged, Staging, WriteRequest};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::arrow::{rows_of, schema_of};
use crate::errors::released;
use crate::table::{Table, request};
use crate::values::{self, Map};

#[pyfunction]
pub(crate) fn asked(
    py: Python<'_>,
    table: Option<&Table>,
    options: Map,
    overwrites: bool,
) -> PyResult<(&'static str, Map)> {
    released(py, move || {
        let (operation, options) = write::asked(table.map(|table| &table.inner), options, overwrites)?;
        Ok((operation.word(), options))
    })
}

#[pyfunction]
pub(crate) fn check_write(
    py: Python<'_>,
    table: Option<&Table>,
    operation: String,
    schema: &Bound<'_, PyAny>,
    options: Map,
    metadata: Map,
    schema_mode: String,
) -> PyResult<()> {
    let schema = schema_of(schema)?;
    released(py, move || {
        let schema_mode = SchemaMode::parse(&schema_mode)?;
        let request = WriteRequest { schema_mode, ..request(&operation, options, metadata, None)? };
        write::check(table.map(|table| &table.inner), &schema, &request)
    })
}

#[pyfunction]
pub(crate) fn open_staging<'py>(py: Python<'py>, table: &Table) -> PyResult<Bound<'py, PyBytes>> {
    let staging = released(py, || Staging::open(&table.inner)?.to_bytes())?;
    Ok(PyBytes::new(py, &staging))
}

#[pyfunction]
pub(crate) fn stage<'py>(py: Python<'py>, staging: Vec<u8>, data: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    let reader = rows_of(data)?;
    let staged = released(py, move || {
        let schema = reader.schema();
        let rows = values::rows(reader);
        Staging::from_bytes(&staging)?.stage(&Context::system(Some(1)), &schema, rows)?.to_bytes()
    })?;
    Ok(PyBytes::new(py, &staged))
}

#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "what a write takes, all of it")]
pub(crate) fn write_staged<'py>(
    py: Python<'py>,
    table: &Table,
    staging: Vec<u8>,
    staged: Vec<Vec<u8>>,
    schema: &Bound<'py, PyAny>,
    operation: String,
    options: Map,
    schema_mode: String,
) -> PyResult<Bound<'py, PyDict>> {
    let schema = Arc::new(schema_of(schema)?);
    let result = released(py, move || {
        let staging = Staging::from_bytes(&staging)?;
        let staged = staged.iter().map(|bytes| Staged::from_bytes(bytes)).collect::<Result<Vec<_>>>()?;
        let schema_mode = SchemaMode::parse(&schema_mode)?;
        let request = WriteRequest { schema_mode, ..request(&operation, options, Map::new(), None)? };
        staging.write(&table.inner, &schema, &staged, &request)
    })?;
    values::commit_result(py, &result)
}

#[pyfunction]
pub(crate) fn close_staging(py: Python<'_>, staging: Vec<u8>) -> PyResult<()> {
    released(py, move || Staging::from_bytes(&staging)?.close())
}
