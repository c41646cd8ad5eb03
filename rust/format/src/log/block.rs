//! The envelope of a log block: kinds, header keys, header map, and the numbers around them.
//!
//! ```text
//!  6  magic            "#HUDI#"
//!  8  block length L   bytes after this field; magic and field itself excluded
//!  4  format version   1
//!  4  block kind       ordinal of BlockKind
//!  ?  header map       i32 n, n × { i32 key, i32 length, UTF-8 text }
//!  8  content length C
//!  C  content          by kind
//!  4  footer map       always empty: 00 00 00 00
//!  8  trailer T        bytes of the block before this field: T = L + 6
//! ```
//!
//! All integers are big-endian. There is no checksum, no padding, and neither a header nor a footer of the file.

use crate::wire::{Reader, utf8};
use crate::{Error, Result};

/// What every block starts with.
pub const MAGIC: &[u8; 6] = b"#HUDI#";
/// The only envelope in use since Hudi 0.5.
pub const FORMAT_VERSION: i32 = 1;
/// Written in front of the content of Avro, CDC and delete blocks. It is not the version of the envelope.
pub const CONTENT_VERSION: i32 = 3;
/// Apache Hudi keeps both lengths in 32 bits: a longer block would be misread.
pub const MAX_BLOCK_LENGTH: usize = i32::MAX as usize;

/// Bytes after the length field that are there whatever headers and content hold.
pub(super) const FIXED_LENGTH: usize = 4 + 4 + 8 + 4 + 8;
/// Width of the length field in front and of the trailer behind.
pub(super) const LENGTH_FIELD: usize = 8;

/// What a block holds. Ordinal 2, a corrupt block, exists only in the mind of a reader: see [`super::Scanned::Corrupt`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BlockKind {
    /// Nothing but headers: undo what an instant wrote (table version 6).
    Command,
    /// Keys to delete.
    Delete,
    /// Rows as Avro datums.
    AvroData,
    /// Rows of a metadata table, one whole HFile.
    HfileData,
    /// Rows, one whole Parquet file.
    ParquetData,
    /// Changes for CDC queries, framed as Avro rows.
    CdcData,
}

impl BlockKind {
    /// The number in the envelope.
    pub fn ordinal(self) -> i32 {
        match self {
            Self::Command => 0,
            Self::Delete => 1,
            Self::AvroData => 3,
            Self::HfileData => 4,
            Self::ParquetData => 5,
            Self::CdcData => 6,
        }
    }

    /// The value of `hoodie.logfile.data.block.format`, and how Apache Hudi names the kind.
    pub fn name(self) -> &'static str {
        match self {
            Self::Command => ":command",
            Self::Delete => ":delete",
            Self::AvroData => "avro",
            Self::HfileData => "hfile",
            Self::ParquetData => "parquet",
            Self::CdcData => "cdc",
        }
    }

    pub(super) fn from_ordinal(ordinal: i32) -> Result<Self> {
        match ordinal {
            0 => Ok(Self::Command),
            1 => Ok(Self::Delete),
            2 => Err(Error::corrupt("log block type 2 (corrupt) is never stored")),
            3 => Ok(Self::AvroData),
            4 => Ok(Self::HfileData),
            5 => Ok(Self::ParquetData),
            6 => Ok(Self::CdcData),
            other => Err(Error::unsupported(format!("log block type {other} is unknown"))),
        }
    }
}

/// The keys of a header map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HeaderKey {
    /// Requested time of the instant that wrote the block.
    InstantTime,
    /// The instant that a command block undoes.
    TargetInstantTime,
    /// Avro schema, as JSON, of the rows in the block.
    Schema,
    /// Ordinal of the command; [`ROLLBACK_COMMAND`] is the only one.
    CommandBlockType,
    /// Instants whose blocks a log compaction merged into this one, separated by commas.
    CompactedBlockTimes,
    /// Positions in the base file of the block's rows: a Base64 Roaring bitmap.
    RecordPositions,
    /// Left over from Hudi 0.14; means nothing.
    BlockIdentifier,
    /// `true` if the rows hold only the columns that were updated.
    IsPartial,
    /// The instant of the base file that the positions refer to.
    BaseFileInstantTimeOfRecordPositions,
}

/// The value of [`HeaderKey::CommandBlockType`] for a rollback.
pub const ROLLBACK_COMMAND: &str = "0";

impl HeaderKey {
    /// In order of their ordinals.
    pub const ALL: [Self; 9] = [
        Self::InstantTime,
        Self::TargetInstantTime,
        Self::Schema,
        Self::CommandBlockType,
        Self::CompactedBlockTimes,
        Self::RecordPositions,
        Self::BlockIdentifier,
        Self::IsPartial,
        Self::BaseFileInstantTimeOfRecordPositions,
    ];

    /// The number in the header map.
    pub fn ordinal(self) -> i32 {
        self as i32
    }

    /// Apache Hudi's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::InstantTime => "INSTANT_TIME",
            Self::TargetInstantTime => "TARGET_INSTANT_TIME",
            Self::Schema => "SCHEMA",
            Self::CommandBlockType => "COMMAND_BLOCK_TYPE",
            Self::CompactedBlockTimes => "COMPACTED_BLOCK_TIMES",
            Self::RecordPositions => "RECORD_POSITIONS",
            Self::BlockIdentifier => "BLOCK_IDENTIFIER",
            Self::IsPartial => "IS_PARTIAL",
            Self::BaseFileInstantTimeOfRecordPositions => "BASE_FILE_INSTANT_TIME_OF_RECORD_POSITIONS",
        }
    }

    fn from_ordinal(ordinal: i32) -> Result<Self> {
        let known = usize::try_from(ordinal).ok().and_then(|i| Self::ALL.get(i)).copied();
        known.ok_or_else(|| Error::unsupported(format!("log block header {ordinal} is unknown")))
    }
}

/// The header map of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Headers<'a>([Option<&'a str>; HeaderKey::ALL.len()]);

impl<'a> Headers<'a> {
    pub fn get(&self, key: HeaderKey) -> Option<&'a str> {
        self.0.get(key as usize).copied().flatten()
    }

    /// The entries that are present, by ordinal.
    pub fn iter(&self) -> impl Iterator<Item = (HeaderKey, &'a str)> {
        HeaderKey::ALL.into_iter().zip(self.0).filter_map(|(key, value)| Some((key, value?)))
    }

    /// Reads a map. Of a repeated key the last value counts, as in Java.
    pub(super) fn parse(reader: &mut Reader<'a>) -> Result<Self> {
        let mut headers = Self::default();
        for _ in 0..reader.count("number of block headers")? {
            let offset = reader.offset();
            let key = HeaderKey::from_ordinal(reader.i32("header key")?).map_err(|e| e.at_offset(offset))?;
            let length = reader.count("header length")?;
            let offset = reader.offset();
            let value = utf8(reader.take(length, key.name())?, key.name(), offset)?;
            if let Some(slot) = headers.0.get_mut(key as usize) {
                *slot = Some(value);
            }
        }
        Ok(headers)
    }
}

pub(super) fn headers_length(headers: &[(HeaderKey, &str)]) -> usize {
    4 + headers.iter().map(|(_, value)| 4 + 4 + value.len()).sum::<usize>()
}
