//! Record batches to a base file.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Schema};
use hudini_format::bloom::AVRO_SCHEMA_FOOTER;
use hudini_format::counted::Counted;
use hudini_format::empty::with_buffer;
use hudini_format::schema::{avro_text, record_name};
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::{Compression, GzipLevel, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::schema::types::ColumnPath;
use serde::{Deserialize, Serialize};

use super::footer::bytes_of;
use super::keys::KeySummary;
use super::parquet_schema;
use super::row_groups::{RowGroups, TextBounds};
use crate::options::{self, Codec, Options};
use crate::storage::{Put, Sink, Storage, from_io};
use crate::{Error, Result};
use hudini_format::schema::meta;

/// Footer key and value by which Apache Hudi's Avro readers know a file of theirs.
const WRITER_MODEL: (&str, &str) = ("writer.model.name", "avro");

/// How a base file is encoded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteOptions {
    /// As `hoodie.parquet.compression.codec` names it.
    pub codec: String,
    pub row_group_bytes: u64,
    pub page_bytes: u64,
}

impl WriteOptions {
    pub fn of(given: &Options) -> Result<Self> {
        Ok(Self {
            codec: given.get_or_default(&options::PARQUET_CODEC)?.word().to_owned(),
            row_group_bytes: given.get_or_default(&options::PARQUET_BLOCK_SIZE)?,
            page_bytes: given.get_or_default(&options::PARQUET_PAGE_SIZE)?,
        })
    }

    fn compression(&self) -> Result<Compression> {
        let codec = Codec::parse(&self.codec).map_err(|_| Error::option(format!("the codec '{}'", self.codec)))?;
        Ok(match codec {
            Codec::Uncompressed => Compression::UNCOMPRESSED,
            Codec::Snappy => Compression::SNAPPY,
            Codec::Gzip => Compression::GZIP(GzipLevel::default()),
            Codec::Lz4Raw => Compression::LZ4_RAW,
            Codec::Zstd => Compression::ZSTD(ZstdLevel::default()),
        })
    }
}

/// A base file as it lies on storage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenFile {
    pub rows: u64,
    pub bytes: u64,
    /// By column: bytes in the file, and before they were compressed.
    pub column_bytes: BTreeMap<String, (i64, i64)>,
    pub(crate) text_bounds: TextBounds,
}

/// Rows of a base file.
#[derive(Debug, Clone)]
pub struct Numbered {
    pub rows: RecordBatch,
    /// Their sequence numbers, where those count on: not what the rows have in that column.
    pub numbers: Option<Counted>,
}

impl From<RecordBatch> for Numbered {
    fn from(rows: RecordBatch) -> Self {
        Self { rows, numbers: None }
    }
}

/// Writes one base file; nothing is visible before [`BaseFileWriter::finish`].
pub struct BaseFileWriter {
    groups: RowGroups<Sink>,
    keys: KeySummary,
    path: String,
    row_group_bytes: usize,
}

impl std::fmt::Debug for BaseFileWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BaseFileWriter").field("path", &self.path).finish_non_exhaustive()
    }
}

impl BaseFileWriter {
    /// `schema` has the meta columns.
    pub fn new(
        storage: &dyn Storage,
        path: &str,
        schema: &Schema,
        table: &str,
        options: &WriteOptions,
        keys: KeySummary,
    ) -> Result<Self> {
        let sink = Sink::new(storage.writer(path)?);
        Ok(Self {
            groups: row_groups(sink, schema, table, options)?,
            keys,
            path: path.to_owned(),
            row_group_bytes: usize::try_from(options.row_group_bytes).unwrap_or(usize::MAX),
        })
    }

    pub fn write(&mut self, Numbered { rows, numbers }: &Numbered) -> Result<()> {
        self.keys.add(rows)?;
        self.groups.write(&with_buffers(rows)?, numbers.as_ref()).map_err(|e| write_error(e, &self.path))?;
        if self.groups.in_progress_size() >= self.row_group_bytes {
            self.groups.flush().map_err(|e| write_error(e, &self.path))?;
        }
        Ok(())
    }

    /// Completes the file. `before_visible` runs last: when it fails, nothing shows.
    pub fn finish(mut self, before_visible: impl FnOnce() -> Result<()>) -> Result<WrittenFile> {
        let rows = self.keys.rows();
        self.groups.flush().map_err(|e| write_error(e, &self.path))?;
        let extremes = self.groups.text_bounds().get(meta::RECORD_KEY).and_then(Option::as_ref);
        for (key, value) in self.keys.footer(extremes)? {
            self.groups.append_key_value_metadata(pair(key, value));
        }
        let column_bytes = bytes_of(self.groups.flushed_row_groups());
        let text_bounds = self.groups.text_bounds().clone();
        let sink = self.groups.into_inner().map_err(|e| write_error(e, &self.path))?;
        before_visible()?;
        let bytes = sink.bytes();
        match sink.close().map_err(|e| e.at_path(&self.path))? {
            Put::Done(_) => Ok(WrittenFile { rows, bytes, column_bytes, text_bounds }),
            Put::Refused => Err(Error::storage("a base file of this name is there already").at_path(self.path)),
        }
    }
}

/// The rows as a Parquet file of their own, as a log block holds it.
pub(crate) fn file_of(schema: &Schema, table: &str, options: &WriteOptions, rows: &[RecordBatch]) -> Result<Vec<u8>> {
    let mut writer = row_groups(Vec::new(), schema, table, options)?;
    for rows in rows {
        writer.write(&with_buffers(rows)?, None).map_err(refused)?;
    }
    writer.into_inner().map_err(refused)
}

fn row_groups<W: io::Write + Send>(
    sink: W,
    schema: &Schema,
    table: &str,
    options: &WriteOptions,
) -> Result<RowGroups<W>> {
    let (name, namespace) = record_name(table);
    let unique = |name: &str| ColumnPath::from(name);
    let properties = WriterProperties::builder()
        .set_compression(options.compression()?)
        .set_created_by(concat!("hudini version ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_data_page_size_limit(usize::try_from(options.page_bytes).unwrap_or(usize::MAX))
        // Every value differs: a dictionary would be built and thrown away.
        .set_column_dictionary_enabled(unique(meta::COMMIT_SEQNO), false)
        .set_column_dictionary_enabled(unique(meta::RECORD_KEY), false)
        .build();
    let arrow_options = ArrowWriterOptions::new()
        .with_properties(properties)
        .with_skip_arrow_metadata(true)
        .with_parquet_schema(parquet_schema::descriptor(schema, &format!("{namespace}.{name}"))?);
    let mut groups = RowGroups::new(sink, schema.clone().into(), arrow_options).map_err(refused)?;
    groups.append_key_value_metadata(pair(AVRO_SCHEMA_FOOTER, avro_text(schema, table)?));
    groups.append_key_value_metadata(pair(WRITER_MODEL.0, WRITER_MODEL.1.to_owned()));
    Ok(groups)
}

/// Ready to be compared a lot.
fn with_buffers(batch: &RecordBatch) -> Result<RecordBatch> {
    let columns = batch.columns().iter().map(|column| -> Result<ArrayRef> {
        Ok(match column.data_type() {
            DataType::Utf8 => Arc::new(with_buffer(column.as_string::<i32>())?),
            DataType::Binary => Arc::new(with_buffer(column.as_binary::<i32>())?),
            _ => Arc::clone(column),
        })
    });
    Ok(RecordBatch::try_new(batch.schema(), columns.collect::<Result<Vec<_>>>()?)?)
}

fn pair(key: &str, value: String) -> KeyValue {
    KeyValue::new(key.to_owned(), value)
}

const FAILED: &str = "writing a base file failed";

fn write_error(e: ParquetError, path: &str) -> Error {
    let external: Option<Error> = match e {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(io) => return from_io(*io, FAILED).at_path(path),
            Err(other) => return Error::storage(FAILED).caused_by(other).at_path(path),
        },
        other => Some(refused(other)),
    };
    external.unwrap_or_else(|| Error::internal("Parquet refused to write")).at_path(path)
}

fn refused(e: ParquetError) -> Error {
    Error::internal(format!("Parquet refused to write: {e}"))
}
