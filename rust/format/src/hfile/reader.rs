//! A whole HFile in memory.

use std::borrow::Cow;
use std::ops::Range;

use super::block::{BlockKind, Decoder};
use super::cell::Cell;
use super::index::{Index, IndexEntry};
use super::info::FileInfo;
use super::layout::Layout;
use super::lookup::DataBlock;
use super::span::Span;
use super::trailer::Trailer;
use crate::{Error, Result};

/// Reads a file whose bytes are all there. Offsets in errors are those of the file.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    layout: Layout,
}

impl<'a> Reader<'a> {
    /// Reads trailer, file info, and the whole index; no cell yet.
    pub fn open(bytes: &'a [u8]) -> Result<Self> {
        let trailer = Trailer::decode(bytes, bytes.len() as u64)?;
        let decoder = Decoder::new(trailer.codec);
        Self::with_decoder(bytes, trailer, decoder)
    }

    /// As [`Reader::open`], with a limit of one's own for the decompressed size of a block.
    pub fn open_with_limit(bytes: &'a [u8], limit: usize) -> Result<Self> {
        let trailer = Trailer::decode(bytes, bytes.len() as u64)?;
        let decoder = Decoder::new(trailer.codec).with_limit(limit);
        Self::with_decoder(bytes, trailer, decoder)
    }

    fn with_decoder(bytes: &'a [u8], trailer: Trailer, decoder: Decoder) -> Result<Self> {
        let load_on_open = slice(bytes, trailer.load_on_open())?;
        let mut layout = Layout::decode_with(trailer, load_on_open, decoder)?;
        while !layout.index.is_leaf() {
            layout.index = descend(&layout.index, &decoder, bytes)?;
        }
        Ok(Self { bytes, layout })
    }

    /// What the trailer and the load-on-open section hold; its index is that of the data blocks.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    pub fn info(&self) -> &FileInfo {
        &self.layout.info
    }

    /// Number of cells, as the trailer has it.
    pub fn count(&self) -> u64 {
        self.layout.trailer.entry_count
    }

    /// The meta block of a name, such as `bloomFilter`.
    pub fn meta_block(&self, name: &str) -> Result<Option<Cow<'a, [u8]>>> {
        let Some(entry) = self.layout.meta_blocks.iter().find(|entry| entry.key == name.as_bytes()) else {
            return Ok(None);
        };
        let bytes = slice(self.bytes, entry.block.clone())?;
        Ok(Some(self.layout.decoder.expect(BlockKind::Meta, bytes, entry.block.start)?.payload))
    }

    /// The value of a key. Of cells with the same key the first in its block counts, as in Apache Hudi.
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        for entry in self.layout.index.select(&[Span::Key(key)]) {
            for cell in self.data_block(entry, Vec::new())?.cells() {
                let cell = cell?;
                if cell.key == key {
                    return Ok(Some(cell.value.to_vec()));
                }
            }
        }
        Ok(None)
    }

    /// The values of many keys, in their order. Each data block is decoded once.
    pub fn get_many<'k>(&self, keys: impl IntoIterator<Item = &'k [u8]>) -> Result<Vec<Option<Vec<u8>>>> {
        let keys: Vec<&[u8]> = keys.into_iter().collect();
        let mut wanted: Vec<usize> = (0..keys.len()).collect();
        wanted.sort_by_key(|at| keys.get(*at));
        let spans: Vec<Span<'_>> = keys.iter().map(|key| Span::Key(key)).collect();
        let mut values = vec![None; keys.len()];
        let mut buffer = Vec::new();
        for entry in self.layout.index.select(&spans) {
            let block = self.data_block(entry, buffer)?;
            for cell in block.cells() {
                let cell = cell?;
                let key_of = |at: &usize| keys.get(*at).copied().unwrap_or_default();
                let from = wanted.partition_point(|at| key_of(at) < cell.key);
                for at in wanted.iter().skip(from).take_while(|at| key_of(at) == cell.key) {
                    if let Some(slot @ None) = values.get_mut(*at) {
                        *slot = Some(cell.value.to_vec());
                    }
                }
            }
            buffer = block.into_buffer();
        }
        Ok(values)
    }

    /// All entries, in file order.
    pub fn entries(&self) -> Entries<'_, 'a, '_> {
        self.select(Span::All)
    }

    /// The entries of a span, in file order.
    pub fn select<'k>(&self, span: Span<'k>) -> Entries<'_, 'a, 'k> {
        Entries { blocks: self.blocks(span), block: None, position: 0, span, seen: 0, failed: false }
    }

    /// Visits the cells of a span in file order, without a copy of any. The first error of `visit` ends it.
    pub fn visit(&self, span: Span<'_>, mut visit: impl FnMut(&Cell<'_>) -> Result<()>) -> Result<()> {
        let mut blocks = self.blocks(span);
        let mut seen = 0;
        while let Some(block) = blocks.next() {
            let block = block?;
            for cell in block.cells() {
                let cell = cell?;
                seen += 1;
                if span.contains(cell.key) {
                    visit(&cell)?;
                }
            }
            blocks.buffer = block.into_buffer();
        }
        self.check_count(span, seen)
    }

    /// The data blocks that may hold keys of a span, in file order.
    pub fn blocks(&self, span: Span<'_>) -> Blocks<'_, 'a> {
        let entries = self.layout.index.select(&[span]).into_iter().cloned().collect::<Vec<_>>().into_iter();
        Blocks { reader: self, entries, buffer: Vec::new() }
    }

    fn data_block(&self, entry: &IndexEntry, buffer: Vec<u8>) -> Result<DataBlock<'a>> {
        let bytes = slice(self.bytes, entry.block.clone())?;
        self.layout.data_block_reusing(bytes, entry.block.start, buffer)
    }

    fn check_count(&self, span: Span<'_>, seen: u64) -> Result<()> {
        if span != Span::All || seen == self.count() {
            return Ok(());
        }
        let message = format!("HFile declares {} entries and holds {seen}", self.count());
        Err(Error::corrupt(message).at_offset(self.layout.trailer.load_on_open().end))
    }
}

fn descend(index: &Index, decoder: &Decoder, bytes: &[u8]) -> Result<Index> {
    let blocks = index.entries().iter().map(|entry| Ok((entry.block.start, slice(bytes, entry.block.clone())?)));
    index.descend(decoder, blocks.collect::<Result<Vec<_>>>()?)
}

fn slice(bytes: &[u8], range: Range<u64>) -> Result<&[u8]> {
    let found = usize::try_from(range.start).ok().zip(usize::try_from(range.end).ok());
    let found = found.and_then(|(start, end)| bytes.get(start..end));
    found.ok_or_else(|| Error::corrupt("an HFile block outside the file").at_offset(range.start))
}

/// See [`Reader::blocks`].
#[derive(Debug, Clone)]
pub struct Blocks<'r, 'a> {
    reader: &'r Reader<'a>,
    entries: std::vec::IntoIter<IndexEntry>,
    /// What the next block is decompressed into.
    buffer: Vec<u8>,
}

impl<'a> Iterator for Blocks<'_, 'a> {
    type Item = Result<DataBlock<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        let entry = self.entries.next()?;
        Some(self.reader.data_block(&entry, std::mem::take(&mut self.buffer)))
    }
}

/// A key and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub key: Vec<u8>,
    pub value: Vec<u8>,
}

/// See [`Reader::select`]. Nothing follows an error.
#[derive(Debug, Clone)]
pub struct Entries<'r, 'a, 'k> {
    blocks: Blocks<'r, 'a>,
    block: Option<DataBlock<'a>>,
    /// Of the next cell in the payload of the block.
    position: usize,
    span: Span<'k>,
    seen: u64,
    failed: bool,
}

impl Entries<'_, '_, '_> {
    fn advance(&mut self) -> Result<Option<Entry>> {
        loop {
            let Some(block) = self.block.take() else {
                let Some(block) = self.blocks.next() else {
                    self.blocks.reader.check_count(self.span, self.seen)?;
                    return Ok(None);
                };
                self.block = Some(block?);
                self.position = 0;
                continue;
            };
            let mut cells = block.cells_from(self.position);
            while let Some(cell) = cells.next() {
                let cell = cell?;
                self.seen += 1;
                if self.span.contains(cell.key) {
                    let entry = Entry { key: cell.key.to_vec(), value: cell.value.to_vec() };
                    self.position = cells.consumed();
                    self.block = Some(block);
                    return Ok(Some(entry));
                }
            }
            self.blocks.buffer = block.into_buffer();
        }
    }
}

impl Iterator for Entries<'_, '_, '_> {
    type Item = Result<Entry>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let entry = self.advance();
        self.failed = entry.is_err() || matches!(entry, Ok(None));
        entry.transpose()
    }
}
