//! Arrow data across the border by the PyCapsule interface: no copy, and no package needed on the other side.
#![allow(unsafe_code, reason = "the C data interface hands over raw pointers; all of them are dealt with in this file")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::thread::ThreadId;

use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, SchemaRef};
use hudini_table::context::Watch;
use hudini_table::{Error, Result};
use pyo3::exceptions::{PyKeyboardInterrupt, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::errors;
use crate::held::{Lent, with_gil};
use crate::watched::{self, Listener, Next, Produced};

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
    watching: Option<Watching>,
}

/// How a stream is watched while it is read.
struct Watching {
    watch: Watch,
    listener: Mutex<Listener>,
    /// Whether the reader raises the exception whose text it gets. Otherwise Ctrl-C is asked for once more, since the
    /// reader would raise something of its own.
    is_restored: bool,
}

impl Stream {
    pub(crate) fn new(schema: SchemaRef, rows: impl Iterator<Item = Result<RecordBatch>> + Send + 'static) -> Self {
        Self { schema, rows: Mutex::new(Some(Box::new(rows))), watching: None }
    }

    /// A stream that Ctrl-C ends. The rows are made with the same watch.
    pub(crate) fn watched(
        schema: SchemaRef,
        rows: impl Iterator<Item = Result<RecordBatch>> + Send + 'static,
        watch: Watch,
        listener: Listener,
        is_restored: bool,
    ) -> Self {
        let watching = Watching { watch, listener: Mutex::new(listener), is_restored };
        Self { watching: Some(watching), ..Self::new(schema, rows) }
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
        let watching = self.watching.as_ref().map(|watching| Watched {
            watch: watching.watch.clone(),
            listener: Lent::new(watching.listener.lock().ok().and_then(|mut listener| listener.take())),
            is_restored: watching.is_restored,
            home: std::thread::current().id(),
        });
        let source = match watching {
            None => Source::Plain(rows),
            Some(how) => Source::Waiting(Some((rows, how))),
        };
        let exported = FFI_ArrowArrayStream::new(Box::new(Rows { schema: self.schema.clone(), source }));
        PyCapsule::new_with_value(py, exported, STREAM_CAPSULE)
    }
}

/// Rows on their way into a C stream.
struct Rows {
    schema: SchemaRef,
    source: Source,
}

struct Watched {
    watch: Watch,
    listener: Lent,
    is_restored: bool,
    home: ThreadId,
}

enum Source {
    /// Read by who takes them.
    Plain(Batches),
    /// To be read by a thread, from when the first are asked for.
    Waiting(Option<(Batches, Watched)>),
    Reading {
        rows: Produced<Result<RecordBatch>>,
        is_restored: bool,
    },
}

impl Source {
    fn next(&mut self) -> Option<std::result::Result<RecordBatch, String>> {
        if let Self::Waiting(waiting) = self {
            let (rows, Watched { watch, listener, is_restored, home }) = waiting.take()?;
            match Produced::start(rows, watch, listener, home) {
                Ok(rows) => *self = Self::Reading { rows, is_restored },
                Err(error) => return Some(Err(errors::as_text(&error))),
            }
        }
        let batch = match self {
            Self::Plain(rows) => rows.next()?,
            Self::Waiting(_) => return None,
            Self::Reading { rows, is_restored } => match rows.next() {
                Next::Item(batch) => batch,
                Next::End => return None,
                Next::Raised(error) => return Some(Err(raised(error, *is_restored))),
                Next::Panicked => Err(Error::internal("reading rows panicked")),
            },
        };
        Some(batch.map_err(|error| errors::as_text(&error)))
    }
}

/// The text for an exception that ended a stream.
fn raised(error: PyErr, is_restored: bool) -> String {
    with_gil(|py| {
        if !is_restored && error.is_instance_of::<PyKeyboardInterrupt>(py) {
            // SAFETY: it may be called at any time, and does what the signal does.
            unsafe { pyo3::ffi::PyErr_SetInterrupt() };
        }
        watched::keep(error)
    })
}

impl Iterator for Rows {
    type Item = std::result::Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        // A panic must not unwind into the C code that called us.
        let next = catch_unwind(AssertUnwindSafe(|| self.source.next()));
        let panicked = || Some(Err(errors::as_text(&Error::internal("reading rows panicked"))));
        let batch = next.unwrap_or_else(|_| panicked())?;
        Some(batch.map_err(|text| ArrowError::ExternalError(text.into())))
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
