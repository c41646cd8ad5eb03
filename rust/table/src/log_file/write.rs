//! One log file of one write: data blocks, then one block with all deletes.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use hudini_format::avro::RowEncoder;
use hudini_format::log::avro_block::Content;
use hudini_format::log::{BlockKind, DeleteRecord, HeaderKey, delete, frame_block};
use hudini_format::positions::Positions;
use hudini_format::schema::{Record, avro_text};
use serde::{Deserialize, Serialize};

use crate::base_file::{self, WriteOptions};
use crate::options::{self, LogBlockFormat, Options};
use crate::storage::{Put, Storage, Writer};
use crate::{Error, Result};

/// How logs are written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LogOptions {
    /// Rows as Parquet files, not as Avro records.
    pub parquet: bool,
    /// Records say which rows of the base file they are about.
    pub positions: bool,
    /// Content at which a data block is written out.
    pub block_bytes: u64,
    /// What goes behind a file that is larger goes into another one.
    pub file_bytes: u64,
}

impl LogOptions {
    pub(crate) fn of(given: &Options) -> Result<Self> {
        Ok(Self {
            parquet: given.get_or_default(&options::LOG_BLOCK_FORMAT)? == LogBlockFormat::Parquet,
            positions: given.get_or_default(&options::WRITE_POSITIONS)?,
            block_bytes: given.get_or_default(&options::LOG_BLOCK_BYTES)?,
            file_bytes: given.get_or_default(&options::LOG_FILE_BYTES)?,
        })
    }
}

#[derive(Debug)]
pub(crate) struct WrittenLog {
    pub rows: u64,
    pub deletes: u64,
    pub bytes: u64,
}

/// What the blocks of a log file have in common.
#[derive(Debug, Clone)]
pub(crate) struct LogOf<'a> {
    pub instant: &'a str,
    pub table: &'a str,
    /// Of the rows, with meta columns.
    pub columns: &'a SchemaRef,
    /// Of the base file that positions are about.
    pub base_instant: &'a str,
    pub options: &'a LogOptions,
    /// How Parquet files are written, if the rows are to be in such.
    pub parquet: Option<&'a WriteOptions>,
}

pub(crate) struct LogWriter<'a> {
    writer: Box<dyn Writer>,
    path: String,
    of: LogOf<'a>,
    /// Avro text of the rows.
    schema: String,
    rows: Pending,
    /// Of the rows that wait.
    positions: Positions,
    written: WrittenLog,
}

/// Rows of the block being filled.
enum Pending {
    Avro { record: Box<Record>, content: Content, bytes: Vec<u8> },
    Parquet { rows: Vec<RecordBatch>, bytes: u64 },
}

impl Pending {
    /// Takes rows from that one on, until they are a whole block. Answers how many.
    fn push(&mut self, batch: &RecordBatch, from: usize, block_bytes: u64) -> Result<usize> {
        let left = batch.num_rows() - from;
        match self {
            Self::Avro { record, content, bytes } => {
                let encoder = RowEncoder::new(record, batch)?;
                for row in from..batch.num_rows() {
                    content.put(bytes, |bytes| encoder.encode(row, bytes))?;
                    if bytes.len() as u64 >= block_bytes {
                        return Ok(row + 1 - from);
                    }
                }
                Ok(left)
            }
            Self::Parquet { rows, bytes } => {
                let row_bytes = (batch.get_array_memory_size() as u64).div_ceil(batch.num_rows() as u64).max(1);
                let fit = block_bytes.saturating_sub(*bytes).div_ceil(row_bytes);
                let fit = usize::try_from(fit).unwrap_or(usize::MAX).clamp(1, left);
                *bytes += row_bytes * fit as u64;
                rows.push(batch.slice(from, fit));
                Ok(fit)
            }
        }
    }

    fn bytes(&self) -> u64 {
        match self {
            Self::Avro { bytes, .. } => bytes.len() as u64,
            Self::Parquet { bytes, .. } => *bytes,
        }
    }

    /// The content of a block with all rows; `None` without any.
    fn take(&mut self, of: &LogOf<'_>) -> Result<Option<(BlockKind, Vec<u8>)>> {
        match self {
            Self::Avro { content, bytes, .. } => {
                if content.rows() == 0 {
                    return Ok(None);
                }
                content.end(bytes);
                let whole = std::mem::take(bytes);
                *content = Content::begin(bytes);
                Ok(Some((BlockKind::AvroData, whole)))
            }
            Self::Parquet { rows, bytes } => {
                let rows = std::mem::take(rows);
                *bytes = 0;
                let Some(options) = of.parquet.filter(|_| !rows.is_empty()) else { return Ok(None) };
                let content = base_file::file_of(of.columns, of.table, options, &rows)?;
                Ok(Some((BlockKind::ParquetData, content)))
            }
        }
    }
}

impl<'a> LogWriter<'a> {
    pub(crate) fn new(storage: &dyn Storage, path: &str, of: LogOf<'a>) -> Result<Self> {
        let schema = avro_text(of.columns, of.table)?;
        let rows = match of.parquet {
            Some(_) => Pending::Parquet { rows: Vec::new(), bytes: 0 },
            None => {
                let record = Box::new(Record::parse(&schema)?);
                let mut bytes = Vec::new();
                Pending::Avro { record, content: Content::begin(&mut bytes), bytes }
            }
        };
        Ok(Self {
            writer: storage.writer(path)?,
            path: path.to_owned(),
            of,
            schema,
            rows,
            positions: Positions::new(),
            written: WrittenLog { rows: 0, deletes: 0, bytes: 0 },
        })
    }

    /// Takes rows from that one on until the file is full, and answers how many. Positions are those of all rows, ascending
    /// over all calls, or of none.
    pub(crate) fn write_rows(&mut self, rows: &RecordBatch, from: usize, positions: &[u64]) -> Result<usize> {
        let block_bytes = self.of.options.block_bytes;
        let mut next = from;
        while next < rows.num_rows() && !self.is_full() {
            let more = self.rows.push(rows, next, block_bytes)?;
            self.add_positions(positions.get(next..next + more).unwrap_or_default());
            self.written.rows += more as u64;
            next += more;
            if self.rows.bytes() >= block_bytes {
                self.flush_rows()?;
            }
        }
        Ok(next - from)
    }

    /// What comes next belongs into another file.
    pub(crate) fn is_full(&self) -> bool {
        self.written.bytes > self.of.options.file_bytes
    }

    fn add_positions(&mut self, positions: &[u64]) {
        for position in positions {
            self.positions.insert(*position);
        }
    }

    /// Writes a block of the rows that wait.
    pub(crate) fn flush_rows(&mut self) -> Result<()> {
        match self.rows.take(&self.of)? {
            Some((kind, content)) => self.put_block(kind, &content),
            None => Ok(()),
        }
    }

    /// Deletes stand behind the rows, so that a key in both ends deleted. Positions as those of rows.
    pub(crate) fn write_deletes(&mut self, deletes: &[DeleteRecord], positions: &[u64]) -> Result<()> {
        self.flush_rows()?;
        if deletes.is_empty() {
            return Ok(());
        }
        self.written.deletes += deletes.len() as u64;
        self.add_positions(positions);
        self.put_block(BlockKind::Delete, &delete::encode(deletes)?)
    }

    fn put_block(&mut self, kind: BlockKind, content: &[u8]) -> Result<()> {
        let positions = std::mem::take(&mut self.positions);
        let mut headers = vec![(HeaderKey::InstantTime, self.of.instant), (HeaderKey::Schema, &self.schema)];
        let text = positions.to_header();
        if !positions.is_empty() {
            headers.push((HeaderKey::RecordPositions, &text));
            headers.push((HeaderKey::BaseFileInstantTimeOfRecordPositions, self.of.base_instant));
        }
        let (head, tail) = frame_block(kind, &headers, content.len())?;
        for piece in [&head, content, tail.as_ref()] {
            self.writer.write(piece).map_err(|e| e.at_path(&self.path))?;
            self.written.bytes += piece.len() as u64;
        }
        Ok(())
    }

    /// Completes the file. `before_visible` runs last: when it fails, nothing shows.
    pub(crate) fn finish(mut self, before_visible: impl FnOnce() -> Result<()>) -> Result<WrittenLog> {
        self.flush_rows()?;
        before_visible()?;
        match self.writer.close().map_err(|e| e.at_path(&self.path))? {
            Put::Done(_) => Ok(self.written),
            Put::Refused => Err(Error::storage("a log file of this name is there already").at_path(self.path)),
        }
    }
}
