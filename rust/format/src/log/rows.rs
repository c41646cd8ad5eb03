//! Rows of an Avro block, decoded as their bytes arrive.

use std::ops::Range;

use arrow_array::RecordBatch;

use super::avro_block::{FRAME, PREFIX, read_count, split_frame};
use super::reader::Limits;
use super::window::{Held, Window};
use crate::avro::RowDecoder;
use crate::wire;
use crate::{Error, Result};

/// A block that is being decoded.
#[derive(Debug)]
pub(super) struct Rows {
    decoder: RowDecoder,
    limits: Limits,
    /// What is left of the content.
    rest: Range<u64>,
    /// Rows that are left; unknown until the count was read.
    left: Option<usize>,
    /// Of the rows that are decoded but not handed out.
    bytes: usize,
}

pub(super) enum Read {
    Batch(RecordBatch),
    Done,
    /// More bytes are needed.
    Cut,
}

/// Datums whose frames are whole, up to where a batch has enough bytes.
#[derive(Debug, Clone)]
struct Frames<'a> {
    rest: &'a [u8],
    room: usize,
}

impl<'a> Iterator for Frames<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let (datum, rest) = split_frame(self.rest).filter(|_| self.room > 0)?;
        self.rest = rest;
        self.room = self.room.saturating_sub(datum.len());
        Some(datum)
    }
}

impl Rows {
    pub(super) fn new(decoder: RowDecoder, content: Range<u64>, limits: Limits) -> Self {
        Self { decoder, limits, rest: content, left: None, bytes: 0 }
    }

    pub(super) fn content_end(&self) -> u64 {
        self.rest.end
    }

    /// Decodes up to a full batch, the end of the window, or the end of the rows.
    pub(super) fn read(&mut self, window: Window<'_>, held: &mut Held) -> Result<Read> {
        let mut left = match self.left {
            Some(left) => left,
            None => {
                let Some(bytes) = self.span(window, held, PREFIX, "number of records")? else { return Ok(Read::Cut) };
                let mut prefix = wire::Reader::new(bytes, self.rest.start);
                let count = read_count(&mut prefix, self.rest.end - self.rest.start)?;
                self.rest.start += PREFIX as u64;
                count
            }
        };
        while left > 0 && !self.is_full() {
            let whole = self.read_whole(window, left)?;
            if whole > 0 {
                left -= whole;
                continue;
            }
            let Some(datum) = self.datum(window, held)? else {
                self.left = Some(left);
                return Ok(Read::Cut);
            };
            self.decoder.decode(datum).map_err(|e| e.at_offset(self.rest.start))?;
            self.rest.start += (FRAME + datum.len()) as u64;
            self.bytes += datum.len();
            left -= 1;
        }
        self.left = Some(left);
        if self.decoder.buffered() == 0 {
            return Ok(Read::Done);
        }
        self.bytes = 0;
        Ok(Read::Batch(self.decoder.flush()?))
    }

    /// Decodes rows that lie whole in the window, `left` at most and not more than fill a batch.
    fn read_whole(&mut self, window: Window<'_>, left: usize) -> Result<usize> {
        let content = usize::try_from(self.rest.end - self.rest.start).unwrap_or(usize::MAX);
        let window = window.from(self.rest.start);
        let rest = window.get(..content).unwrap_or(window);
        let frames = Frames { rest, room: self.limits.bytes.saturating_sub(self.bytes) };
        let rows = left.min(self.limits.rows.saturating_sub(self.decoder.buffered()));
        let mut read = frames.clone();
        let rows = self.decoder.decode_many(read.by_ref().take(rows)).map_err(|bad| {
            let before: usize = frames.take(bad.index).map(|datum| FRAME + datum.len()).sum();
            bad.error.at_offset(self.rest.start + before as u64)
        })?;
        let passed = rest.len() - read.rest.len();
        self.rest.start += passed as u64;
        self.bytes += passed - rows * FRAME;
        Ok(rows)
    }

    fn is_full(&self) -> bool {
        let Limits { rows, bytes } = self.limits;
        self.decoder.buffered() >= rows || self.bytes >= bytes || self.decoder.is_full()
    }

    /// The next datum, without its length.
    fn datum<'a>(&self, window: Window<'a>, held: &'a mut Held) -> Result<Option<&'a [u8]>> {
        let Some(frame) = self.span(window, held, FRAME, "length of a record")? else { return Ok(None) };
        let length = wire::Reader::new(frame, self.rest.start).count("length of a record")?;
        let bytes = self.span(window, held, FRAME.saturating_add(length), "record")?;
        Ok(bytes.and_then(|bytes| bytes.get(FRAME..)))
    }

    /// The next bytes of the content, which it must have.
    fn span<'a>(&self, window: Window<'a>, held: &'a mut Held, length: usize, what: &str) -> Result<Option<&'a [u8]>> {
        let Range { start, end } = self.rest;
        if length as u64 > end - start {
            let message = format!("{what} needs {length} bytes, {} are left", end - start);
            return Err(Error::corrupt(message).at_offset(start));
        }
        Ok(held.span(window, &(start..start + length as u64)))
    }
}
