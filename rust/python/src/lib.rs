//! `hudini._core`: argument checks, Arrow in and out, errors. No logic.
use pyo3::prelude::*;

#[pymodule]
fn _core(_m: &Bound<'_, PyModule>) -> PyResult<()> {
    Ok(())
}
