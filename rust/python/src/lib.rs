//! `hudini._core`: argument checks, Arrow in and out, errors. No decision about tables is made here.
//!
//! The GIL is released around every call that touches storage or rows.

mod action;
mod arrow;
mod compaction;
mod errors;
mod held;
mod inspect;
mod merger;
mod scan;
mod services;
mod staging;
mod table;
mod values;
mod watched;

use pyo3::prelude::*;

#[pymodule]
fn _core(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    m.add("build_profile", if cfg!(debug_assertions) { "debug" } else { "release" })?;
    m.add_class::<arrow::Schema>()?;
    m.add_class::<arrow::Stream>()?;
    m.add_class::<table::Table>()?;
    m.add_class::<scan::Scan>()?;
    m.add_class::<action::Action>()?;
    m.add_class::<compaction::Compactions>()?;
    m.add_function(wrap_pyfunction!(table::is_table, m)?)?;
    m.add_function(wrap_pyfunction!(scan::split_schema, m)?)?;
    m.add_function(wrap_pyfunction!(scan::read_split, m)?)?;
    for function in [
        wrap_pyfunction!(inspect::inspect_log, m)?,
        wrap_pyfunction!(inspect::inspect_hfile, m)?,
        wrap_pyfunction!(inspect::inspect_instant, m)?,
        wrap_pyfunction!(inspect::inspect_properties, m)?,
    ] {
        m.add_function(function)?;
    }
    for function in [
        wrap_pyfunction!(services::clean, m)?,
        wrap_pyfunction!(services::archive, m)?,
        wrap_pyfunction!(services::rollback, m)?,
        wrap_pyfunction!(services::due, m)?,
    ] {
        m.add_function(function)?;
    }
    for function in [
        wrap_pyfunction!(staging::asked, m)?,
        wrap_pyfunction!(staging::check_write, m)?,
        wrap_pyfunction!(staging::open_staging, m)?,
        wrap_pyfunction!(staging::stage, m)?,
        wrap_pyfunction!(staging::write_staged, m)?,
        wrap_pyfunction!(staging::close_staging, m)?,
    ] {
        m.add_function(function)?;
    }
    m.add_function(wrap_pyfunction!(watched::taken_exception, m)?)?;
    m.add_function(wrap_pyfunction!(merger::register_merger, m)?)?;
    m.add_function(wrap_pyfunction!(action::locate, m)?)?;
    m.add_function(wrap_pyfunction!(action::look_up, m)?)?;
    m.add_function(wrap_pyfunction!(action::group_keys, m)?)?;
    m.add_function(wrap_pyfunction!(action::look_up_records, m)?)?;
    m.add_function(wrap_pyfunction!(action::choose, m)?)?;
    m.add_function(wrap_pyfunction!(action::settle, m)?)?;
    m.add_function(wrap_pyfunction!(action::run_task, m)?)?;
    m.add_function(wrap_pyfunction!(compaction::run_compaction_task, m)?)?;
    Ok(())
}
