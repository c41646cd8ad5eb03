//! The GIL where C code is in between.
//!
//! pyo3 counts on each thread whether it holds the GIL. Who takes rows from our C streams may have let go of it without
//! pyo3's knowledge, and on a thread that is within a call of ours: the function that is told of progress reads a table, or
//! the garbage collector runs in it and lets a stream of pyarrow's go. There neither `Python::attach` nor the drop of a
//! Python object may be trusted.
#![allow(unsafe_code, reason = "pyo3 has no safe way to ask Python itself")]

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::ffi::{PyGILState_Ensure, PyGILState_Release, PyGILState_STATE};
use pyo3::prelude::*;

/// Runs with the GIL, whether or not the thread holds it. For what C streams call.
pub(crate) fn with_gil<R>(run: impl FnOnce(Python<'_>) -> R) -> R {
    struct Held(PyGILState_STATE);

    impl Drop for Held {
        fn drop(&mut self) {
            // SAFETY: the state is that of the call to which this one belongs, on the same thread.
            unsafe { PyGILState_Release(self.0) };
        }
    }

    // SAFETY: it may be called on every thread, at any time while Python runs.
    let _held = Held(unsafe { PyGILState_Ensure() });
    Python::attach(|py| {
        // Taken out first: what is let go may run code of somebody's own.
        let let_go = std::mem::take(&mut *lock(&LET_GO));
        drop(let_go);
        run(py)
    })
}

/// Python objects that went where nobody knew whether the GIL was held. The next that has it lets them go.
static LET_GO: Mutex<Vec<Py<PyAny>>> = Mutex::new(Vec::new());

/// A Python object in the hands of C code, which may let it go anywhere.
pub(crate) struct Lent(Option<Py<PyAny>>);

impl Lent {
    pub(crate) fn new(object: Option<Py<PyAny>>) -> Self {
        Self(object)
    }

    pub(crate) fn get(&self) -> Option<&Py<PyAny>> {
        self.0.as_ref()
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        lock(&LET_GO).extend(self.0.take());
    }
}

fn lock(let_go: &Mutex<Vec<Py<PyAny>>>) -> MutexGuard<'_, Vec<Py<PyAny>>> {
    let_go.lock().unwrap_or_else(PoisonError::into_inner)
}
