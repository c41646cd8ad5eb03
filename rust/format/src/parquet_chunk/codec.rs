//! Pages, compressed.

use std::io;

use parquet::basic::Compression;
use parquet::errors::{ParquetError, Result};

use crate::gzip;

/// What compresses the pages of a chunk.
pub(super) enum Codec {
    Uncompressed,
    Snappy(Box<snap::raw::Encoder>),
    Gzip,
    Zstd(zstd::bulk::Compressor<'static>),
    Lz4,
}

impl Codec {
    /// `None` where pages are left to the crate.
    pub(super) fn of(compression: Compression) -> Option<Self> {
        Some(match compression {
            Compression::UNCOMPRESSED => Self::Uncompressed,
            Compression::SNAPPY => Self::Snappy(Box::new(snap::raw::Encoder::new())),
            // libdeflate, which is at hand for log blocks, takes half the time.
            Compression::GZIP(_) => Self::Gzip,
            Compression::ZSTD(level) => Self::Zstd(zstd::bulk::Compressor::new(level.compression_level()).ok()?),
            Compression::LZ4_RAW => Self::Lz4,
            _ => return None,
        })
    }

    pub(super) fn compressed(&mut self, raw: &[u8]) -> Result<Vec<u8>> {
        match self {
            Self::Uncompressed => Ok(raw.to_vec()),
            Self::Snappy(encoder) => encoder.compress_vec(raw).map_err(|e| ParquetError::External(Box::new(e))),
            Self::Gzip => gzip::compressed(raw).ok_or_else(|| io::Error::other("libdeflate wrote nothing").into()),
            Self::Zstd(compressor) => Ok(compressor.compress(raw)?),
            Self::Lz4 => Ok(lz4_flex::block::compress(raw)),
        }
    }
}
