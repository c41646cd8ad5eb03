//! A decoded data block, and the form of it that is searched.

use std::borrow::Cow;

use super::block::Block;
use super::cell::{Cell, Cells};
use super::span::Span;
use crate::{Error, Result};

/// Cells, decompressed but not looked at.
#[derive(Debug, Clone)]
pub struct DataBlock<'a> {
    block: Block<'a>,
    tagged: bool,
}

impl<'a> DataBlock<'a> {
    pub(super) fn new(block: Block<'a>, tagged: bool) -> Self {
        Self { block, tagged }
    }

    /// Of the block, in the file.
    pub fn offset(&self) -> u64 {
        self.block.offset
    }

    /// The cells as they lie there.
    pub fn cells(&self) -> Cells<'_> {
        Cells::new(&self.block.payload, self.tagged, self.block.offset)
    }

    pub(super) fn cells_from(&self, position: usize) -> Cells<'_> {
        Cells::new(&self.block.payload, self.tagged, self.block.offset).starting_at(position)
    }

    /// The memory of a decompressed payload, to be used again.
    pub fn into_buffer(self) -> Vec<u8> {
        match self.block.payload {
            Cow::Owned(buffer) => buffer,
            Cow::Borrowed(_) => Vec::new(),
        }
    }

    /// Finds all cells, so that many look-ups each cost a binary search: the form to keep in a cache.
    pub fn for_lookups(self) -> Result<LookupBlock<'a>> {
        let mut positions = Vec::new();
        let mut last: Option<&[u8]> = None;
        let mut sorted = true;
        let mut cells = self.cells();
        loop {
            let position = cells.consumed();
            let Some(cell) = cells.next() else { break };
            let key = cell?.key;
            sorted &= last.is_none_or(|last| last <= key);
            last = Some(key);
            let position = u32::try_from(position);
            positions.push(position.map_err(|_| Error::unsupported("an HFile data block of more than 4 GiB"))?);
        }
        let mut found = LookupBlock { data: self, positions };
        if !sorted {
            let mut keyed: Vec<_> = found.positions.iter().filter_map(|p| Some((found.cell(*p)?.key, *p))).collect();
            keyed.sort_by(|a, b| a.0.cmp(b.0));
            found.positions = keyed.into_iter().map(|(_, position)| position).collect();
        }
        Ok(found)
    }
}

/// A data block whose cells are found by key. All of them have been decoded once, so none is damaged.
#[derive(Debug, Clone)]
pub struct LookupBlock<'a> {
    data: DataBlock<'a>,
    /// Of the cells in the payload, by key, equal ones in file order.
    positions: Vec<u32>,
}

impl LookupBlock<'_> {
    /// The first cell with this key.
    pub fn get<'s>(&'s self, key: &'s [u8]) -> Option<Cell<'s>> {
        self.select(Span::Key(key)).next()
    }

    /// The cells of a span, by key.
    pub fn select<'s>(&'s self, span: Span<'s>) -> impl Iterator<Item = Cell<'s>> {
        let from = match span {
            Span::Key(key) | Span::Prefix(key) => {
                self.positions.partition_point(|p| self.cell(*p).is_some_and(|cell| cell.key < key))
            }
            Span::All | Span::Range(..) => 0,
        };
        let positions = self.positions.iter().skip(from);
        let contiguous = matches!(span, Span::Key(_) | Span::Prefix(_));
        let cells = positions.filter_map(|p| self.cell(*p));
        cells.take_while(move |cell| !contiguous || span.contains(cell.key)).filter(move |c| span.contains(c.key))
    }

    /// Number of cells.
    pub fn len(&self) -> usize {
        self.positions.len()
    }

    pub fn is_empty(&self) -> bool {
        self.positions.is_empty()
    }

    /// Bytes that the block occupies, to account for it in a cache.
    pub fn memory(&self) -> usize {
        self.data.block.payload.len() + self.positions.len() * size_of::<u32>()
    }

    /// Detaches the block from the bytes of the file.
    pub fn into_owned(self) -> LookupBlock<'static> {
        let DataBlock { block, tagged } = self.data;
        let payload = Cow::Owned(block.payload.into_owned());
        LookupBlock { data: DataBlock { block: Block { payload, ..block }, tagged }, positions: self.positions }
    }

    fn cell(&self, position: u32) -> Option<Cell<'_>> {
        self.data.cells_from(position as usize).next()?.ok()
    }
}
