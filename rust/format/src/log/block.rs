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

/// The header map of a block, in the order in which it is stored. That order has no meaning, but differs from writer to
/// writer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Headers<'a> {
    values: [Option<&'a str>; HeaderKey::ALL.len()],
    order: Order,
}

impl<'a> Headers<'a> {
    pub fn get(&self, key: HeaderKey) -> Option<&'a str> {
        self.values.get(key as usize).copied().flatten()
    }

    /// The entries as they are stored; a repeated key stands where it was first, with its last value.
    pub fn iter(&self) -> impl Iterator<Item = (HeaderKey, &'a str)> {
        self.order.keys().filter_map(|key| Some((key, self.get(key)?)))
    }

    /// The texts that `map` found in `bytes`, which start at `offset` of the file.
    pub(super) fn new(map: &HeaderMap, bytes: &'a [u8], offset: u64) -> Result<Self> {
        let mut values = [None; HeaderKey::ALL.len()];
        for key in map.order.keys() {
            let (Some(slot), Some(range)) = (values.get_mut(key as usize), map.values.get(key as usize)) else {
                continue;
            };
            let value = bytes.get(range.0..range.1).ok_or_else(|| Error::internal("a block header went missing"))?;
            *slot = Some(utf8(value, key.name(), offset + range.0 as u64)?);
        }
        Ok(Self { values, order: map.order })
    }
}

/// Keys in the order of their first mention.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Order {
    keys: [Option<HeaderKey>; HeaderKey::ALL.len()],
}

impl Order {
    fn keys(&self) -> impl Iterator<Item = HeaderKey> {
        self.keys.into_iter().map_while(|key| key)
    }

    fn add(&mut self, key: HeaderKey) {
        let slot = self.keys.iter_mut().find(|slot| slot.is_none_or(|known| known == key));
        if let Some(slot) = slot {
            *slot = Some(key);
        }
    }
}

/// Where the texts of a header map stand, counted from its first byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct HeaderMap {
    values: [(usize, usize); HeaderKey::ALL.len()],
    order: Order,
    /// Of the whole map, in bytes.
    pub(super) length: usize,
}

/// What there is of a header map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MapSoFar {
    Whole(HeaderMap),
    /// At least so many bytes are needed to go on.
    Cut(usize),
}

impl HeaderMap {
    /// Finds the entries of a map whose first bytes are given; it ends before `room` bytes. Of a repeated key the last
    /// value counts, as in Java.
    pub(super) fn find(bytes: &[u8], room: usize, offset: u64) -> Result<MapSoFar> {
        let mut map = Self { length: 4, ..Self::default() };
        let fits = |from: usize, length: usize, what: &str| match from.checked_add(length).filter(|end| *end <= room) {
            Some(end) => Ok(end),
            None => {
                let message = format!("the header {what} needs {length} bytes, {} are left", room.saturating_sub(from));
                Err(Error::corrupt(message).at_offset(offset + from as u64))
            }
        };
        fits(0, 4, "count")?;
        if bytes.len() < 4 {
            return Ok(MapSoFar::Cut(4));
        }
        let mut reader = Reader::new(bytes, offset);
        for _ in 0..reader.count("number of block headers")? {
            let value_at = fits(map.length, 8, "key and length")?;
            if bytes.len() < value_at {
                return Ok(MapSoFar::Cut(value_at));
            }
            let key_at = reader.offset();
            let key = HeaderKey::from_ordinal(reader.i32("header key")?).map_err(|e| e.at_offset(key_at))?;
            let length = reader.count("header length")?;
            map.length = fits(value_at, length, key.name())?;
            if bytes.len() < map.length {
                return Ok(MapSoFar::Cut(map.length));
            }
            reader.take(length, key.name())?;
            map.order.add(key);
            if let Some(slot) = map.values.get_mut(key as usize) {
                *slot = (value_at, map.length);
            }
        }
        Ok(MapSoFar::Whole(map))
    }
}

/// Puts bytes where room was left for them.
pub(super) fn overwrite(out: &mut [u8], at: usize, bytes: &[u8]) {
    if let Some(room) = out.get_mut(at..at + bytes.len()) {
        room.copy_from_slice(bytes);
    }
}
