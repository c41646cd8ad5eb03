//! One split: some file slices, read and merged, in the columns that are wanted.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{BooleanArray, RecordBatch, RecordBatchOptions};
use arrow_schema::{Schema, SchemaRef};
use arrow_select::filter::filter_record_batch;
use hudini_format::schema::meta;
use serde::{Deserialize, Serialize};

use crate::base_file;
use crate::bytes_form::BytesForm;
use crate::filter::Predicate;
use crate::merge::{self, Batches, MergeRule, SliceMerge};
use crate::storage::Storage;
use crate::table::Location;
use crate::timeline::{Snapshot, arrow_schema};
use crate::view::FileSlice;
use crate::{Error, Result};

/// A part of a scan that any process can read on its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Split {
    pub(super) location: Location,
    pub(super) snapshot: Snapshot,
    pub(super) columns: Vec<String>,
    pub(super) rule: MergeRule,
    pub(super) slices: Vec<FileSlice>,
    /// The rows of only these commits, by requested time.
    pub(super) commits: Option<BTreeSet<String>>,
    /// The rows for which this condition holds; of those that come out merged.
    pub(super) filter: Option<String>,
}

impl BytesForm for Split {
    const KIND: (u8, &'static str) = (b'R', "split");
}

impl Split {
    /// The columns of its rows.
    pub fn schema(&self) -> Result<SchemaRef> {
        let all = self.all_columns()?;
        let fields = self.columns.iter().map(|name| {
            let field = all.fields().iter().find(|f| f.name() == name);
            field.cloned().ok_or_else(|| Error::internal(format!("a split of the unknown column '{name}'")))
        });
        Ok(Arc::new(Schema::new(fields.collect::<Result<Vec<_>>>()?)))
    }

    fn all_columns(&self) -> Result<Schema> {
        all_columns(&self.snapshot)
    }

    fn predicate(&self) -> Result<Option<Arc<Predicate>>> {
        let Some(filter) = &self.filter else { return Ok(None) };
        Ok(Some(Arc::new(Predicate::new(filter, &self.all_columns()?)?)))
    }

    /// Opens the storage itself: for processes elsewhere.
    pub fn read(&self, batch_size: usize) -> Result<SplitReader> {
        self.read_on(&self.location.open()?, batch_size)
    }

    /// Slices are opened one after the other, when their turn comes.
    pub(super) fn read_on(&self, storage: &Arc<dyn Storage>, batch_size: usize) -> Result<SplitReader> {
        let output = self.schema()?;
        let predicate = self.predicate()?;
        let filter = predicate.clone();
        let (split, storage) = (self.clone(), Arc::clone(storage));
        let schema = Arc::clone(&output);
        let rows = self.slices.clone().into_iter().flat_map(move |slice| {
            let opened = split.open_slice(&storage, &slice, &schema, predicate.as_deref(), batch_size);
            opened.unwrap_or_else(|e| Box::new(std::iter::once(Err(e))))
        });
        let rows: Batches = match self.commits.clone() {
            None => Box::new(rows),
            Some(commits) => Box::new(rows.map(move |batch| of_commits(&batch?, &commits))),
        };
        let rows: Batches = match filter {
            None => rows,
            Some(filter) => {
                let selected = rows.map(move |batch| filter.select(&batch?));
                Box::new(selected.filter(|batch| batch.as_ref().map_or(true, |rows| rows.num_rows() > 0)))
            }
        };
        Ok(SplitReader { rows, output })
    }

    fn open_slice(
        &self,
        storage: &Arc<dyn Storage>,
        slice: &FileSlice,
        output: &SchemaRef,
        predicate: Option<&Predicate>,
        batch_size: usize,
    ) -> Result<Batches> {
        // What merging and choosing need comes along, and is dropped behind them.
        let needed = self.needed(output, predicate, !slice.logs.is_empty())?;
        if slice.logs.is_empty() {
            return self.base_rows(storage, slice, &needed, predicate, batch_size);
        }
        let (changes, _) = merge::read_logs(storage, &self.snapshot, slice, &needed, &self.rule)?;
        // A row that does not match may match once it is changed, and one that is left out would look new.
        let base = self.base_rows(storage, slice, &needed, None, batch_size)?;
        let merged = SliceMerge::new(base, changes, batch_size);
        Ok(Box::new(merged.map(|m| m.map(|merged| merged.rows))))
    }

    fn base_rows(
        &self,
        storage: &Arc<dyn Storage>,
        slice: &FileSlice,
        schema: &SchemaRef,
        predicate: Option<&Predicate>,
        batch_size: usize,
    ) -> Result<Batches> {
        let Some(base) = &slice.base else { return Ok(Box::new(std::iter::empty())) };
        let path = slice.path(base);
        let names = self.snapshot.names_at(&slice.base_instant).map_err(|e| e.at_path(&path))?;
        match predicate {
            None => base_file::read(storage, &path, schema, &names, batch_size),
            Some(predicate) => base_file::read_matching(storage, &path, schema, &names, batch_size, predicate),
        }
    }

    /// The wanted columns and those of the filter; the commit time where it decides; and to merge, the record key, ordering
    /// fields, and what marks a row as deleted.
    fn needed(&self, output: &SchemaRef, predicate: Option<&Predicate>, merged: bool) -> Result<SchemaRef> {
        if !merged && self.commits.is_none() && predicate.is_none() {
            return Ok(Arc::clone(output));
        }
        let all = self.all_columns()?;
        let merges =
            |name: &String| name == meta::RECORD_KEY || name == meta::IS_DELETED || self.rule.ordering.contains(name);
        let chooses = |name: &String| name == meta::COMMIT_TIME && self.commits.is_some();
        let filters = |name: &String| predicate.is_some_and(|predicate| predicate.columns().contains(name));
        let needed = all.fields().iter().filter(|f| {
            let name = f.name();
            chooses(name) || filters(name) || (merged && merges(name)) || output.field_with_name(name).is_ok()
        });
        Ok(Arc::new(Schema::new(needed.cloned().collect::<Vec<_>>())))
    }
}

/// Meta columns and those of the table's rows.
pub(super) fn all_columns(snapshot: &Snapshot) -> Result<Schema> {
    let user = snapshot.schema.as_deref().map(arrow_schema).transpose()?.unwrap_or_else(Schema::empty);
    Ok(meta::with_meta(&user))
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
