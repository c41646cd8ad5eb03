//! A log file on storage, read in the ranges that a log reader asks for.

use std::borrow::Cow;
use std::ops::Range;

use bytes::Bytes;
use hudini_format::avro::RowDecoder;
use hudini_format::log::{Block, Event, Need, Reader};

use arrow_array::RecordBatch;

use crate::storage::Storage;
use crate::{Error, Result};

/// Files up to this size are fetched whole, and kept.
const SMALL: u64 = 128 * 1024;
/// Fetched even if less is asked for: the headers of the next block are often near.
const LEAST: u64 = 64 * 1024;
/// Fetched at once, however much is asked for.
const MOST: u64 = 1024 * 1024;
/// A deletes' block is read whole.
const MOST_CONTENT: u64 = i32::MAX as u64;

/// Bytes of the file from an offset on.
type Window = (u64, Bytes);

/// Two windows are kept, since a reader looks at a block's end before its content.
#[derive(Debug)]
pub(crate) struct LogFile<'s> {
    storage: &'s dyn Storage,
    path: String,
    size: u64,
    recent: Option<Window>,
    older: Option<Window>,
}

/// What is wanted of a block.
#[derive(Debug)]
pub(crate) enum Choice {
    Rows(RowDecoder),
    Content,
    Nothing,
}

/// Who goes through a file.
pub(crate) trait Visitor {
    fn meet(&mut self, block: &Block<'_>) -> Result<Choice>;
    /// What was chosen of the block met last, or damage behind it.
    fn take(&mut self, part: Part<'_>) -> Result<()>;
}

/// Parts of one block, or damage between blocks.
#[derive(Debug)]
pub(crate) enum Part<'a> {
    Rows(RecordBatch),
    Content(Cow<'a, [u8]>),
    /// File offsets that were passed over.
    Corrupt(Range<u64>),
}

impl<'s> LogFile<'s> {
    pub(crate) fn new(storage: &'s dyn Storage, path: String, size: u64) -> Self {
        Self { storage, path, size, recent: None, older: None }
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// Shows all blocks from the one at `offset` on.
    pub(crate) fn read_from(&mut self, offset: u64, visitor: &mut impl Visitor) -> Result<()> {
        self.drive(Reader::starting_at(offset, self.size), usize::MAX, visitor)
    }

    /// Shows the one block at `offset`.
    pub(crate) fn read_block(&mut self, offset: u64, visitor: &mut impl Visitor) -> Result<()> {
        self.drive(Reader::starting_at(offset, self.size), 1, visitor)
    }

    fn drive(&mut self, mut reader: Reader, mut blocks: usize, visitor: &mut impl Visitor) -> Result<()> {
        let mut window = (0, Bytes::new());
        loop {
            let choice = match reader.push(window.0, &window.1)? {
                Event::Need(need) => {
                    window = self.window(need)?;
                    continue;
                }
                Event::Block(block) if blocks > 0 => {
                    blocks -= 1;
                    visitor.meet(&block)?
                }
                Event::Block(_) | Event::End => return Ok(()),
                Event::Rows(rows) => {
                    visitor.take(Part::Rows(rows))?;
                    continue;
                }
                Event::Content(content) => {
                    visitor.take(Part::Content(content))?;
                    continue;
                }
                Event::Corrupt(range) => {
                    visitor.take(Part::Corrupt(range))?;
                    continue;
                }
            };
            match choice {
                Choice::Rows(decoder) => reader.decode(decoder)?,
                Choice::Content => reader.take(MOST_CONTENT)?,
                // Of one block that is not wanted nothing more is to be said.
                Choice::Nothing if blocks == 0 => return Ok(()),
                Choice::Nothing => {}
            }
        }
    }

    /// Bytes from the offset that is asked for on, perhaps with some before it.
    fn window(&mut self, need: Need) -> Result<Window> {
        let has = |window: &&Window| (window.0..window.0 + window.1.len() as u64).contains(&need.offset);
        if let Some(window) = self.recent.as_ref().filter(has) {
            return Ok(window.clone());
        }
        std::mem::swap(&mut self.recent, &mut self.older);
        if let Some(window) = self.recent.as_ref().filter(has) {
            return Ok(window.clone());
        }
        let window = self.fetch(need)?;
        self.recent = Some(window.clone());
        Ok(window)
    }

    fn fetch(&self, need: Need) -> Result<Window> {
        let (start, length) = match self.size {
            ..=SMALL => (0, self.size),
            size => (need.offset, need.length.clamp(LEAST, MOST).min(size.saturating_sub(need.offset))),
        };
        let ticket = self.storage.submit(&self.path, std::iter::once(start..start + length).collect());
        let part = ticket.wait().map_err(|e| self.unless_gone(e))?.pop();
        let part = part.filter(|part| !part.is_empty());
        Ok((start, part.ok_or_else(|| Error::storage("storage answered with nothing"))?))
    }

    fn unless_gone(&self, e: Error) -> Error {
        match self.storage.head(&self.path) {
            Ok(None) => Error::storage("a log file of the snapshot is gone")
                .with_hint("it was cleaned, or removed by hand; read a newer state of the table"),
            _ => e,
        }
    }

    /// Lets go of what a later read can fetch again.
    pub(crate) fn rest(&mut self) {
        self.older = None;
        if self.size > SMALL {
            self.recent = None;
        }
    }
}
