//! The column chunk of a column whose rows all have one value.
//!
//! Its pages are all alike but for the last. So the encoder is given some rows, as many less a page, and those of the last
//! page. The chunk is the last page with the first one in front, as often as it takes, and every number that is told of it
//! grows by what a page adds.

use std::sync::Arc;

use arrow_array::{ArrayRef, StringArray};
use arrow_schema::{FieldRef, Schema};
use bytes::Bytes;
use parquet::arrow::arrow_writer::{ArrowRowGroupWriterFactory, compute_leaves};
use parquet::basic::Type as Physical;
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{ColumnChunkMetaData, ColumnIndexBuilder, LevelHistogram, OffsetIndexBuilder};
use parquet::file::page_index::column_index::ColumnIndexMetaData;
use parquet::file::page_index::offset_index::{OffsetIndexMetaData, PageLocation};
use parquet::file::properties::WriterPropertiesPtr;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{Type, TypePtr};

/// More than the rows that are encoded at a time: a page may have so many beyond its limit.
const BEYOND: usize = 1024;
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
    /// `None` if it is not worth while, or if the pages are not alike.
    pub(super) fn chunk(self, rows: usize) -> Result<Option<(Bytes, ColumnCloseResult)>> {
        let two_pages = 2 * self.properties.data_page_row_count_limit().saturating_add(BEYOND);
        if rows / 2 < two_pages {
            return Ok(None);
        }
        let long = self.encoded(two_pages)?;
        let Some(of_page) = long.rows_of_page().filter(|rows| *rows > 0 && 2 * *rows <= two_pages) else {
            return Ok(None);
        };
        let copies = (rows - 1) / of_page;
        let short = self.encoded(two_pages - of_page)?;
        let last = self.encoded(rows - copies * of_page)?;
        let samples = Samples { long, short, last, of_page, copies };
        samples.pages().map(|pages| samples.chunk(rows, pages)).transpose()
    }

    fn encoded(self, rows: usize) -> Result<Sample> {
        let schema = Arc::new(Schema::new(vec![FieldRef::clone(self.field)]));
        let root = Type::group_type_builder("sample").with_fields(vec![TypePtr::clone(self.parquet)]).build()?;
        let mut file =
            SerializedFileWriter::new(Vec::new(), Arc::new(root), WriterPropertiesPtr::clone(self.properties))?;
        let writers = ArrowRowGroupWriterFactory::new(&file, schema).create_column_writers(0)?;
        let [mut writer] = <[_; 1]>::try_from(writers).map_err(|_| odd("a column of texts has several leaves"))?;
        let values: ArrayRef = Arc::new(StringArray::new_repeated(self.value, rows));
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

/// A chunk of one, two or few pages.
struct Sample {
    bytes: Vec<u8>,
    metadata: ColumnChunkMetaData,
    columns: Option<ColumnIndexMetaData>,
    pages: Vec<PageLocation>,
}

impl Sample {
    /// Of the first, if there are several.
    fn rows_of_page(&self) -> Option<usize> {
        usize::try_from(self.pages.get(1)?.first_row_index).ok()
    }

    /// The dictionary, if there is one, and the pages.
    fn parts(&self) -> Option<(&[u8], Vec<&[u8]>)> {
        let sizes = self.pages.iter().map(|page| usize::try_from(page.compressed_page_size).ok());
        let sizes = sizes.collect::<Option<Vec<_>>>()?;
        let (front, mut rest) = self.bytes.split_at_checked(self.bytes.len().checked_sub(sizes.iter().sum())?)?;
        let mut pages = Vec::with_capacity(sizes.len());
        for size in sizes {
            let (page, behind) = rest.split_at_checked(size)?;
            pages.push(page);
            rest = behind;
        }
        Some((front, pages))
    }
}

struct Samples {
    /// Two pages, and perhaps the beginning of a third.
    long: Sample,
    /// The same without one page.
    short: Sample,
    /// The page at the end.
    last: Sample,
    of_page: usize,
    /// Of the first page of `long`.
    copies: usize,
}

/// What the chunk consists of: the dictionary, the page that is repeated, and the last one.
#[derive(Clone, Copy)]
struct Pages<'s> {
    front: &'s [u8],
    page: &'s [u8],
    last: &'s [u8],
}

impl Samples {
    /// `None` if they are not alike.
    fn pages(&self) -> Option<Pages<'_>> {
        let (front, long) = self.long.parts()?;
        let (_, last) = self.last.parts()?;
        let ([page, same, rest @ ..], [last]) = (&long[..], &last[..]) else { return None };
        let without_one = [&[front, page], rest].concat().concat();
        let is_known = |sample: &Sample| matches!(sample.columns, Some(ColumnIndexMetaData::BYTE_ARRAY(_)));
        let are_alike = page == same
            && self.short.bytes == without_one
            && self.last.bytes.starts_with(front)
            && [&self.long, &self.last].into_iter().all(is_known);
        are_alike.then_some(Pages { front, page, last })
    }

    fn chunk(&self, rows: usize, pages: Pages<'_>) -> Result<(Bytes, ColumnCloseResult)> {
        let bytes = [pages.front, &pages.page.repeat(self.copies), pages.last].concat();
        let chunk = ColumnCloseResult {
            bytes_written: bytes.len() as u64,
            rows_written: rows as u64,
            metadata: self.metadata(pages.front.len())?,
            bloom_filter: None,
            column_index: Some(self.columns()?),
            offset_index: Some(self.offsets(pages)),
        };
        Ok((bytes.into(), chunk))
    }

    /// What a page adds to a number.
    fn of_page(&self, number: impl Fn(&ColumnChunkMetaData) -> i64) -> i64 {
        number(&self.long.metadata) - number(&self.short.metadata)
    }

    /// A number of the whole chunk.
    fn of_all(&self, number: impl Fn(&ColumnChunkMetaData) -> i64) -> i64 {
        number(&self.last.metadata) + self.of_page(&number) * self.copies as i64
    }

    fn metadata(&self, front: usize) -> Result<ColumnChunkMetaData> {
        let last = &self.last.metadata;
        let histogram = |of: fn(&ColumnChunkMetaData) -> Option<&LevelHistogram>| {
            let levels = of(last)?.len();
            let at = |level: usize| self.of_all(|told| of(told).and_then(|levels| levels.get(level)).unwrap_or(0));
            Some(LevelHistogram::from((0..levels).map(at).collect::<Vec<_>>()))
        };
        let texts = last.unencoded_byte_array_data_bytes();
        let stats = last.page_encoding_stats().cloned().unwrap_or_default().into_iter().enumerate();
        let stats = stats.map(|(at, mut stat)| {
            let count = |told: &ColumnChunkMetaData| {
                let told = told.page_encoding_stats().and_then(|stats| stats.get(at));
                told.map_or(0, |stat| i64::from(stat.count))
            };
            stat.count = i32::try_from(self.of_all(count)).map_err(|_| odd("2^31 pages"))?;
            Ok(stat)
        });
        let has_dictionary = front > 0;
        last.clone()
            .into_builder()
            .set_num_values(self.of_all(ColumnChunkMetaData::num_values))
            .set_total_compressed_size(self.of_all(ColumnChunkMetaData::compressed_size))
            .set_total_uncompressed_size(self.of_all(ColumnChunkMetaData::uncompressed_size))
            .set_unencoded_byte_array_data_bytes(
                texts.map(|_| self.of_all(|told| told.unencoded_byte_array_data_bytes().unwrap_or(0))),
            )
            .set_definition_level_histogram(histogram(ColumnChunkMetaData::definition_level_histogram))
            .set_repetition_level_histogram(histogram(ColumnChunkMetaData::repetition_level_histogram))
            .set_page_encoding_stats(stats.collect::<Result<_>>()?)
            .set_dictionary_page_offset(has_dictionary.then_some(0))
            .set_data_page_offset(front as i64)
            .build()
    }

    fn columns(&self) -> Result<ColumnIndexMetaData> {
        let mut all = ColumnIndexBuilder::new(Physical::BYTE_ARRAY);
        for page in std::iter::repeat_n(&self.long, self.copies).chain([&self.last]) {
            let Some(ColumnIndexMetaData::BYTE_ARRAY(index)) = &page.columns else { continue };
            let bound = |value: Option<&[u8]>| value.map(<[u8]>::to_vec).unwrap_or_default();
            let nulls = index.null_count(0).unwrap_or(0);
            all.append(index.is_null_page(0), bound(index.min_value(0)), bound(index.max_value(0)), nulls, None);
            let levels = |levels: Option<&[i64]>| levels.map(|levels| LevelHistogram::from(levels.to_vec()));
            all.append_histograms(
                &levels(index.repetition_level_histogram(0)),
                &levels(index.definition_level_histogram(0)),
            );
        }
        if let Some(order) = self.long.columns.as_ref().and_then(ColumnIndexMetaData::get_boundary_order) {
            all.set_boundary_order(order);
        }
        all.build()
    }

    fn offsets(&self, pages: Pages<'_>) -> OffsetIndexMetaData {
        let texts = |told: &ColumnChunkMetaData| told.unencoded_byte_array_data_bytes();
        let of_page = texts(&self.last.metadata).map(|_| self.of_page(|told| texts(told).unwrap_or(0)));
        let alike = std::iter::repeat_n((self.of_page, pages.page.len(), of_page), self.copies);
        let last = (0, pages.last.len(), texts(&self.last.metadata));
        let mut all = OffsetIndexBuilder::new();
        let mut at = pages.front.len();
        for (rows, bytes, texts) in alike.chain([last]) {
            all.append_row_count(rows as i64);
            all.append_offset_and_size(at as i64, i32::try_from(bytes).unwrap_or(i32::MAX));
            all.append_unencoded_byte_array_data_bytes(texts);
            at += bytes;
        }
        all.build()
    }
}

fn odd(what: &str) -> ParquetError {
    ParquetError::General(format!("a repeated value: {what}"))
}
