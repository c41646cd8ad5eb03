//! Parquet files that need not be what they say: base files, Parquet blocks of logs, archived history.
//!
//! The `parquet` crate reads them, but believes much of what a file tells about itself. So its input is checked where it
//! is small, before the crate acts on it:
//!
//! | what | checked | where |
//! |---|---|---|
//! | footer and page headers | every field of the type that it should have, lists as long as they say | [`thrift`], [`shapes`] |
//! | footer | depth of the schema, places of columns | [`footer`] |
//! | page header | sizes and counts within [`Limits`] and the file | [`pages`] |
//! | page | that it inflates to what it may, sizes that its encoding declares; lengths of values that are passed over | [`inflate`], [`pages`] |
//! | bloom filter of a chunk | its header, and that it lies in the file | [`chunk_bloom`] |
//! | page index | places within the chunk and in order, as many values as pages; pages hold the rows that it says | [`page_index`], [`selected`] |
//!
//! Values that refer to one of a dictionary, or continue the one before, are still as large as that one: rows that are
//! read at a time bound them. The last line, [`guarded`], turns a panic of the crate into an error; it is the only place
//! that does.

mod chunk_bloom;
mod chunk_bytes;
mod footer;
mod inflate;
mod int96;
mod packed;
mod page_index;
mod pages;
mod parts;
mod selected;
mod shapes;
mod statistics;
#[cfg(test)]
mod tests;
mod thrift;
mod twins;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, Schema};
use parquet::arrow::arrow_reader::ParquetRecordBatchReader;
use parquet::arrow::{ProjectionMask, parquet_to_arrow_field_levels, parquet_to_arrow_schema};
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::reader::ChunkReader;

pub use self::chunk_bloom::ChunkBloom;
pub use self::packed::{schema_of, unpacked};
pub use self::page_index::PageStatistics;
pub use self::parts::{Parts, chunks};
pub use self::selected::Part;
pub use self::statistics::ValueStatistics;

use self::packed::{Unpacker, packed};
use self::pages::Checked;
use self::selected::{Groups, selection};
use crate::{Error, Result};

/// The most that is believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Of a page, uncompressed.
    pub page_bytes: usize,
    /// In a page: nulls and runs take no room of their own.
    pub page_values: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { page_bytes: 256 << 20, page_values: 1 << 25 }
    }
}

/// An open file.
#[derive(Debug)]
pub struct ParquetFile<R> {
    source: Arc<Checked<R>>,
    metadata: Arc<ParquetMetaData>,
    schema: Schema,
}

/// Reads only the footer.
pub fn read_footer(source: &impl ChunkReader) -> Result<ParquetMetaData> {
    footer::read(source)
}

impl<R: ChunkReader + 'static> ParquetFile<R> {
    pub fn open(source: R) -> Result<Self> {
        Self::open_with_limits(source, Limits::default())
    }

    pub fn open_with_limits(source: R, limits: Limits) -> Result<Self> {
        let metadata = Arc::new(footer::read(&source)?);
        // An Arrow schema that another writer left is a hint at best; the Parquet types decide.
        let descriptor = metadata.file_metadata().schema_descr();
        let schema = int96::in_microseconds(guarded(|| parquet_to_arrow_schema(descriptor, None))?, descriptor);
        Ok(Self { source: Arc::new(Checked::new(source, limits)), metadata, schema })
    }

    pub fn metadata(&self) -> &ParquetMetaData {
        &self.metadata
    }

    /// All columns.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The rows of some parts, `batch_rows` at a time.
    pub fn batches(&self, parts: &[Part], columns: ProjectionMask, batch_rows: usize) -> Result<Batches> {
        let cut: Vec<_> = parts.iter().filter(|part| part.rows.is_some()).map(|part| part.group).collect();
        let fields = packed(&self.schema, &self.metadata, parts);
        let twins = self.twins(parts, &columns, &fields, batch_rows);
        let alike = self.places_of(&columns, &twins);
        let columns = self.without(columns, &twins);
        let places = self.places(&columns, &cut)?;
        let chosen = parts.iter().map(|part| part.group).collect();
        let groups = Groups::new(Arc::clone(&self.source), Arc::clone(&self.metadata), chosen, cut, places, twins.kept);
        let schema = self.metadata.file_metadata().schema_descr();
        let reader = guarded(|| {
            let levels = parquet_to_arrow_field_levels(schema, columns, Some(&fields))?;
            let rows = selection(&self.metadata, parts);
            ParquetRecordBatchReader::try_new_with_row_groups(&levels, &groups, batch_rows, rows)
        });
        let reader = reader.map_err(|e| self.source.take_failure().unwrap_or(e))?;
        let source = Arc::clone(&self.source);
        let unpacker = Unpacker::new(&reader.schema(), alike);
        Ok(Batches { reader: Some(reader), unpacker, failure: Box::new(move || source.take_failure()) })
    }

    /// All of it.
    pub fn whole(&self) -> Vec<Part> {
        (0..self.metadata.num_row_groups()).map(Part::whole).collect()
    }
}

/// Batches of rows.
pub struct Batches {
    /// None after an error.
    reader: Option<ParquetRecordBatchReader>,
    unpacker: Unpacker,
    /// What the crate was told when it asked for bytes, which it does not hand on as it was.
    failure: Box<dyn Fn() -> Option<Error> + Send>,
}

impl Batches {
    /// Leaves columns packed that the file keeps as numbers of a dictionary: what can go on with those has less to do.
    #[must_use]
    pub fn packed(mut self, is_left: impl Fn(&str) -> bool) -> Self {
        self.unpacker.leave(is_left);
        self
    }
}

impl std::fmt::Debug for Batches {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Batches").field("open", &self.reader.is_some()).finish_non_exhaustive()
    }
}

impl Iterator for Batches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let reader = self.reader.as_mut()?;
        let unpacker = &mut self.unpacker;
        let unpacked = |rows: Result<RecordBatch, ArrowError>| rows.and_then(|rows| unpacker.unpack(&rows));
        match guarded(|| reader.next().map(unpacked).transpose().map_err(unwrapped)) {
            Ok(batch) => batch.map(Ok),
            Err(e) => {
                self.reader = None;
                Some(Err((self.failure)().unwrap_or(e)))
            }
        }
    }
}

fn unwrapped(e: ArrowError) -> ParquetError {
    match e {
        ArrowError::ExternalError(inner) => ParquetError::External(inner),
        other => ParquetError::ArrowError(other.to_string()),
    }
}

/// Calls into the `parquet` crate, whose panics become errors.
fn guarded<T>(call: impl FnOnce() -> Result<T, ParquetError>) -> Result<T> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(result) => result.map_err(failed),
        Err(_) => Err(Error::corrupt("a Parquet file contradicts itself")),
    }
}

/// A failure of the source stays what it was.
fn failed(e: ParquetError) -> Error {
    let corrupt = |e| Error::corrupt("this is not a readable Parquet file").caused_by(e);
    let ParquetError::External(inner) = e else { return corrupt(Box::new(e) as _) };
    let inner = match inner.downcast::<std::io::Error>() {
        Ok(io) => match io.into_inner() {
            Some(inner) => inner,
            None => return Error::storage("reading a Parquet file failed"),
        },
        Err(other) => other,
    };
    match inner.downcast::<Error>() {
        Ok(ours) => *ours,
        Err(other) => corrupt(other),
    }
}
