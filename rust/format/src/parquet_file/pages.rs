//! Pages of a column, their headers checked before they are parsed and their values before they are decoded.
//!
//! ```text
//! page      header (Thrift) | levels and values, compressed
//! header    1 type | 2 uncompressed size | 3 compressed size | 5 data: 1 values … | 7 dictionary: 1 values …
//!           | 8 data v2: 1 values, 2 nulls, 3 rows, 5 bytes of definition levels, 6 bytes of repetition levels …
//! v1        repetition levels, definition levels, if there are any: each u32 length | runs     then values
//! v2        repetition levels | definition levels | values; only these are compressed
//! deltas    block size | miniblocks a block | number of values | first value
//!           | blocks: least delta | a width a miniblock | miniblocks
//! ```
//!
//! Lengths of `DELTA_LENGTH_BYTE_ARRAY` are deltas, of `DELTA_BYTE_ARRAY` deltas twice: for each value how much it shares
//! with the one before, and how much follows.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use parquet::basic::Encoding;
use parquet::column::page::Page;
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::reader::ChunkReader;

use super::shapes::{DATA_PAGE, DATA_PAGE_V2, DICTIONARY_PAGE, PAGE, Shape};
use super::thrift::{integer, length, structure};
use super::{Limits, failed};
use crate::wire::Reader;
use crate::{Error, Result};

/// The length in front of the levels of a page of version 1.
const LEVELS_LENGTH: usize = 4;

/// The bytes of a file, and what was wrong with them.
#[derive(Debug)]
pub(super) struct Checked<R> {
    file: R,
    limits: Limits,
    failure: Mutex<Option<Error>>,
}

impl<R> Checked<R> {
    pub(super) fn new(file: R, limits: Limits) -> Self {
        Self { file, limits, failure: Mutex::new(None) }
    }

    pub(super) fn limits(&self) -> Limits {
        self.limits
    }

    pub(super) fn take_failure(&self) -> Option<Error> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Keeps the error: on its way through the crate it would lose all but its text.
    pub(super) fn keep(&self, e: Error) -> ParquetError {
        let shown = ParquetError::General(e.to_string());
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(e);
        shown
    }
}

impl<R: ChunkReader> Checked<R> {
    /// Bytes for our own use.
    pub(super) fn fetch(&self, range: Range<u64>) -> Result<Bytes> {
        let length = range.end.saturating_sub(range.start) as usize;
        self.file.get_bytes(range.start, length).map_err(failed)
    }

    /// The same for the crate.
    pub(super) fn bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        self.file.get_bytes(start, length).map_err(|e| self.keep(failed(e)))
    }

    pub(super) fn len(&self) -> u64 {
        self.file.len()
    }

    /// Bytes begin with a page header that may be acted on. Answers where its page begins, unless that is empty.
    pub(super) fn header(&self, bytes: &[u8], start: u64) -> Result<Option<u64>> {
        let (header, length) = Header::parse(bytes, start)?;
        header.check(self.limits).map_err(|e| e.at_offset(start))?;
        Ok(start.checked_add(length as u64).filter(|_| header.compressed > 0))
    }
}

/// What a page header says of sizes.
#[derive(Debug, Default)]
struct Header {
    kind: i64,
    /// Whether it says more of data, of a dictionary, of data of version 2.
    says: [bool; 3],
    uncompressed: i64,
    compressed: i64,
    values: i64,
    nulls: i64,
    rows: i64,
    levels: [i64; 2],
}

impl Header {
    fn parse(bytes: &[u8], offset: u64) -> Result<(Self, usize)> {
        let mut reader = Reader::new(bytes, offset);
        let mut header = Self::default();
        structure(&mut reader, PAGE, |id, reader| {
            match id {
                1 => header.kind = integer(reader)?,
                2 => header.uncompressed = integer(reader)?,
                3 => header.compressed = integer(reader)?,
                5 => {
                    header.says[0] = true;
                    header.parse_kind(reader, DATA_PAGE)?;
                }
                7 => {
                    header.says[1] = true;
                    header.parse_kind(reader, DICTIONARY_PAGE)?;
                }
                8 => {
                    header.says[2] = true;
                    header.parse_kind(reader, DATA_PAGE_V2)?;
                }
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok((header, bytes.len().saturating_sub(reader.left())))
    }

    /// All three start with the number of values; sizes follow in the last.
    fn parse_kind(&mut self, reader: &mut Reader<'_>, shape: Shape) -> Result<()> {
        let is_v2 = shape.len() == DATA_PAGE_V2.len();
        structure(reader, shape, |id, reader| {
            let slot = match id {
                1 => &mut self.values,
                2 if is_v2 => &mut self.nulls,
                3 if is_v2 => &mut self.rows,
                5 if is_v2 => &mut self.levels[0],
                6 if is_v2 => &mut self.levels[1],
                _ => return Ok(false),
            };
            *slot = integer(reader)?;
            Ok(true)
        })
    }

    fn check(&self, limits: Limits) -> Result<()> {
        let Self { kind, says: [data, dictionary, data_v2], uncompressed, compressed, values, nulls, rows, levels } =
            *self;
        let is_described = match kind {
            0 => data,
            2 => dictionary,
            3 => data_v2,
            _ => true,
        };
        if !is_described {
            return Err(Error::corrupt(format!("a Parquet page of kind {kind} that says nothing of it")));
        }
        let size = usize::try_from(uncompressed).ok().zip(usize::try_from(compressed).ok());
        let Some((uncompressed, _)) = size else {
            return Err(Error::corrupt(format!("a Parquet page of {compressed} bytes, {uncompressed} uncompressed")));
        };
        if uncompressed > limits.page_bytes {
            let message = format!("a Parquet page of {uncompressed} bytes, uncompressed");
            return Err(Error::unsupported(message).with_hint(format!("{} are the most", limits.page_bytes)));
        }
        if usize::try_from(values).is_ok_and(|values| values > limits.page_values) {
            let message = format!("a Parquet page of {values} values");
            return Err(Error::unsupported(message).with_hint(format!("{} are the most", limits.page_values)));
        }
        let sizes = [values, nulls, rows, levels[0], levels[1]];
        let room = i64::try_from(limits.page_bytes.max(limits.page_values)).unwrap_or(i64::MAX);
        if sizes.iter().any(|size| !(0..=room).contains(size)) {
            return Err(Error::corrupt(format!("a Parquet page of {values} values, {nulls} nulls, {rows} rows")));
        }
        Ok(())
    }
}

/// What its encoding declares of a page must be in it.
pub(super) fn check_page(page: &Page, max_levels: [i16; 2], has_dictionary: bool, jumps: bool) -> Result<()> {
    if !has_dictionary && matches!(page.encoding(), Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY) {
        return Err(Error::corrupt("a Parquet page that refers to a dictionary, of which there is none"));
    }
    match page {
        Page::DictionaryPage { buf, num_values, .. } if *num_values as usize > buf.len() => {
            Err(Error::corrupt(format!("a Parquet dictionary of {num_values} values in {} bytes", buf.len())))
        }
        Page::DictionaryPage { .. } => Ok(()),
        Page::DataPage { buf, num_values, encoding, def_level_encoding, rep_level_encoding, .. } => {
            let mut reader = Reader::new(buf, 0);
            let encodings = [rep_level_encoding, def_level_encoding];
            for (level_encoding, max) in encodings.into_iter().zip(max_levels) {
                skip_levels(&mut reader, *level_encoding, max, *num_values)?;
            }
            check_values(reader, *encoding, *num_values, jumps)
        }
        Page::DataPageV2 { buf, num_values, encoding, def_levels_byte_len, rep_levels_byte_len, .. } => {
            let mut reader = Reader::new(buf, 0);
            let levels = (*rep_levels_byte_len as usize).saturating_add(*def_levels_byte_len as usize);
            reader.take(levels, "levels of a Parquet page")?;
            check_values(reader, *encoding, *num_values, jumps)
        }
    }
}

/// Levels of version 1.
fn skip_levels(reader: &mut Reader<'_>, encoding: Encoding, max: i16, values: u32) -> Result<()> {
    if max == 0 {
        return Ok(());
    }
    #[expect(deprecated, reason = "old writers packed levels without lengths")]
    let length = match encoding {
        Encoding::BIT_PACKED => {
            let bits = u64::from(u16::BITS - max.unsigned_abs().leading_zeros());
            (u64::from(values) * bits).div_ceil(8) as usize
        }
        _ if reader.left() < LEVELS_LENGTH => return Err(reader.corrupt("a Parquet page without its levels")),
        _ => reader.u32_le("length of levels of a Parquet page")? as usize,
    };
    reader.take(length, "levels of a Parquet page").map(drop)
}

/// Encodings that say how many values they hold, in which the crate trusts, and values of which each says how long it is,
/// in which it trusts where it jumps over them.
fn check_values(mut reader: Reader<'_>, encoding: Encoding, values: u32, jumps: bool) -> Result<()> {
    match encoding {
        Encoding::PLAIN if jumps => skip_texts(&mut reader, values),
        Encoding::DELTA_BINARY_PACKED | Encoding::DELTA_LENGTH_BYTE_ARRAY => skip_deltas(&mut reader, values),
        Encoding::DELTA_BYTE_ARRAY => {
            skip_deltas(&mut reader, values)?;
            skip_deltas(&mut reader, values)
        }
        Encoding::ALP => Err(Error::unsupported(format!("a Parquet page in the encoding {encoding}"))),
        _ => Ok(()),
    }
}

/// No more than there are values; nulls have none.
fn skip_texts(reader: &mut Reader<'_>, values: u32) -> Result<()> {
    let mut left = values;
    while left > 0 && !reader.is_empty() {
        let length = reader.u32_le("length of a value in a Parquet page")? as usize;
        reader.take(length, "value in a Parquet page")?;
        left -= 1;
    }
    Ok(())
}

fn skip_deltas(reader: &mut Reader<'_>, values: u32) -> Result<()> {
    if reader.is_empty() && values == 0 {
        return Ok(());
    }
    let block = length(reader)?;
    let miniblocks = length(reader)?;
    let count = length(reader)?;
    integer(reader)?;
    if count > values as usize {
        return Err(reader.corrupt(format!("{count} deltas in a Parquet page of {values} values")));
    }
    let each = block.checked_div(miniblocks).unwrap_or_default();
    if each == 0 || each > i32::MAX as usize || !each.is_multiple_of(8) {
        return Err(reader.corrupt(format!("blocks of {block} deltas in {miniblocks} parts in a Parquet page")));
    }
    let mut left = count.saturating_sub(1);
    while left > 0 {
        integer(reader)?;
        for width in reader.take(miniblocks, "widths of deltas in a Parquet page")? {
            let length = if left == 0 { 0 } else { usize::from(*width) * (each / 8) };
            // The last one may be cut: the crate takes what is not there for nothing.
            reader.take(length.min(reader.left()), "deltas of a Parquet page")?;
            left = left.saturating_sub(each);
        }
    }
    Ok(())
}
