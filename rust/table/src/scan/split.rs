//! One split: some file slices, read and merged, in the columns that are wanted.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{BooleanArray, RecordBatch};
use arrow_schema::{Schema, SchemaRef};
use arrow_select::filter::filter_record_batch;
use hudini_format::schema::meta;
use serde::{Deserialize, Serialize};

use super::bootstrap::Sources;
use super::shape::RowShape;
use crate::base_file;
use crate::bytes_form::BytesForm;
use crate::merge::{Batches, MergeRule, SliceLogs, SliceMerge, columns_of};
use crate::storage::Storage;
use crate::table::Location;
use crate::timeline::Snapshot;
use crate::view::FileSlice;
use crate::{Error, Result};

/// A part of a scan that any process can read on its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Split {
    pub(super) location: Location,
    pub(super) snapshot: Snapshot,
    pub(super) columns: Vec<String>,
    pub(super) shape: RowShape,
    pub(super) rule: MergeRule,
    /// Rows of base files and logs side by side, deletes aside.
    pub(super) unmerged: bool,
    /// Of base files that have not all columns.
    pub(super) sources: Option<Sources>,
    pub(super) slices: Vec<FileSlice>,
    /// The rows of only these commits, by requested time.
    pub(super) commits: Option<BTreeSet<String>>,
}

impl BytesForm for Split {
    const KIND: (u8, &'static str) = (b'R', "split");
}

impl Split {
    /// The columns of its rows.
    pub fn schema(&self) -> Result<SchemaRef> {
        let all = self.shape.shown(&self.snapshot, true)?;
        let fields = self.columns.iter().map(|name| {
            let field = all.fields().iter().find(|f| f.name() == name);
            field.cloned().ok_or_else(|| Error::internal(format!("a split of the unknown column '{name}'")))
        });
        Ok(Arc::new(Schema::new(fields.collect::<Result<Vec<_>>>()?)))
    }

    /// Opens the storage itself: for processes elsewhere.
    pub fn read(&self, batch_size: usize) -> Result<SplitReader> {
        self.read_on(&self.location.open()?, batch_size)
    }

    /// Slices are opened one after the other, when their turn comes.
    pub(super) fn read_on(&self, storage: &Arc<dyn Storage>, batch_size: usize) -> Result<SplitReader> {
        let output = self.schema()?;
        let (split, storage) = (self.clone(), Arc::clone(storage));
        let schema = Arc::clone(&output);
        let rows = self.slices.clone().into_iter().flat_map(move |slice| {
            let opened = split.open_slice(&storage, &slice, &schema, batch_size);
            opened.unwrap_or_else(|e| Box::new(std::iter::once(Err(e))))
        });
        Ok(SplitReader { rows: Box::new(rows), output })
    }

    fn open_slice(
        &self,
        storage: &Arc<dyn Storage>,
        slice: &FileSlice,
        output: &SchemaRef,
        batch_size: usize,
    ) -> Result<Batches> {
        let stored = RowShape::stored(&self.snapshot)?;
        let folder = self.shape.folder_values(&slice.partition, &stored)?;
        let wanted = |name: &str| output.field_with_name(name).is_ok() && !folder.has(name);
        let rows = self.stored_rows(storage, slice, wanted, &stored, batch_size)?;
        let (output, commits) = (Arc::clone(output), self.commits.clone());
        Ok(Box::new(rows.map(move |batch| match &commits {
            None => folder.show(&batch?, &output),
            Some(commits) => folder.show(&of_commits(&batch?, commits)?, &output),
        })))
    }

    /// The slice's rows in the wanted columns. What merging and choosing need comes along.
    fn stored_rows(
        &self,
        storage: &Arc<dyn Storage>,
        slice: &FileSlice,
        wanted: impl Fn(&str) -> bool,
        stored: &Schema,
        batch_size: usize,
    ) -> Result<Batches> {
        let chooses = |name: &str| name == meta::COMMIT_TIME && self.commits.is_some();
        if slice.logs.is_empty() {
            let columns = Arc::new(columns_of(stored, |name| wanted(name) || chooses(name)));
            return self.base_rows(storage, slice, &columns, batch_size);
        }
        let logs = SliceLogs::open(storage, &self.snapshot, slice, &self.rule)?;
        let merges = |name: &str| !self.unmerged && logs.needs(name);
        let columns = Arc::new(columns_of(stored, |name| wanted(name) || chooses(name) || merges(name)));
        if self.unmerged {
            let rows = logs.unmerged(&columns)?;
            return Ok(Box::new(self.base_rows(storage, slice, &columns, batch_size)?.chain(rows.into_iter().map(Ok))));
        }
        let changes = logs.merged(&columns)?;
        let base = self.base_rows(storage, slice, &columns, batch_size)?;
        Ok(Box::new(SliceMerge::new(base, changes, batch_size).map(|merged| Ok(merged?.rows))))
    }

    fn base_rows(
        &self,
        storage: &Arc<dyn Storage>,
        slice: &FileSlice,
        schema: &SchemaRef,
        batch_size: usize,
    ) -> Result<Batches> {
        let Some(base) = &slice.base else { return Ok(Box::new(std::iter::empty())) };
        let path = slice.path(base);
        let stitched =
            self.sources.as_ref().map(|sources| sources.rows(storage, &path, schema, batch_size)).transpose()?;
        if let Some(rows) = stitched.flatten() {
            return Ok(rows);
        }
        let names = self.snapshot.names_at(&slice.base_instant).map_err(|e| e.at_path(&path))?;
        base_file::read(storage, &path, schema, &names, batch_size)
    }
}

/// Rows of one split.
pub struct SplitReader {
    rows: Batches,
    output: SchemaRef,
}

impl std::fmt::Debug for SplitReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SplitReader").field("schema", &self.output).finish_non_exhaustive()
    }
}

impl Iterator for SplitReader {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        self.rows.next()
    }
}

/// The rows that these commits wrote.
fn of_commits(rows: &RecordBatch, commits: &BTreeSet<String>) -> Result<RecordBatch> {
    let times = rows.column_by_name(meta::COMMIT_TIME).and_then(|times| times.as_string_opt::<i32>());
    let times = times.ok_or_else(|| Error::internal("the commit times were not read"))?;
    let chosen =
        BooleanArray::from_iter(times.iter().map(|time| Some(time.is_some_and(|time| commits.contains(time)))));
    Ok(filter_record_batch(rows, &chosen)?)
}
