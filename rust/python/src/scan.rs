//! `Scan`, and splits for processes elsewhere.

use std::sync::Arc;

use hudini_table::bytes_form::BytesForm;
use hudini_table::context::Watch;
use hudini_table::scan::{self, Split};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::arrow::{Schema, Stream};
use crate::errors::released;
use crate::values;
use crate::watched::{Listener, watched};

/// One question to one pinned state.
#[pyclass(module = "hudini._core", frozen)]
pub(crate) struct Scan {
    pub(crate) inner: scan::Scan,
}

#[pymethods]
impl Scan {
    #[getter]
    fn instant(&self) -> Option<&str> {
        self.inner.instant()
    }

    fn warnings(&self) -> Vec<&str> {
        self.inner.warnings().map(String::as_str).collect()
    }

    fn schema(&self) -> Schema {
        Schema(Arc::clone(self.inner.schema()))
    }

    fn narrowed(&self, py: Python<'_>, columns: Option<Vec<String>>, limit: Option<usize>) -> PyResult<Self> {
        Ok(Self { inner: released(py, || self.inner.narrowed(columns.as_deref(), limit))? })
    }

    fn reader(&self, py: Python<'_>, listener: Listener, is_restored: bool) -> PyResult<Stream> {
        let watch = Watch::default();
        let rows = released(py, || self.inner.read_watched(&watch))?;
        Ok(Stream::watched(Arc::clone(self.inner.schema()), rows, watch, listener, is_restored))
    }

    fn count(&self, py: Python<'_>, listener: Listener) -> PyResult<u64> {
        watched(py, &listener, |watch| self.inner.count_watched(watch))
    }

    fn splits<'py>(&self, py: Python<'py>, target_bytes: Option<u64>) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let splits = released(py, || {
            self.inner.splits(target_bytes)?.iter().map(BytesForm::to_bytes).collect::<Result<Vec<_>, _>>()
        })?;
        Ok(splits.iter().map(|bytes| PyBytes::new(py, bytes)).collect())
    }

    #[allow(clippy::type_complexity, reason = "paths, and splits")]
    fn plain<'py>(&self, py: Python<'py>) -> PyResult<(Vec<String>, Vec<Bound<'py, PyBytes>>)> {
        let (files, rest) = released(py, || {
            let plain = self.inner.plain()?;
            let rest = plain.rest.iter().map(BytesForm::to_bytes).collect::<Result<Vec<_>, _>>()?;
            Ok((plain.files, rest))
        })?;
        Ok((files, rest.iter().map(|bytes| PyBytes::new(py, bytes)).collect()))
    }

    fn explain<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let plan = released(py, || self.inner.explain())?;
        values::explanation(py, &plan)
    }

    fn run<'py>(&self, py: Python<'py>, listener: Listener) -> PyResult<Bound<'py, PyDict>> {
        let ran = watched(py, &listener, |watch| self.inner.run(watch))?;
        values::ran(py, &ran)
    }
}

#[pyfunction]
pub(crate) fn split_schema(py: Python<'_>, split: Vec<u8>) -> PyResult<Schema> {
    released(py, || Ok(Schema(Split::from_bytes(&split)?.schema()?)))
}

#[pyfunction]
pub(crate) fn read_split(
    py: Python<'_>,
    split: Vec<u8>,
    batch_size: Option<usize>,
    is_restored: bool,
) -> PyResult<Stream> {
    released(py, || {
        let (split, watch) = (Split::from_bytes(&split)?, Watch::default());
        let rows = split.read_watched(batch_size, &watch)?;
        Ok(Stream::watched(split.schema()?, rows, watch, None, is_restored))
    })
}
