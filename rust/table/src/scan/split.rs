//! One split: some file slices, read and merged, in the columns that are wanted.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{BooleanArray, RecordBatch, RecordBatchOptions};
use arrow_schema::{Schema, SchemaRef};
use arrow_select::filter::filter_record_batch;
use hudini_format::schema::meta;
use serde::{Deserialize, Serialize};

use super::bootstrap::Sources;
use super::changes::ChangeSplit;
use super::gone;
use super::shape::RowShape;
use super::stages::{Stage, Stages};
use crate::base_file::{self, LeftOut, Matching};
use crate::bytes_form::BytesForm;
use crate::context::Watch;
use crate::filter::Predicate;
use crate::merge::{self, Batches, Memory, MergeRule, SliceLogs, columns_of};
use crate::storage::Storage;
use crate::storage::watched::Watched;
use crate::table::Location;
use crate::timeline::Snapshot;
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

    /// Opens the storage itself: for processes elsewhere. Batches have as many rows as the scan asked for, unless another
    /// number is told.
    pub fn read(&self, batch_size: Option<usize>) -> Result<SplitReader> {
        self.read_watched(batch_size, &Watch::default())
    }

    /// The same, watched.
    pub fn read_watched(&self, batch_size: Option<usize>, watch: &Watch) -> Result<SplitReader> {
        let reading = match self {
            Self::Rows(split) => &split.reading,
            Self::Changes(split) => &split.reading,
        };
        let storage: Arc<dyn Storage> = Arc::new(Watched::new(reading.location.open()?, watch.clone()));
        self.read_on(&storage, Manner::alone(batch_size.unwrap_or(reading.batch_size).max(1)))
    }

    pub(crate) fn read_on(&self, storage: &Arc<dyn Storage>, manner: Manner) -> Result<SplitReader> {
        let rows = match self {
            Self::Rows(split) => split.read_on(storage, manner.clone())?,
            Self::Changes(split) => split.read_on(storage, manner.clone())?,
        };
        Ok(SplitReader { rows, rest: None, most: manner.batch_size.max(1), output: self.schema()? })
    }
}

/// How a process reads splits.
#[derive(Debug, Clone)]
pub(crate) struct Manner {
    pub(crate) batch_size: usize,
    /// How many of them, which share the memory.
    pub(crate) at_once: usize,
    pub(crate) stages: Stages,
}

impl Manner {
    pub(crate) fn alone(batch_size: usize) -> Self {
        Self { batch_size, at_once: 1, stages: Stages::default() }
    }
}

/// How slices are read: the same for all splits of a scan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Reading {
    pub(super) location: Location,
    pub(super) snapshot: Snapshot,
    pub(super) shape: RowShape,
    pub(super) rule: MergeRule,
    /// Rows of base files and logs side by side, deletes aside.
    pub(super) unmerged: bool,
    /// Of base files that have not all columns.
    pub(super) sources: Option<Sources>,
    pub(super) memory: Memory,
    /// Rows in a batch, unless who reads a split wants another number.
    pub(super) batch_size: usize,
}

impl Reading {
    /// The same for some slices of the scan.
    pub(super) fn of_slices<'f>(self: &Arc<Self>, slices: impl Iterator<Item = &'f FileSlice>) -> Arc<Self> {
        match &self.sources {
            None => Arc::clone(self),
            Some(sources) => {
                let sources = sources.of_slices(slices);
                Arc::new(Self { sources, ..self.as_ref().clone() })
            }
        }
    }

    /// All columns as files are asked for them.
    fn asked(&self, stored: &Schema) -> Schema {
        let is_compared = |name: &str| self.rule.is_ordered_by(name) || self.rule.makes_keys(name);
        self.shape.asked(stored, is_compared)
    }

    /// All columns of the rows.
    pub(super) fn columns(&self) -> Result<Schema> {
        self.shape.shown(&self.snapshot, true)
    }
}

/// Rows of some file slices.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowSplit {
    pub(super) reading: Arc<Reading>,
    pub(super) columns: Vec<String>,
    pub(super) slices: Vec<FileSlice>,
    /// The rows of only these commits, by requested time.
    pub(super) commits: Option<BTreeSet<String>>,
    /// The rows for which this condition holds; of those that come out merged.
    pub(super) filter: Option<String>,
}

impl RowSplit {
    fn schema(&self) -> Result<SchemaRef> {
        let all = self.reading.columns()?;
        let fields = self.columns.iter().map(|name| {
            let field = all.fields().iter().find(|f| f.name() == name);
            field.cloned().ok_or_else(|| Error::corrupt(format!("a split of the unknown column '{name}'")))
        });
        Ok(Arc::new(Schema::new(fields.collect::<Result<Vec<_>>>()?)))
    }

    /// Slices are opened one after the other, when their turn comes.
    pub(super) fn read_on(&self, storage: &Arc<dyn Storage>, manner: Manner) -> Result<Batches> {
        let output = self.schema()?;
        let filter = self.filter(&output)?.map(Arc::new);
        let (split, storage) = (self.clone(), Arc::clone(storage));
        let rows = self.slices.clone().into_iter().flat_map(move |slice| {
            let opened = split.open_slice(&storage, &slice, &output, filter.as_ref(), &manner);
            let rows = opened.unwrap_or_else(|e| Box::new(std::iter::once(Err(e))));
            gone::explained(&storage, vec![slice], rows)
        });
        Ok(Box::new(rows))
    }

    /// What is left out within the base files of slices without logs.
    pub(super) fn left_out(&self, storage: &Arc<dyn Storage>) -> Result<LeftOut> {
        let mut left_out = LeftOut::default();
        let Some(filter) = self.filter(self.schema()?.as_ref())? else { return Ok(left_out) };
        let stored = RowShape::stored(&self.reading.snapshot)?;
        let asked = self.reading.asked(&stored);
        for slice in self.slices.iter().filter(|slice| slice.logs.is_empty() && filter.fits(&stored)) {
            let folder = self.reading.shape.folder_values(&slice.partition, &stored)?;
            let wanted = |name: &str| filter.needed.field_with_name(name).is_ok() && !folder.has(name);
            let columns = self.columns_without_logs(&asked, wanted);
            left_out.add(self.reading.left_out(storage, slice, &columns, &filter.predicate)?);
        }
        Ok(left_out)
    }

    fn filter(&self, output: &Schema) -> Result<Option<Filter>> {
        let all = self.reading.columns()?;
        let predicate = self.filter.as_ref().map(|filter| Predicate::new(filter, &all)).transpose()?;
        Ok(predicate.map(|predicate| Filter::of(predicate, &all, output)))
    }

    fn chooses(&self, name: &str) -> bool {
        name == meta::COMMIT_TIME && self.commits.is_some()
    }

    fn columns_without_logs(&self, stored: &Schema, wanted: impl Fn(&str) -> bool) -> SchemaRef {
        Arc::new(columns_of(stored, |name| wanted(name) || self.chooses(name)))
    }

    fn open_slice(
        &self,
        storage: &Arc<dyn Storage>,
        slice: &FileSlice,
        output: &SchemaRef,
        filter: Option<&Arc<Filter>>,
        manner: &Manner,
    ) -> Result<Batches> {
        let stored = RowShape::stored(&self.reading.snapshot)?;
        let asked = self.reading.asked(&stored);
        let folder = self.reading.shape.folder_values(&slice.partition, &stored)?;
        let shown = filter.map_or(output, |filter| &filter.needed);
        let wanted = |name: &str| shown.field_with_name(name).is_ok() && !folder.has(name);
        if !slice.logs.is_empty() {
            self.reading.shape.check_merged(&asked, wanted).map_err(|e| e.at_path(&slice.partition))?;
        }
        let predicate = filter.filter(|filter| filter.fits(&stored)).map(|filter| &filter.predicate);
        let rows = self.stored_rows(storage, slice, wanted, &asked, predicate, manner)?;
        let (shown, commits) = (Arc::clone(shown), self.commits.clone());
        let rows = rows.map(move |batch| match &commits {
            None => folder.show(&batch?, &shown),
            Some(commits) => folder.show(&of_commits(&batch?, commits)?, &shown),
        });
        let Some(filter) = filter.cloned() else { return Ok(Box::new(rows)) };
        let output = Arc::clone(output);
        let selected = rows.map(move |batch| project(&filter.predicate.select(&batch?)?, &output));
        Ok(Box::new(selected.filter(|batch| batch.as_ref().map_or(true, |rows| rows.num_rows() > 0))))
    }

    /// The slice's rows in the wanted columns. What merging and choosing need comes along.
    fn stored_rows(
        &self,
        storage: &Arc<dyn Storage>,
        slice: &FileSlice,
        wanted: impl Fn(&str) -> bool,
        stored: &Schema,
        predicate: Option<&Predicate>,
        manner: &Manner,
    ) -> Result<Batches> {
        let (reading, stages) = (&self.reading, &manner.stages);
        let base_rows = |columns: &SchemaRef, wish: BaseRows<'_>| -> Result<Batches> {
            let rows =
                stages.time(Stage::Base, || reading.base_rows(storage, slice, columns, wish, manner.batch_size))?;
            Ok(Box::new(stages.timed(Stage::Base, rows)))
        };
        if slice.logs.is_empty() {
            let columns = self.columns_without_logs(stored, wanted);
            return base_rows(&columns, predicate.map_or(BaseRows::All, BaseRows::Matching));
        }
        // A row that does not match may match once it is changed, and one that is left out would look new: with logs all
        // rows of the base file are read.
        let snapshot = self.snapshot_of_logs();
        let opened = stages.time(Stage::Logs, || SliceLogs::open(storage, &snapshot, slice, &reading.rule));
        let mut logs = opened?;
        if logs.has_parts() && (reading.unmerged || (self.commits.is_some() && slice.base.is_none())) {
            let message = "partial updates in a log, read without the rows that they update";
            return Err(Error::unsupported(message).at_path(&slice.partition));
        }
        let only_of = reading.only_of(self.commits.as_ref(), &logs);
        if only_of.is_some() {
            logs = logs.by_key();
        }
        let merges = |name: &str| !reading.unmerged && logs.needs(name);
        let columns = Arc::new(columns_of(stored, |name| wanted(name) || self.chooses(name) || merges(name)));
        let memory = reading.memory.shared_by(manner.at_once);
        if reading.unmerged {
            let rows = stages.time(Stage::Logs, || logs.unmerged(&columns, memory.bytes))?;
            return Ok(Box::new(base_rows(&columns, BaseRows::All)?.chain(rows.into_iter().map(Ok))));
        }
        let base = |columns: &SchemaRef| -> Result<Batches> {
            let Some(commits) = only_of.cloned() else { return base_rows(columns, BaseRows::Packed) };
            let with_times = columns_of(stored, |name| name == meta::COMMIT_TIME || columns.index_of(name).is_ok());
            let (rows, columns) = (base_rows(&Arc::new(with_times), BaseRows::All)?, Arc::clone(columns));
            Ok(Box::new(rows.map(move |batch| project(&of_commits(&batch?, &commits)?, &columns))))
        };
        let merged = stages
            .time(Stage::Logs, || merge::merged(&mut logs, &columns, base, manner.batch_size, &memory))?
            .unpacked();
        Ok(Box::new(merged.map(|merged| Ok(merged?.rows))))
    }

    /// One log file has one write since version 8. Before, it may have blocks of several, not all of them of the range.
    fn snapshot_of_logs(&self) -> Cow<'_, Snapshot> {
        let snapshot = &self.reading.snapshot;
        match &self.commits {
            Some(commits) if snapshot.logs_named_by_slice => Cow::Owned(snapshot.only_of(commits)),
            _ => Cow::Borrowed(snapshot),
        }
    }
}

impl Reading {
    /// The commits of a range whose rows alone take part in a merge: what was there before does not stand against what came
    /// in it. But parts of rows are nothing without the rows that they are parts of.
    pub(super) fn only_of<'c>(
        &self,
        commits: Option<&'c BTreeSet<String>>,
        logs: &SliceLogs<'_>,
    ) -> Option<&'c BTreeSet<String>> {
        commits.filter(|_| !self.unmerged && !logs.has_parts())
    }

    /// Nothing of a base file whose columns lie elsewhere.
    fn left_out(
        &self,
        storage: &Arc<dyn Storage>,
        slice: &FileSlice,
        schema: &SchemaRef,
        predicate: &Predicate,
    ) -> Result<LeftOut> {
        let path = slice.base.as_ref().map(|base| slice.path(base));
        let own = path.filter(|path| self.sources.as_ref().is_none_or(|sources| !sources.have(path)));
        let Some(path) = own else { return Ok(LeftOut::default()) };
        let names = self.snapshot.names_at(&slice.base_instant).map_err(|e| e.at_path(&path))?;
        base_file::left_out(storage, &path, schema, &names, Matching::new(predicate))
    }

    fn base_rows(
        &self,
        storage: &Arc<dyn Storage>,
        slice: &FileSlice,
        schema: &SchemaRef,
        wish: BaseRows<'_>,
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
        match wish {
            BaseRows::All => base_file::read(storage, &path, schema, &names, batch_size),
            BaseRows::Packed => base_file::read_packed(storage, &path, schema, &names, batch_size),
            BaseRows::Matching(predicate) => {
                base_file::read_matching(storage, &path, schema, &names, batch_size, Matching::new(predicate))
            }
        }
    }
}

/// Which rows of a base file are read, and how they come.
#[derive(Clone, Copy)]
enum BaseRows<'p> {
    All,
    /// All of them, to be merged: columns may be packed.
    Packed,
    /// Those that a filter wants, and perhaps others.
    Matching(&'p Predicate),
}

/// A condition on rows, and the columns in which they must be read for it.
struct Filter {
    predicate: Predicate,
    /// Those that are wanted anyway, and its own.
    needed: SchemaRef,
}

impl Filter {
    fn of(predicate: Predicate, all: &Schema, output: &Schema) -> Self {
        let needed = columns_of(all, |name| output.field_with_name(name).is_ok() || predicate.columns().contains(name));
        Self { predicate, needed: Arc::new(needed) }
    }

    /// Whether files have its columns in the types in which it asks them.
    fn fits(&self, stored: &Schema) -> bool {
        let kind =
            |schema: &Schema, name: &str| schema.field_with_name(name).ok().map(|field| field.data_type().clone());
        self.predicate.columns().iter().all(|name| kind(stored, name) == kind(&self.needed, name))
    }
}

/// Rows of one split.
pub struct SplitReader {
    rows: Batches,
    /// Of a batch that came larger than asked for, as those of log blocks may.
    rest: Option<RecordBatch>,
    most: usize,
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
        let rows = match self.rest.take() {
            Some(rest) => rest,
            None => match self.rows.next()? {
                Ok(rows) => rows,
                Err(e) => return Some(Err(e)),
            },
        };
        let left = rows.num_rows().saturating_sub(self.most);
        if left > 0 {
            self.rest = Some(rows.slice(self.most, left));
        }
        Some(Ok(rows.slice(0, rows.num_rows() - left)))
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
