//! One log file of one write: data blocks, then one block with all deletes.

use arrow_array::RecordBatch;
use hudini_format::avro::RowEncoder;
use hudini_format::log::{BlockKind, DeleteRecord, HeaderKey, avro_block, delete, encode_block};
use hudini_format::schema::Record;

use crate::storage::{Put, Storage, Writer};
use crate::{Error, Result};

/// Content at which a data block is written out, Apache Hudi's default.
const MAX_BLOCK_BYTES: usize = 256 * 1024 * 1024;

pub(crate) struct WrittenLog {
    pub rows: u64,
    pub deletes: u64,
    pub bytes: u64,
}

pub(crate) struct LogWriter<'a> {
    writer: Box<dyn Writer>,
    path: String,
    instant: &'a str,
    /// Avro text of the rows, with meta columns.
    schema: &'a str,
    record: Record,
    /// Datums of the block being filled, and where each ends.
    datums: Vec<u8>,
    ends: Vec<usize>,
    written: WrittenLog,
}

impl<'a> LogWriter<'a> {
    pub(crate) fn new(storage: &dyn Storage, path: &str, instant: &'a str, schema: &'a str) -> Result<Self> {
        Ok(Self {
            writer: storage.writer(path)?,
            path: path.to_owned(),
            instant,
            schema,
            record: Record::parse(schema)?,
            datums: Vec::new(),
            ends: Vec::new(),
            written: WrittenLog { rows: 0, deletes: 0, bytes: 0 },
        })
    }

    pub(crate) fn write_rows(&mut self, rows: &RecordBatch) -> Result<()> {
        let encoder = RowEncoder::new(&self.record, rows)?;
        for row in 0..rows.num_rows() {
            encoder.encode(row, &mut self.datums)?;
            self.ends.push(self.datums.len());
        }
        self.written.rows += rows.num_rows() as u64;
        if self.datums.len() >= MAX_BLOCK_BYTES { self.flush_rows() } else { Ok(()) }
    }

    fn flush_rows(&mut self) -> Result<()> {
        if self.ends.is_empty() {
            return Ok(());
        }
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let datums = starts.zip(&self.ends).filter_map(|(start, end)| self.datums.get(start..*end));
        let content = avro_block::encode_records(datums)?;
        self.put_block(BlockKind::AvroData, &content)?;
        self.datums.clear();
        self.ends.clear();
        Ok(())
    }

    /// Deletes stand behind the rows, so that a key in both ends deleted.
    pub(crate) fn write_deletes(&mut self, deletes: &[DeleteRecord]) -> Result<()> {
        self.flush_rows()?;
        if deletes.is_empty() {
            return Ok(());
        }
        self.written.deletes += deletes.len() as u64;
        self.put_block(BlockKind::Delete, &delete::encode(deletes)?)
    }

    fn put_block(&mut self, kind: BlockKind, content: &[u8]) -> Result<()> {
        let headers = [(HeaderKey::InstantTime, self.instant), (HeaderKey::Schema, self.schema)];
        let block = encode_block(kind, &headers, content)?;
        self.writer.write(&block).map_err(|e| e.at_path(&self.path))?;
        self.written.bytes += block.len() as u64;
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
