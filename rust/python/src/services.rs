//! Table services: clean, archive, rollback, and what is due.

use hudini_table::options::CLEAN_POLICY;
use hudini_table::service::{self, CleanRequest};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::released;
use crate::table::Table;
use crate::values::{self, Map};

#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "the arguments of Services.clean, all of them")]
pub(crate) fn clean<'py>(
    py: Python<'py>,
    table: &Bound<'py, Table>,
    schedule: bool,
    execute: bool,
    dry_run: bool,
    policy: Option<String>,
    retain: Option<u32>,
    options: Map,
) -> PyResult<Bound<'py, PyDict>> {
    let table = &table.get().inner;
    let done = released(py, move || {
        let policy = policy.map(|word| CLEAN_POLICY.read(&word)).transpose()?;
        let options = values::options(options)?;
        service::clean(table, &CleanRequest { options, schedule, execute, dry_run, policy, retain })
    })?;
    let out = PyDict::new(py);
    out.set_item("instant", done.instant)?;
    out.set_item("completed", done.completed)?;
    out.set_item("policy", done.policy)?;
    out.set_item("retained", done.retained)?;
    out.set_item("files", done.files)?;
    out.set_item("finished", done.finished)?;
    out.set_item("seconds", done.seconds)?;
    Ok(out)
}

#[pyfunction]
pub(crate) fn archive<'py>(
    py: Python<'py>,
    table: &Bound<'py, Table>,
    dry_run: bool,
    options: Map,
) -> PyResult<Bound<'py, PyDict>> {
    let table = &table.get().inner;
    let done = released(py, move || {
        let options = values::options(options)?;
        if dry_run { service::would_archive(table, &options) } else { service::archive(table, &options) }
    })?;
    let out = PyDict::new(py);
    out.set_item("instants", done.instants)?;
    out.set_item("merged", done.merged)?;
    out.set_item("seconds", done.seconds)?;
    Ok(out)
}

#[pyfunction]
pub(crate) fn rollback<'py>(
    py: Python<'py>,
    table: &Bound<'py, Table>,
    instant: String,
    dry_run: bool,
    options: Map,
) -> PyResult<Bound<'py, PyDict>> {
    let table = &table.get().inner;
    let done = released(py, move || {
        let options = values::options(options)?;
        service::roll_back(table, &instant, dry_run, &options)
    })?;
    let out = PyDict::new(py);
    out.set_item("instant", done.instant)?;
    out.set_item("action", done.action)?;
    out.set_item("files", done.files)?;
    Ok(out)
}

#[pyfunction]
pub(crate) fn due<'py>(
    py: Python<'py>,
    table: &Bound<'py, Table>,
    options: Map,
) -> PyResult<Vec<(&'static str, String)>> {
    let table = &table.get().inner;
    let due = released(py, move || service::due(table, &values::options(options)?))?;
    Ok(due.into_iter().map(|due| (due.service, due.why)).collect())
}
