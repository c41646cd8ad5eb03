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

use std::io::{Cursor, Read};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use parquet::arrow::arrow_reader::RowGroups;
use parquet::basic::Encoding;
use parquet::column::page::{Page, PageIterator, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData};
use parquet::file::reader::{ChunkReader, Length};
use parquet::file::serialized_reader::SerializedPageReader;

use super::shapes::{DATA_PAGE, DATA_PAGE_V2, DICTIONARY_PAGE, PAGE, Shape};
use super::thrift::{integer, length, structure};
use super::{Limits, failed};
use crate::wire::Reader;
use crate::{Error, Result};

/// Most headers are shorter.
const FIRST_READ: usize = 256;
/// A header holds statistics at most, the least and the greatest value.
const LONGEST_HEADER: usize = 16 << 20;
/// The length in front of the levels of a page of version 1.
const LEVELS_LENGTH: usize = 4;

/// The bytes of a file. Reading on from somewhere means that a page header is wanted.
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

    pub(super) fn take_failure(&self) -> Option<Error> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Keeps the error: on its way through the crate it would lose all but its text.
    fn keep(&self, e: Error) -> ParquetError {
        let shown = ParquetError::General(e.to_string());
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(e);
        shown
    }
}

impl<R: ChunkReader> Length for Checked<R> {
    fn len(&self) -> u64 {
        self.file.len()
    }
}

impl<R: ChunkReader> ChunkReader for Checked<R> {
    type T = std::io::Chain<Cursor<Vec<u8>>, R::T>;

    fn get_read(&self, start: u64) -> ParquetResult<Self::T> {
        let mut rest = self.file.get_read(start).map_err(|e| self.keep(failed(e)))?;
        let mut head = Vec::new();
        let mut wanted = FIRST_READ;
        loop {
            let missing = wanted - head.len();
            let read = rest.by_ref().take(missing as u64).read_to_end(&mut head);
            let read = read.map_err(|e| self.keep(failed(ParquetError::External(Box::new(e)))))?;
            match Header::parse(&head, start) {
                Ok(header) => {
                    header.check(self.limits).map_err(|e| self.keep(e.at_offset(start)))?;
                    return Ok(Cursor::new(head).chain(rest));
                }
                Err(e) if read < missing || wanted >= LONGEST_HEADER => return Err(self.keep(e)),
                Err(_) => wanted *= 2,
            }
        }
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        self.file.get_bytes(start, length).map_err(|e| self.keep(failed(e)))
    }
}

/// What a page header says of sizes.
#[derive(Debug, Default)]
struct Header {
    uncompressed: i64,
    compressed: i64,
    values: i64,
    nulls: i64,
    rows: i64,
    levels: [i64; 2],
}

impl Header {
    fn parse(bytes: &[u8], offset: u64) -> Result<Self> {
        let mut reader = Reader::new(bytes, offset);
        let mut header = Self::default();
        structure(&mut reader, PAGE, |id, reader| {
            match id {
                2 => header.uncompressed = integer(reader)?,
                3 => header.compressed = integer(reader)?,
                5 => header.parse_kind(reader, DATA_PAGE)?,
                7 => header.parse_kind(reader, DICTIONARY_PAGE)?,
                8 => header.parse_kind(reader, DATA_PAGE_V2)?,
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(header)
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
        let Self { uncompressed, compressed, values, nulls, rows, levels } = *self;
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

/// Some row groups of a file.
#[derive(Debug)]
pub(super) struct Groups<R> {
    source: Arc<Checked<R>>,
    metadata: Arc<ParquetMetaData>,
    chosen: Vec<usize>,
}

impl<R> Groups<R> {
    pub(super) fn new(source: Arc<Checked<R>>, metadata: Arc<ParquetMetaData>, chosen: Vec<usize>) -> Self {
        Self { source, metadata, chosen }
    }

    fn chosen(&self) -> impl Iterator<Item = &RowGroupMetaData> {
        self.chosen.iter().filter_map(|at| self.metadata.row_groups().get(*at))
    }
}

impl<R: ChunkReader + 'static> RowGroups for Groups<R> {
    fn num_rows(&self) -> usize {
        self.chosen().map(|group| usize::try_from(group.num_rows()).unwrap_or(0)).sum()
    }

    fn column_chunks(&self, column: usize) -> ParquetResult<Box<dyn PageIterator>> {
        let chunks = self.chosen().filter_map(|group| {
            let rows = usize::try_from(group.num_rows()).unwrap_or(0);
            Some((rows, group.columns().get(column)?.clone()))
        });
        let chunks: Vec<_> = chunks.collect();
        Ok(Box::new(Chunks { source: Arc::clone(&self.source), chunks: chunks.into_iter() }))
    }

    fn row_groups(&self) -> Box<dyn Iterator<Item = &RowGroupMetaData> + '_> {
        Box::new(self.chosen())
    }

    fn metadata(&self) -> &ParquetMetaData {
        &self.metadata
    }
}

/// The chunks of one column, with the rows of their groups.
struct Chunks<R> {
    source: Arc<Checked<R>>,
    chunks: std::vec::IntoIter<(usize, ColumnChunkMetaData)>,
}

impl<R: ChunkReader + 'static> Iterator for Chunks<R> {
    type Item = ParquetResult<Box<dyn PageReader>>;

    fn next(&mut self) -> Option<Self::Item> {
        let (rows, chunk) = self.chunks.next()?;
        let descriptor = chunk.column_descr();
        let levels = [descriptor.max_rep_level(), descriptor.max_def_level()];
        let pages = SerializedPageReader::new(Arc::clone(&self.source), &chunk, rows, None);
        let (source, values_left) = (Arc::clone(&self.source), chunk.num_values());
        let checked = |pages| {
            Box::new(Pages { source, pages, levels, has_dictionary: false, values_left }) as Box<dyn PageReader>
        };
        Some(pages.map(checked))
    }
}

impl<R: ChunkReader + 'static> PageIterator for Chunks<R> {}

/// The pages of one chunk.
struct Pages<R: ChunkReader> {
    source: Arc<Checked<R>>,
    pages: SerializedPageReader<Checked<R>>,
    /// The greatest repetition level and the greatest definition level.
    levels: [i16; 2],
    has_dictionary: bool,
    /// Of those that the footer announces.
    values_left: i64,
}

impl<R: ChunkReader> Pages<R> {
    fn checked(&mut self, page: Option<Page>) -> ParquetResult<Option<Page>> {
        if let Some(page) = &page {
            self.check(page).map_err(|e| self.source.keep(e))?;
        }
        Ok(page)
    }

    fn check(&mut self, page: &Page) -> Result<()> {
        if page.is_dictionary_page() {
            self.has_dictionary = true;
        } else {
            let values = i64::from(page.num_values());
            self.values_left = self.values_left.checked_sub(values).filter(|left| *left >= 0).ok_or_else(|| {
                Error::corrupt(format!("a Parquet page of {values} values where {} are left", self.values_left))
            })?;
        }
        check_page(page, self.levels, self.has_dictionary)
    }
}

impl<R: ChunkReader> Iterator for Pages<R> {
    type Item = ParquetResult<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl<R: ChunkReader> PageReader for Pages<R> {
    fn get_next_page(&mut self) -> ParquetResult<Option<Page>> {
        let page = self.pages.get_next_page()?;
        self.checked(page)
    }

    fn peek_next_page(&mut self) -> ParquetResult<Option<PageMetadata>> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> ParquetResult<()> {
        self.pages.skip_next_page()
    }

    fn supports_deferred_dictionary(&self) -> bool {
        self.pages.supports_deferred_dictionary()
    }

    fn take_deferred_dictionary(&mut self) -> ParquetResult<Option<Page>> {
        let page = self.pages.take_deferred_dictionary()?;
        self.checked(page)
    }

    fn at_record_boundary(&mut self) -> ParquetResult<bool> {
        self.pages.at_record_boundary()
    }
}

fn check_page(page: &Page, max_levels: [i16; 2], has_dictionary: bool) -> Result<()> {
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
            check_values(reader, *encoding, *num_values)
        }
        Page::DataPageV2 { buf, num_values, encoding, def_levels_byte_len, rep_levels_byte_len, .. } => {
            let mut reader = Reader::new(buf, 0);
            let levels = (*rep_levels_byte_len as usize).saturating_add(*def_levels_byte_len as usize);
            reader.take(levels, "levels of a Parquet page")?;
            check_values(reader, *encoding, *num_values)
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

/// Encodings that say how many values they hold, in which the crate trusts.
fn check_values(mut reader: Reader<'_>, encoding: Encoding, values: u32) -> Result<()> {
    match encoding {
        Encoding::DELTA_BINARY_PACKED | Encoding::DELTA_LENGTH_BYTE_ARRAY => skip_deltas(&mut reader, values),
        Encoding::DELTA_BYTE_ARRAY => {
            skip_deltas(&mut reader, values)?;
            skip_deltas(&mut reader, values)
        }
        Encoding::ALP => Err(Error::unsupported(format!("a Parquet page in the encoding {encoding}"))),
        _ => Ok(()),
    }
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
