//! Arrow data across the border by the PyCapsule interface: no copy, and no package needed on the other side.
#![allow(unsafe_code, reason = "the C data interface hands over raw pointers; all of them are dealt with in this file")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, SchemaRef};
use hudini_table::{Error, Result};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::errors;

const SCHEMA_CAPSULE: &std::ffi::CStr = c"arrow_schema";
const STREAM_CAPSULE: &std::ffi::CStr = c"arrow_array_stream";

/// A schema, for whoever takes Arrow's C schema interface.
#[pyclass(module = "hudini._core", frozen)]
pub(crate) struct Schema(pub(crate) SchemaRef);

#[pymethods]
impl Schema {
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let exported = FFI_ArrowSchema::try_from(self.0.as_ref());
        let exported = exported.map_err(|e| PyValueError::new_err(format!("this schema cannot be exported: {e}")))?;
        PyCapsule::new_with_value(py, exported, SCHEMA_CAPSULE)
    }
}

type Batches = Box<dyn Iterator<Item = Result<RecordBatch>> + Send>;

/// Record batches that can be taken once.
#[pyclass(module = "hudini._core", frozen)]
pub(crate) struct Stream {
    schema: SchemaRef,
    rows: Mutex<Option<Batches>>,
}

impl Stream {
    pub(crate) fn new(schema: SchemaRef, rows: impl Iterator<Item = Result<RecordBatch>> + Send + 'static) -> Self {
        Self { schema, rows: Mutex::new(Some(Box::new(rows))) }
    }
}

#[pymethods]
impl Stream {
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface lets a producer answer with its own schema.
        drop(requested_schema);
        let taken = self.rows.lock().ok().and_then(|mut rows| rows.take());
        let rows = taken.ok_or_else(|| PyValueError::new_err("this stream was taken already; ask for a new one"))?;
        let exported = FFI_ArrowArrayStream::new(Box::new(Rows { schema: self.schema.clone(), rows }));
        PyCapsule::new_with_value(py, exported, STREAM_CAPSULE)
    }
}

/// Rows on their way into a C stream.
struct Rows {
    schema: SchemaRef,
    rows: Batches,
}

impl Iterator for Rows {
    type Item = std::result::Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        // A panic must not unwind into the C code that called us.
        let next = catch_unwind(AssertUnwindSafe(|| self.rows.next()));
        let batch = next.unwrap_or_else(|_| Some(Err(Error::internal("reading rows panicked"))))?;
        Some(batch.map_err(|e| ArrowError::ExternalError(errors::as_text(&e).into())))
    }
}

impl RecordBatchReader for Rows {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}

/// The schema of anything that exports one.
pub(crate) fn schema_of(value: &Bound<'_, PyAny>) -> PyResult<arrow_schema::Schema> {
    let capsule = exported(value, "__arrow_c_schema__", "an Arrow schema")?;
    let pointer = capsule.pointer_checked(Some(SCHEMA_CAPSULE))?.cast::<FFI_ArrowSchema>();
    // SAFETY: the capsule's name says that it holds an ArrowSchema, and it outlives this borrow.
    let exported = unsafe { pointer.as_ref() };
    arrow_schema::Schema::try_from(exported)
        .map_err(|e| PyValueError::new_err(format!("this schema cannot be taken in: {e}")))
}

/// The rows of anything that exports a stream.
pub(crate) fn rows_of(value: &Bound<'_, PyAny>) -> PyResult<RecordBatchStreamReader> {
    let capsule = exported(value, "__arrow_c_stream__", "Arrow rows")?;
    let pointer = capsule.pointer_checked(Some(STREAM_CAPSULE))?.cast::<FFI_ArrowArrayStream>();
    // SAFETY: the capsule's name says that it holds an ArrowArrayStream. The reader moves it out and marks the original
    // as released, as the interface asks of consumers.
    let reader = unsafe { RecordBatchStreamReader::from_raw(pointer.as_ptr()) };
    reader.map_err(|e| PyValueError::new_err(format!("these rows cannot be taken in: {e}")))
}

fn exported<'py>(value: &Bound<'py, PyAny>, method: &str, what: &str) -> PyResult<Bound<'py, PyCapsule>> {
    if !value.hasattr(method)? {
        let kind = value.get_type().name()?;
        return Err(PyTypeError::new_err(format!("expected {what} (an object with {method}), got {kind}")));
    }
    Ok(value.call_method0(method)?.cast_into::<PyCapsule>()?)
}
