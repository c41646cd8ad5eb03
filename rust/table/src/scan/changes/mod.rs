//! What happened to rows in a range of time: each insert, update and delete, with the row before and after it.
//!
//! A table that captures changes logs them beside the files it rewrites (`….cdc` files; how much of them is the table's
//! choice). Where nothing is logged, as for first inserts, log files and replaced file groups, the change is found by
//! comparing the file group before and after the write, which works on tables that capture nothing too.
//!
//! ```text
//! plan      writes of the range → parts: one file group in one write
//! logged    a part whose changes were logged
//! compare   a part whose states are compared
//! hash      what tells rows apart
//! image     rows as structs, or as the JSON text that Apache Hudi has for them
//! ```

mod compare;
mod hash;
mod image;
mod logged;
mod plan;

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, StringArray, new_null_array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use hudini_format::log::cdc;
use hudini_format::schema::meta;
use serde::{Deserialize, Serialize};

use super::gone;
use super::shape::RowShape;
use super::split::{Manner, Reading, RowSplit};
use crate::merge::Batches;
use crate::storage::Storage;
use crate::timeline::Snapshot;
use crate::view::FileSlice;
use crate::{Error, ErrorKind, Result};

pub use image::Images;
use image::Imaging;
pub(super) use plan::pin;

/// What one write did to one file group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Part {
    /// Its requested time.
    instant: String,
    completed: String,
    found_in: FoundIn,
}

/// Where the changes are found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum FoundIn {
    /// The group was new: all of its rows are.
    All(FileSlice),
    /// Nothing but inserts: the rows that the write wrote.
    Inserts(FileSlice),
    /// The group is gone, and its rows with it.
    Gone(FileSlice),
    /// Two states of the group.
    States { before: FileSlice, after: FileSlice },
    /// Files that log them, and what the logs may leave out.
    Logs { files: Vec<ChangeLog>, before: Option<FileSlice>, after: Option<FileSlice> },
}

/// A change log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct ChangeLog {
    path: String,
    /// As its commit says.
    bytes: u64,
}

impl Part {
    pub(super) fn slices(&self) -> impl Iterator<Item = &FileSlice> {
        let (one, other) = match &self.found_in {
            FoundIn::All(slice) | FoundIn::Inserts(slice) | FoundIn::Gone(slice) => (Some(slice), None),
            FoundIn::States { before, after } => (Some(before), Some(after)),
            FoundIn::Logs { before, after, .. } => (before.as_ref(), after.as_ref()),
        };
        one.into_iter().chain(other)
    }
}

/// A part of a change feed that any process can read on its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeSplit {
    /// Its snapshot is the end of the range.
    pub(super) reading: Arc<Reading>,
    pub(super) images: Images,
    pub(super) parts: Vec<Part>,
}

/// The columns of a change feed.
pub(super) fn schema(images: Images, reading: &Reading) -> Result<Schema> {
    let image = images.data_type(&reading.shape.shown(&reading.snapshot, false)?);
    Ok(Schema::new(vec![
        Field::new(cdc::OPERATION, DataType::Utf8, false),
        Field::new(cdc::INSTANT, DataType::Utf8, false),
        Field::new(cdc::BEFORE, image.clone(), true),
        Field::new(cdc::AFTER, image, true),
    ]))
}

impl ChangeSplit {
    pub fn schema(&self) -> Result<SchemaRef> {
        Ok(Arc::new(schema(self.images, &self.reading)?))
    }

    /// Parts are opened one after the other, when their turn comes.
    pub(super) fn read_on(&self, storage: &Arc<dyn Storage>, manner: Manner) -> Result<Batches> {
        let output = self.schema()?;
        let Reading { snapshot, shape, .. } = self.reading.as_ref();
        let stored = meta::without_meta(&RowShape::stored(snapshot)?);
        let kind = output.field_with_name(cdc::BEFORE)?.data_type().clone();
        let feed = Arc::new(Feed {
            image: Imaging::new(kind, &shape.shown(snapshot, false)?, stored),
            output,
            split: self.clone(),
            storage: Arc::clone(storage),
            manner,
        });
        Ok(Box::new(self.parts.clone().into_iter().flat_map(move |part| {
            let opened = feed.open(&part).map_err(|e| e.at_instant(&part.instant));
            let rows = opened.unwrap_or_else(|e| Box::new(std::iter::once(Err(e))));
            gone::explained(&feed.storage, part.slices().cloned().collect(), rows)
        })))
    }
}

/// What reading the parts of one split needs.
struct Feed {
    output: SchemaRef,
    /// How both sides are shown.
    image: Imaging,
    split: ChangeSplit,
    storage: Arc<dyn Storage>,
    manner: Manner,
}

/// One of the two sides of a change.
enum Side {
    Image(ArrayRef),
    Missing,
}

impl Feed {
    fn open(self: &Arc<Self>, part: &Part) -> Result<Batches> {
        match &part.found_in {
            FoundIn::All(slice) => Ok(self.all_inserted(part, self.rows_after(part, slice, None)?)),
            FoundIn::Inserts(slice) => Ok(self.all_inserted(part, self.rows_after(part, slice, Some(&part.instant))?)),
            FoundIn::Gone(slice) => {
                let (feed, instant) = (Arc::clone(self), part.instant.clone());
                let rows = self.rows_before(part, slice, &[])?;
                Ok(Box::new(rows.map(move |rows| feed.deleted(&instant, &rows?))))
            }
            FoundIn::States { before, after } => compare::states(self, part, before, after),
            FoundIn::Logs { files, before, after } => logged::read(self, part, files, before.as_ref(), after.as_ref()),
        }
    }

    /// Keys and changed rows of a file group wait in memory for the rows that they belong to.
    fn check_memory(&self, bytes: usize) -> Result<()> {
        if bytes as u64 <= self.split.reading.memory.bytes {
            return Ok(());
        }
        let message = "the changes of a file group take more memory than the limit";
        Err(Error::new(ErrorKind::MemoryLimit, message).with_hint("raise hoodie.memory.merge.max.size"))
    }

    fn all_inserted(self: &Arc<Self>, part: &Part, rows: Batches) -> Batches {
        let (feed, instant) = (Arc::clone(self), part.instant.clone());
        Box::new(rows.map(move |rows| feed.inserted(&instant, &rows?)))
    }

    /// The rows of the group before the write, with these columns; with all if none is named.
    fn rows_before(&self, part: &Part, slice: &FileSlice, columns: &[&str]) -> Result<Batches> {
        self.rows(self.split.reading.snapshot.before(&part.completed), slice, columns, None)
    }

    /// The rows of the group behind the write, with all columns; all of them or those that one write made.
    fn rows_after(&self, part: &Part, slice: &FileSlice, made_by: Option<&String>) -> Result<Batches> {
        let mut snapshot = self.split.reading.snapshot.before(&part.completed);
        snapshot.completed.insert(part.instant.clone(), part.completed.clone());
        self.rows(snapshot, slice, &[], made_by)
    }

    fn rows(
        &self,
        snapshot: Snapshot,
        slice: &FileSlice,
        columns: &[&str],
        made_by: Option<&String>,
    ) -> Result<Batches> {
        let reading = Reading { snapshot, ..self.split.reading.as_ref().clone() };
        let columns = match columns {
            [] => reading.columns()?.fields().iter().map(|field| field.name().clone()).collect(),
            columns => columns.iter().map(|name| (*name).to_owned()).collect(),
        };
        let commits = made_by.map(|instant| std::iter::once(instant.clone()).collect());
        let rows = RowSplit { reading: Arc::new(reading), columns, slices: vec![slice.clone()], commits, filter: None };
        rows.read_on(&self.storage, self.manner.clone())
    }

    fn inserted(&self, instant: &str, rows: &RecordBatch) -> Result<RecordBatch> {
        let after = Side::Image(self.image.of_rows(rows)?);
        self.changes(&repeated(cdc::INSERT, rows.num_rows()), instant, Side::Missing, after)
    }

    fn deleted(&self, instant: &str, rows: &RecordBatch) -> Result<RecordBatch> {
        let before = Side::Image(self.image.of_rows(rows)?);
        self.changes(&repeated(cdc::DELETE, rows.num_rows()), instant, before, Side::Missing)
    }

    fn updated(&self, instant: &str, before: &RecordBatch, after: &RecordBatch) -> Result<RecordBatch> {
        let operations = repeated(cdc::UPDATE, before.num_rows());
        let [before, after] = [before, after].map(|rows| self.image.of_rows(rows).map(Side::Image));
        self.changes(&operations, instant, before?, after?)
    }

    fn changes(&self, operations: &StringArray, instant: &str, before: Side, after: Side) -> Result<RecordBatch> {
        let count = operations.len();
        let array = |side: Side| match side {
            Side::Image(image) => image,
            Side::Missing => new_null_array(&self.image.kind, count),
        };
        let instants = Arc::new(repeated(instant, count));
        let columns: Vec<ArrayRef> = vec![Arc::new(operations.clone()), instants, array(before), array(after)];
        Ok(RecordBatch::try_new(Arc::clone(&self.output), columns)?)
    }
}

fn repeated(text: &str, count: usize) -> StringArray {
    std::iter::repeat_n(Some(text), count).collect()
}
