//! `Table`: open, create, look, write.

use std::sync::Arc;

use arrow_array::RecordBatchReader;
use hudini_table::config::Wishes;
use hudini_table::context::Context;
use hudini_table::inspect;
use hudini_table::metadata;
use hudini_table::options::TableType;
use hudini_table::scan::{self, Images, ScanRequest, Window};
use hudini_table::service::{self, CompactRequest};
use hudini_table::verify::verify;
use hudini_table::write::{self, SchemaMode, WriteRequest};
use hudini_table::{Error, ErrorKind, Listed, Location, options};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::action::Action;
use crate::arrow::{Schema, Stream, rows_of, schema_of};
use crate::compaction::{self, Compactions};
use crate::errors::{released, to_python};
use crate::scan::Scan;
use crate::values::{self, Map};
use crate::watched::{Listener, watched};

/// A handle on one table; every call looks at the newest state.
#[pyclass(module = "hudini._core", frozen)]
pub(crate) struct Table {
    pub(crate) inner: hudini_table::Table,
}

#[pymethods]
impl Table {
    #[staticmethod]
    fn open(
        py: Python<'_>,
        path: String,
        storage_options: Map,
        options: Map,
        threads: Option<usize>,
    ) -> PyResult<Self> {
        released(py, move || {
            let location = Location { url: path, storage_options };
            let inner = hudini_table::Table::open(location, values::options(options)?, Context::system(threads))?;
            Ok(Self { inner })
        })
    }

    #[staticmethod]
    #[allow(clippy::too_many_arguments, reason = "the arguments of hudini.create, all of them")]
    fn create(
        py: Python<'_>,
        path: String,
        schema: &Bound<'_, PyAny>,
        record_key: Vec<String>,
        ordering: Vec<String>,
        partition_by: Vec<String>,
        table_type: Option<String>,
        name: Option<String>,
        merge_mode: Option<String>,
        key_generator: Option<String>,
        table_version: Option<u32>,
        options: Map,
        storage_options: Map,
        exist_ok: bool,
        threads: Option<usize>,
    ) -> PyResult<Self> {
        let schema = schema_of(schema)?;
        released(py, move || {
            let wishes = Wishes {
                name,
                table_type: table_type.map(|word| options::TABLE_TYPE.read(&word)).transpose()?,
                record_key,
                partition_by,
                ordering,
                merge_mode,
                key_generator,
                version: table_version,
            };
            let options = values::options(options)?;
            let new = wishes.settle(schema, &options, &path)?;
            let location = Location { url: path, storage_options };
            let inner = hudini_table::Table::create(location, &new, options, Context::system(threads), exist_ok)?;
            Ok(Self { inner })
        })
    }

    #[getter]
    fn path(&self) -> String {
        self.inner.storage.root().to_owned()
    }

    #[getter]
    fn name(&self, py: Python<'_>) -> PyResult<String> {
        released(py, || Ok(self.inner.config()?.name))
    }

    #[getter]
    fn version(&self, py: Python<'_>) -> PyResult<u32> {
        released(py, || Ok(self.inner.config()?.version))
    }

    #[getter]
    fn table_type(&self, py: Python<'_>) -> PyResult<&'static str> {
        released(py, || {
            Ok(match self.inner.config()?.table_type {
                TableType::CopyOnWrite => "cow",
                TableType::MergeOnRead => "mor",
            })
        })
    }

    #[getter]
    fn record_key(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        released(py, || Ok(self.inner.config()?.record_key))
    }

    #[getter]
    fn ordering(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        released(py, || Ok(self.inner.config()?.ordering))
    }

    #[getter]
    fn partition_by(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        released(py, || Ok(self.inner.config()?.partition_by))
    }

    #[getter]
    fn merge_mode(&self, py: Python<'_>) -> PyResult<&'static str> {
        released(py, || self.inner.config()?.merge_mode())
    }

    #[getter]
    fn properties(&self, py: Python<'_>) -> PyResult<Map> {
        released(py, || Ok(self.inner.config()?.as_map()))
    }

    fn schema(&self, py: Python<'_>) -> PyResult<Schema> {
        released(py, || Ok(Schema(Arc::new(self.inner.schema()?))))
    }

    fn history<'py>(&self, py: Python<'py>, limit: Option<usize>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let entries = released(py, || self.inner.history(limit))?;
        entries.iter().map(|entry| values::history_entry(py, entry)).collect()
    }

    fn timeline<'py>(&self, py: Python<'py>, archived: bool, operations: bool) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let lines = released(py, || self.inner.timeline_lines(Listed { archived, operations }))?;
        lines
            .iter()
            .map(|line| {
                let out = PyDict::new(py);
                out.set_item("requested", &line.requested)?;
                out.set_item("completed", &line.completed)?;
                out.set_item("action", line.action.name())?;
                out.set_item("state", line.state.name())?;
                out.set_item("operation", &line.operation)?;
                Ok(out)
            })
            .collect()
    }

    fn partitions<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let lines = released(py, || inspect::partitions(&self.inner))?;
        lines.iter().map(|line| values::partition(py, line)).collect()
    }

    fn slices<'py>(
        &self,
        py: Python<'py>,
        as_of: Option<String>,
        partition: Option<String>,
    ) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let slices = released(py, || inspect::slices(&self.inner, as_of.as_deref(), partition.as_deref()))?;
        slices.iter().map(|slice| values::slice(py, slice)).collect()
    }

    fn files<'py>(&self, py: Python<'py>, as_of: Option<String>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let slices = released(py, || inspect::slices(&self.inner, as_of.as_deref(), None))?;
        let mut files = Vec::new();
        for slice in &slices {
            if let Some(base) = &slice.base {
                files.push(values::file(py, slice, "base", base)?);
            }
            for log in &slice.logs {
                files.push(values::file(py, slice, "log", log)?);
            }
        }
        Ok(files)
    }

    fn indexes<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let lines = released(py, || inspect::indexes(&self.inner))?;
        lines.iter().map(|line| values::index(py, line)).collect()
    }

    fn locks<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let lines = released(py, || inspect::locks(&self.inner))?;
        lines.iter().map(|line| values::lock(py, line)).collect()
    }

    fn markers<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let lines = released(py, || inspect::markers(&self.inner))?;
        lines.iter().map(|(instant, marked)| values::marker(py, instant, marked)).collect()
    }

    fn metadata(&self, py: Python<'_>, partition: Option<String>) -> PyResult<Stream> {
        let found = released(py, || metadata::rows(&self.inner, partition.as_deref()))?;
        Ok(Stream::new(found.schema, found.rows))
    }

    fn verify<'py>(&self, py: Python<'py>, deep: bool, listener: Listener) -> PyResult<Bound<'py, PyDict>> {
        let report = watched(py, &listener, |watch| verify(&self.inner, deep, watch))?;
        values::report(py, &report)
    }

    #[allow(clippy::too_many_arguments, reason = "the arguments of Table.read, all of them")]
    fn scan(
        &self,
        py: Python<'_>,
        columns: Option<Vec<String>>,
        filter: Option<String>,
        as_of: Option<String>,
        window: Option<(Option<String>, Option<String>)>,
        changes: Option<String>,
        mode: Option<String>,
        meta: bool,
        limit: Option<usize>,
        batch_size: Option<usize>,
        memory_limit: Option<u64>,
    ) -> PyResult<Scan> {
        released(py, || {
            let mode = mode.map(|word| options::QUERY_TYPE.read(&word)).transpose()?;
            let window = window.map(|(start, end)| Window { start, end });
            let changes = changes.map(|images| Images::parse(&images)).transpose()?;
            let request =
                ScanRequest { columns, filter, as_of, window, changes, mode, meta, limit, batch_size, memory_limit };
            Ok(Scan { inner: scan::Scan::plan(&self.inner, request)? })
        })
    }

    #[allow(clippy::too_many_arguments, reason = "what a write takes, all of it")]
    fn write<'py>(
        &self,
        py: Python<'py>,
        operation: String,
        data: &Bound<'py, PyAny>,
        in_memory: bool,
        options: Map,
        metadata: Map,
        schema_mode: String,
        idempotency_key: Option<String>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let reader = rows_of(data)?;
        let result = watched(py, &None, move |watch| {
            let schema_mode = SchemaMode::parse(&schema_mode)?;
            let request = request(&operation, options, metadata, None)?;
            let (is_in_memory, watch) = (in_memory, watch.clone());
            let request = WriteRequest { schema_mode, idempotency_key, is_in_memory, watch, ..request };
            let schema = reader.schema();
            write::write(&self.inner, &schema, values::rows(reader), &request)
        })?;
        values::commit_result(py, &result)
    }

    fn compact<'py>(
        &self,
        py: Python<'py>,
        schedule: bool,
        execute: bool,
        filter: Option<String>,
        options: Map,
    ) -> PyResult<Bound<'py, PyDict>> {
        let result = watched(py, &None, |watch| {
            let request = compaction::request(schedule, execute, filter, options)?;
            service::compact(&self.inner, CompactRequest { watch: watch.clone(), ..request })
        })?;
        values::commit_result(py, &result)
    }

    fn compactions(
        &self,
        py: Python<'_>,
        schedule: bool,
        execute: bool,
        filter: Option<String>,
        options: Map,
    ) -> PyResult<Compactions> {
        released(py, || Ok(Compactions::asked(&self.inner, compaction::request(schedule, execute, filter, options)?)))
    }

    fn compactions_after_write(&self, py: Python<'_>, options: Map) -> PyResult<Compactions> {
        released(py, || Compactions::after_write(&self.inner, options))
    }

    fn delete_partitions<'py>(
        &self,
        py: Python<'py>,
        partitions: Vec<String>,
        options: Map,
        metadata: Map,
        idempotency_key: Option<String>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let result = released(py, move || {
            let request = request("delete_partition", options, metadata, None)?;
            let request = WriteRequest { partitions, idempotency_key, ..request };
            write::delete_partitions(&self.inner, &request)
        })?;
        values::commit_result(py, &result)
    }

    fn committed<'py>(
        &self,
        py: Python<'py>,
        operation: String,
        idempotency_key: String,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        let done = released(py, || {
            let request = request(&operation, Map::new(), Map::new(), None)?;
            write::committed(&self.inner, &WriteRequest { idempotency_key: Some(idempotency_key), ..request })
        })?;
        done.map(|done| values::commit_result(py, &done)).transpose()
    }

    #[allow(clippy::too_many_arguments, reason = "what a write takes, all of it")]
    fn begin(
        &self,
        py: Python<'_>,
        operation: String,
        schema: &Bound<'_, PyAny>,
        options: Map,
        metadata: Map,
        seed: Option<u64>,
        schema_mode: String,
        idempotency_key: Option<String>,
    ) -> PyResult<Action> {
        let schema = schema_of(schema)?;
        released(py, move || {
            let schema_mode = SchemaMode::parse(&schema_mode)?;
            let request = request(&operation, options, metadata, seed)?;
            let request = WriteRequest { schema_mode, idempotency_key, ..request };
            Ok(Action::new(write::Action::begin(&self.inner, &schema, request)?))
        })
    }
}

pub(crate) fn request(
    operation: &str,
    options: Map,
    metadata: Map,
    seed: Option<u64>,
) -> hudini_table::Result<WriteRequest> {
    Ok(WriteRequest {
        options: values::options(options)?,
        metadata,
        seed: seed.map(u128::from),
        ..WriteRequest::new(values::operation(operation)?)
    })
}

#[pyfunction]
pub(crate) fn is_table(py: Python<'_>, path: String, storage_options: Map) -> PyResult<bool> {
    let storage = released(py, || Location { url: path, storage_options }.open())?;
    match py.detach(|| hudini_table::config::read_properties(storage.as_ref())) {
        Ok(_) => Ok(true),
        Err(e) if e.kind() == ErrorKind::TableNotFound => Ok(false),
        Err(e) => Err(to_python(Error::at_path(e, storage.root()))),
    }
}
