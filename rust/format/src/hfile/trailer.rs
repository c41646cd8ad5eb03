//! The trailer: the last 4096 bytes, from where everything else is found.
//!
//! | tag | field | tag | field |
//! |---|---|---|---|
//! | 1 | offset of the file info | 7 | number of cells |
//! | 2 | offset of the load-on-open section | 8 | levels of the data index |
//! | 3 | size of the data index, decompressed | 9, 10 | offsets of first and last data block |
//! | 4 | decompressed size of all blocks (HBase only) | 11 | class that compares keys |
//! | 5, 6 | entries of the data index's root, of the meta index | 12, 13 | codec, encryption key |

use std::ops::Range;

use super::Codec;
use super::proto::{put_bytes, put_number, put_varint, read_field, read_length};
use crate::wire::{Reader as Wire, utf8};
use crate::{Error, Result};

/// Bytes of a trailer.
pub const TRAILER_BYTES: usize = 4096;
const MAGIC: &[u8; 8] = b"TRABLK\"$";
const MAJOR_VERSION: u32 = 3;
const VERSION_BYTES: usize = 4;
/// What offsets of blocks that do not exist are set to.
const NOWHERE: u64 = u64::MAX;
/// More levels than any file could fill.
const MOST_LEVELS: u64 = 16;

/// What all Hudi files name, though keys are compared as bytes by every reader.
pub(super) const COMPARATOR: &str = "org.apache.hudi.io.storage.HoodieHBaseKVComparator";
/// As HBase 2 writes it.
pub(super) const MINOR_VERSION: u8 = 3;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trailer {
    pub minor_version: u8,
    pub file_info_offset: u64,
    pub load_on_open_offset: u64,
    /// Writers disagree on what they count here.
    pub data_index_size: u64,
    /// HBase alone writes it.
    pub total_uncompressed_bytes: Option<u64>,
    pub data_index_count: u32,
    pub meta_index_count: u32,
    pub entry_count: u64,
    pub index_levels: u32,
    /// Nowhere in a file without cells.
    pub first_data_block: Option<u64>,
    pub last_data_block: Option<u64>,
    /// A Java class; keys are compared as bytes, whatever it says.
    pub comparator: String,
    pub codec: Codec,
    /// Bytes of the file in front of the trailer.
    pub(super) body: u64,
}

impl Trailer {
    /// Decodes the trailer at the end of `tail`, the last bytes of a file of `file_length` bytes.
    pub fn decode(tail: &[u8], file_length: u64) -> Result<Self> {
        let too_short = || {
            let message = format!("not an HFile: {file_length} bytes are fewer than its trailer has");
            Error::corrupt(message).at_offset(0)
        };
        let body = file_length.checked_sub(TRAILER_BYTES as u64).ok_or_else(too_short)?;
        let at = tail.len().checked_sub(TRAILER_BYTES).ok_or_else(too_short)?;
        let (fields, version) =
            tail.get(at..).and_then(|trailer| trailer.split_last_chunk::<VERSION_BYTES>()).ok_or_else(too_short)?;
        let mut wire = Wire::new(fields, body);
        if wire.take(MAGIC.len(), "magic of an HFile trailer")? != MAGIC {
            return Err(Error::corrupt("not an HFile: its trailer is missing").at_offset(body));
        }
        let [minor_version, major @ ..] = *version;
        let [a, b, c] = major;
        let major = u32::from_be_bytes([0, a, b, c]);
        if major != MAJOR_VERSION {
            let message = format!("HFile version {major} is not supported, only {MAJOR_VERSION} is");
            return Err(Error::unsupported(message).at_offset(file_length - VERSION_BYTES as u64));
        }
        let length = read_length(&mut wire, "length of an HFile trailer")?;
        let fields = Fields::read(wire.slice(length, "HFile trailer")?)?;
        fields.trailer(minor_version, body).map_err(|e| e.at_offset(body))
    }

    /// What must be read next: root indexes and file info, up to the trailer.
    pub fn load_on_open(&self) -> Range<u64> {
        self.load_on_open_offset..self.body
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut fields = Vec::new();
        for (tag, value) in [
            (1, Some(self.file_info_offset)),
            (2, Some(self.load_on_open_offset)),
            (3, Some(self.data_index_size)),
            (4, self.total_uncompressed_bytes),
            (5, Some(self.data_index_count.into())),
            (6, Some(self.meta_index_count.into())),
            (7, Some(self.entry_count)),
            (8, Some(self.index_levels.into())),
            (9, Some(self.first_data_block.unwrap_or(NOWHERE))),
            (10, Some(self.last_data_block.unwrap_or(NOWHERE))),
        ] {
            if let Some(value) = value {
                put_number(&mut fields, tag, value);
            }
        }
        put_bytes(&mut fields, 11, self.comparator.as_bytes());
        put_number(&mut fields, 12, self.codec.number().into());
        let mut out = MAGIC.to_vec();
        put_varint(&mut out, fields.len() as u64);
        out.append(&mut fields);
        out.resize(TRAILER_BYTES - VERSION_BYTES, 0);
        out.extend_from_slice(&[self.minor_version, 0, 0, MAJOR_VERSION as u8]);
        out
    }
}

/// The message as it lies there.
#[derive(Debug, Default)]
struct Fields<'a> {
    numbers: [Option<u64>; 13],
    comparator: &'a str,
}

impl<'a> Fields<'a> {
    fn read(mut wire: Wire<'a>) -> Result<Self> {
        let mut fields = Self::default();
        while !wire.is_empty() {
            let offset = wire.offset();
            let (tag, value) = read_field(&mut wire, "HFile trailer")?;
            match tag {
                11 => fields.comparator = utf8(value.bytes("comparator")?, "comparator", offset)?,
                13 => return Err(Error::unsupported("an encrypted HFile").at_offset(offset)),
                tag => {
                    let slot = usize::try_from(tag).ok().and_then(|tag| fields.numbers.get_mut(tag));
                    let Some(slot) = slot.filter(|_| tag > 0) else {
                        let message = format!("HFile trailer field {tag} is unknown");
                        return Err(Error::unsupported(message).at_offset(offset));
                    };
                    *slot = Some(value.number("HFile trailer field").map_err(|e| e.at_offset(offset))?);
                }
            }
        }
        Ok(fields)
    }

    fn get(&self, tag: usize) -> Option<u64> {
        self.numbers.get(tag).copied().flatten()
    }

    fn required(&self, tag: usize, name: &str) -> Result<u64> {
        self.get(tag).ok_or_else(|| Error::corrupt(format!("HFile trailer lacks {name}")))
    }

    fn count(&self, tag: usize, name: &str) -> Result<u32> {
        let value = self.get(tag).unwrap_or_default();
        u32::try_from(value).map_err(|_| Error::corrupt(format!("HFile trailer: {name} is {value}")))
    }

    fn trailer(&self, minor_version: u8, body: u64) -> Result<Trailer> {
        let load_on_open_offset = self.required(2, "the offset of its load-on-open section")?;
        if load_on_open_offset > body {
            let message = format!("the load-on-open section at {load_on_open_offset} is behind the trailer");
            return Err(Error::corrupt(message));
        }
        self.required(5, "the number of index entries")?;
        let levels = self.required(8, "the number of index levels")?;
        if levels == 0 || levels > MOST_LEVELS {
            return Err(Error::corrupt(format!("HFile trailer: {levels} index levels")));
        }
        Ok(Trailer {
            minor_version,
            file_info_offset: self.get(1).unwrap_or_default(),
            load_on_open_offset,
            data_index_size: self.get(3).unwrap_or_default(),
            total_uncompressed_bytes: self.get(4),
            data_index_count: self.count(5, "the number of index entries")?,
            meta_index_count: self.count(6, "the number of meta blocks")?,
            entry_count: self.required(7, "the number of entries")?,
            index_levels: levels as u32,
            first_data_block: self.get(9).filter(|offset| *offset != NOWHERE),
            last_data_block: self.get(10).filter(|offset| *offset != NOWHERE),
            comparator: self.comparator.to_owned(),
            codec: Codec::from_number(self.get(12).unwrap_or(Codec::None.number().into()))?,
            body,
        })
    }
}
