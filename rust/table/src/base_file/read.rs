//! Base files to record batches, column by column, in ranges.

use std::io::{self, Read};
use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use bytes::{Buf, Bytes};
use hudini_format::parquet_file::ParquetFile;
use hudini_format::schema::evolve::{Mapping, Projection};
use parquet::arrow::ProjectionMask;
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::reader::{ChunkReader, Length};

use super::groups;
use crate::filter::Predicate;
use crate::merge::Batches;
use crate::storage::Storage;
use crate::{Error, Result};

/// How much is fetched when a reader asks for "from here on".
const READ_AHEAD: u64 = 64 * 1024;

/// Opens a base file of a snapshot; what comes out has exactly the schema `wanted`. `names` are those the file has for
/// its columns.
pub fn read(
    storage: &Arc<dyn Storage>,
    path: &str,
    wanted: &SchemaRef,
    names: &Mapping,
    batch_size: usize,
) -> Result<Batches> {
    batches(whole(storage, path)?, wanted, names, batch_size, path, None)
}

/// The same, but for row groups without a row that a filter wants. Its columns are among those wanted. Rows that it does
/// not want may still come.
pub fn read_matching(
    storage: &Arc<dyn Storage>,
    path: &str,
    wanted: &SchemaRef,
    names: &Mapping,
    batch_size: usize,
    predicate: &Predicate,
) -> Result<Batches> {
    batches(whole(storage, path)?, wanted, names, batch_size, path, Some(predicate))
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
    batches(source, wanted, names, batch_size, path, None)
}

fn batches(
    source: impl ChunkReader + 'static,
    wanted: &SchemaRef,
    names: &Mapping,
    batch_size: usize,
    path: &str,
    predicate: Option<&Predicate>,
) -> Result<Batches> {
    let file = ParquetFile::open(source).map_err(|e| e.at_path(path))?;
    let projection = Projection::new(file.schema(), wanted, names).map_err(|e| e.at_path(path))?;
    let metadata = file.metadata();
    let mask = ProjectionMask::roots(metadata.file_metadata().schema_descr(), projection.columns().iter().copied());
    let groups = match predicate {
        None => (0..metadata.num_row_groups()).collect(),
        Some(predicate) => groups::matching(&file, &projection, wanted, predicate),
    };
    let batches = file.batches(groups, mask, batch_size).map_err(|e| e.at_path(path))?;
    let what = path.to_owned();
    Ok(Box::new(batches.map(move |batch| {
        let batch: RecordBatch = batch.map_err(|e| e.at_path(&what))?;
        projection.apply(&batch).map_err(|e| e.at_path(&what))
    })))
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
    type T = Ahead;

    fn get_read(&self, start: u64) -> ParquetResult<Ahead> {
        let file = Self { storage: Arc::clone(&self.storage), path: self.path.clone(), part: self.part.clone() };
        Ok(Ahead { file, at: start, buffer: Bytes::new() })
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        self.fetch(start, length as u64).map_err(|e| ParquetError::External(Box::new(e)))
    }
}

/// Reads on from a position, a piece at a time.
pub(super) struct Ahead {
    file: StoredFile,
    at: u64,
    buffer: Bytes,
}

impl Read for Ahead {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.buffer.is_empty() {
            let left = self.file.len().saturating_sub(self.at);
            let length = left.min(READ_AHEAD);
            if length == 0 {
                return Ok(0);
            }
            self.buffer = self.file.fetch(self.at, length).map_err(io::Error::other)?;
            self.at += length;
        }
        let count = out.len().min(self.buffer.len());
        if let Some(head) = out.get_mut(..count) {
            self.buffer.copy_to_slice(head);
        }
        Ok(count)
    }
}
