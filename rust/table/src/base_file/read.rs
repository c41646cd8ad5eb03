//! Base files to record batches, column by column, in ranges.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{Schema, SchemaRef};
use bytes::buf::Reader;
use bytes::{Buf, Bytes};
use hudini_format::parquet_file::{self, ParquetFile, Part};
use hudini_format::schema::evolve::{Mapping, Projection};
use hudini_format::schema::meta;
use parquet::arrow::ProjectionMask;
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData};
use parquet::file::reader::{ChunkReader, Length};

use super::calendar;
use super::groups::{LeftOut, Question};
use crate::extent::BATCH_BYTES;
use crate::filter::Predicate;
use crate::merge::Batches;
use crate::storage::Storage;
use crate::{Error, Result};

/// Bytes that may be fetched rather than that a request is made to save some of them.
const WORTH: u64 = 64 * 1024;

/// Fewer make no batch, whatever the file says that they take.
const FEW_ROWS: usize = 64;

/// Opens a base file of a snapshot; what comes out has exactly the schema `wanted`. `names` are those the file has for
/// its columns.
pub fn read(
    storage: &Arc<dyn Storage>,
    path: &str,
    wanted: &SchemaRef,
    names: &Mapping,
    batch_size: usize,
) -> Result<Batches> {
    Ok(open(whole(storage, path)?, wanted, names, batch_size, path, None)?.into_batches())
}

/// The same of rows that are merged: columns of texts that the file keeps as numbers of a dictionary may come as such.
pub(crate) fn read_packed(
    storage: &Arc<dyn Storage>,
    path: &str,
    wanted: &SchemaRef,
    names: &Mapping,
    batch_size: usize,
) -> Result<Batches> {
    let file = open(whole(storage, path)?, wanted, names, batch_size, path, None)?;
    if !file.projection.is_identity() {
        return Ok(file.into_batches());
    }
    // These are looked at row by row, and hardly ever packed.
    let is_left = |name: &str| ![meta::RECORD_KEY, meta::COMMIT_SEQNO].contains(&name);
    let (batches, path, is_legacy) = (file.batches.packed(is_left), file.path, file.is_legacy);
    let wanted = Arc::clone(wanted);
    Ok(Box::new(batches.map(move |batch| {
        let batch = batch.and_then(|batch| checked(batch, is_legacy)).map_err(|e| e.at_path(&path))?;
        // What may be null is for the table to say, not for a file of before.
        let schema = parquet_file::schema_of(&wanted, batch.columns());
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let rows = RecordBatch::try_new_with_options(schema, batch.columns().to_vec(), &options);
        rows.map_err(|e| Error::schema("the file's rows do not fit the table's schema").caused_by(e).at_path(&path))
    })))
}

/// Rows that are wanted of a base file.
#[derive(Debug, Clone, Copy)]
pub struct Matching<'p> {
    /// Its columns are among those that are read.
    pub predicate: &'p Predicate,
    /// Row groups of fewer bytes are read as they are, rather than that something more is asked of them.
    pub worth: u64,
}

impl<'p> Matching<'p> {
    /// What is not read must outweigh the requests that it takes to find it.
    pub fn new(predicate: &'p Predicate) -> Self {
        Self { predicate, worth: WORTH }
    }
}

/// The same, but for row groups and pages without a row that a filter wants. Rows that it does not want may still come.
pub fn read_matching(
    storage: &Arc<dyn Storage>,
    path: &str,
    wanted: &SchemaRef,
    names: &Mapping,
    batch_size: usize,
    matching: Matching<'_>,
) -> Result<Batches> {
    Ok(open(whole(storage, path)?, wanted, names, batch_size, path, Some(matching))?.into_batches())
}

/// What [`read_matching`] leaves out.
pub fn left_out(
    storage: &Arc<dyn Storage>,
    path: &str,
    wanted: &SchemaRef,
    names: &Mapping,
    matching: Matching<'_>,
) -> Result<LeftOut> {
    let look = || {
        let file = ParquetFile::open(whole(storage, path)?)?;
        let projection = Projection::new(file.schema(), wanted, names)?;
        Ok(parts(&file, &projection, wanted, Some(matching))?.1)
    };
    look().map_err(|e: Error| e.at_path(path))
}

fn parts<R: ChunkReader + 'static>(
    file: &ParquetFile<R>,
    projection: &Projection,
    wanted: &Schema,
    matching: Option<Matching<'_>>,
) -> Result<(Vec<Part>, LeftOut)> {
    match matching {
        // Bounds of old dates and times are not what they seem.
        Some(Matching { predicate, worth }) if !calendar::is_legacy(file.metadata()) => {
            Question { file, projection, wanted, predicate, worth }.matching()
        }
        _ => Ok((file.whole(), LeftOut::default())),
    }
}

pub(super) fn whole(storage: &Arc<dyn Storage>, path: &str) -> Result<StoredFile> {
    let meta = storage.head(path)?;
    let meta = meta.ok_or_else(|| {
        Error::storage("a base file of the snapshot is gone")
            .at_path(path)
            .with_hint("it was cleaned, or removed by hand; read a newer state of the table")
    })?;
    Ok(StoredFile { storage: Arc::clone(storage), path: path.to_owned(), part: 0..meta.size })
}

/// The same for a Parquet file that is a part of another file, as in a log block.
pub fn read_part(
    storage: &Arc<dyn Storage>,
    path: &str,
    part: Range<u64>,
    wanted: &SchemaRef,
    names: &Mapping,
    batch_size: usize,
) -> Result<Batches> {
    let source = StoredFile { storage: Arc::clone(storage), path: path.to_owned(), part };
    Ok(open(source, wanted, names, batch_size, path, None)?.into_batches())
}

/// Batches as they come from a file, and how they become those that are wanted.
struct Open {
    batches: parquet_file::Batches,
    projection: Projection,
    path: String,
    /// Whether old dates and times in it are by another calendar.
    is_legacy: bool,
}

impl Open {
    fn into_batches(self) -> Batches {
        let Self { batches, projection, path, is_legacy } = self;
        Box::new(batches.map(move |batch| {
            let batch = batch.and_then(|batch| checked(batch, is_legacy)).map_err(|e| e.at_path(&path))?;
            projection.apply(&batch).map_err(|e| e.at_path(&path))
        }))
    }
}

fn checked(batch: RecordBatch, is_legacy: bool) -> Result<RecordBatch> {
    if is_legacy {
        calendar::check(&batch)?;
    }
    Ok(batch)
}

fn open(
    source: impl ChunkReader + 'static,
    wanted: &SchemaRef,
    names: &Mapping,
    batch_size: usize,
    path: &str,
    matching: Option<Matching<'_>>,
) -> Result<Open> {
    let open = || {
        let file = ParquetFile::open(source)?;
        let projection = Projection::new(file.schema(), wanted, names)?;
        let metadata = file.metadata();
        let mask = ProjectionMask::roots(metadata.file_metadata().schema_descr(), projection.columns().iter().copied());
        let (parts, _) = parts(&file, &projection, wanted, matching)?;
        let batch_size = batch_size.min(most_rows(metadata, projection.columns()));
        let is_legacy = calendar::is_legacy(metadata);
        Ok(Open { batches: file.batches(&parts, mask, batch_size)?, projection, path: path.to_owned(), is_legacy })
    };
    open().map_err(|e: Error| e.at_path(path))
}

/// Rows that are read at a time, at most: as many as fit [`BATCH_BYTES`] on average, and [`FEW_ROWS`] whatever they take.
fn most_rows(metadata: &ParquetMetaData, columns: &[usize]) -> usize {
    let schema = metadata.file_metadata().schema_descr();
    let is_read = |leaf: usize| columns.contains(&schema.get_column_root_idx(leaf));
    let chunks =
        metadata.row_groups().iter().flat_map(|group| group.columns().iter().take(schema.num_columns()).enumerate());
    let bytes: i64 = chunks.filter(|(leaf, _)| is_read(*leaf)).map(|(_, chunk)| bytes_of(chunk)).sum();
    let rows: i64 = metadata.row_groups().iter().map(RowGroupMetaData::num_rows).sum();
    let fitting = i128::from(rows) * i128::from(BATCH_BYTES) / i128::from(bytes.max(1));
    usize::try_from(fitting).unwrap_or(usize::MAX).max(FEW_ROWS)
}

/// What a chunk takes when decoded. What it takes in the file says little of values that it holds once.
fn bytes_of(chunk: &ColumnChunkMetaData) -> i64 {
    chunk.unencoded_byte_array_data_bytes().unwrap_or(0).max(chunk.uncompressed_size())
}

pub(super) struct StoredFile {
    storage: Arc<dyn Storage>,
    path: String,
    /// Where the Parquet file lies in the stored one.
    part: Range<u64>,
}

impl StoredFile {
    fn fetch(&self, start: u64, length: u64) -> Result<Bytes> {
        let start = self.part.start.checked_add(start);
        let end = start.and_then(|start| start.checked_add(length)).filter(|end| *end <= self.part.end);
        let (Some(start), Some(end)) = (start, end) else {
            return Err(Error::corrupt(format!("bytes beyond the Parquet file's {} are asked for", self.len())));
        };
        let mut parts = self.storage.submit(&self.path, std::iter::once(start..end).collect()).wait()?;
        parts.pop().ok_or_else(|| Error::storage("storage answered with nothing"))
    }
}

impl Length for StoredFile {
    fn len(&self) -> u64 {
        self.part.end.saturating_sub(self.part.start)
    }
}

impl ChunkReader for StoredFile {
    type T = Reader<Bytes>;

    /// All from there on. `hudini_format` asks for bytes that it knows the number of.
    fn get_read(&self, start: u64) -> ParquetResult<Self::T> {
        let left = self.len().saturating_sub(start);
        self.fetch(start, left).map(Bytes::reader).map_err(|e| ParquetError::External(Box::new(e)))
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        self.fetch(start, length as u64).map_err(|e| ParquetError::External(Box::new(e)))
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::{Int32Array, StringArray};
    use arrow_schema::{DataType, Field};
    use rstest::rstest;

    use super::super::{WriteOptions, file_of};
    use super::*;
    use crate::context::ManualClock;
    use crate::options::Options;
    use crate::storage::memory::Memory;

    #[test]
    fn packed_rows_may_be_null_where_the_table_says_so() {
        let storage: Arc<dyn Storage> = Arc::new(Memory::new("t", Arc::new(ManualClock::new(0))));
        let field = |nullable| Schema::new(vec![Field::new("city", DataType::Utf8, nullable)]);
        let texts: arrow_array::ArrayRef = Arc::new(StringArray::from_iter_values((0..100).map(|n| ["a", "b"][n % 2])));
        let rows = RecordBatch::try_new(Arc::new(field(false)), vec![texts]).unwrap();
        let options = WriteOptions::of(&Options::default()).unwrap();
        let file = file_of(&field(false), "t", &options, &[rows]).unwrap();
        assert!(matches!(storage.create("file", &file).unwrap(), crate::storage::Put::Done(_)));
        let wanted = Arc::new(field(true));
        let read: Vec<_> =
            read_packed(&storage, "file", &wanted, &Mapping::default(), 64).unwrap().map(Result::unwrap).collect();
        assert_eq!(read.iter().map(RecordBatch::num_rows).collect::<Vec<_>>(), [64, 36]);
        for rows in read {
            assert!(matches!(rows.column(0).data_type(), DataType::Dictionary(..)));
            assert!(rows.schema().field(0).is_nullable());
        }
    }

    #[rstest]
    #[case::numbers(&[1], (64 << 20) / 100..64 << 20)]
    #[case::long_texts_that_the_file_holds_once(&[0, 1], 60_000..70_000)]
    #[case::texts_of_several_kibibytes(&[2], 6000..7000)]
    fn wide_rows_come_fewer_at_a_time(#[case] columns: &[usize], #[case] rows: Range<usize>) {
        let text = |name: &str| Field::new(name, DataType::Utf8, true);
        let fields = vec![text("long"), Field::new("number", DataType::Int32, false), text("longer")];
        let columns_of_rows: Vec<arrow_array::ArrayRef> = vec![
            Arc::new(StringArray::new_repeated("x".repeat(1000), 100)),
            Arc::new(Int32Array::from_iter_values(0..100)),
            Arc::new(StringArray::new_repeated("x".repeat(10_000), 100)),
        ];
        let schema = Arc::new(Schema::new(fields));
        let batch = RecordBatch::try_new(Arc::clone(&schema), columns_of_rows).unwrap();
        let options = WriteOptions::of(&Options::default()).unwrap();
        let file = Bytes::from(file_of(&schema, "t", &options, &[batch]).unwrap());
        let found = most_rows(ParquetFile::open(file).unwrap().metadata(), columns);
        assert!(rows.contains(&found), "{found}");
    }
}
