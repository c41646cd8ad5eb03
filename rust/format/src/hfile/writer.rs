//! Writes HFiles in HBase's dialect, which every release of Apache Hudi reads.
//!
//! Blocks hold at most 64 KiB of cells, or one cell. Apache Hudi's own reader stops 4 bytes for each 16 KiB short of the
//! end of a block; the last cells of larger blocks are lost to it. The index has one level: it is loaded whole anyway.

use std::ops::Range;

use super::block::{self, BlockKind, HEADER_BYTES};
use super::cell::{KEY_SUFFIX, cell_length, put_cell, put_key};
use super::codec::Codec;
use super::index::put_hadoop_vlong;
use super::info::{self, FileInfo};
use super::trailer::{COMPARATOR, MINOR_VERSION, TRAILER_BYTES, Trailer};
use crate::{Error, ErrorKind, Result};

/// Most bytes of cells in a block; see the module's page for why not more.
pub const DEFAULT_BLOCK_BYTES: usize = 64 << 10;
/// Rows have a signed 16-bit length in Java.
const LONGEST_KEY: usize = i16::MAX as usize;
const FIRST_KEY_VALUE_VERSION: i32 = 1;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Gzip or none.
    pub codec: Codec,
    /// Most bytes of cells in a block, unless one cell has more.
    pub block_bytes: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { codec: Codec::Gzip, block_bytes: DEFAULT_BLOCK_BYTES }
    }
}

/// Builds a file in memory. Equal entries and options make equal bytes.
#[derive(Debug)]
pub struct Writer {
    options: Options,
    out: Vec<u8>,
    /// Cells of the block under way, and the key of the first.
    cells: Vec<u8>,
    first_key: Vec<u8>,
    last_key: Option<Vec<u8>>,
    /// Data blocks: where, and the first key.
    blocks: Vec<(Range<u64>, Vec<u8>)>,
    meta: Vec<(String, Vec<u8>)>,
    info: FileInfo,
    entries: u64,
    key_bytes: u64,
    value_bytes: u64,
    /// Decompressed size of the blocks, headers included.
    uncompressed: u64,
}

impl Writer {
    pub fn new(options: Options) -> Result<Self> {
        if options.block_bytes > DEFAULT_BLOCK_BYTES {
            let message = format!("HFile blocks of {} bytes", options.block_bytes);
            let hint =
                format!("at most {DEFAULT_BLOCK_BYTES}: of larger blocks Apache Hudi does not read the last cells");
            return Err(Error::option(message).with_hint(hint));
        }
        Ok(Self {
            options,
            out: Vec::new(),
            cells: Vec::new(),
            first_key: Vec::new(),
            last_key: None,
            blocks: Vec::new(),
            meta: Vec::new(),
            info: FileInfo::default(),
            entries: 0,
            key_bytes: 0,
            value_bytes: 0,
            uncompressed: 0,
        })
    }

    /// Appends an entry. Keys must ascend, compared as bytes.
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.check_key(key)?;
        let length = cell_length(key, value);
        if i32::try_from(length).is_err() {
            return Err(Error::unsupported("an HFile value of 2 GiB"));
        }
        if !self.cells.is_empty() && self.cells.len() + length > self.options.block_bytes {
            self.end_block()?;
        }
        if self.cells.is_empty() {
            self.first_key = key.to_vec();
        }
        put_cell(&mut self.cells, key, value);
        self.entries += 1;
        self.key_bytes += (2 + key.len() + KEY_SUFFIX) as u64;
        self.value_bytes += value.len() as u64;
        let last = self.last_key.get_or_insert_default();
        last.clear();
        last.extend_from_slice(key);
        Ok(())
    }

    fn check_key(&self, key: &[u8]) -> Result<()> {
        let shown = key.escape_ascii();
        if key.len() > LONGEST_KEY {
            let message = format!("a key of {} bytes in an HFile, which holds {LONGEST_KEY} at most", key.len());
            return Err(Error::unsupported(message));
        }
        match &self.last_key {
            Some(last) if last == key => {
                Err(Error::new(ErrorKind::DuplicateKey, format!("key '{shown}' twice in an HFile")))
            }
            Some(last) if last.as_slice() > key => {
                Err(Error::internal(format!("key '{shown}' in an HFile after '{}'", last.escape_ascii())))
            }
            _ => Ok(()),
        }
    }

    /// Adds bytes beside the cells, such as a bloom filter under the name `bloomFilter`.
    pub fn meta_block(&mut self, name: &str, content: Vec<u8>) {
        self.meta.push((name.to_owned(), content));
    }

    /// Sets a value of the file info. Base files of Hudi need `schema`.
    pub fn info(&mut self, key: &str, value: impl Into<Vec<u8>>) {
        self.info.set(key, value.into());
    }

    /// The whole file.
    pub fn finish(mut self) -> Result<Vec<u8>> {
        if !self.cells.is_empty() {
            self.end_block()?;
        }
        let mut meta_index = Vec::new();
        let mut meta = std::mem::take(&mut self.meta);
        meta.sort();
        for (name, content) in &meta {
            let place = self.block(BlockKind::Meta, content, None)?;
            put_root_entry(&mut meta_index, &place, name.as_bytes())?;
        }
        let mut index = Vec::new();
        for (place, key) in &self.blocks {
            let mut cell_key = Vec::new();
            put_key(&mut cell_key, key);
            put_root_entry(&mut index, place, &cell_key)?;
        }
        let root = self.block(BlockKind::RootIndex, &index, None)?;
        self.block(BlockKind::RootIndex, &meta_index, Some(root.start))?;
        let file_info = self.file_info();
        let file_info = self.block(BlockKind::FileInfo, &file_info, None)?;
        let count = |n: usize| u32::try_from(n).map_err(|_| Error::unsupported("an HFile of 2^32 blocks"));
        let trailer = Trailer {
            minor_version: MINOR_VERSION,
            file_info_offset: file_info.start,
            load_on_open_offset: root.start,
            data_index_size: index.len() as u64,
            // HBase counts the trailer and does not count the root.
            total_uncompressed_bytes: Some(
                self.uncompressed + TRAILER_BYTES as u64 - (HEADER_BYTES + index.len()) as u64,
            ),
            data_index_count: count(self.blocks.len())?,
            meta_index_count: count(meta.len())?,
            entry_count: self.entries,
            index_levels: 1,
            first_data_block: self.blocks.first().map(|(place, _)| place.start),
            last_data_block: self.blocks.last().map(|(place, _)| place.start),
            comparator: COMPARATOR.to_owned(),
            codec: self.options.codec,
            body: self.out.len() as u64,
        };
        self.out.extend_from_slice(&trailer.encode());
        Ok(self.out)
    }

    fn end_block(&mut self) -> Result<()> {
        let previous = self.blocks.last().map(|(place, _)| place.start);
        let mut cells = std::mem::take(&mut self.cells);
        let place = self.block(BlockKind::Data, &cells, previous)?;
        self.blocks.push((place, std::mem::take(&mut self.first_key)));
        cells.clear();
        self.cells = cells;
        Ok(())
    }

    fn block(&mut self, kind: BlockKind, raw: &[u8], previous: Option<u64>) -> Result<Range<u64>> {
        let start = self.out.len() as u64;
        block::write(&mut self.out, kind, self.options.codec, raw, previous)?;
        self.uncompressed += (HEADER_BYTES + raw.len()) as u64;
        Ok(start..self.out.len() as u64)
    }

    fn file_info(&mut self) -> Vec<u8> {
        let average = |total: u64| ((total / self.entries.max(1)) as i32).to_be_bytes().to_vec();
        let (key, value) = (average(self.key_bytes), average(self.value_bytes));
        self.info.set(info::AVERAGE_KEY_LENGTH, key);
        self.info.set(info::AVERAGE_VALUE_LENGTH, value);
        self.info.set(info::CREATE_TIME, 0_i64.to_be_bytes().to_vec());
        self.info.set(info::KEY_VALUE_VERSION, FIRST_KEY_VALUE_VERSION.to_be_bytes().to_vec());
        self.info.set(info::MAX_MEMSTORE_TS, 0_i64.to_be_bytes().to_vec());
        if let Some(last) = &self.last_key {
            let mut key = Vec::new();
            put_key(&mut key, last);
            self.info.set(info::LAST_KEY, key);
        }
        self.info.encode()
    }
}

pub(super) fn put_root_entry(out: &mut Vec<u8>, place: &Range<u64>, key: &[u8]) -> Result<()> {
    let size = i32::try_from(place.end - place.start);
    let size = size.map_err(|_| Error::unsupported("an HFile block of more than 2 GiB"))?;
    out.extend_from_slice(&place.start.to_be_bytes());
    out.extend_from_slice(&size.to_be_bytes());
    put_hadoop_vlong(out, key.len() as u32);
    out.extend_from_slice(key);
    Ok(())
}
