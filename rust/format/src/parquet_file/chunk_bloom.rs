//! Bloom filters of column chunks: split blocks of 32 bytes, over hashes of values as they are spelled in plain.
//!
//! ```text
//! header    bytes | algorithm: blocks | hash: XXH64 | compression: none      then the blocks
//! ```
//!
//! A value is asked for only if every equal value of its column is spelled with the same bytes: not so floating-point
//! numbers (zeros, NaN) and decimals (any number of bytes).

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Int32Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, TimeUnit};
use parquet::basic::Type as Physical;
use parquet::bloom_filter::Sbbf;
use parquet::data_type::AsBytes;
use parquet::file::reader::ChunkReader;

use super::shapes::BLOOM_FILTER;
use super::thrift::{integer, structure};
use super::{ParquetFile, guarded};
use crate::wire::Reader;
use crate::{Error, Result};

/// A header is shorter.
const HEADER: u64 = 64;
const BLOCK: u64 = 32;

/// The bloom filter of a chunk.
#[derive(Debug)]
pub struct ChunkBloom {
    blocks: Sbbf,
    physical: Physical,
}

impl<R: ChunkReader + 'static> ParquetFile<R> {
    /// That of a column, by its position in the schema, in a row group, unless it takes more than some bytes. One that
    /// cannot be used is not there.
    pub fn bloom_filter(&self, group: usize, column: usize, most: u64) -> Result<Option<ChunkBloom>> {
        let Some((leaf, _)) = self.plain_leaf(column) else { return Ok(None) };
        let chunk = self.metadata.row_groups().get(group).and_then(|group| group.columns().get(leaf));
        let start = chunk.and_then(|chunk| u64::try_from(chunk.bloom_filter_offset()?).ok());
        let left = start.and_then(|start| self.source.len().checked_sub(start));
        let (Some(chunk), Some(start), Some(left)) = (chunk, start, left) else { return Ok(None) };
        let announced = chunk.bloom_filter_length().and_then(|length| u64::try_from(length).ok());
        if announced.is_some_and(|length| length > most) {
            return Ok(None);
        }
        let head = announced.unwrap_or(HEADER).min(left);
        let head = self.source.fetch(start..start + head)?;
        let Ok(length) = look_over(&head, start) else { return Ok(None) };
        let bytes = match length {
            at_hand if at_hand <= head.len() as u64 => head.slice(..at_hand as usize),
            more if more <= left.min(most) => self.source.fetch(start..start + more)?,
            _ => return Ok(None),
        };
        let Ok(blocks) = guarded(|| Sbbf::from_bytes(&bytes)) else { return Ok(None) };
        Ok(Some(ChunkBloom { blocks, physical: chunk.column_type() }))
    }
}

/// How many bytes it takes, with its header.
fn look_over(head: &[u8], offset: u64) -> Result<u64> {
    let mut reader = Reader::new(head, offset);
    let mut blocks = None;
    structure(&mut reader, BLOOM_FILTER, |id, reader| {
        if id == 1 {
            blocks = u64::try_from(integer(reader)?).ok();
        }
        Ok(id == 1)
    })?;
    let header = (head.len() - reader.left()) as u64;
    let blocks = blocks.filter(|bytes| *bytes > 0 && bytes.is_multiple_of(BLOCK) && *bytes <= i32::MAX as u64);
    blocks
        .map(|blocks| header + blocks)
        .ok_or_else(|| Error::corrupt("a Parquet bloom filter that is not made of blocks").at_offset(offset))
}

impl ChunkBloom {
    /// Whether the chunk may hold one of some values of its column, in the column's type. Nulls are in no filter.
    pub fn may_hold_any(&self, values: &ArrayRef) -> bool {
        match (self.physical, values.data_type()) {
            _ if values.null_count() > 0 => true,
            (Physical::INT32, DataType::Int32) => self.any(values.as_primitive::<Int32Type>().values().iter()),
            (Physical::INT32, DataType::Date32) => self.any(values.as_primitive::<Date32Type>().values().iter()),
            (Physical::INT64, DataType::Int64) => self.any(values.as_primitive::<Int64Type>().values().iter()),
            (Physical::INT64, DataType::Timestamp(TimeUnit::Millisecond, _)) => {
                self.any(values.as_primitive::<TimestampMillisecondType>().values().iter())
            }
            (Physical::INT64, DataType::Timestamp(TimeUnit::Microsecond, _)) => {
                self.any(values.as_primitive::<TimestampMicrosecondType>().values().iter())
            }
            (Physical::BYTE_ARRAY, DataType::Utf8) => self.any(values.as_string::<i32>().iter().flatten()),
            (Physical::BYTE_ARRAY, DataType::Binary) => self.any(values.as_binary::<i32>().iter().flatten()),
            _ => true,
        }
    }

    fn any<'v, T: AsBytes + ?Sized + 'v>(&self, mut values: impl Iterator<Item = &'v T>) -> bool {
        values.any(|value| self.blocks.check(value))
    }
}
