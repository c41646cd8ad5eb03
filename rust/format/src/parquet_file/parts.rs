//! Parts of a Parquet file that were fetched together, for readers that know beforehand what they will ask for.

use std::io::Cursor;
use std::ops::Range;

use bytes::Bytes;
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use parquet::file::reader::{ChunkReader, Length};

use super::footer::TAIL;
use super::read_footer;
use crate::{Error, Result};

/// So much of the end is fetched first: the footers of most files are in it.
const END: u64 = 64 << 10;

/// A file of which some ranges are at hand.
#[derive(Debug)]
pub struct Parts {
    length: u64,
    /// Where each begins, and its bytes.
    pieces: Vec<(u64, Bytes)>,
}

impl Parts {
    /// Fetches the footer, and then what of the file a choice of column chunks needs. `fetch` gives the bytes of ranges.
    pub fn fetch(
        length: u64,
        mut fetch: impl FnMut(Vec<Range<u64>>) -> Result<Vec<Bytes>>,
        choose: impl FnOnce(&ParquetMetaData) -> Vec<Range<u64>>,
    ) -> Result<Self> {
        let mut parts = Self { length, pieces: Vec::new() };
        parts.add(length.saturating_sub(END)..length, &mut fetch)?;
        let footer = parts.footer_length();
        if footer > END {
            parts.add(length.saturating_sub(footer)..length, &mut fetch)?;
        }
        let end = parts.pieces.last().map_or(length, |(start, _)| *start);
        let chosen = choose(&read_footer(&parts)?).into_iter();
        let ranges: Vec<_> = chosen.filter(|range| range.start < end && range.end <= length).collect();
        let bytes = fetch(ranges.clone())?;
        parts.pieces.extend(ranges.into_iter().map(|range| range.start).zip(bytes));
        Ok(parts)
    }

    fn add(&mut self, range: Range<u64>, fetch: &mut impl FnMut(Vec<Range<u64>>) -> Result<Vec<Bytes>>) -> Result<()> {
        let start = range.start;
        let bytes = fetch(vec![range])?.pop().ok_or_else(|| Error::storage("storage answered with nothing"))?;
        self.pieces = vec![(start, bytes)];
        Ok(())
    }

    /// With its tail, as the file says; that may be anything.
    fn footer_length(&self) -> u64 {
        let Some((_, end)) = self.pieces.last() else { return 0 };
        let tail = end.len().checked_sub(TAIL).and_then(|at| end.get(at..at + 4));
        let length = tail.and_then(|bytes| <[u8; 4]>::try_from(bytes).ok()).map_or(0, u32::from_le_bytes);
        (u64::from(length) + TAIL as u64).min(self.length)
    }

    fn bytes_from(&self, start: u64) -> ParquetResult<Bytes> {
        let holds = |(at, bytes): &&(u64, Bytes)| (*at..at + bytes.len() as u64).contains(&start);
        let piece = self.pieces.iter().find(holds);
        let piece = piece.ok_or_else(|| ParquetError::EOF(format!("the byte at {start} was not asked for before")))?;
        Ok(piece.1.slice((start - piece.0) as usize..))
    }
}

/// Where the chunks of some columns lie, of a row group.
pub fn chunks<'a>(group: &'a RowGroupMetaData, columns: &'a [&str]) -> impl Iterator<Item = Range<u64>> + 'a {
    let wanted = group
        .columns()
        .iter()
        .filter(|chunk| chunk.column_path().parts().first().is_some_and(|root| columns.contains(&root.as_str())));
    wanted.map(|chunk| {
        let (start, length) = chunk.byte_range();
        start..start.saturating_add(length)
    })
}

impl Length for Parts {
    fn len(&self) -> u64 {
        self.length
    }
}

impl ChunkReader for Parts {
    type T = Cursor<Bytes>;

    fn get_read(&self, start: u64) -> ParquetResult<Self::T> {
        self.bytes_from(start).map(Cursor::new)
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        let bytes = self.bytes_from(start)?;
        let there = bytes.len();
        bytes.get(..length).map(|_| bytes.slice(..length)).ok_or_else(|| {
            ParquetError::EOF(format!("{length} bytes at {start} are asked for, and {there} are at hand"))
        })
    }
}
