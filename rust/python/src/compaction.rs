//! `Compactions`: compaction with this process's threads, and the driver's side of one whose tasks another engine runs.

use std::sync::{Mutex, PoisonError};

use hudini_table::bytes_form::BytesForm;
use hudini_table::context::Context;
use hudini_table::service::{self, CompactRequest, CompactionStatus, CompactionTask, Round};
use hudini_table::write::CommitResult;
use hudini_table::{Error, Result, Table};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::errors::released;
use crate::values::{self, Map};

pub(crate) fn request(schedule: bool, execute: bool, filter: Option<String>, options: Map) -> Result<CompactRequest> {
    Ok(CompactRequest { schedule, execute, filter, options: values::options(options)?, ..CompactRequest::default() })
}

/// Compactions one after the other; of each the tasks come out, and what they did goes in.
#[pyclass(module = "hudini._core", frozen)]
pub(crate) struct Compactions {
    inner: Mutex<State>,
}

struct State {
    round: Round,
    under_way: Option<service::Compaction>,
    result: CommitResult,
}

impl Compactions {
    pub(crate) fn asked(table: &Table, request: CompactRequest) -> Self {
        Self::of(Round::new(table, request))
    }

    pub(crate) fn after_write(table: &Table, options: Map) -> Result<Self> {
        Ok(Self::of(Round::after_write(table, &values::options(options)?)?))
    }

    fn of(round: Round) -> Self {
        let result = CommitResult { operation: "compact", ..CommitResult::default() };
        Self { inner: Mutex::new(State { round, under_way: None, result }) }
    }

    fn with<T>(&self, work: impl FnOnce(&mut State) -> Result<T>) -> Result<T> {
        work(&mut self.inner.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[pymethods]
impl Compactions {
    fn next<'py>(&self, py: Python<'py>) -> PyResult<Option<Vec<Bound<'py, PyBytes>>>> {
        let tasks = released(py, || {
            self.with(|state| {
                state.under_way = state.round.begin_next()?;
                let tasks = |compaction: &service::Compaction| {
                    compaction.tasks().iter().map(CompactionTask::to_bytes).collect::<Result<Vec<_>>>()
                };
                state.under_way.as_ref().map(tasks).transpose()
            })
        })?;
        Ok(tasks.map(|tasks| tasks.iter().map(|task| PyBytes::new(py, task)).collect()))
    }

    fn commit(&self, py: Python<'_>, statuses: Vec<Vec<u8>>) -> PyResult<()> {
        released(py, || {
            self.with(|state| {
                let compaction = state.under_way.take().ok_or_else(|| Error::internal("no compaction is under way"))?;
                let done = match statuses.iter().map(|bytes| CompactionStatus::from_bytes(bytes)).collect() {
                    Ok(statuses) => compaction.commit(statuses)?,
                    Err(e) => return compaction.abort().and(Err(e)),
                };
                state.result = std::mem::take(&mut state.result).and(done);
                Ok(())
            })
        })
    }

    /// Nothing to do where none is under way.
    fn abort(&self, py: Python<'_>) -> PyResult<()> {
        released(py, || self.with(|state| state.under_way.take().map_or(Ok(()), service::Compaction::abort)))
    }

    fn result<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let result = released(py, || self.with(|state| Ok(state.round.finish(state.result.clone()))))?;
        values::commit_result(py, &result)
    }
}

#[pyfunction]
pub(crate) fn run_compaction_task(py: Python<'_>, task: Vec<u8>) -> PyResult<Bound<'_, PyBytes>> {
    let status = released(py, move || CompactionTask::from_bytes(&task)?.run(&Context::system(Some(1)))?.to_bytes())?;
    Ok(PyBytes::new(py, &status))
}
