//! The bytes of one column chunk, fetched in large pieces: a page is read in two, its header and the rest, and pages are
//! small.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::buf::Reader;
use bytes::{Buf, Bytes};
use parquet::errors::Result as ParquetResult;
use parquet::file::reader::{ChunkReader, Length};

use super::pages::Checked;
use crate::Error;

/// What is fetched at once, unless a page is larger.
const PIECE: usize = 1 << 20;
/// Most page headers are shorter.
const FIRST_READ: usize = 256;
/// A header holds statistics at most, the least and the greatest value.
const LONGEST_HEADER: usize = 16 << 20;

/// How a page reader asks for pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    /// One after the other: for the header at a place, then for the bytes behind it.
    InOrder,
    /// By the places that a page index says: for a header and what follows at once.
    ByPlace,
}

#[derive(Debug)]
pub(super) struct ChunkBytes<R> {
    source: Arc<Checked<R>>,
    asked: Asked,
    /// Where the footer says that the chunk ends.
    end: u64,
    /// The last piece, and where it starts.
    piece: Mutex<(u64, Bytes)>,
    /// Where the page begins whose header was checked last.
    page: Mutex<Option<u64>>,
}

impl<R: ChunkReader> ChunkBytes<R> {
    /// `piece` is at hand, with the place where it starts.
    pub(super) fn new(source: &Arc<Checked<R>>, asked: Asked, end: u64, piece: Option<(u64, Bytes)>) -> Self {
        let piece = Mutex::new(piece.unwrap_or_default());
        Self { source: Arc::clone(source), asked, end, piece, page: Mutex::new(None) }
    }

    /// From a place on: so many bytes, and what more of them is at hand.
    fn from(&self, start: u64, least: usize) -> ParquetResult<Bytes> {
        let mut piece = self.piece.lock().unwrap_or_else(PoisonError::into_inner);
        let skipped = start.checked_sub(piece.0).and_then(|skipped| usize::try_from(skipped).ok());
        if let Some(skipped) = skipped.filter(|skipped| skipped.saturating_add(least) <= piece.1.len()) {
            return Ok(piece.1.slice(skipped..));
        }
        let left = usize::try_from(self.end.saturating_sub(start)).unwrap_or(usize::MAX);
        let more = match self.asked {
            Asked::InOrder => left.min(PIECE),
            Asked::ByPlace => 0,
        };
        let bytes = self.source.bytes(start, more.max(least))?;
        *piece = (start, bytes.clone());
        Ok(bytes)
    }
}

impl<R: ChunkReader> Length for ChunkBytes<R> {
    fn len(&self) -> u64 {
        self.source.len()
    }
}

impl<R: ChunkReader> ChunkReader for ChunkBytes<R> {
    type T = Reader<Bytes>;

    /// For a page header, which is checked before the crate sees it; or, if it has looked at the header ahead of time, for
    /// the page behind it, of which it takes nothing by this way.
    fn get_read(&self, start: u64) -> ParquetResult<Self::T> {
        let mut page = self.page.lock().unwrap_or_else(PoisonError::into_inner);
        if *page == Some(start) {
            return Ok(Bytes::new().reader());
        }
        let until = |end: u64| usize::try_from(end.saturating_sub(start)).unwrap_or(usize::MAX);
        let left = until(self.source.len());
        let mut wanted = FIRST_READ.min(until(self.end)).min(left);
        loop {
            let bytes = self.from(start, wanted)?;
            match self.source.header(&bytes, start) {
                Ok(begins) => {
                    *page = begins;
                    return Ok(bytes.reader());
                }
                Err(_) if bytes.len() < left.min(LONGEST_HEADER) => wanted = (bytes.len() * 2).max(1).min(left),
                Err(e) => return Err(self.source.keep(e)),
            }
        }
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        if length as u64 > self.source.len().saturating_sub(start) {
            return Err(self.source.keep(Error::corrupt("a Parquet page that ends behind its file").at_offset(start)));
        }
        match self.asked {
            Asked::InOrder => Ok(self.from(start, length)?.slice(..length)),
            Asked::ByPlace => {
                let bytes = self.source.bytes(start, length)?;
                self.source.header(&bytes, start).map_err(|e| self.source.keep(e))?;
                Ok(bytes)
            }
        }
    }
}
