//! The blocks of a log file that lies in memory, without a copy.

use std::ops::Range;

use super::found::{Block, BlockRef};
use super::reader::{Found, Reader, Step};
use super::window::Window;
use crate::{Error, Result};

/// What a scan met.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scanned<'a> {
    Block(BlockRef<'a>),
    /// File offsets that were skipped, counted from behind the damaged block's magic to the next magic or the end.
    Corrupt(Range<u64>),
}

/// Scans the bytes of a whole log file, by the rules of [`Reader`]. Nothing follows an error.
pub fn scan(bytes: &[u8]) -> Scan<'_> {
    Scan { bytes, reader: Reader::new(bytes.len() as u64) }
}

/// See [`scan`].
#[derive(Debug)]
pub struct Scan<'a> {
    bytes: &'a [u8],
    reader: Reader,
}

impl<'a> Scan<'a> {
    fn block(&self, found: &Found) -> Result<BlockRef<'a>> {
        let whole = Window { at: 0, bytes: self.bytes };
        let block: Block<'a> = found.block(whole.from(found.headers_at))?;
        let content = whole.from(found.content.start).get(..(found.content.end - found.content.start) as usize);
        let content = content.ok_or_else(|| Error::internal("the content of a log block went missing"))?;
        Ok(BlockRef { block, content })
    }
}

impl<'a> Iterator for Scan<'a> {
    type Item = Result<Scanned<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        let step = self.reader.step(Window { at: 0, bytes: self.bytes });
        let item = match step {
            Ok(Step::Block(found)) => self.block(&found).map(Scanned::Block),
            Ok(Step::Corrupt(range)) => Ok(Scanned::Corrupt(range)),
            Ok(Step::End) => return None,
            Ok(Step::Need(_) | Step::Rows(_) | Step::Content(_)) => {
                Err(Error::internal("a scan of a whole file asked for more"))
            }
            Err(error) => Err(error),
        };
        if item.is_err() {
            self.reader = Reader::new(0);
        }
        Some(item)
    }
}
