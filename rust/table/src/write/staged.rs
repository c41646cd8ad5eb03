//! Rows that wait on storage for the write that takes them in: for engines that tell their tasks nothing of the table,
//! and commit in a process of its own.
//!
//! ```text
//! .hoodie/.temp/hudini-staged-<ms since 1970>-<32 hex digits>/open      stands as long as tasks may bring rows
//!                                                            /<32 hex digits>.arrow   what one attempt at a task brought
//! ```
//! Nothing of it is on the timeline, and no reader looks there. Apache Hudi looks for instants in `.temp`, and passes over
//! names that begin with a letter. Which attempts count is said by who commits; the others' files go with the folder.

use std::io::{self, BufWriter, Read};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_ipc::CompressionType;
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::{IpcWriteOptions, StreamWriter};
use arrow_schema::{ArrowError, Schema, SchemaRef};
use serde::{Deserialize, Serialize};

use super::local;
use super::request::{CommitResult, WriteRequest};
use crate::bytes_form::BytesForm;
use crate::concurrency::TEMP;
use crate::context::Context;
use crate::options::Operation;
use crate::storage::{Entry, Put, Sink, Storage, from_io};
use crate::table::{Location, Table};
use crate::{Error, ErrorKind, Result};

const PREFIX: &str = "hudini-staged-";
const OPEN: &str = "open";

/// A folder in which nothing has changed for so long belongs to a job that is dead: a week, for one that is alive may sit
/// on its last task for days. Should it be alive all the same, its commit finds no rows and fails; nothing is lost.
const FORGOTTEN_AFTER_MS: i64 = 7 * 24 * 60 * 60 * 1000;

/// Bytes that go to storage, or come from it, at a time.
const PIECE: usize = 4 << 20;

/// Where the tasks of one write leave their rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Staging {
    location: Location,
    folder: String,
}

impl BytesForm for Staging {
    const KIND: (u8, &'static str) = (b'G', "staging folder");
}

/// What one attempt at a task brought.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Staged {
    /// `None`: no rows.
    file: Option<String>,
    rows: u64,
}

impl BytesForm for Staged {
    const KIND: (u8, &'static str) = (b'H', "staged file");
}

impl Staging {
    /// Makes the folder, and removes those that were forgotten.
    pub fn open(table: &Table) -> Result<Self> {
        let storage = table.storage.as_ref();
        sweep(storage, &table.context)?;
        let id = table.context.ids.next_u128();
        let folder = format!("{TEMP}/{PREFIX}{}-{id:032x}", table.context.clock.now_ms());
        let staging = Self { location: table.location.clone(), folder };
        match storage.create(&staging.path(OPEN), b"")? {
            Put::Done(_) => Ok(staging),
            Put::Refused => Err(Error::internal("two writes stage their rows in one folder").at_path(staging.folder)),
        }
    }

    /// Runs on a worker: opens the storage itself.
    pub fn stage<I>(&self, context: &Context, schema: &Schema, rows: I) -> Result<Staged>
    where
        I: IntoIterator<Item = Result<RecordBatch>>,
    {
        self.stage_on(self.location.open()?.as_ref(), context, schema, rows)
    }

    /// Runs on a storage that is open.
    pub fn stage_on<I>(&self, storage: &dyn Storage, context: &Context, schema: &Schema, rows: I) -> Result<Staged>
    where
        I: IntoIterator<Item = Result<RecordBatch>>,
    {
        let mut rows = rows.into_iter().filter(|batch| !batch.as_ref().is_ok_and(|batch| batch.num_rows() == 0));
        let Some(first) = rows.next().transpose()? else { return Ok(Staged { file: None, rows: 0 }) };
        self.check_open(storage)?;
        let file = format!("{:032x}.arrow", context.ids.next_u128());
        let path = self.path(&file);
        let sink = BufWriter::with_capacity(PIECE, Sink::new(storage.writer(&path)?));
        let options = IpcWriteOptions::default().try_with_compression(Some(CompressionType::ZSTD))?;
        let mut stream = StreamWriter::try_new_with_options(sink, schema, options)?;
        let mut count = 0;
        for batch in std::iter::once(Ok(first)).chain(rows) {
            let batch = batch?;
            count += batch.num_rows() as u64;
            stream.write(&batch).map_err(|e| not_staged(e, &path))?;
        }
        stream.finish().map_err(|e| not_staged(e, &path))?;
        let sink = stream.into_inner().map_err(|e| not_staged(e, &path))?;
        let sink = sink.into_inner().map_err(|e| not_staged(e.into_error().into(), &path))?;
        self.check_open(storage)?;
        match sink.close()? {
            Put::Done(_) => Ok(Staged { file: Some(file), rows: count }),
            Put::Refused => Err(Error::storage("a staged file of this name is there already").at_path(path)),
        }
    }

    /// Writes the rows that tasks brought, in the order of the tasks, as one commit. The folder stays. Of a job that deletes
    /// partitions the rows say nothing.
    pub fn write(
        &self,
        table: &Table,
        schema: &SchemaRef,
        brought: &[Staged],
        request: &WriteRequest,
    ) -> Result<CommitResult> {
        let storage = &table.storage;
        self.check_open(storage.as_ref())?;
        if request.operation == Operation::DeletePartitions {
            return local::delete_partitions(table, request);
        }
        let batches = brought.iter().flat_map(|staged| match self.read(storage, schema, staged) {
            Ok(batches) => batches,
            Err(e) => Box::new(std::iter::once(Err(e))),
        });
        local::write(table, schema, batches, request)
    }

    /// Ends it: no attempt can bring rows from now on, and what was brought is removed.
    pub fn close(&self) -> Result<()> {
        self.close_on(self.location.open()?.as_ref())
    }

    /// The same on a storage that is open.
    pub fn close_on(&self, storage: &dyn Storage) -> Result<()> {
        storage.delete(&self.path(OPEN))?;
        storage.delete_dir(&self.folder)
    }

    fn read(&self, storage: &Arc<dyn Storage>, schema: &SchemaRef, staged: &Staged) -> Result<Batches> {
        let Some(file) = &staged.file else { return Ok(Box::new(std::iter::empty())) };
        let path = self.path(file);
        let size = storage.head(&path)?.ok_or_else(|| gone(&path))?.size;
        let source =
            Source { storage: Arc::clone(storage), path: path.clone(), at: 0, size, piece: io::Cursor::default() };
        let stream = StreamReader::try_new(source, None).map_err(|e| unreadable(e, &path))?;
        if stream.schema() != *schema {
            return Err(Error::corrupt("a staged file has other columns than its write").at_path(path));
        }
        Ok(Box::new(CountedRows { stream, path, left: Some(staged.rows) }))
    }

    fn check_open(&self, storage: &dyn Storage) -> Result<()> {
        match storage.head(&self.path(OPEN))? {
            Some(_) => Ok(()),
            None => Err(gone(&self.folder)),
        }
    }

    fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.folder)
    }
}

fn gone(path: &str) -> Error {
    Error::new(ErrorKind::CommitConflict, "this write has ended, and its staged rows are gone").at_path(path)
}

fn not_staged(e: ArrowError, path: &str) -> Error {
    from_arrow(e, "rows could not be staged").at_path(path)
}

fn unreadable(e: ArrowError, path: &str) -> Error {
    from_arrow(e, "staged rows could not be read back").at_path(path)
}

fn from_arrow(e: ArrowError, what: &str) -> Error {
    match e {
        ArrowError::IoError(_, e) => from_io(e, what),
        other => Error::corrupt(what).caused_by(other),
    }
}

/// Removes the folders of jobs that died and left them.
pub(crate) fn sweep(storage: &dyn Storage, context: &Context) -> Result<()> {
    let now = context.clock.now_ms();
    for entry in storage.list(TEMP)? {
        let Entry::Dir { name } = entry else { continue };
        let Some(made) = made_at(&name) else { continue };
        let folder = format!("{TEMP}/{name}");
        let is_old = |at: i64| now.saturating_sub(at) > FORGOTTEN_AFTER_MS;
        if is_old(made) && storage.list(&folder)?.iter().all(|entry| modified(entry).is_none_or(is_old)) {
            storage.delete_dir(&folder)?;
        }
    }
    Ok(())
}

fn made_at(folder: &str) -> Option<i64> {
    folder.strip_prefix(PREFIX)?.split_once('-')?.0.parse().ok()
}

fn modified(entry: &Entry) -> Option<i64> {
    match entry {
        Entry::File { meta, .. } => Some(meta.modified_ms),
        Entry::Dir { .. } => None,
    }
}

/// A file on storage, read piece by piece.
struct Source {
    storage: Arc<dyn Storage>,
    path: String,
    /// Where the next piece begins.
    at: u64,
    size: u64,
    piece: io::Cursor<bytes::Bytes>,
}

impl Read for Source {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.piece.read(into)?;
        if read > 0 || into.is_empty() || self.at == self.size {
            return Ok(read);
        }
        let end = self.size.min(self.at + PIECE as u64);
        let range = std::iter::once(self.at..end).collect();
        let pieces = self.storage.submit(&self.path, range).wait().map_err(io::Error::other)?;
        self.piece = io::Cursor::new(pieces.into_iter().next().unwrap_or_default());
        self.at = end;
        self.piece.read(into)
    }
}

type Batches = Box<dyn Iterator<Item = Result<RecordBatch>>>;

/// The batches of a staged file. That there are too few of them is an error too.
struct CountedRows {
    stream: StreamReader<Source>,
    path: String,
    /// `None` once the end was told.
    left: Option<u64>,
}

impl Iterator for CountedRows {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let left = self.left?;
        let counted = match self.stream.next() {
            Some(Ok(batch)) => match left.checked_sub(batch.num_rows() as u64) {
                Some(rest) => {
                    self.left = Some(rest);
                    return Some(Ok(batch));
                }
                None => Err("more"),
            },
            Some(Err(e)) => {
                self.left = None;
                return Some(Err(unreadable(e, &self.path)));
            }
            None if left > 0 => Err("fewer"),
            None => Ok(()),
        };
        self.left = None;
        let wrong = counted.err()?;
        Some(Err(Error::corrupt(format!("a staged file has {wrong} rows than its task brought")).at_path(&self.path)))
    }
}
