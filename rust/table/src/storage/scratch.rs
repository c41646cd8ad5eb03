//! Room on disk for what does not fit into memory.

use std::fs::File;
use std::io::{Cursor, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::Path;

use arrow_array::RecordBatch;
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;

use crate::{Error, Result};

/// A file without a name: it goes with its owner, however that ends.
#[derive(Debug)]
pub(crate) struct Scratch {
    file: File,
    end: u64,
}

impl Scratch {
    /// In a folder, or where the system keeps temporary files.
    pub(crate) fn new(folder: Option<&str>) -> Result<Self> {
        let made = match folder {
            Some(folder) => tempfile::tempfile_in(Path::new(folder)),
            None => tempfile::tempfile(),
        };
        let file = made.map_err(|e| failed("no file can be made for what does not fit into memory", e, folder))?;
        Ok(Self { file, end: 0 })
    }

    /// Where they are from now on.
    fn append(&mut self, bytes: &[u8]) -> Result<Range<u64>> {
        let start = self.end;
        self.file
            .seek(SeekFrom::Start(start))
            .and_then(|_| self.file.write_all(bytes))
            .map_err(|e| failed("what does not fit into memory cannot be written to disk", e, None))?;
        self.end += bytes.len() as u64;
        Ok(start..self.end)
    }

    fn read(&mut self, range: &Range<u64>) -> Result<Vec<u8>> {
        let length = usize::try_from(range.end.saturating_sub(range.start));
        let mut bytes = vec![0; length.map_err(|e| Error::internal("more bytes than memory has").caused_by(e))?];
        self.file
            .seek(SeekFrom::Start(range.start))
            .and_then(|_| self.file.read_exact(&mut bytes))
            .map_err(|e| failed("what did not fit into memory cannot be read back", e, None))?;
        Ok(bytes)
    }

    pub(crate) fn append_rows(&mut self, rows: &RecordBatch) -> Result<Range<u64>> {
        let mut writer = StreamWriter::try_new(Vec::new(), rows.schema_ref())?;
        writer.write(rows)?;
        self.append(&writer.into_inner()?)
    }

    pub(crate) fn read_rows(&mut self, range: &Range<u64>) -> Result<RecordBatch> {
        let rows = StreamReader::try_new(Cursor::new(self.read(range)?), None)?.next();
        Ok(rows.ok_or_else(|| Error::internal("rows that were written to disk are not there"))??)
    }
}

fn failed(what: &str, e: std::io::Error, folder: Option<&str>) -> Error {
    let error = Error::storage(format!("{what}: {e}")).caused_by(e);
    let error = error.with_hint("hoodie.memory.spillable.map.path names a folder with more room");
    match folder {
        Some(folder) => error.at_path(folder),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_went_in_comes_out() {
        let mut scratch = Scratch::new(None).unwrap();
        let (one, other) = (scratch.append(b"one").unwrap(), scratch.append(b"other").unwrap());
        assert_eq!(scratch.read(&one).unwrap(), b"one");
        let third = scratch.append(b"third").unwrap();
        assert_eq!(scratch.read(&other).unwrap(), b"other");
        assert_eq!(scratch.read(&third).unwrap(), b"third");
    }

    #[test]
    fn a_folder_that_is_not_there_is_named() {
        let error = Scratch::new(Some("/nowhere/at/all")).unwrap_err();
        assert_eq!(error.path(), Some("/nowhere/at/all"));
    }
}
