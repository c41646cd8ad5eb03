//! An HFile on storage, whole or within another file, read in ranges: first what it says of itself, then the data blocks
//! that may hold wanted keys.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use hudini_format::hfile::{Cell, Index, IndexEntry, Layout, Span, TRAILER_BYTES, Trailer};

use crate::storage::Storage;
use crate::{Error, Result};

/// Files up to this size are fetched whole. Of larger ones trailer, root index and info are mostly within as many bytes
/// of the end.
const TAIL: u64 = 64 << 10;
/// Neighbouring blocks are fetched together, up to about this size: Apache Hudi's have 64 KiB to 1 MiB of cells.
const FETCH: u64 = 4 << 20;

/// What is known of the file, and where the rest is.
#[derive(Debug, Clone)]
pub(crate) struct HFile {
    source: Source,
    layout: Layout,
}

#[derive(Debug, Clone)]
struct Source {
    storage: Arc<dyn Storage>,
    path: String,
    /// Where the HFile lies in the file at the path.
    place: Range<u64>,
    /// Its end, from an offset in the HFile on.
    tail: (u64, Bytes),
}

/// Data blocks that lie one behind the other, with their bytes.
#[derive(Debug)]
pub(crate) struct Fetched {
    bytes: Bytes,
    blocks: Vec<IndexEntry>,
}

impl HFile {
    /// Reads trailer, root of the index and info of the HFile at `place` in a file.
    pub(crate) fn open(storage: &Arc<dyn Storage>, path: String, place: Range<u64>) -> Result<Self> {
        let size = place.end.saturating_sub(place.start);
        let from = size.saturating_sub(TAIL.max(TRAILER_BYTES as u64));
        let mut source = Source { storage: Arc::clone(storage), path, place, tail: (size, Bytes::new()) };
        let tail = source.range(from..size).map_err(|e| source.at(e))?;
        source.tail = (from, tail);
        Self::of(source, size)
    }

    /// An HFile whose bytes are there already, from an offset of the file on.
    pub(crate) fn of_bytes(storage: &Arc<dyn Storage>, at: u64, bytes: Bytes) -> Result<Self> {
        let size = bytes.len() as u64;
        let place = at..at.saturating_add(size);
        Self::of(Source { storage: Arc::clone(storage), path: String::new(), place, tail: (0, bytes) }, size)
    }

    fn of(source: Source, size: u64) -> Result<Self> {
        let layout = Trailer::decode(&source.tail.1, size)
            .and_then(|trailer| {
                let section = source.range(trailer.load_on_open())?;
                Layout::decode(trailer, &section)
            })
            .map_err(|e| source.at(e))?;
        Ok(Self { source, layout })
    }

    pub(crate) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The data blocks that may hold keys of the spans, in file order.
    pub(crate) fn blocks(&self, spans: &[Span<'_>]) -> Result<Vec<IndexEntry>> {
        let mut index = None::<Index>;
        loop {
            let level = index.as_ref().unwrap_or(&self.layout.index);
            let chosen = level.select(spans);
            if level.is_leaf() {
                return Ok(chosen.into_iter().cloned().collect());
            }
            let below = self.level_below(level, &chosen).map_err(|e| self.source.at(e))?;
            index = Some(below);
        }
    }

    fn level_below(&self, level: &Index, chosen: &[&IndexEntry]) -> Result<Index> {
        let below = chosen.iter().map(|entry| Ok((entry.block.start, self.source.range(entry.block.clone())?)));
        let below = below.collect::<Result<Vec<_>>>()?;
        level.descend(&self.layout.decoder, below.iter().map(|(offset, bytes)| (*offset, bytes.as_ref())))
    }

    /// Fetches blocks from the front of a list, as many as are worth one request, and takes them off.
    pub(crate) fn fetch(&self, blocks: &mut std::vec::IntoIter<IndexEntry>) -> Result<Option<Fetched>> {
        let Some(first) = blocks.next() else { return Ok(None) };
        let mut range = first.block.clone();
        let mut chosen = vec![first];
        let fits = |entry: &IndexEntry, range: &Range<u64>| {
            entry.block.start == range.end && entry.block.end.saturating_sub(range.start) <= FETCH
        };
        while blocks.as_slice().first().is_some_and(|entry| fits(entry, &range)) {
            let Some(entry) = blocks.next() else { break };
            range.end = entry.block.end;
            chosen.push(entry);
        }
        let bytes = self.source.range(range).map_err(|e| self.source.at(e))?;
        Ok(Some(Fetched { bytes, blocks: chosen }))
    }

    /// Shows the cells of fetched blocks, block by block.
    pub(crate) fn visit(&self, fetched: &Fetched, mut visit: impl FnMut(&[Cell<'_>]) -> Result<()>) -> Result<()> {
        let first = fetched.blocks.first().map_or(0, |entry| entry.block.start);
        let at_file = |e: Error| self.source.at(e);
        let mut buffer = Vec::new();
        for entry in &fetched.blocks {
            let at = usize::try_from(entry.block.start - first).unwrap_or(usize::MAX);
            let bytes = fetched.bytes.get(at..).unwrap_or_default();
            let block = self.layout.data_block_reusing(bytes, entry.block.start, buffer);
            let block = block.map_err(at_file)?;
            let cells = block.cells().collect::<Result<Vec<_>>>().map_err(at_file)?;
            visit(&cells)?;
            drop(cells);
            buffer = block.into_buffer();
        }
        Ok(())
    }
}

impl Source {
    /// Bytes of the HFile.
    fn range(&self, range: Range<u64>) -> Result<Bytes> {
        let (tail_at, tail) = &self.tail;
        let within = range.start.checked_sub(*tail_at).zip(range.end.checked_sub(*tail_at));
        let within = within.and_then(|(start, end)| Some(usize::try_from(start).ok()?..usize::try_from(end).ok()?));
        if let Some(there) = within.and_then(|within| tail.get(within)) {
            return Ok(tail.slice_ref(there));
        }
        let place = self.place.start.saturating_add(range.start)..self.place.start.saturating_add(range.end);
        if place.end > self.place.end {
            return Err(Error::corrupt("an HFile block outside the file").at_offset(range.start));
        }
        let part = self.storage.submit(&self.path, std::iter::once(place).collect()).wait()?.pop();
        part.ok_or_else(|| Error::internal("a store left out a part"))
    }

    /// The error, counted from the start of the file at the path, which callers name.
    fn at(&self, error: Error) -> Error {
        if error.offset().is_some() { error.from_offset(self.place.start) } else { error }
    }
}
