//! Errors of the core as the exceptions of `hudini.errors`.

use std::error::Error as _;

use hudini_table::Error;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The exception that stands for an error. The classes live in Python, so that each can inherit the built-in one too.
pub(crate) fn to_python(error: Error) -> PyErr {
    Python::attach(|py| match exception(py, &error) {
        Ok(exception) => PyErr::from_value(exception),
        // The package itself is broken; its error says more than ours would.
        Err(broken) => broken,
    })
}

/// The message with its causes, as the exception shows it.
fn message(error: &Error) -> String {
    let mut message = error.message().to_owned();
    let mut cause = error.source();
    while let Some(inner) = cause {
        message = format!("{message}: {inner}");
        // An error of ours has told its causes already.
        cause = if inner.is::<Error>() { None } else { inner.source() };
    }
    message
}

/// An error as Python prints it. A C stream carries text alone, and `hudini.errors.from_text` makes the exception of it.
pub(crate) fn as_text(error: &Error) -> String {
    let mut text = format!("hudini.errors.{}: {} [{}]", error.kind().name(), message(error), error.kind().code());
    let offset = error.offset().map(|offset| offset.to_string());
    let fields =
        [("path", error.path()), ("instant", error.instant()), ("offset", offset.as_deref()), ("hint", error.hint())];
    for (name, value) in fields {
        if let Some(value) = value {
            text += &format!("\n  {name}: {value}");
        }
    }
    text
}

fn exception<'py>(py: Python<'py>, error: &Error) -> PyResult<Bound<'py, PyAny>> {
    let class = py.import("hudini.errors")?.getattr(error.kind().name())?;
    let place = PyDict::new(py);
    place.set_item("code", error.kind().code())?;
    place.set_item("path", error.path())?;
    place.set_item("instant", error.instant())?;
    place.set_item("offset", error.offset())?;
    place.set_item("hint", error.hint())?;
    class.call((message(error),), Some(&place))
}

/// Runs without the GIL and translates the error.
pub(crate) fn released<T: Send>(py: Python<'_>, work: impl FnOnce() -> hudini_table::Result<T> + Send) -> PyResult<T> {
    py.detach(work).map_err(to_python)
}
