//! The data index: which block holds which keys, in one level or several; and the index of meta blocks.
//!
//! ```text
//! root           count × { i64 offset | i32 bytes of the block | vint length | key }, count from the trailer;
//!                in an index of several levels: i64 offset, i32 bytes of the middle leaf, i32 its middle entry
//! below          i32 n | (n + 1) × i32 start of an entry, the last one the end | n × { i64 offset | i32 bytes | key }
//! key            u16 row length | row | with HBase 10 bytes more: family length, time, type
//! ```
//!
//! A key is not above the first of its block and above the last of the block before; HBase shortens keys within that.
//! Lengths are Hadoop's vints, but release 1.1.1 wrote Protocol Buffers' varints, which differ from 128 bytes on.

use std::collections::BTreeSet;
use std::ops::Range;

use super::block::{BlockKind, Decoder};
use super::cell::KEY_SUFFIX;
use super::proto::read_varint;
use super::span::Span;
use crate::wire::Reader as Wire;
use crate::{Error, Result};

/// Offset, size, and the least length of a key in a root.
const LEAST_ROOT_ENTRY: usize = 8 + 4 + 1;
/// Offset and size of an entry below the root.
pub(super) const ENTRY_FRAME: usize = 8 + 4;

/// A block and the key at which it starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexEntry {
    /// The whole block in the file.
    pub block: Range<u64>,
    /// The row, for data; the name, for meta blocks.
    pub key: Vec<u8>,
}

/// One level of the data index, or the part of it that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Index {
    /// 1 if the entries are data blocks, more if they are index blocks.
    levels: u32,
    entries: Vec<IndexEntry>,
    /// Blocks end before here.
    end: u64,
}

impl Index {
    /// Decodes the root. `end` is where the load-on-open section starts, behind all blocks.
    pub(super) fn decode_root(payload: &[u8], offset: u64, count: u32, levels: u32, end: u64) -> Result<Self> {
        let entries = read_root(payload, offset, count, row_of_entry)?;
        check_places(&entries, end, offset)?;
        Ok(Self { levels, entries, end })
    }

    pub fn entries(&self) -> &[IndexEntry] {
        &self.entries
    }

    /// Whether the entries are data blocks.
    pub fn is_leaf(&self) -> bool {
        self.levels == 1
    }

    /// The entries that may hold keys of the spans, in file order.
    pub fn select(&self, spans: &[Span<'_>]) -> Vec<&IndexEntry> {
        let chosen: BTreeSet<usize> = spans.iter().flat_map(|span| span.windows(&self.entries)).flatten().collect();
        chosen.into_iter().filter_map(|at| self.entries.get(at)).collect()
    }

    /// The next level, from blocks that [`Index::select`] named: each with its offset in the file, in file order.
    pub fn descend<'b>(&self, decoder: &Decoder, blocks: impl IntoIterator<Item = (u64, &'b [u8])>) -> Result<Self> {
        let levels = self.levels.checked_sub(1).filter(|levels| *levels > 0);
        let levels = levels.ok_or_else(|| Error::internal("the lowest level of an HFile index has none below"))?;
        let kind = if levels == 1 { BlockKind::LeafIndex } else { BlockKind::IntermediateIndex };
        let mut index = Self { levels, entries: Vec::new(), end: self.end };
        let mut last = 0;
        for (offset, bytes) in blocks {
            let block = decoder.expect(kind, bytes, offset)?;
            index.entries.append(&mut read_lower(&block.payload, offset)?);
            last = offset;
        }
        check_places(&index.entries, self.end, last)?;
        Ok(index)
    }
}

/// Blocks of one level lie behind one another. So the work of a reader is bounded by the size of the file.
fn check_places(entries: &[IndexEntry], end: u64, offset: u64) -> Result<()> {
    let mut free = 0;
    for IndexEntry { block, .. } in entries {
        if block.start < free || block.end > end {
            let message = format!("HFile index names a block at {}..{}, not in {free}..{end}", block.start, block.end);
            return Err(Error::corrupt(message).at_offset(offset));
        }
        free = block.end;
    }
    Ok(())
}

/// Names and places of the meta blocks.
pub(super) fn read_meta_index(payload: &[u8], offset: u64, count: u32, end: u64) -> Result<Vec<IndexEntry>> {
    let entries = read_root(payload, offset, count, |key| Some(key.to_vec()))?;
    check_places(&entries, end, offset)?;
    Ok(entries)
}

type KeyOf = fn(&[u8]) -> Option<Vec<u8>>;

fn read_root(payload: &[u8], offset: u64, count: u32, key_of: KeyOf) -> Result<Vec<IndexEntry>> {
    let damaged = |e: Error| Error::corrupt("HFile index block is damaged").at_offset(offset).caused_by(e);
    let mut wire = Wire::new(payload, 0);
    let count = count as usize;
    if count > payload.len() / LEAST_ROOT_ENTRY {
        return Err(damaged(wire.corrupt(format!("{count} entries cannot be in {} bytes", payload.len()))));
    }
    let mut entries = Vec::with_capacity(count);
    for _ in 0..count {
        entries.push(read_root_entry(&mut wire, key_of).map_err(damaged)?);
    }
    Ok(entries)
}

fn read_root_entry(wire: &mut Wire<'_>, key_of: KeyOf) -> Result<IndexEntry> {
    let block = read_place(wire)?;
    let mut hadoop = wire.clone();
    let key = read_hadoop_vlong(&mut hadoop, "length of an index key")
        .and_then(|length| read_key(&mut hadoop, usize::try_from(length).ok(), key_of));
    let key = match key {
        Ok(key) => {
            *wire = hadoop;
            key
        }
        Err(_) => {
            let length = read_varint(wire, "length of an index key")?;
            read_key(wire, usize::try_from(length).ok(), key_of)?
        }
    };
    Ok(IndexEntry { block, key })
}

fn read_key(wire: &mut Wire<'_>, length: Option<usize>, key_of: KeyOf) -> Result<Vec<u8>> {
    let offset = wire.offset();
    let misfit = || Error::corrupt("an index key that does not fit its length").at_offset(offset);
    key_of(wire.take(length.ok_or_else(misfit)?, "index key")?).ok_or_else(misfit)
}

fn read_place(wire: &mut Wire<'_>) -> Result<Range<u64>> {
    let offset = wire.i64("offset of a block")?;
    let size = wire.count("size of a block")?;
    let start = u64::try_from(offset).map_err(|_| wire.corrupt(format!("an HFile block at offset {offset}")))?;
    // Both stem from signed numbers, so the sum fits.
    Ok(start..start + size as u64)
}

/// The row of an entry's key, in either dialect.
fn row_of_entry(key: &[u8]) -> Option<Vec<u8>> {
    let (length, rest) = key.split_first_chunk()?;
    let (row, suffix) = rest.split_at_checked(u16::from_be_bytes(*length).into())?;
    (suffix.is_empty() || suffix.len() >= KEY_SUFFIX).then(|| row.to_vec())
}

fn read_lower(payload: &[u8], offset: u64) -> Result<Vec<IndexEntry>> {
    let damaged = |e: Error| Error::corrupt("HFile index block is damaged").at_offset(offset).caused_by(e);
    let mut wire = Wire::new(payload, 0);
    let count = wire.count("number of index entries").map_err(damaged)?;
    if count > wire.left() / (4 + ENTRY_FRAME) {
        return Err(damaged(wire.corrupt(format!("{count} entries cannot be in {} bytes", payload.len()))));
    }
    let mut starts = wire.slice((count + 1) * 4, "starts of index entries").map_err(damaged)?;
    let mut start = starts.count("start of an index entry").map_err(damaged)?;
    if start != 0 {
        return Err(damaged(starts.corrupt(format!("the first entry starts at {start}"))));
    }
    let mut entries = Vec::with_capacity(count);
    for _ in 0..count {
        let end = starts.count("start of an index entry").map_err(damaged)?;
        let length = end.checked_sub(start).and_then(|length| length.checked_sub(ENTRY_FRAME));
        let length = length.ok_or_else(|| damaged(starts.corrupt(format!("an entry at {start}..{end}"))))?;
        let block = read_place(&mut wire).map_err(damaged)?;
        entries.push(IndexEntry { block, key: read_key(&mut wire, Some(length), row_of_entry).map_err(damaged)? });
        start = end;
    }
    Ok(entries)
}

/// Hadoop's `WritableUtils.readVLong`, of a number that is not negative and written as short as can be.
pub(super) fn read_hadoop_vlong(wire: &mut Wire<'_>, field: &str) -> Result<i64> {
    let offset = wire.offset();
    let first = wire.u8(field)?.cast_signed();
    let width = -112 - i32::from(first);
    let value = match (first, width) {
        (0.., _) => return Ok(first.into()),
        (_, 1..=8) => {
            let bytes = wire.take(width as usize, field)?;
            bytes.iter().try_fold(0_i64, |value, byte| value.checked_mul(256).map(|value| value + i64::from(*byte)))
        }
        _ => None,
    };
    // A shorter form must not have done.
    let least = |value: i64| if width == 1 { 128 } else { 1_i64 << (8 * (width - 1)) } <= value;
    value
        .filter(|value| least(*value))
        .ok_or_else(|| Error::corrupt(format!("{field} is no number as Hadoop writes it")).at_offset(offset))
}

pub(super) fn put_hadoop_vlong(out: &mut Vec<u8>, value: u32) {
    if value < 128 {
        out.push(value as u8);
        return;
    }
    let bytes = value.to_be_bytes();
    let skipped = (value.leading_zeros() / 8) as usize;
    out.push((-112 - (bytes.len() - skipped) as i8).cast_unsigned());
    out.extend(bytes.into_iter().skip(skipped));
}
