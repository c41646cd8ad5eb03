//! One split: some file slices, read and merged, in the columns that are wanted.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{BooleanArray, RecordBatch, RecordBatchOptions};
use arrow_schema::{Schema, SchemaRef};
use arrow_select::filter::filter_record_batch;
use hudini_format::schema::meta;
use serde::{Deserialize, Serialize};

use super::changes::ChangeSplit;
use crate::base_file;
use crate::bytes_form::BytesForm;
use crate::merge::{self, Batches, MergeRule, SliceMerge};
use crate::storage::Storage;
use crate::table::Location;
use crate::timeline::{Snapshot, arrow_schema};
use crate::view::FileSlice;
use crate::{Error, Result};

/// A part of a scan that any process can read on its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Split {
    Rows(RowSplit),
    Changes(ChangeSplit),
}

impl BytesForm for Split {
    const KIND: (u8, &'static str) = (b'R', "split");
}

impl Split {
    /// The columns of its rows.
    pub fn schema(&self) -> Result<SchemaRef> {
        match self {
            Self::Rows(split) => split.schema(),
            Self::Changes(split) => split.schema(),
        }
    }

    /// Opens the storage itself: for processes elsewhere.
    pub fn read(&self, batch_size: usize) -> Result<SplitReader> {
        let location = match self {
            Self::Rows(split) => &split.location,
            Self::Changes(split) => &split.location,
        };
        self.read_on(&location.open()?, batch_size)
    }

    pub(super) fn read_on(&self, storage: &Arc<dyn Storage>, batch_size: usize) -> Result<SplitReader> {
        match self {
            Self::Rows(split) => split.read_on(storage, batch_size),
            Self::Changes(split) => {
                Ok(SplitReader { rows: split.read_on(storage, batch_size)?, output: split.schema()? })
            }
        }
    }
}

/// Rows of some file slices.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowSplit {
    pub(super) location: Location,
    pub(super) snapshot: Snapshot,
    pub(super) columns: Vec<String>,
    pub(super) rule: MergeRule,
    pub(super) slices: Vec<FileSlice>,
    /// The rows of only these commits, by requested time.
    pub(super) commits: Option<BTreeSet<String>>,
}

impl RowSplit {
    fn schema(&self) -> Result<SchemaRef> {
        let all = self.all_columns()?;
        let fields = self.columns.iter().map(|name| {
            let field = all.fields().iter().find(|f| f.name() == name);
            field.cloned().ok_or_else(|| Error::internal(format!("a split of the unknown column '{name}'")))
        });
        Ok(Arc::new(Schema::new(fields.collect::<Result<Vec<_>>>()?)))
    }

    pub(super) fn all_columns(&self) -> Result<Schema> {
        let text = self.snapshot.schema.as_deref();
        let user = text.map(arrow_schema).transpose()?.unwrap_or_else(Schema::empty);
        Ok(meta::with_meta(&user))
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
        let rows: Batches = match self.commits.clone() {
            None => Box::new(rows),
            Some(commits) => Box::new(rows.map(move |batch| of_commits(&batch?, &commits))),
        };
        Ok(SplitReader { rows, output })
    }

    fn open_slice(
        &self,
        storage: &Arc<dyn Storage>,
        slice: &FileSlice,
        output: &SchemaRef,
        batch_size: usize,
    ) -> Result<Batches> {
        // What merging and choosing need comes along, and is dropped behind them.
        let needed = self.needed(output, !slice.logs.is_empty())?;
        if slice.logs.is_empty() {
            return self.base_rows(storage, slice, &needed, batch_size);
        }
        let (changes, _) = merge::read_logs(storage, &self.snapshot, slice, &needed, &self.rule)?;
        let base = self.base_rows(storage, slice, &needed, batch_size)?;
        let merged = SliceMerge::new(base, changes, batch_size);
        Ok(Box::new(merged.map(|m| m.map(|merged| merged.rows))))
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
        let names = self.snapshot.names_at(&slice.base_instant).map_err(|e| e.at_path(&path))?;
        base_file::read(storage, &path, schema, &names, batch_size)
    }

    /// The wanted columns; the commit time where it decides; and to merge, the record key, ordering fields, and what marks
    /// a row as deleted.
    fn needed(&self, output: &SchemaRef, merged: bool) -> Result<SchemaRef> {
        if !merged && self.commits.is_none() {
            return Ok(Arc::clone(output));
        }
        let all = self.all_columns()?;
        let merges =
            |name: &String| name == meta::RECORD_KEY || name == meta::IS_DELETED || self.rule.ordering.contains(name);
        let chooses = |name: &String| name == meta::COMMIT_TIME && self.commits.is_some();
        let needed = all.fields().iter().filter(|f| {
            let name = f.name();
            chooses(name) || (merged && merges(name)) || output.field_with_name(name).is_ok()
        });
        Ok(Arc::new(Schema::new(needed.cloned().collect::<Vec<_>>())))
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
        let batch = self.rows.next()?;
        Some(batch.and_then(|rows| project(&rows, &self.output)))
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

fn project(rows: &RecordBatch, output: &SchemaRef) -> Result<RecordBatch> {
    if rows.schema().fields() == output.fields() {
        return Ok(rows.clone());
    }
    let column = |name: &String| {
        rows.column_by_name(name).cloned().ok_or_else(|| Error::internal(format!("column '{name}' was not read")))
    };
    let columns = output.fields().iter().map(|f| column(f.name())).collect::<Result<Vec<_>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
    Ok(RecordBatch::try_new_with_options(Arc::clone(output), columns, &options)?)
}
