//! The scanner: blocks of a log file in order, and what it makes of damage.
//!
//! A block counts as whole when its trailer repeats its length *and* it is followed by another magic or by the end of the
//! file (fewer than six bytes). Everything else is skipped up to the next magic, silently, because a writer may have died
//! there. This is Apache Hudi's rule, with its price: rows of a whole block are lost if six bytes of garbage follow it.
//!
//! | bytes (A, B whole blocks)                               | found                     |
//! |---------------------------------------------------------|---------------------------|
//! | empty, or fewer than 6 bytes                            | nothing                   |
//! | A, cut B; A, 1–5 stray bytes; A, magic, 0–8 bytes       | A, perhaps Corrupt        |
//! | A, 6 or more bytes that are no magic                    | Corrupt                   |
//! | A, garbage, B; cut A, B; A with wrong L or T, B         | Corrupt, B                |
//! | anything but a magic at the start                       | error                     |
//! | whole block of unknown type, version, header or footer  | error                     |
//! | whole block whose content length does not fit           | error                     |

use std::ops::Range;

use super::block::{
    BlockKind, FIXED_LENGTH, FORMAT_VERSION, HeaderKey, Headers, LENGTH_FIELD, MAGIC, ROLLBACK_COMMAND,
};
use crate::wire::Reader;
use crate::{Error, Result};

/// What the scanner met.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scanned<'a> {
    Block(BlockRef<'a>),
    /// File offsets that were skipped, counted from behind the damaged block's magic to the next magic or the end.
    Corrupt(Range<u64>),
}

/// A whole block, its content not yet looked into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockRef<'a> {
    /// Of the magic, in the file.
    pub offset: u64,
    pub kind: BlockKind,
    pub headers: Headers<'a>,
    pub content: &'a [u8],
    /// Of the content, in the file.
    pub content_offset: u64,
}

impl<'a> BlockRef<'a> {
    /// The instant that wrote the block. Only command and CDC blocks can do without.
    pub fn instant_time(&self) -> Result<&'a str> {
        self.required(HeaderKey::InstantTime)
    }

    /// The Avro schema of the rows, as JSON. Delete and command blocks can do without.
    pub fn schema(&self) -> Result<&'a str> {
        self.required(HeaderKey::Schema)
    }

    /// The instants that this block replaces; none unless a log compaction wrote it. Blanks count, as in Apache Hudi.
    pub fn compacted_block_times(&self) -> impl Iterator<Item = &'a str> {
        self.headers.get(HeaderKey::CompactedBlockTimes).into_iter().flat_map(|times| times.split(','))
    }

    /// Whether the rows hold only updated columns.
    pub fn is_partial(&self) -> bool {
        self.headers.get(HeaderKey::IsPartial).is_some_and(|value| value.eq_ignore_ascii_case("true"))
    }

    /// The instant whose earlier blocks a command block undoes.
    pub fn rollback_target(&self) -> Result<&'a str> {
        let command = self.required(HeaderKey::CommandBlockType)?;
        if command != ROLLBACK_COMMAND {
            return Err(Error::unsupported(format!("log command {command} is unknown")).at_offset(self.offset));
        }
        self.required(HeaderKey::TargetInstantTime)
    }

    fn required(&self, key: HeaderKey) -> Result<&'a str> {
        self.headers.get(key).ok_or_else(|| {
            let (kind, name) = (self.kind.name(), key.name());
            Error::corrupt(format!("{kind} log block has no {name} header")).at_offset(self.offset)
        })
    }
}

/// Scans the bytes of a whole log file. Nothing follows an error.
pub fn scan(bytes: &[u8]) -> Scan<'_> {
    Scan { bytes, at: 0 }
}

/// See [`scan`].
#[derive(Debug, Clone)]
pub struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Iterator for Scan<'a> {
    type Item = Result<Scanned<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.bytes.get(self.at..)?;
        if rest.len() < MAGIC.len() {
            return None;
        }
        let start = self.at;
        let (item, next) = if rest.starts_with(MAGIC) {
            self.after_magic(start, start + MAGIC.len())
        } else {
            let message = "no log block starts here: the magic #HUDI# is missing";
            (Err(Error::corrupt(message).at_offset(start as u64)), self.bytes.len())
        };
        self.at = if item.is_ok() { next } else { self.bytes.len() };
        Some(item)
    }
}

impl<'a> Scan<'a> {
    fn after_magic(&self, start: usize, length_at: usize) -> (Result<Scanned<'a>>, usize) {
        match whole_block_end(self.bytes, length_at) {
            Some(end) => (parse_block(self.bytes, start, end).map(Scanned::Block), end),
            None => {
                let end = next_magic(self.bytes, length_at);
                (Ok(Scanned::Corrupt(length_at as u64..end as u64)), end)
            }
        }
    }
}

/// Where the block ends whose length field stands at `length_at`, if both lengths agree and a block or the end follows.
fn whole_block_end(bytes: &[u8], length_at: usize) -> Option<usize> {
    // Java narrows the length to 32 bits before it compares, so damage in the upper half does not cost the block.
    let length = read_i64(bytes, length_at)? as i32;
    let end = length_at.checked_add(LENGTH_FIELD)?.checked_add_signed(length as isize)?;
    let trailer = read_i64(bytes, end.checked_sub(LENGTH_FIELD)?)?;
    if trailer.checked_sub(MAGIC.len() as i64)? != i64::from(length) {
        return None;
    }
    let rest = bytes.get(end..)?;
    (rest.len() < MAGIC.len() || rest.starts_with(MAGIC)).then_some(end)
}

fn read_i64(bytes: &[u8], at: usize) -> Option<i64> {
    bytes.get(at..)?.first_chunk().copied().map(i64::from_be_bytes)
}

fn next_magic(bytes: &[u8], from: usize) -> usize {
    let found = bytes.get(from..).and_then(|rest| rest.windows(MAGIC.len()).position(|window| window == MAGIC));
    found.map_or(bytes.len(), |i| from + i)
}

/// Reads what lies between the two lengths, field by field.
fn parse_block(bytes: &[u8], start: usize, end: usize) -> Result<BlockRef<'_>> {
    let offset = start as u64;
    let body_at = start + MAGIC.len() + LENGTH_FIELD;
    let body = end.checked_sub(LENGTH_FIELD).and_then(|body_end| bytes.get(body_at..body_end));
    let body = body.filter(|body| body.len() >= FIXED_LENGTH - LENGTH_FIELD);
    let body = body.ok_or_else(|| Error::corrupt("log block is too short for its own fields").at_offset(offset))?;
    let mut reader = Reader::new(body, body_at as u64);

    let version = reader.i32("log format version")?;
    if version != FORMAT_VERSION {
        let message = format!("log format version {version} is not supported, only {FORMAT_VERSION} is");
        return Err(Error::unsupported(message).at_offset(offset));
    }
    let kind = BlockKind::from_ordinal(reader.i32("log block type")?).map_err(|e| e.at_offset(offset))?;
    let headers = Headers::parse(&mut reader)?;
    let content_length = reader.i64("content length")? as i32;
    let content_offset = reader.offset();
    let content = match usize::try_from(content_length) {
        Ok(length) => reader.take(length, "block content")?,
        Err(_) => return Err(reader.corrupt(format!("block content has length {content_length}"))),
    };
    // A wrong content length shows here as well: the four bytes then come from elsewhere.
    let footers = reader.i32("number of block footers")?;
    if footers != 0 {
        return Err(reader.corrupt(format!("log block has {footers} footers, or a wrong content length")));
    }
    if !reader.is_empty() {
        let message = format!("content length {content_length} does not fit the length of the log block");
        return Err(reader.corrupt(message));
    }
    Ok(BlockRef { offset, kind, headers, content, content_offset })
}
