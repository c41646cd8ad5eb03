//! The content of Avro data blocks, which CDC blocks share: rows in frames.
//!
//! ```text
//! i32 version     3 is written; any value is read the same way
//! i32 count
//! count × { i32 length, Avro binary datum of the SCHEMA header }
//! ```

use super::block::{CONTENT_VERSION, MAX_BLOCK_LENGTH, overwrite};
use crate::wire::Reader;
use crate::{Error, Result};

/// Width of the length in front of each datum.
pub(super) const FRAME: usize = 4;
/// Version and count.
pub(super) const PREFIX: usize = 4 + 4;

/// The datums of a block's content. `content_offset` is where the content starts in its file, for errors.
pub fn records(content: &[u8], content_offset: u64) -> Result<Records<'_>> {
    let mut reader = Reader::new(content, content_offset);
    let left = read_count(&mut reader, content.len() as u64)?;
    Ok(Records { reader, left })
}

/// Reads what stands in front of the datums: how many there are, in a content of `length` bytes.
pub(super) fn read_count(reader: &mut Reader<'_>, length: u64) -> Result<usize> {
    reader.i32("version of an Avro block")?;
    let count = reader.count("number of records")?;
    let room = length.saturating_sub(PREFIX as u64);
    if count as u64 > room / FRAME as u64 {
        return Err(reader.corrupt(format!("{count} records cannot be in {room} bytes")));
    }
    Ok(count)
}

/// The datum in front and what follows it, if its frame is whole.
#[inline]
pub(super) fn split_frame(frames: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = frames.split_first_chunk::<FRAME>()?;
    rest.split_at_checked(usize::try_from(i32::from_be_bytes(*length)).ok()?)
}

/// See [`records`]. Nothing follows an error.
#[derive(Debug, Clone)]
pub struct Records<'a> {
    reader: Reader<'a>,
    left: usize,
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<&'a [u8]>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        if let Some((datum, _)) = split_frame(self.reader.rest()) {
            self.reader.advance(FRAME + datum.len());
            return Some(Ok(datum));
        }
        let record = self.reader.count("length of a record").and_then(|length| self.reader.take(length, "record"));
        if record.is_err() {
            self.left = 0;
        }
        Some(record)
    }

    /// Never more than the bytes can hold.
    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.left))
    }
}

/// Frames datums as the content of a block.
pub fn encode_records<'a>(records: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let mut content = Content::begin(&mut out);
    for record in records {
        content.put(&mut out, |out| {
            out.extend_from_slice(record);
            Ok(())
        })?;
    }
    content.end(&mut out);
    Ok(out)
}

/// A content that is being written at the end of some bytes.
#[derive(Debug)]
pub struct Content {
    count_at: usize,
    rows: usize,
}

impl Content {
    pub fn begin(out: &mut Vec<u8>) -> Self {
        out.extend_from_slice(&CONTENT_VERSION.to_be_bytes());
        let count_at = out.len();
        out.extend_from_slice(&[0; 4]);
        Self { count_at, rows: 0 }
    }

    /// Frames the datum that `write` appends. After an error nothing of it is left.
    pub fn put(&mut self, out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
        let at = out.len();
        out.extend_from_slice(&[0; FRAME]);
        let written = write(out).and_then(|()| if out.len() > MAX_BLOCK_LENGTH { Err(too_large()) } else { Ok(()) });
        if written.is_err() {
            out.truncate(at);
            return written;
        }
        let length = out.len().saturating_sub(at + FRAME);
        overwrite(out, at, &(length as u32).to_be_bytes());
        self.rows += 1;
        Ok(())
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Completes it, among the bytes at whose end it was begun.
    pub fn end(&self, out: &mut [u8]) {
        overwrite(out, self.count_at, &(self.rows as u32).to_be_bytes());
    }
}

fn too_large() -> Error {
    Error::unsupported("the rows of one log block exceed 2 GiB").with_hint("split the rows over several blocks")
}
