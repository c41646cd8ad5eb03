//! History files: Parquet, one row an action.
//!
//! ```text
//! message org.apache.hudi.avro.model.HoodieLSMTimelineInstant {
//!   optional binary instantTime (STRING)      requested time
//!   optional binary completionTime (STRING)
//!   optional binary action (STRING)           as it completed: commit, deltacommit, replacecommit, clean, …
//!   optional binary metadata                  bytes of the completed file
//!   optional binary plan                      bytes of the requested or inflight file, see Entry::plan
//!   required int32 version                    1
//! }
//! footer keys: parquet.avro.schema, writer.model.name
//! ```

use std::ops::{Bound, Range, RangeBounds};
use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, BooleanArray, Int32Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use arrow_select::filter::filter_record_batch;
use bytes::Bytes;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::arrow::{ArrowWriter, ProjectionMask};
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::metadata::{KeyValue, ParquetMetaData, RowGroupMetaData};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::reader::ChunkReader;
use parquet::file::statistics::Statistics;
use parquet::schema::types::ColumnPath;

use super::Entry;
use crate::instant::Action;
use crate::parquet_file::{Batches, Limits, ParquetFile, Part, Parts, chunks};
use crate::{Error, Result};

const ROOT: &str = "org.apache.hudi.avro.model.HoodieLSMTimelineInstant";
const AVRO_SCHEMA: &str = include_str!("HoodieLSMTimelineInstant.avsc");

const INSTANT: &str = "instantTime";
const COMPLETION: &str = "completionTime";
const ACTION: &str = "action";
const METADATA: &str = "metadata";
const PLAN: &str = "plan";
const VERSION: &str = "version";

const ROW_VERSION: i32 = 1;

/// A row group is closed at this size, as Apache Hudi does.
const ROW_GROUP_BYTES: usize = 120 << 20;
/// Rows read or written at once: their content is in memory.
const BATCH_ROWS: usize = 256;

/// What is wanted of each row. The content is by far the largest part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Columns {
    Times,
    Actions,
    /// Actions and what they did.
    Metadata,
    /// Actions and what they planned.
    Plans,
    All,
}

impl Columns {
    fn names(self) -> &'static [&'static str] {
        match self {
            Self::Times => &[INSTANT, COMPLETION, VERSION],
            Self::Actions => &[INSTANT, COMPLETION, ACTION, VERSION],
            Self::Metadata => &[INSTANT, COMPLETION, ACTION, METADATA, VERSION],
            Self::Plans => &[INSTANT, COMPLETION, ACTION, PLAN, VERSION],
            Self::All => &[INSTANT, COMPLETION, ACTION, METADATA, PLAN, VERSION],
        }
    }
}

/// Reads the rows of a history file, in the file's order.
#[derive(Debug)]
pub struct Reader {
    batches: Batches,
    within: (Bound<String>, Bound<String>),
    /// Rows of the last batch, the next one last.
    ready: Vec<Entry>,
}

impl Reader {
    /// `file` is the whole file, or gives ranges of it. Only wanted columns are read, of rows that were requested within
    /// `instants`; row groups that hold none are passed over.
    pub fn open<R: ChunkReader + 'static>(
        file: R,
        columns: Columns,
        instants: &impl RangeBounds<String>,
    ) -> Result<Self> {
        Self::open_with_limits(file, columns, instants, Limits::default())
    }

    /// The same of a file of this length, fetching only the footer and what the wanted columns take.
    pub fn fetch(
        length: u64,
        columns: Columns,
        instants: &impl RangeBounds<String>,
        fetch: impl FnMut(Vec<Range<u64>>) -> Result<Vec<Bytes>>,
    ) -> Result<Self> {
        let choose = |metadata: &ParquetMetaData| {
            let groups = metadata.row_groups().iter().filter(|group| may_hold(group, instants));
            groups.flat_map(|group| chunks(group, columns.names())).collect()
        };
        Self::open(Parts::fetch(length, fetch, choose).map_err(broken)?, columns, instants)
    }

    pub fn open_with_limits<R: ChunkReader + 'static>(
        file: R,
        columns: Columns,
        instants: &impl RangeBounds<String>,
        limits: Limits,
    ) -> Result<Self> {
        let length = file.len();
        let file = ParquetFile::open_with_limits(file, limits).map_err(broken)?;
        check_rows(file.metadata(), length)?;
        let parquet = file.metadata().file_metadata().schema_descr();
        let found = |name: &&&str| parquet.root_schema().get_fields().iter().any(|field| field.name() == **name);
        let wanted: Vec<&str> = columns.names().iter().filter(found).copied().collect();
        let mask = ProjectionMask::columns(parquet, wanted);
        let groups = file.metadata().row_groups().iter().enumerate();
        let groups = groups.filter(|(_, group)| may_hold(group, instants)).map(|(at, _)| Part::whole(at));
        let batches = file.batches(&groups.collect::<Vec<_>>(), mask, BATCH_ROWS).map_err(broken)?;
        let within = (instants.start_bound().cloned(), instants.end_bound().cloned());
        Ok(Self { batches, within, ready: Vec::new() })
    }
}

impl Iterator for Reader {
    type Item = Result<Entry>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.ready.is_empty() {
            let batch = self.batches.next()?;
            match batch.and_then(|batch| entries(&select(&batch, &self.within)?)) {
                Ok(rows) => self.ready = rows,
                Err(e) => return Some(Err(broken(e))),
            }
            self.ready.reverse();
        }
        self.ready.pop().map(Ok)
    }
}

fn broken(e: Error) -> Error {
    Error::new(e.kind(), "a history file cannot be read").caused_by(e)
}

/// Every row has an instant of its own, so there are fewer of them than bytes. Runs of one value claim any number.
fn check_rows(metadata: &ParquetMetaData, length: u64) -> Result<()> {
    let rows = metadata.row_groups().iter().map(RowGroupMetaData::num_rows).sum::<i64>();
    if u64::try_from(rows).is_ok_and(|rows| rows <= length) {
        return Ok(());
    }
    Err(Error::corrupt(format!("{rows} rows in a history file of {length} bytes")))
}

/// By the footer of a file of this length: from which requested time on it may hold actions that completed after `time`. `None`
/// if it holds none.
pub fn completed_after(
    length: u64,
    time: &str,
    fetch: impl FnMut(Vec<Range<u64>>) -> Result<Vec<Bytes>>,
) -> Result<Option<String>> {
    let mut since = None;
    let look = |metadata: &ParquetMetaData| {
        let is_later = |group: &&RowGroupMetaData| bounds(group, COMPLETION).1.is_none_or(|greatest| greatest > time);
        let least = |group| bounds(group, INSTANT).0.unwrap_or_default().to_owned();
        since = metadata.row_groups().iter().filter(is_later).map(least).min();
        Vec::new()
    };
    Parts::fetch(length, fetch, look).map_err(broken)?;
    Ok(since)
}

/// Between what and what a text column of a row group lies, where its footer says so.
fn bounds<'g>(group: &'g RowGroupMetaData, name: &str) -> (Option<&'g str>, Option<&'g str>) {
    let column = group.columns().iter().find(|c| c.column_path().string() == name);
    let Some(Statistics::ByteArray(statistics)) = column.and_then(|c| c.statistics()) else { return (None, None) };
    let text = |bytes| str::from_utf8(bytes).ok();
    (statistics.min_bytes_opt().and_then(text), statistics.max_bytes_opt().and_then(text))
}

/// Whether a row group may hold rows of the range, by what its footer says.
fn may_hold(group: &RowGroupMetaData, instants: &impl RangeBounds<String>) -> bool {
    let (least, greatest) = bounds(group, INSTANT);
    let from_here = |least: &str| match instants.end_bound() {
        Bound::Included(end) => least <= end.as_str(),
        Bound::Excluded(end) => least < end.as_str(),
        Bound::Unbounded => true,
    };
    let up_to_here = |greatest: &str| match instants.start_bound() {
        Bound::Included(start) => start.as_str() <= greatest,
        Bound::Excluded(start) => start.as_str() < greatest,
        Bound::Unbounded => true,
    };
    least.is_none_or(from_here) && greatest.is_none_or(up_to_here)
}

/// Rows without an instant stay in, to be refused with the others.
fn select(batch: &RecordBatch, within: &(Bound<String>, Bound<String>)) -> Result<RecordBatch> {
    if let (Bound::Unbounded, Bound::Unbounded) = within {
        return Ok(batch.clone());
    }
    let column = TextColumn::of(batch, INSTANT)?;
    let chosen =
        (0..batch.num_rows()).map(|row| Ok(column.get(row)?.is_none_or(|time| within.contains(&time.to_owned()))));
    Ok(filter_record_batch(batch, &BooleanArray::from(chosen.collect::<Result<Vec<_>>>()?))?)
}

fn entries(batch: &RecordBatch) -> Result<Vec<Entry>> {
    let instants = TextColumn::of(batch, INSTANT)?;
    let completions = TextColumn::of(batch, COMPLETION)?;
    let actions = TextColumn::of(batch, ACTION)?;
    let (metadata, plans) = (bytes_column(batch, METADATA)?, bytes_column(batch, PLAN)?);
    check_versions(batch)?;
    let row = |row| {
        let requested = instants.get(row)?.ok_or_else(|| Error::corrupt("a row of history without its instant"))?;
        let action = |name: &str| {
            let unknown = || Error::unsupported(format!("the action '{name}'")).at_instant(requested);
            Action::parse(name).ok_or_else(unknown)
        };
        Ok(Entry {
            requested: requested.to_owned(),
            completed: completions.get(row)?.map(str::to_owned),
            action: actions.get(row)?.map(action).transpose()?,
            metadata: metadata(row),
            plan: plans(row),
        })
    };
    (0..batch.num_rows()).map(row).collect()
}

fn check_versions(batch: &RecordBatch) -> Result<()> {
    let Some(column) = batch.column_by_name(VERSION) else { return Ok(()) };
    let versions = column.as_primitive_opt::<Int32Type>().ok_or_else(|| wrong_type(VERSION, column))?;
    match versions.iter().flatten().find(|version| *version != ROW_VERSION) {
        None => Ok(()),
        Some(version) => Err(Error::unsupported(format!("version {version} of the rows of history files"))),
    }
}

/// A column of text, which writers other than Apache Hudi may have left without its annotation; null if it is not there.
struct TextColumn<'a>(Option<&'a ArrayRef>, &'static str);

impl<'a> TextColumn<'a> {
    fn of(batch: &'a RecordBatch, name: &'static str) -> Result<Self> {
        match batch.column_by_name(name) {
            Some(column) if !matches!(column.data_type(), DataType::Utf8 | DataType::Binary) => {
                Err(wrong_type(name, column))
            }
            column => Ok(Self(column, name)),
        }
    }

    fn get(&self, row: usize) -> Result<Option<&'a str>> {
        let Some(column) = self.0.filter(|column| column.is_valid(row)) else { return Ok(None) };
        if let Some(texts) = column.as_string_opt::<i32>() {
            return Ok(Some(texts.value(row)));
        }
        let bytes = column.as_binary_opt::<i32>().map(|bytes| bytes.value(row)).unwrap_or_default();
        let text = str::from_utf8(bytes);
        text.map(Some).map_err(|e| Error::corrupt(format!("{} of a row of history is no UTF-8", self.1)).caused_by(e))
    }
}

fn bytes_column<'a>(batch: &'a RecordBatch, name: &str) -> Result<impl Fn(usize) -> Option<Vec<u8>> + 'a> {
    let column = match batch.column_by_name(name) {
        None => None,
        Some(column) => Some(column.as_binary_opt::<i32>().ok_or_else(|| wrong_type(name, column))?),
    };
    Ok(move |row| column.filter(|c| c.is_valid(row)).map(|c| c.value(row).to_vec()))
}

fn wrong_type(name: &str, column: &ArrayRef) -> Error {
    Error::corrupt(format!("column {name} of a history file has the type {}", column.data_type()))
}

/// Makes a history file. Its name says the least and the greatest requested time of `entries`, which come in that order.
pub fn write<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Result<Vec<u8>> {
    let failed = |e: ParquetError| Error::internal("a history file cannot be written").caused_by(e);
    let options = ArrowWriterOptions::new()
        .with_properties(properties())
        .with_skip_arrow_metadata(true)
        .with_schema_root(ROOT.to_owned());
    let mut writer = ArrowWriter::try_new_with_options(Vec::new(), schema(), options).map_err(failed)?;
    let mut entries = entries.into_iter().peekable();
    while entries.peek().is_some() {
        writer.write(&batch(entries.by_ref().take(BATCH_ROWS))?).map_err(failed)?;
        if writer.in_progress_size() >= ROW_GROUP_BYTES {
            writer.flush().map_err(failed)?;
        }
    }
    writer.into_inner().map_err(failed)
}

fn schema() -> Arc<Schema> {
    Arc::new(Schema::new(vec![
        Field::new(INSTANT, DataType::Utf8, true),
        Field::new(COMPLETION, DataType::Utf8, true),
        Field::new(ACTION, DataType::Utf8, true),
        Field::new(METADATA, DataType::Binary, true),
        Field::new(PLAN, DataType::Binary, true),
        Field::new(VERSION, DataType::Int32, false),
    ]))
}

fn properties() -> WriterProperties {
    let footer = [("parquet.avro.schema", AVRO_SCHEMA), ("writer.model.name", "avro")];
    let footer = footer.map(|(key, value)| KeyValue::new(key.to_owned(), value.to_owned()));
    WriterProperties::builder()
        .set_compression(Compression::GZIP(Default::default()))
        .set_key_value_metadata(Some(footer.to_vec()))
        // Of no use, and as long as the content.
        .set_column_statistics_enabled(ColumnPath::from(METADATA), EnabledStatistics::None)
        .set_column_statistics_enabled(ColumnPath::from(PLAN), EnabledStatistics::None)
        .build()
}

fn batch<'a>(entries: impl Iterator<Item = &'a Entry>) -> Result<RecordBatch> {
    let mut texts: [StringBuilder; 3] = Default::default();
    let mut contents: [BinaryBuilder; 2] = Default::default();
    let mut rows = 0;
    for entry in entries {
        let [instants, completions, actions] = &mut texts;
        instants.append_value(&entry.requested);
        completions.append_option(entry.completed.as_ref());
        actions.append_option(entry.action.map(Action::name));
        let [metadata, plans] = &mut contents;
        metadata.append_option(entry.metadata.as_ref());
        plans.append_option(entry.plan.as_ref());
        rows += 1;
    }
    let texts = texts.iter_mut().map(|column| Arc::new(column.finish()) as ArrayRef);
    let contents = contents.iter_mut().map(|column| Arc::new(column.finish()) as ArrayRef);
    let versions: ArrayRef = Arc::new(Int32Array::from(vec![ROW_VERSION; rows]));
    Ok(RecordBatch::try_new(schema(), texts.chain(contents).chain([versions]).collect())?)
}
