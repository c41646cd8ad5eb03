//! The column chunk of a column whose rows all have one value.
//!
//! Its pages are all alike but for the last. So the encoder is given the rows of one page and those of the last page, and
//! the first page is repeated as often as it takes. Every number that is told of the chunk grows by what that page adds.

use std::sync::Arc;

use arrow_array::{ArrayRef, StringArray};
use arrow_schema::{FieldRef, Schema};
use bytes::Bytes;
use hudini_format::empty::with_buffer;
use parquet::arrow::arrow_writer::{ArrowRowGroupWriterFactory, compute_leaves};
use parquet::basic::{PageType, Type as Physical};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{
    ColumnChunkMetaData, ColumnIndexBuilder, LevelHistogram, OffsetIndexBuilder, PageEncodingStats,
};
use parquet::file::page_index::column_index::ColumnIndexMetaData;
use parquet::file::page_index::offset_index::{OffsetIndexMetaData, PageLocation};
use parquet::file::properties::WriterPropertiesPtr;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{Type, TypePtr};

/// What a file begins with.
const MAGIC: usize = 4;

/// A column of texts, and the text that all rows have.
#[derive(Clone, Copy)]
pub(super) struct Repeated<'a> {
    pub(super) field: &'a FieldRef,
    pub(super) parquet: &'a TypePtr,
    pub(super) properties: &'a WriterPropertiesPtr,
    pub(super) value: &'a str,
}

impl Repeated<'_> {
    /// `None` if it is not worth while, or if the pages are others than expected.
    pub(super) fn chunk(self, rows: usize) -> Result<Option<(Bytes, ColumnCloseResult)>> {
        let of_page = self.rows_of_page();
        let pages = rows.div_ceil(of_page.max(1));
        if pages < 4 {
            return Ok(None);
        }
        let more = pages - 2;
        let sample = self.encoded(rows - more * of_page)?;
        sample.parts(of_page).map(|parts| sample.chunk(rows, more, of_page, parts)).transpose()
    }

    /// Where values may be missing the encoder counts rows one by one, else so many at a time.
    fn rows_of_page(self) -> usize {
        let limit = self.properties.data_page_row_count_limit();
        if self.field.is_nullable() { limit } else { limit.next_multiple_of(self.properties.write_batch_size().max(1)) }
    }

    fn encoded(self, rows: usize) -> Result<Sample> {
        let schema = Arc::new(Schema::new(vec![FieldRef::clone(self.field)]));
        let root = Type::group_type_builder("sample").with_fields(vec![TypePtr::clone(self.parquet)]).build()?;
        let mut file =
            SerializedFileWriter::new(Vec::new(), Arc::new(root), WriterPropertiesPtr::clone(self.properties))?;
        let writers = ArrowRowGroupWriterFactory::new(&file, schema).create_column_writers(0)?;
        let [mut writer] = <[_; 1]>::try_from(writers).map_err(|_| odd("a column of texts has several leaves"))?;
        let values: ArrayRef = repeated(self.value, rows)?;
        for leaf in compute_leaves(self.field, &values)? {
            writer.write(&leaf)?;
        }
        let chunk = writer.close()?;
        let told = chunk.close();
        let (metadata, columns) = (told.metadata.clone(), told.column_index.clone());
        let pages = told.offset_index.as_ref().map(|index| index.page_locations().clone()).unwrap_or_default();
        let mut group = file.next_row_group()?;
        chunk.append_to_row_group(&mut group)?;
        group.close()?;
        let size = |bytes: i64| usize::try_from(bytes).map_err(|_| odd("a size is negative"));
        let end = MAGIC + size(metadata.compressed_size())?;
        let bytes = file.into_inner()?.get(MAGIC..end).map(<[u8]>::to_vec).unwrap_or_default();
        Ok(Sample { bytes, metadata, columns, pages })
    }
}

/// A chunk of two pages.
struct Sample {
    bytes: Vec<u8>,
    metadata: ColumnChunkMetaData,
    columns: Option<ColumnIndexMetaData>,
    pages: Vec<PageLocation>,
}

/// What a chunk consists of: the dictionary, if there is one, the page that is repeated, and the last one.
#[derive(Clone, Copy)]
struct Parts<'s> {
    front: &'s [u8],
    page: &'s [u8],
    last: &'s [u8],
    /// Bytes of `page` when decompressed, with its header.
    raw_page: usize,
}

impl Sample {
    /// `None` if it is not one page of so many rows and another one.
    fn parts(&self, of_page: usize) -> Option<Parts<'_>> {
        let ([page, last], Some(ColumnIndexMetaData::BYTE_ARRAY(_))) = (&self.pages[..], &self.columns) else {
            return None;
        };
        let size = |page: &PageLocation| usize::try_from(page.compressed_page_size).ok();
        let (page_size, last_size) = (size(page)?, size(last)?);
        let (front, pages) = self.bytes.split_at_checked(self.bytes.len().checked_sub(page_size + last_size)?)?;
        let (page, last_page) = pages.split_at_checked(page_size)?;
        let raw_page = raw_size(page)?;
        let raw_front = if front.is_empty() { 0 } else { raw_size(front)? };
        let adds_up = raw_front + raw_page + raw_size(last_page)?;
        let is_expected = usize::try_from(last.first_row_index) == Ok(of_page)
            && i64::try_from(adds_up) == Ok(self.metadata.uncompressed_size());
        is_expected.then_some(Parts { front, page, last: last_page, raw_page })
    }

    /// With so many pages more.
    fn chunk(&self, rows: usize, more: usize, of_page: usize, parts: Parts<'_>) -> Result<(Bytes, ColumnCloseResult)> {
        let bytes = [parts.front, &parts.page.repeat(1 + more), parts.last].concat();
        let chunk = ColumnCloseResult {
            bytes_written: bytes.len() as u64,
            rows_written: rows as u64,
            metadata: self.metadata(rows, more, bytes.len(), parts)?,
            bloom_filter: None,
            column_index: Some(self.columns(more)?),
            offset_index: Some(self.offsets(more, of_page, parts)),
        };
        Ok((bytes.into(), chunk))
    }

    fn metadata(&self, rows: usize, more: usize, bytes: usize, parts: Parts<'_>) -> Result<ColumnChunkMetaData> {
        let told = &self.metadata;
        let of_all = |number: i64| number / told.num_values() * rows as i64;
        let histogram = |levels: Option<&LevelHistogram>| {
            levels.map(|levels| LevelHistogram::from(levels.values().iter().map(|n| of_all(*n)).collect::<Vec<_>>()))
        };
        let stats = told.page_encoding_stats().into_iter().flatten().map(|stat| {
            let added = if stat.page_type == PageType::DATA_PAGE { more } else { 0 };
            let count = i32::try_from(added).ok().and_then(|added| stat.count.checked_add(added));
            Ok(PageEncodingStats { count: count.ok_or_else(|| odd("2^31 pages"))?, ..stat.clone() })
        });
        told.clone()
            .into_builder()
            .set_num_values(rows as i64)
            .set_total_compressed_size(bytes as i64)
            .set_total_uncompressed_size(told.uncompressed_size() + (more * parts.raw_page) as i64)
            .set_unencoded_byte_array_data_bytes(told.unencoded_byte_array_data_bytes().map(of_all))
            .set_definition_level_histogram(histogram(told.definition_level_histogram()))
            .set_repetition_level_histogram(histogram(told.repetition_level_histogram()))
            .set_page_encoding_stats(stats.collect::<Result<_>>()?)
            .set_dictionary_page_offset((!parts.front.is_empty()).then_some(0))
            .set_data_page_offset(parts.front.len() as i64)
            .build()
    }

    fn columns(&self, more: usize) -> Result<ColumnIndexMetaData> {
        let Some(ColumnIndexMetaData::BYTE_ARRAY(index)) = &self.columns else { return Err(odd("no statistics")) };
        let mut all = ColumnIndexBuilder::new(Physical::BYTE_ARRAY);
        for page in std::iter::repeat_n(0, 1 + more).chain([1]) {
            let bound = |value: Option<&[u8]>| value.map(<[u8]>::to_vec).unwrap_or_default();
            let nulls = index.null_count(page).unwrap_or(0);
            all.append(
                index.is_null_page(page),
                bound(index.min_value(page)),
                bound(index.max_value(page)),
                nulls,
                None,
            );
            let levels = |levels: Option<&[i64]>| levels.map(|levels| LevelHistogram::from(levels.to_vec()));
            all.append_histograms(
                &levels(index.repetition_level_histogram(page)),
                &levels(index.definition_level_histogram(page)),
            );
        }
        if let Some(order) = self.columns.as_ref().and_then(ColumnIndexMetaData::get_boundary_order) {
            all.set_boundary_order(order);
        }
        all.build()
    }

    fn offsets(&self, more: usize, of_page: usize, parts: Parts<'_>) -> OffsetIndexMetaData {
        let rows = self.metadata.num_values();
        let of_rows = |count: i64| self.metadata.unencoded_byte_array_data_bytes().map(|all| all / rows * count);
        let of_page = of_page as i64;
        let mut all = OffsetIndexBuilder::new();
        let mut at = parts.front.len();
        let alike = std::iter::repeat_n((of_page, parts.page), 1 + more);
        for (rows, page) in alike.chain([(rows - of_page, parts.last)]) {
            all.append_row_count(rows);
            all.append_offset_and_size(at as i64, i32::try_from(page.len()).unwrap_or(i32::MAX));
            all.append_unencoded_byte_array_data_bytes(of_rows(rows));
            at += page.len();
        }
        all.build()
    }
}

/// Bytes of a page when decompressed, with its header: a Thrift struct that begins with three numbers, the kind of the
/// page and its sizes before and after compression.
fn raw_size(page: &[u8]) -> Option<usize> {
    const NEXT_I32: u8 = 0x15;
    let mut rest = page;
    let mut number = || {
        let (NEXT_I32, mut behind) = rest.split_first().map(|(field, behind)| (*field, behind))? else { return None };
        let mut value = 0_usize;
        for shift in (0..35).step_by(7) {
            let (byte, more) = behind.split_first()?;
            value |= usize::from(byte & 0x7f) << shift;
            behind = more;
            if byte & 0x80 == 0 {
                break;
            }
        }
        rest = behind;
        // Signs are in the last bit; none of these is negative.
        Some(value >> 1)
    };
    let (_, raw, packed) = (number()?, number()?, number()?);
    Some(page.len().checked_sub(packed)? + raw)
}

/// The value in so many rows.
pub(super) fn repeated(value: &str, rows: usize) -> Result<ArrayRef> {
    let values = with_buffer(&StringArray::new_repeated(value, rows));
    values.map(|values| Arc::new(values) as ArrayRef).map_err(|e| ParquetError::External(Box::new(e)))
}

fn odd(what: &str) -> ParquetError {
    ParquetError::General(format!("a repeated value: {what}"))
}
