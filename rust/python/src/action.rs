//! `Action`: the driver's side of a commit whose tasks another engine runs, and what its workers call.

use std::sync::{Mutex, PoisonError};

use arrow_array::RecordBatchReader;
use hudini_table::bytes_form::BytesForm;
use hudini_table::context::Context;
use hudini_table::write::{self, GroupProfile, Locator, Status, Task};
use hudini_table::{Error, Result};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::arrow::{Stream, rows_of};
use crate::errors::released;
use crate::values;

/// The driver's side of one commit: begin, locate, place, run, commit.
#[pyclass(module = "hudini._core", frozen)]
pub(crate) struct Action {
    instant: String,
    /// Gone once it was committed or aborted.
    inner: Mutex<Option<write::Action>>,
}

impl Action {
    pub(crate) fn new(action: write::Action) -> Self {
        Self { instant: action.time().to_owned(), inner: Mutex::new(Some(action)) }
    }

    fn with<T>(&self, work: impl FnOnce(&mut write::Action) -> Result<T>) -> Result<T> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.as_mut().ok_or_else(|| self.ended()).and_then(work)
    }

    fn take(&self) -> Option<write::Action> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn ended(&self) -> Error {
        Error::internal("this write has ended already").at_instant(&self.instant)
    }
}

#[pymethods]
impl Action {
    #[getter]
    fn instant(&self) -> &str {
        &self.instant
    }

    #[getter]
    fn conflict_retries(&self, py: Python<'_>) -> PyResult<u32> {
        released(py, || self.with(|action| action.conflict_retries()))
    }

    fn locator<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = released(py, || self.with(|action| action.locator_for_workers()?.to_bytes()))?;
        Ok(PyBytes::new(py, &bytes))
    }

    fn place<'py>(
        &self,
        py: Python<'py>,
        profile: Vec<(String, i32, u64)>,
    ) -> PyResult<Vec<(String, i32, Bound<'py, PyBytes>)>> {
        let profile: Vec<_> =
            profile.into_iter().map(|(partition, slot, rows)| GroupProfile { partition, slot, rows }).collect();
        let placed = released(py, || {
            let tasks = self.with(|action| action.place(&profile))?;
            tasks.into_iter().map(|t| Ok((t.partition, t.slot, t.task.to_bytes()?))).collect::<Result<Vec<_>>>()
        })?;
        Ok(placed.into_iter().map(|(partition, slot, task)| (partition, slot, PyBytes::new(py, &task))).collect())
    }

    fn commit<'py>(&self, py: Python<'py>, statuses: Vec<Vec<u8>>) -> PyResult<Bound<'py, PyDict>> {
        let result = released(py, || {
            let action = self.take().ok_or_else(|| self.ended())?;
            let statuses = statuses.iter().map(|bytes| Status::from_bytes(bytes)).collect::<Result<Vec<_>>>();
            match statuses {
                Ok(statuses) => action.commit(statuses),
                Err(e) => action.abort().and(Err(e)),
            }
        })?;
        values::commit_result(py, &result)
    }

    /// Nothing to do for a write that has ended.
    fn abort(&self, py: Python<'_>) -> PyResult<()> {
        released(py, || self.take().map_or(Ok(()), write::Action::abort))
    }
}

#[pyfunction]
pub(crate) fn locate(py: Python<'_>, locator: Vec<u8>, data: &Bound<'_, PyAny>) -> PyResult<Stream> {
    let reader = rows_of(data)?;
    released(py, move || {
        let locator = Locator::from_bytes(&locator)?;
        let schema = Locator::output_schema(&reader.schema());
        let located = values::rows(reader).map(move |batch| locator.locate(&batch?));
        Ok(Stream::new(schema, located))
    })
}

#[pyfunction]
pub(crate) fn run_task<'py>(py: Python<'py>, task: Vec<u8>, data: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    let reader = rows_of(data)?;
    let status = released(py, move || {
        let task = Task::from_bytes(&task)?;
        task.run(&Context::system(Some(1)), values::rows(reader))?.to_bytes()
    })?;
    Ok(PyBytes::new(py, &status))
}
