//! Cells: the entries of a data block, back to back.
//!
//! ```text
//! i32 key length | i32 value length
//! key:   u16 row length | row | u8 family length | family | qualifier | i64 time | u8 type
//! value | tags, in files that have any: u16 length, bytes | vlong number of a write ahead
//! ```
//!
//! Hudi's record key is the row. It writes no family, no qualifier, the greatest time, type 4 (put), and number 0.

use super::index::read_hadoop_vlong;
use crate::wire::Reader as Wire;
use crate::{Error, Result};

/// Row length, family length, time and type.
const KEY_FRAME: usize = 2 + KEY_SUFFIX;
/// What stands behind the row of a key without family and qualifier.
pub(super) const KEY_SUFFIX: usize = 1 + 8 + 1;
/// The lengths of key, value and row.
const LENGTHS: usize = 4 + 4 + 2;
const PUT: u8 = 4;
const LATEST: i64 = i64::MAX;
/// No family, no qualifier, the greatest time, a put.
const PLAIN_SUFFIX: [u8; KEY_SUFFIX] = [0, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, PUT];

/// One entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell<'a> {
    /// The row: Hudi's record key.
    pub key: &'a [u8],
    pub value: &'a [u8],
    /// Empty in Hudi's files, as is the qualifier.
    pub family: &'a [u8],
    pub qualifier: &'a [u8],
    pub timestamp: i64,
    pub tags: &'a [u8],
    /// HBase's number of a write that was under way; 0 in files at rest.
    pub mvcc: i64,
}

/// The cells of a block's payload. Nothing follows an error.
#[derive(Debug, Clone)]
pub struct Cells<'a> {
    rest: &'a [u8],
    length: usize,
    tagged: bool,
    /// Of the block, for errors.
    offset: u64,
}

impl<'a> Cells<'a> {
    pub(super) fn new(payload: &'a [u8], tagged: bool, offset: u64) -> Self {
        Self { rest: payload, length: payload.len(), tagged, offset }
    }

    /// From a cell that begins at byte `position` of the payload.
    pub(super) fn starting_at(self, position: usize) -> Self {
        Self { rest: self.rest.get(position..).unwrap_or_default(), ..self }
    }

    /// Bytes of the payload in front of the next cell.
    pub(super) fn consumed(&self) -> usize {
        self.length - self.rest.len()
    }

    /// A cell as Hudi writes them all; none if it is another, or damaged.
    #[inline]
    fn plain(&mut self) -> Option<Cell<'a>> {
        let (lengths, rest) = self.rest.split_first_chunk::<LENGTHS>()?;
        let [k0, k1, k2, k3, v0, v1, v2, v3, r0, r1] = *lengths;
        let row_length = usize::from(u16::from_be_bytes([r0, r1]));
        if self.tagged || u32::from_be_bytes([k0, k1, k2, k3]) as usize != row_length + KEY_FRAME {
            return None;
        }
        let (key, rest) = rest.split_at_checked(row_length)?;
        let (suffix, rest) = rest.split_first_chunk()?;
        let (value, rest) = rest.split_at_checked(u32::from_be_bytes([v0, v1, v2, v3]) as usize)?;
        let (0, rest) = rest.split_first()? else { return None };
        if *suffix != PLAIN_SUFFIX {
            return None;
        }
        self.rest = rest;
        Some(Cell { key, value, family: &[], qualifier: &[], timestamp: LATEST, tags: &[], mvcc: 0 })
    }

    fn decode(&mut self) -> Result<Cell<'a>> {
        let mut wire = Wire::new(self.rest, self.consumed() as u64);
        let key_length = wire.count("length of a cell's key")?;
        let value_length = wire.count("length of a cell's value")?;
        let mut key = wire.slice(key_length, "key of a cell")?;
        let value = wire.take(value_length, "value of a cell")?;
        let tags = if self.tagged {
            let length = wire.u16("length of a cell's tags")?;
            wire.take(length.into(), "tags of a cell")?
        } else {
            &[]
        };
        let mvcc = read_hadoop_vlong(&mut wire, "end of a cell")?;
        self.rest = wire.rest();

        let row_length = key.u16("length of a row")?;
        let row = key.take(row_length.into(), "row of a cell")?;
        let family_length = key.u8("length of a family")?;
        let family = key.take(family_length.into(), "family of a cell")?;
        let qualifier_length = key.left().checked_sub(KEY_SUFFIX - 1);
        let qualifier_length =
            qualifier_length.ok_or_else(|| key.corrupt(format!("a cell's key of {key_length} bytes ends early")))?;
        let qualifier = key.take(qualifier_length, "qualifier of a cell")?;
        let timestamp = key.i64("time of a cell")?;
        match key.u8("type of a cell")? {
            PUT => Ok(Cell { key: row, value, family, qualifier, timestamp, tags, mvcc }),
            other => Err(Error::unsupported(format!("HFile cell of type {other}, only puts ({PUT}) are known"))),
        }
    }
}

impl<'a> Iterator for Cells<'a> {
    type Item = Result<Cell<'a>>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if let Some(cell) = self.plain() {
            return Some(Ok(cell));
        }
        if self.rest.is_empty() {
            return None;
        }
        let at = self.consumed();
        let cell = self.decode();
        if cell.is_err() {
            self.rest = &[];
        }
        Some(cell.map_err(|e| {
            let message = format!("cell at byte {at} of the content of an HFile data block is damaged");
            Error::new(e.kind(), message).at_offset(self.offset).caused_by(e)
        }))
    }
}

/// The key of a cell as HBase stores it, and compares it in its index.
pub(super) fn put_key(out: &mut Vec<u8>, row: &[u8]) {
    out.extend_from_slice(&(row.len() as u16).to_be_bytes());
    out.extend_from_slice(row);
    out.extend_from_slice(&PLAIN_SUFFIX);
}

/// Bytes of a cell.
pub(super) fn cell_length(row: &[u8], value: &[u8]) -> usize {
    4 + 4 + KEY_FRAME + row.len() + value.len() + 1
}

pub(super) fn put_cell(out: &mut Vec<u8>, row: &[u8], value: &[u8]) {
    out.extend_from_slice(&((KEY_FRAME + row.len()) as u32).to_be_bytes());
    out.extend_from_slice(&(value.len() as u32).to_be_bytes());
    put_key(out, row);
    out.extend_from_slice(value);
    out.push(0);
}
