//! What a reader knows of a file before it looks at any cell: the load-on-open section.

use super::block::{BlockKind, Decoder};
use super::index::{Index, IndexEntry, read_meta_index};
use super::info::{FileInfo, MAX_TAGS_LENGTH};
use super::lookup::DataBlock;
use super::trailer::Trailer;
use crate::{Error, Result};

/// Trailer, root of the index, meta blocks, file info.
#[derive(Debug, Clone)]
pub struct Layout {
    pub trailer: Trailer,
    /// The root: lower levels come by [`Index::descend`].
    pub index: Index,
    /// Names of meta blocks, with their places.
    pub meta_blocks: Vec<IndexEntry>,
    pub info: FileInfo,
    pub decoder: Decoder,
}

impl Layout {
    /// Decodes the bytes at [`Trailer::load_on_open`].
    pub fn decode(trailer: Trailer, bytes: &[u8]) -> Result<Self> {
        let decoder = Decoder::new(trailer.codec);
        Self::decode_with(trailer, bytes, decoder)
    }

    /// As [`Layout::decode`], with a limit of one's own for the size of blocks.
    pub fn decode_with(trailer: Trailer, bytes: &[u8], decoder: Decoder) -> Result<Self> {
        let start = trailer.load_on_open_offset;
        let mut at = 0;
        let mut next = |kind: BlockKind| {
            let rest = bytes.get(at..).unwrap_or_default();
            let block = decoder.expect(kind, rest, start + at as u64)?;
            at += block.length;
            Ok::<_, Error>(block)
        };
        let root = next(BlockKind::RootIndex)?;
        let index =
            Index::decode_root(&root.payload, root.offset, trailer.data_index_count, trailer.index_levels, start)?;
        let meta = next(BlockKind::RootIndex)?;
        let meta_blocks = read_meta_index(&meta.payload, meta.offset, trailer.meta_index_count, start)?;
        let info = next(BlockKind::FileInfo)?;
        let info = FileInfo::decode(&info.payload, info.offset)?;
        Ok(Self { trailer, index, meta_blocks, info, decoder })
    }

    /// Decodes a data block that the index names.
    pub fn data_block<'a>(&self, bytes: &'a [u8], offset: u64) -> Result<DataBlock<'a>> {
        self.data_block_reusing(bytes, offset, Vec::new())
    }

    /// As [`Layout::data_block`], but decompresses into a vector that is there already.
    pub fn data_block_reusing<'a>(&self, bytes: &'a [u8], offset: u64, buffer: Vec<u8>) -> Result<DataBlock<'a>> {
        let block = self.decoder.block_reusing(bytes, offset, buffer)?;
        block.require(BlockKind::Data)?;
        Ok(DataBlock::new(block, self.has_tags()))
    }

    fn has_tags(&self) -> bool {
        self.info.get(MAX_TAGS_LENGTH).is_some()
    }
}
