//! A whole block, as readers hand it out.

use std::ops::Deref;

use arrow_schema::SchemaRef;

use super::block::{BlockKind, HeaderKey, Headers, ROLLBACK_COMMAND};
use crate::avro::RowDecoder;
use crate::positions::Positions;
use crate::schema::Record;
use crate::{Error, Result};

/// A whole block, its content not yet looked into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block<'a> {
    /// Of the magic, in the file.
    pub offset: u64,
    pub kind: BlockKind,
    pub headers: Headers<'a>,
    /// Of the content, in the file.
    pub content_offset: u64,
    pub content_length: u64,
}

impl<'a> Block<'a> {
    /// The instant that wrote the block. Only command and CDC blocks can do without.
    pub fn instant_time(&self) -> Result<&'a str> {
        self.required(HeaderKey::InstantTime)
    }

    /// The Avro schema of the rows, as JSON. Delete and command blocks can do without.
    pub fn schema(&self) -> Result<&'a str> {
        self.required(HeaderKey::Schema)
    }

    /// What turns the rows of this block into batches of `wanted`.
    pub fn decoder(&self, wanted: SchemaRef) -> Result<RowDecoder> {
        let writer = Record::parse(self.schema()?).map_err(|e| e.at_offset(self.offset))?;
        RowDecoder::new(&writer, wanted).map_err(|e| e.at_offset(self.offset))
    }

    /// The instants that this block replaces; none unless a log compaction wrote it. Blanks count, as in Apache Hudi.
    pub fn compacted_block_times(&self) -> impl Iterator<Item = &'a str> {
        self.headers.get(HeaderKey::CompactedBlockTimes).into_iter().flat_map(|times| times.split(','))
    }

    /// Whether the rows hold only updated columns.
    pub fn is_partial(&self) -> bool {
        self.headers.get(HeaderKey::IsPartial).is_some_and(|value| value.eq_ignore_ascii_case("true"))
    }

    /// The positions of the rows in a base file, and the instant of that base file. `None` where either is missing: then
    /// keys say which rows are meant, as they may always do.
    pub fn positions(&self) -> Result<Option<(Positions, &'a str)>> {
        let of = self.headers.get(HeaderKey::BaseFileInstantTimeOfRecordPositions);
        let (Some(text), Some(instant)) = (self.headers.get(HeaderKey::RecordPositions), of) else { return Ok(None) };
        let positions = Positions::from_header(text).map_err(|e| e.at_offset(self.offset))?;
        Ok(Some((positions, instant)))
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

/// A block together with its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockRef<'a> {
    pub block: Block<'a>,
    pub content: &'a [u8],
}

impl<'a> Deref for BlockRef<'a> {
    type Target = Block<'a>;

    fn deref(&self) -> &Block<'a> {
        &self.block
    }
}
