//! Single files, shown as JSON text.

use hudini_table::inspect::{self, File, Piece, Wanted};
use hudini_table::{Error, Location, Result};
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::errors::{released, to_python};
use crate::values::Map;

/// Runs `show`, whose pieces go to the Python function `emit` as JSON texts, each with its kind: `block`, `records` (one a
/// line), `end`, `damaged`. What `emit` raises ends the run and is raised again.
fn shown(
    py: Python<'_>,
    emit: &Py<PyAny>,
    show: impl FnOnce(&mut inspect::Sink<'_>) -> Result<()> + Send,
) -> PyResult<()> {
    let mut raised = None;
    let done = py.detach(|| {
        show(&mut |piece| {
            let (kind, text) = text(&piece);
            Python::attach(|py| emit.call1(py, (kind, text))).map(drop).map_err(|error| {
                raised = Some(error);
                Error::internal("the reader of the pieces has left")
            })
        })
    });
    match raised {
        Some(error) => Err(error),
        None => done.map_err(to_python),
    }
}

fn text(piece: &Piece<'_>) -> (&'static str, String) {
    match piece {
        Piece::Block(head) => ("block", head.to_string()),
        Piece::Records(records) => ("records", records.iter().map(Value::to_string).collect::<Vec<_>>().join("\n")),
        Piece::End { records, error } => {
            let error = error.map(|error| json!({"message": error.to_string(), "offset": error.offset()}));
            ("end", json!({"count": records, "error": error}).to_string())
        }
        Piece::Damaged(range) => ("damaged", json!({"from": range.start, "to": range.end}).to_string()),
    }
}

#[pyfunction]
pub(crate) fn inspect_log(
    py: Python<'_>,
    file: String,
    storage_options: Map,
    limit: Option<u64>,
    emit: Py<PyAny>,
) -> PyResult<()> {
    shown(py, &emit, move |sink| {
        let file = File::open(&Location { url: file, storage_options })?;
        inspect::log_file(&file, limit.unwrap_or(u64::MAX), sink)
    })
}

#[pyfunction]
pub(crate) fn inspect_hfile(
    py: Python<'_>,
    file: String,
    storage_options: Map,
    key: Option<String>,
    prefix: Option<String>,
    limit: Option<u64>,
    emit: Py<PyAny>,
) -> PyResult<()> {
    shown(py, &emit, move |sink| {
        let file = File::open(&Location { url: file, storage_options })?;
        let wanted = match (&key, &prefix) {
            (Some(key), _) => Wanted::Key(key),
            (None, Some(prefix)) => Wanted::Prefix(prefix),
            (None, None) => Wanted::All,
        };
        inspect::hfile(&file, wanted, limit.unwrap_or(u64::MAX), sink)
    })
}

#[pyfunction]
pub(crate) fn inspect_instant(py: Python<'_>, file: String, storage_options: Map) -> PyResult<String> {
    released(py, || {
        let file = File::open(&Location { url: file, storage_options })?;
        Ok(inspect::instant_file(&file)?.to_string())
    })
}

#[pyfunction]
pub(crate) fn inspect_properties(py: Python<'_>, table: String, storage_options: Map) -> PyResult<String> {
    released(py, || Ok(inspect::properties(&Location { url: table, storage_options })?.to_string()))
}
