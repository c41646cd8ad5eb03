//! Blocks: everything in an HFile but its trailer.
//!
//! | bytes | field |
//! |---|---|
//! | 8 | magic, which names the kind |
//! | 4 | bytes on disk behind the header: payload and checksums |
//! | 4 | bytes of the payload when decompressed |
//! | 8 | offset of the block of the same kind before this one, −1 for none; nobody reads it |
//! | 1 | checksum: 0 none, 1 CRC32, 2 CRC32C |
//! | 4 | bytes per checksum: 16384 |
//! | 4 | bytes on disk with the header, but without checksums |
//! | … | payload, compressed unless the file's codec is none |
//! | 4·n | checksums, one for each 16384 bytes of header and payload; zeros where the checksum is "none" |

use std::borrow::Cow;

use super::Codec;
use crate::wire::Reader as Wire;
use crate::{Error, Result};

/// Bytes of a block header.
pub const HEADER_BYTES: usize = 33;
/// Most bytes that a block may declare as its decompressed size, unless [`Decoder::with_limit`] says otherwise. The
/// writers of HFiles stay near 1 MiB; a larger block holds one very large value or the index of a very large file.
pub const MAX_BLOCK_BYTES: usize = 256 << 20;
/// What writers put into the field "bytes per checksum".
pub(super) const BYTES_PER_CHECKSUM: usize = 16384;
const CHECKSUM_BYTES: usize = 4;

/// What a block holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BlockKind {
    /// Cells.
    Data,
    /// The lowest level of an index of several levels.
    LeafIndex,
    IntermediateIndex,
    /// The top level of the data index, and the index of meta blocks.
    RootIndex,
    /// Named bytes beside the cells: a bloom filter.
    Meta,
    FileInfo,
}

impl BlockKind {
    const ALL: [Self; 6] =
        [Self::Data, Self::LeafIndex, Self::IntermediateIndex, Self::RootIndex, Self::Meta, Self::FileInfo];

    pub fn magic(self) -> &'static [u8; 8] {
        match self {
            Self::Data => b"DATABLK*",
            Self::LeafIndex => b"IDXLEAF2",
            Self::IntermediateIndex => b"IDXINTE2",
            Self::RootIndex => b"IDXROOT2",
            Self::Meta => b"METABLKc",
            Self::FileInfo => b"FILEINF2",
        }
    }

    fn from_magic(magic: &[u8]) -> Result<Self> {
        if magic == b"DATABLKE" {
            return Err(Error::unsupported("HFile data block with encoded keys (DATABLKE)"));
        }
        let known = Self::ALL.into_iter().find(|kind| kind.magic() == magic);
        known.ok_or_else(|| Error::corrupt(format!("no HFile block starts here, found '{}'", magic.escape_ascii())))
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Data => "data block",
            Self::LeafIndex => "leaf index block",
            Self::IntermediateIndex => "intermediate index block",
            Self::RootIndex => "root index block",
            Self::Meta => "meta block",
            Self::FileInfo => "file info block",
        }
    }
}

/// A block, its payload decompressed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block<'a> {
    /// Of the header, in the file.
    pub offset: u64,
    pub kind: BlockKind,
    /// Bytes of the block in the file, header and checksums included.
    pub length: usize,
    pub payload: Cow<'a, [u8]>,
}

/// Decodes the blocks of one file.
#[derive(Debug, Clone, Copy)]
pub struct Decoder {
    codec: Codec,
    limit: usize,
}

impl Decoder {
    pub fn new(codec: Codec) -> Self {
        Self { codec, limit: MAX_BLOCK_BYTES }
    }

    /// Refuses blocks that declare more than `bytes` of decompressed payload.
    #[must_use]
    pub fn with_limit(self, bytes: usize) -> Self {
        Self { limit: bytes, ..self }
    }

    pub fn codec(&self) -> Codec {
        self.codec
    }

    /// Decodes the block at the start of `bytes`, verifying its checksums. `offset` is where `bytes` start in their file.
    pub fn block<'a>(&self, bytes: &'a [u8], offset: u64) -> Result<Block<'a>> {
        self.block_reusing(bytes, offset, Vec::new())
    }

    /// As [`Decoder::block`], but decompresses into a vector that is there already, whatever it holds.
    pub fn block_reusing<'a>(&self, bytes: &'a [u8], offset: u64, buffer: Vec<u8>) -> Result<Block<'a>> {
        let mut wire = Wire::new(bytes, offset);
        let header = Header::decode(&mut wire)?;
        let name = header.kind.name();
        if header.raw > self.limit {
            let message = format!("HFile {name} declares {} bytes, more than the limit of {}", header.raw, self.limit);
            return Err(Error::unsupported(message).at_offset(offset));
        }
        let stored = wire.take(header.stored, "payload of an HFile block")?;
        let sums = wire.take(header.sums, "checksums of an HFile block")?;
        let length = HEADER_BYTES + header.stored + header.sums;
        let summed = bytes.get(..HEADER_BYTES + header.stored).unwrap_or_default();
        header.checksum.verify(summed, sums, header.bytes_per_checksum).map_err(|e| e.at_offset(offset))?;
        let payload = if self.codec == Codec::None {
            Cow::Borrowed(stored)
        } else {
            Cow::Owned(self.codec.decompress(stored, header.raw, buffer).map_err(|e| e.at_offset(offset))?)
        };
        if payload.len() != header.raw {
            let message = format!("HFile {name} declares {} bytes and holds {}", header.raw, payload.len());
            return Err(Error::corrupt(message).at_offset(offset));
        }
        Ok(Block { offset, kind: header.kind, length, payload })
    }

    /// As [`Decoder::block`], for a block that must be of one kind.
    pub(super) fn expect<'a>(&self, kind: BlockKind, bytes: &'a [u8], offset: u64) -> Result<Block<'a>> {
        let block = self.block(bytes, offset)?;
        block.require(kind)?;
        Ok(block)
    }
}

impl Block<'_> {
    pub(super) fn require(&self, kind: BlockKind) -> Result<()> {
        if self.kind == kind {
            return Ok(());
        }
        let message = format!("HFile {} where a {} must be", self.kind.name(), kind.name());
        Err(Error::corrupt(message).at_offset(self.offset))
    }
}

#[derive(Debug)]
struct Header {
    kind: BlockKind,
    /// Bytes of the payload as it lies in the file.
    stored: usize,
    /// Bytes of the payload when decompressed.
    raw: usize,
    /// Bytes of checksums behind the payload.
    sums: usize,
    checksum: Checksum,
    bytes_per_checksum: usize,
}

impl Header {
    fn decode(wire: &mut Wire<'_>) -> Result<Self> {
        let offset = wire.offset();
        let kind = BlockKind::from_magic(wire.take(8, "magic of an HFile block")?).map_err(|e| e.at_offset(offset))?;
        let behind_header = wire.count("size of an HFile block")?;
        let raw = wire.count("uncompressed size of an HFile block")?;
        wire.i64("previous block")?;
        let checksum = Checksum::from_number(wire.u8("checksum type")?).map_err(|e| e.at_offset(offset))?;
        let bytes_per_checksum = wire.count("bytes per checksum")?;
        let without_sums = wire.count("size of an HFile block without checksums")?;
        let stored = without_sums.checked_sub(HEADER_BYTES).filter(|stored| *stored <= behind_header);
        let Some(stored) = stored else {
            let message = format!("HFile block sizes contradict each other: {behind_header} and {without_sums}");
            return Err(Error::corrupt(message).at_offset(offset));
        };
        Ok(Self { kind, stored, raw, sums: behind_header - stored, checksum, bytes_per_checksum })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Checksum {
    None,
    Crc32,
    Crc32c,
}

impl Checksum {
    fn from_number(number: u8) -> Result<Self> {
        match number {
            0 => Ok(Self::None),
            1 => Ok(Self::Crc32),
            2 => Ok(Self::Crc32c),
            other => Err(Error::unsupported(format!("HFile checksum type {other} is unknown"))),
        }
    }

    fn of(self, chunk: &[u8]) -> u32 {
        match self {
            Self::None => 0,
            Self::Crc32 => crc32fast::hash(chunk),
            Self::Crc32c => crc32c::crc32c(chunk),
        }
    }

    fn verify(self, bytes: &[u8], sums: &[u8], bytes_per_checksum: usize) -> Result<()> {
        if self == Self::None {
            return Ok(());
        }
        if bytes_per_checksum == 0 || sums.len() != bytes.len().div_ceil(bytes_per_checksum) * CHECKSUM_BYTES {
            let message = format!("{} bytes of checksums, one for each {bytes_per_checksum} bytes", sums.len());
            return Err(Error::corrupt(format!("HFile block of {} bytes has {message}", bytes.len())));
        }
        for (chunk, sum) in bytes.chunks(bytes_per_checksum).zip(sums.as_chunks::<CHECKSUM_BYTES>().0) {
            if self.of(chunk) != u32::from_be_bytes(*sum) {
                return Err(Error::corrupt("HFile block does not match its checksum")
                    .with_hint("the file is damaged: restore it, or delete and rebuild the metadata table"));
            }
        }
        Ok(())
    }
}

/// Appends a block to `out`, which holds the file so far. Checksums are CRC32C, which old releases verify.
pub(super) fn write(out: &mut Vec<u8>, kind: BlockKind, codec: Codec, raw: &[u8], previous: Option<u64>) -> Result<()> {
    let compressed;
    let payload = if codec == Codec::None {
        raw
    } else {
        compressed = codec.compress(raw)?;
        &compressed
    };
    let start = out.len();
    let without_sums = HEADER_BYTES + payload.len();
    let sums = without_sums.div_ceil(BYTES_PER_CHECKSUM) * CHECKSUM_BYTES;
    let too_large = |_| Error::unsupported(format!("an HFile {} of more than 2 GiB", kind.name()));
    let size = |length: usize| i32::try_from(length).map(i32::to_be_bytes).map_err(too_large);
    out.extend_from_slice(kind.magic());
    out.extend_from_slice(&size(payload.len() + sums)?);
    out.extend_from_slice(&size(raw.len())?);
    out.extend_from_slice(&previous.map_or(-1, u64::cast_signed).to_be_bytes());
    out.push(2);
    out.extend_from_slice(&size(BYTES_PER_CHECKSUM)?);
    out.extend_from_slice(&size(without_sums)?);
    out.extend_from_slice(payload);
    let written = out.get(start..).unwrap_or_default();
    let sums: Vec<u8> =
        written.chunks(BYTES_PER_CHECKSUM).flat_map(|chunk| Checksum::Crc32c.of(chunk).to_be_bytes()).collect();
    out.extend_from_slice(&sums);
    Ok(())
}
