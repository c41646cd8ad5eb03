//! Gzip that is at hand as a whole, into room of its size and back.
//!
//! ```text
//! gzip      header | deflated | CRC-32 | u32 size of what it inflates to, least byte first      members, mostly one
//! ```
//!
//! libdeflate makes use of both, and needs less than half the time of a decoder that knows of neither.

use libdeflater::{CompressionLvl, Compressor, Decompressor};
use memchr::memmem;

/// A byte inflates to so many at most.
pub(crate) const MOST_INFLATED: usize = 1032;
/// Where a member says its size.
const SIZE: usize = 4;
/// How a member begins: magic, and the one method that there is.
const MEMBER: &[u8] = &[0x1f, 0x8b, 8];

pub(crate) struct Gunzip(Decompressor);

impl Gunzip {
    pub(crate) fn new() -> Self {
        Self(Decompressor::new())
    }

    /// Whether `packed` was one whole member that inflated to exactly the bytes of `room`. Else it has several members or
    /// is damaged, which a decoder that reads on can tell.
    pub(crate) fn fill(&mut self, packed: &[u8], room: &mut [u8]) -> bool {
        is_one_member(packed) && self.0.gzip_decompress(packed, room) == Ok(room.len())
    }
}

/// One member.
pub(crate) fn compressed(raw: &[u8]) -> Option<Vec<u8>> {
    let mut compressor = Compressor::new(CompressionLvl::default());
    let mut packed = vec![0; compressor.gzip_compress_bound(raw.len())];
    let length = compressor.gzip_compress(raw, &mut packed).ok()?;
    packed.truncate(length);
    Some(packed)
}

/// What the last member says that it inflates to.
pub(crate) fn stated_size(packed: &[u8]) -> usize {
    packed.last_chunk::<SIZE>().map_or(0, |size| u32::from_le_bytes(*size) as usize)
}

/// libdeflate stops behind the first one and does not say where that was. If these bytes stand there by chance, nothing is
/// lost but time.
fn is_one_member(packed: &[u8]) -> bool {
    packed.get(1..).is_some_and(|behind| memmem::find(behind, MEMBER).is_none())
}
