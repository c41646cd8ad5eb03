//! Record positions: which rows of a base file the records of a log block stand for.
//!
//! ```text
//! header text   Base64 of the map, padding optional
//! map           u64 buckets | buckets × (u32 high word, bitmap of the low words)      high words ascend
//! bitmap        a 32-bit Roaring bitmap in its portable form: arrays, bit sets and runs of 16-bit values
//! ```
//!
//! All integers are little-endian. Every chunk is stored in the shortest of its three forms, arrays before runs of equal
//! length, so that equal sets have equal bytes. The n-th smallest position belongs to the n-th record of the block.

use std::fmt;

use base64::Engine as _;
use base64::alphabet::STANDARD as ALPHABET;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use roaring::{RoaringBitmap, RoaringTreemap};

use crate::wire::Reader;
use crate::{Error, Result};

/// As lenient as `java.util.Base64`: padding may be missing, spare bits may be set.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &ALPHABET,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// A set of row numbers.
#[derive(Clone, Default, PartialEq)]
pub struct Positions {
    map: RoaringTreemap,
}

impl Positions {
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads the text of a block's header.
    pub fn from_header(text: &str) -> Result<Self> {
        // Most of the time would go into Base64. What the strict and fast decoder refuses may still be good enough.
        let bytes = base64_simd::STANDARD.decode_to_vec(text.as_bytes()).or_else(|_| LENIENT.decode(text));
        Self::decode(&bytes.map_err(|e| Error::corrupt("record positions are no Base64 text").caused_by(e))?)
    }

    /// The text for a block's header, as Apache Hudi would write it.
    pub fn to_header(&self) -> String {
        base64_simd::STANDARD.encode_to_string(self.encode())
    }

    /// Reads the map behind the text. Error offsets count from its first byte.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new(bytes, 0);
        let buckets = reader.u64_le("number of position buckets")?;
        let mut last = None;
        let mut bitmaps = Vec::new();
        for _ in 0..buckets {
            let high = reader.u32_le("high word of positions")?;
            if last.replace(high).is_some_and(|last| high <= last) {
                return Err(reader.corrupt(format!("high words of positions do not ascend at {high}")));
            }
            let bitmap = read_bitmap(&mut reader)?;
            if !bitmap.is_empty() {
                bitmaps.push((high, bitmap));
            }
        }
        if !reader.is_empty() {
            return Err(reader.corrupt(format!("{} bytes behind the record positions", reader.left())));
        }
        Ok(Self { map: RoaringTreemap::from_bitmaps(bitmaps) })
    }

    /// The map behind the text.
    pub fn encode(&self) -> Vec<u8> {
        let mut map = self.map.clone();
        map.optimize();
        let mut out = Vec::with_capacity(map.serialized_size());
        // Writing to a Vec cannot fail.
        let _ = map.serialize_into(&mut out);
        out
    }

    /// Adds a position; `false` if it was there.
    pub fn insert(&mut self, position: u64) -> bool {
        self.map.insert(position)
    }

    pub fn contains(&self, position: u64) -> bool {
        self.map.contains(position)
    }

    pub fn len(&self) -> u64 {
        self.map.len()
    }

    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    /// All positions, ascending. A few hostile bytes can stand for billions of them: compare [`Self::len`] with what is
    /// expected first.
    pub fn iter(&self) -> impl Iterator<Item = u64> {
        self.map.iter()
    }
}

fn read_bitmap(reader: &mut Reader<'_>) -> Result<RoaringBitmap> {
    let offset = reader.offset();
    let mut rest = reader.rest();
    // Checks order and cardinality, and allocates no more than 256 KiB ahead of what it has read.
    let bitmap = RoaringBitmap::deserialize_from(&mut rest)
        .map_err(|e| Error::corrupt("record positions hold no Roaring bitmap").at_offset(offset).caused_by(e))?;
    reader.take(reader.left() - rest.len(), "bitmap of positions")?;
    Ok(bitmap)
}

impl IntoIterator for Positions {
    type Item = u64;
    type IntoIter = roaring::treemap::IntoIter;

    /// All positions, ascending; see [`Positions::iter`].
    fn into_iter(self) -> Self::IntoIter {
        self.map.into_iter()
    }
}

impl FromIterator<u64> for Positions {
    fn from_iter<I: IntoIterator<Item = u64>>(positions: I) -> Self {
        Self { map: positions.into_iter().collect() }
    }
}

impl Extend<u64> for Positions {
    fn extend<I: IntoIterator<Item = u64>>(&mut self, positions: I) {
        self.map.extend(positions);
    }
}

impl Eq for Positions {}

impl fmt::Debug for Positions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: u64 = 16;
        if self.len() > SHOWN {
            let (first, last) = (self.map.min().unwrap_or_default(), self.map.max().unwrap_or_default());
            return write!(f, "{{{} positions from {first} to {last}}}", self.len());
        }
        f.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests;
