//! How the blocks of a file are compressed.
//!
//! | number | codec | a payload is |
//! |---|---|---|
//! | 1 | gzip | one member; more are read |
//! | 2 | none | the bytes themselves |
//! | 3, 4 | Snappy, LZ4 | Hadoop's framing: runs of { i32 raw bytes, chunks of { i32 bytes, chunk } } |
//! | 5, 6 | bzip2, Zstandard | one stream; one frame, more are read |
//! | 0 | LZO | refused: no free decoder writes what Hadoop wrote |
//!
//! Hudi writes gzip unless `hoodie.hfile.compression.algorithm` says otherwise. Only releases up to 1.0, by way of HBase,
//! write and read more than gzip and none.

use std::io::{BufRead, Read};

use bzip2::bufread::BzDecoder;
use flate2::bufread::MultiGzDecoder;

use crate::gzip::{self, Gunzip, MOST_INFLATED};
use crate::wire::Reader as Wire;
use crate::{Error, Result};

const SLACK: usize = 1024;

/// The numbers are HBase's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Codec {
    Gzip,
    None,
    Snappy,
    Lz4,
    Bzip2,
    Zstd,
}

impl Codec {
    /// The number in the trailer.
    pub fn number(self) -> u32 {
        match self {
            Self::Gzip => 1,
            Self::None => 2,
            Self::Snappy => 3,
            Self::Lz4 => 4,
            Self::Bzip2 => 5,
            Self::Zstd => 6,
        }
    }

    /// As in `hoodie.hfile.compression.algorithm`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gzip => "GZ",
            Self::None => "NONE",
            Self::Snappy => "SNAPPY",
            Self::Lz4 => "LZ4",
            Self::Bzip2 => "BZIP2",
            Self::Zstd => "ZSTD",
        }
    }

    pub(super) fn from_number(number: u64) -> Result<Self> {
        match number {
            0 => Err(Error::unsupported("HFile compressed with LZO")
                .with_hint("let Apache Hudi write the file anew with hoodie.hfile.compression.algorithm=GZ")),
            1 => Ok(Self::Gzip),
            2 => Ok(Self::None),
            3 => Ok(Self::Snappy),
            4 => Ok(Self::Lz4),
            5 => Ok(Self::Bzip2),
            6 => Ok(Self::Zstd),
            other => Err(Error::unsupported(format!("HFile compression codec {other} is unknown"))),
        }
    }

    /// Decompresses into `out`, whatever it holds, stopping at `raw` bytes: more or fewer are an error.
    pub(super) fn decompress(self, bytes: &[u8], raw: usize, mut out: Vec<u8>) -> Result<Vec<u8>> {
        match self {
            Self::None => {
                out.clear();
                out.extend_from_slice(bytes);
            }
            Self::Gzip => {
                // Damage, found before anything is allocated.
                if raw > bytes.len().saturating_mul(MOST_INFLATED).saturating_add(SLACK) {
                    let message = format!("{raw} bytes cannot come out of {} bytes of gzip", bytes.len());
                    return Err(Error::corrupt(message));
                }
                // Whatever the vector holds is overwritten, so only what it lacks is zeroed.
                out.resize(raw, 0);
                if !Gunzip::new().fill(bytes, &mut out) {
                    read_all(MultiGzDecoder::new(bytes), &mut out).map_err(|e| self.broken(e))?;
                }
            }
            Self::Bzip2 => {
                out.resize(raw, 0);
                read_all(BzDecoder::new(bzip2_of_its_size(bytes, raw)), &mut out).map_err(|e| self.broken(e))?;
            }
            Self::Zstd => {
                out.clear();
                // In one go the output serves as the window; a stream would allocate the window that the frame asks for.
                out.reserve_exact(raw);
                let mut zstd = zstd::bulk::Decompressor::new().map_err(|e| self.broken(e))?;
                zstd.decompress_to_buffer(bytes, &mut out).map_err(|e| self.broken(e))?;
            }
            Self::Snappy => hadoop_chunks(bytes, raw, &mut out, |chunk, into| {
                let length = snap::raw::decompress_len(chunk).map_err(|e| self.broken(e))?;
                let into = into.get_mut(..length).ok_or_else(|| self.too_long())?;
                snap::raw::Decoder::new().decompress(chunk, into).map_err(|e| self.broken(e))
            })?,
            Self::Lz4 => hadoop_chunks(bytes, raw, &mut out, |chunk, into| {
                lz4_flex::block::decompress_into(chunk, into).map_err(|e| self.broken(e))
            })?,
        }
        Ok(out)
    }

    /// Gzip and none only: releases from 1.1 on read nothing else.
    pub(super) fn compress(self, raw: &[u8]) -> Result<Vec<u8>> {
        match self {
            Self::None => Ok(raw.to_vec()),
            Self::Gzip => gzip::compressed(raw).ok_or_else(|| Error::internal("gzip that is longer than it can be")),
            other => Err(Error::unsupported(format!("writing HFiles with {} compression", other.name()))
                .with_hint("use GZ or NONE: Apache Hudi reads nothing else from 1.1 on")),
        }
    }

    fn broken(self, cause: impl std::error::Error + Send + Sync + 'static) -> Error {
        Error::corrupt(format!("{} data of an HFile block cannot be decompressed", self.name())).caused_by(cause)
    }

    fn too_long(self) -> Error {
        Error::corrupt(format!("{} data of an HFile block is longer than declared", self.name()))
    }
}

/// Fills `out`, and reads the end of the stream, where checksums are verified.
fn read_all(mut stream: impl Read, out: &mut [u8]) -> std::io::Result<()> {
    stream.read_exact(out)?;
    match stream.read(&mut [0])? {
        0 => Ok(()),
        _ => Err(std::io::Error::other("the data is longer than declared")),
    }
}

/// The level in the head of a stream says only how much memory its decoder sets aside, usually nearly 4 MB. So it is
/// lowered to what the declared size can need; runs of four equal bytes take five.
fn bzip2_of_its_size(bytes: &[u8], raw: usize) -> impl BufRead {
    const LEVEL_BYTES: usize = 100_000;
    let needed = u8::try_from(raw / 4 * 5 / LEVEL_BYTES + 1).unwrap_or(u8::MAX);
    let digit = b'0' + needed.min(9);
    let (head, rest) = match bytes {
        [b'B', b'Z', b'h', level @ b'1'..=b'9', rest @ ..] => ([b'B', b'Z', b'h', digit.min(*level)], rest),
        _ => ([0; 4], bytes),
    };
    std::io::Cursor::new(head).chain(rest)
}

/// Hadoop's block streams: each run says how many bytes come out of its chunks together.
fn hadoop_chunks(
    bytes: &[u8],
    raw: usize,
    out: &mut Vec<u8>,
    decompress: impl Fn(&[u8], &mut [u8]) -> Result<usize>,
) -> Result<()> {
    out.resize(raw, 0);
    let mut rest = out.as_mut_slice();
    let mut wire = Wire::new(bytes, 0);
    while !rest.is_empty() {
        let run = wire.count("size of a compressed run")?;
        let (mut into, behind) = rest
            .split_at_mut_checked(run)
            .ok_or_else(|| wire.corrupt(format!("a compressed run of {run} bytes is longer than its HFile block")))?;
        while !into.is_empty() {
            let length = wire.count("size of a compressed chunk")?;
            let written = decompress(wire.take(length, "compressed chunk")?, into)?;
            into = into.get_mut(written..).unwrap_or_default();
        }
        rest = behind;
    }
    // Hadoop writes nothing as a run of no bytes.
    if !wire.is_empty() && wire.rest() != [0; 4] {
        return Err(wire.corrupt("an HFile block goes on behind its declared size"));
    }
    Ok(())
}
