//! `Action`: the driver's side of a commit whose tasks another engine runs, and what its workers call.

use std::sync::{Mutex, PoisonError};

use arrow_array::RecordBatchReader;
use hudini_table::bytes_form::BytesForm;
use hudini_table::context::Context;
use hudini_table::write::{
    self, Choice, GroupProfile, Locator, LookupTask, NewSlots, PlacedTask, RecordLookup, RecordedGroup, Status, Task,
};
use hudini_table::{Error, Result};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::arrow::{Stream, rows_of};
use crate::errors::released;
use crate::values;

/// Partition, slot, and what is looked up there.
type LookupOf<'py> = (String, i32, Bound<'py, PyBytes>);
/// Partition, slot, rows that are expected there, and the task.
type TaskOf<'py> = (String, i32, u64, Bound<'py, PyBytes>);

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
        let bytes = released(py, || self.with(|action| action.locator().to_bytes()))?;
        Ok(PyBytes::new(py, &bytes))
    }

    #[getter]
    fn adds_keys(&self, py: Python<'_>) -> PyResult<bool> {
        released(py, || self.with(|action| Ok(action.locator().adds_keys())))
    }

    #[getter]
    fn looks_up(&self, py: Python<'_>) -> PyResult<bool> {
        released(py, || self.with(|action| Ok(action.looks_up())))
    }

    #[getter]
    fn combines_partitions(&self, py: Python<'_>) -> PyResult<bool> {
        released(py, || self.with(|action| action.combines_partitions()))
    }

    fn choice<'py>(&self, py: Python<'py>) -> PyResult<(Vec<String>, Bound<'py, PyBytes>)> {
        let (columns, bytes) = released(py, || {
            let choice = self.with(|action| action.choice())?;
            Ok((choice.columns().into_iter().map(str::to_owned).collect(), choice.to_bytes()?))
        })?;
        Ok((columns, PyBytes::new(py, &bytes)))
    }

    fn done_before<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let done = released(py, || self.with(|action| action.done_before()))?;
        done.map(|done| values::commit_result(py, &done)).transpose()
    }

    fn lookups<'py>(&self, py: Python<'py>, partitions: Vec<String>) -> PyResult<Vec<Vec<LookupOf<'py>>>> {
        let rounds = released(py, || {
            let rounds = self.with(|action| action.lookup_rounds(partitions.iter().map(String::as_str)))?;
            let task = |t: &LookupTask| Ok((t.partition().to_owned(), t.slot(), t.to_bytes()?));
            rounds.iter().map(|round| round.iter().map(task).collect::<Result<Vec<_>>>()).collect::<Result<Vec<_>>>()
        })?;
        let with_bytes = |(partition, slot, task): (String, i32, Vec<u8>)| (partition, slot, PyBytes::new(py, &task));
        Ok(rounds.into_iter().map(|round| round.into_iter().map(with_bytes).collect()).collect())
    }

    fn record_lookup<'py>(&self, py: Python<'py>) -> PyResult<Option<(usize, Bound<'py, PyBytes>)>> {
        let lookup = released(py, || {
            let lookup = self.with(|action| action.record_lookup())?;
            lookup.map(|lookup| Ok((lookup.groups(), lookup.to_bytes()?))).transpose()
        })?;
        Ok(lookup.map(|(groups, bytes)| (groups, PyBytes::new(py, &bytes))))
    }

    fn recorded_slots(&self, py: Python<'_>, groups: Vec<(String, String, String)>) -> PyResult<Vec<i32>> {
        let group = |(partition, file_id, key)| RecordedGroup { partition, file_id, key };
        let groups: Vec<_> = groups.into_iter().map(group).collect();
        released(py, || self.with(|action| action.recorded_slots(&groups)))
    }

    fn new_slots<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = released(py, || self.with(|action| action.new_slots().to_bytes()))?;
        Ok(PyBytes::new(py, &bytes))
    }

    fn place<'py>(&self, py: Python<'py>, profile: Vec<(String, i32, u64, u64)>) -> PyResult<Vec<TaskOf<'py>>> {
        let group = |(partition, slot, rows, bytes)| GroupProfile { partition, slot, rows, bytes };
        let profile: Vec<_> = profile.into_iter().map(group).collect();
        let placed = released(py, || {
            let tasks = self.with(|action| action.place(&profile))?;
            let told = |t: PlacedTask| Ok((t.partition, t.slot, t.task.expected_rows(), t.task.to_bytes()?));
            tasks.into_iter().map(told).collect::<Result<Vec<_>>>()
        })?;
        let with_bytes = |(partition, slot, rows, task): (String, i32, u64, Vec<u8>)| {
            (partition, slot, rows, PyBytes::new(py, &task))
        };
        Ok(placed.into_iter().map(with_bytes).collect())
    }

    fn check_heart(&self, py: Python<'_>) -> PyResult<()> {
        released(py, || self.with(|action| action.check_heart()))
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
        let schema = locator.output_schema(&reader.schema());
        let located = values::rows(reader).map(move |batch| locator.locate(&batch?));
        Ok(Stream::new(schema, located))
    })
}

#[pyfunction]
pub(crate) fn look_up(py: Python<'_>, task: Vec<u8>, data: &Bound<'_, PyAny>) -> PyResult<Stream> {
    let reader = rows_of(data)?;
    released(py, move || {
        let found = LookupTask::from_bytes(&task)?.run(values::rows(reader))?;
        Ok(Stream::new(LookupTask::output_schema(), found))
    })
}

#[pyfunction]
pub(crate) fn group_keys(py: Python<'_>, lookup: Vec<u8>, data: &Bound<'_, PyAny>) -> PyResult<Stream> {
    let reader = rows_of(data)?;
    released(py, move || {
        let lookup = RecordLookup::from_bytes(&lookup)?;
        let grouped = values::rows(reader).map(move |batch| lookup.group(&batch?));
        Ok(Stream::new(RecordLookup::grouped_schema(), grouped))
    })
}

#[pyfunction]
pub(crate) fn look_up_records(
    py: Python<'_>,
    lookup: Vec<u8>,
    group: i32,
    data: &Bound<'_, PyAny>,
) -> PyResult<Stream> {
    let reader = rows_of(data)?;
    released(py, move || {
        let found = RecordLookup::from_bytes(&lookup)?.run(group, values::rows(reader))?;
        Ok(Stream::new(RecordLookup::output_schema(), found))
    })
}

#[pyfunction]
pub(crate) fn choose(py: Python<'_>, choice: Vec<u8>, data: &Bound<'_, PyAny>) -> PyResult<Stream> {
    let reader = rows_of(data)?;
    released(py, move || {
        let chosen = Choice::from_bytes(&choice)?.run(values::rows(reader));
        Ok(Stream::new(Choice::output_schema(), chosen))
    })
}

#[pyfunction]
pub(crate) fn settle(py: Python<'_>, new_slots: Vec<u8>, data: &Bound<'_, PyAny>) -> PyResult<Stream> {
    let reader = rows_of(data)?;
    released(py, move || {
        let slots = NewSlots::from_bytes(&new_slots)?;
        let schema = NewSlots::output_schema(&reader.schema());
        let settled = values::rows(reader).map(move |batch| slots.settle(&batch?));
        Ok(Stream::new(schema, settled))
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
