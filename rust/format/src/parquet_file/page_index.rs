//! The page index: where the pages of a column chunk lie, and what is known of the values in each.
//!
//! ```text
//! column index    pages of nulls alone | least values | greatest values | order | nulls   a value a page, as plain bytes
//! offset index    places: offset | size with the header | first row in the row group
//! ```
//!
//! Both lie somewhere in the file and are found by the footer. What is wrong with them costs nothing but what they would
//! have saved: such an index is not there.

use std::ops::Range;

use arrow_array::{Array, ArrayRef};
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::metadata::page_index::{PageIndexBuilder, PageIndexProvider};
use parquet::file::page_index::index_reader::{decode_column_index, decode_offset_index};
use parquet::file::page_index::offset_index::PageLocation;
use parquet::file::reader::ChunkReader;

use super::selected::Places;
use super::shapes::{COLUMN_INDEX, OFFSET_INDEX, Shape, Type};
use super::statistics::ValueStatistics;
use super::thrift::{items, structure};
use super::{ParquetFile, guarded};
use crate::Result;
use crate::wire::Reader;

/// Of one chunk; a longer one is not read.
const LONGEST: u64 = 16 << 20;
/// Ranges that are no further apart are fetched as one.
const GAP: u64 = 64 << 10;

/// What is known of a column's values in a page.
#[derive(Debug, Clone)]
pub struct PageStatistics {
    /// In the row group.
    pub rows: Range<usize>,
    pub values: ValueStatistics,
}

impl<R: ChunkReader + 'static> ParquetFile<R> {
    /// Of the pages of a column, by its position in the schema, in some row groups; `None` for those of which nothing is
    /// known.
    pub fn page_statistics(&self, column: usize, groups: &[usize]) -> Result<Vec<Option<Vec<PageStatistics>>>> {
        let Some((leaf, _)) = self.plain_leaf(column) else { return Ok(vec![None; groups.len()]) };
        let chunks: Vec<_> = groups.iter().map(|group| self.chunk(*group, leaf)).collect();
        let ranges = |of: fn(&ColumnChunkMetaData) -> Option<Range<u64>>| {
            chunks.iter().map(|chunk| self.index_range(chunk.and_then(of))).collect()
        };
        let columns = self.fetch_all(ranges(ColumnChunkMetaData::column_index_range))?;
        let offsets = self.fetch_all(ranges(ColumnChunkMetaData::offset_index_range))?;
        let found = groups.iter().zip(columns.into_iter().zip(offsets));
        Ok(found.map(|(group, (values, places))| self.in_pages(column, *group, &values?, &places?)).collect())
    }

    /// Where the pages lie of the leaves that are wanted in some row groups, if it is known.
    pub(super) fn places(&self, columns: &ProjectionMask, groups: &[usize]) -> Result<Places> {
        let leaves = 0..self.metadata.file_metadata().schema_descr().num_columns();
        let wanted = leaves.filter(|leaf| columns.leaf_included(*leaf));
        let wanted: Vec<_> = wanted.flat_map(|leaf| groups.iter().map(move |group| (*group, leaf))).collect();
        let range = |(group, leaf): &(usize, usize)| {
            self.index_range(self.chunk(*group, *leaf).and_then(ColumnChunkMetaData::offset_index_range))
        };
        let found = self.fetch_all(wanted.iter().map(range).collect())?;
        let places = wanted.into_iter().zip(found);
        Ok(places.filter_map(|(at, bytes)| Some((at, self.places_in(at, &bytes?)?))).collect())
    }

    fn chunk(&self, group: usize, leaf: usize) -> Option<&ColumnChunkMetaData> {
        self.metadata.row_groups().get(group)?.columns().get(leaf)
    }

    fn index_range(&self, range: Option<Range<u64>>) -> Option<Range<u64>> {
        let file = self.source.len();
        range.filter(|range| !range.is_empty() && range.end <= file && range.end - range.start <= LONGEST)
    }

    /// The bytes of some ranges, neighbours at once. Indexes that overlap, so that they are more than the file has room
    /// for, are not there: each would take memory of its own.
    fn fetch_all(&self, ranges: Vec<Option<Range<u64>>>) -> Result<Vec<Option<Bytes>>> {
        let whole = ranges.iter().flatten().map(|range| range.end - range.start).fold(0, u64::saturating_add);
        if whole > self.source.len() {
            return Ok(vec![None; ranges.len()]);
        }
        let mut sorted: Vec<_> = ranges.iter().flatten().cloned().collect();
        sorted.sort_by_key(|range| range.start);
        let mut together: Vec<Range<u64>> = Vec::new();
        for range in sorted {
            match together.last_mut() {
                Some(last) if range.start <= last.end.saturating_add(GAP) => last.end = last.end.max(range.end),
                _ => together.push(range),
            }
        }
        let fetched = together.into_iter().map(|range| Ok((range.start, self.source.fetch(range)?)));
        let fetched = fetched.collect::<Result<Vec<_>>>()?;
        let of_range = |range: Range<u64>| {
            let (start, bytes) = fetched.iter().rev().find(|(start, _)| *start <= range.start)?;
            let (from, to) = ((range.start - start) as usize, (range.end - start) as usize);
            (to <= bytes.len()).then(|| bytes.slice(from..to))
        };
        Ok(ranges.into_iter().map(|range| of_range(range?)).collect())
    }

    fn places_in(&self, (group, leaf): (usize, usize), bytes: &[u8]) -> Option<Vec<PageLocation>> {
        look_over(bytes, OFFSET_INDEX).ok()?;
        let index = guarded(|| decode_offset_index(bytes)).ok()?;
        let rows = self.metadata.row_groups().get(group)?.num_rows();
        let places = index.page_locations();
        is_in_order(places, self.chunk(group, leaf)?, rows).then(|| places.clone())
    }

    fn in_pages(&self, column: usize, group: usize, values: &[u8], places: &[u8]) -> Option<Vec<PageStatistics>> {
        let (leaf, field) = self.plain_leaf(column)?;
        let schema = self.metadata.file_metadata().schema_descr();
        let rows = usize::try_from(self.metadata.row_groups().get(group)?.num_rows()).ok()?;
        let places = self.places_in((group, leaf), places)?;
        look_over(values, COLUMN_INDEX).ok()?;
        let index = guarded(|| decode_column_index(values, schema.column(leaf).physical_type())).ok()?;
        let mut whole = PageIndexBuilder::new(1, leaf + 1);
        whole.put_column_index(index, 0, leaf);
        let whole = whole.build();
        let index = whole.column_index(0, leaf).filter(|index| index.num_pages() == places.len() as u64)?;
        let bounds = guarded(|| {
            let converter = StatisticsConverter::from_column_index(leaf, field, schema)?;
            Ok([converter.data_page_mins(&whole, &[0])?, converter.data_page_maxes(&whole, &[0])?])
        });
        let [least, greatest] = bounds.ok()?;
        let is_ordered = self.is_ordered(leaf, false);
        let ends = places.iter().skip(1).map(|place| place.first_row_index as usize).chain([rows]);
        let pages = places.iter().zip(ends).enumerate().map(|(at, (place, end))| {
            let rows = place.first_row_index as usize..end;
            let is_null = index.is_null_page(at);
            let bound = |values: &ArrayRef| {
                let is_there = is_ordered && !is_null && at < values.len() && values.is_valid(at);
                is_there.then(|| values.slice(at, 1))
            };
            let (count, nulls) = (rows.len() as u64, index.null_count(at).and_then(|nulls| u64::try_from(nulls).ok()));
            let nulls = if is_null { Some(count) } else { nulls };
            let values = ValueStatistics { least: bound(&least), greatest: bound(&greatest), nulls, rows: Some(count) };
            PageStatistics { rows, values }
        });
        Some(pages.collect())
    }
}

/// Whether places follow each other within their chunk, and their first rows within its rows.
fn is_in_order(places: &[PageLocation], chunk: &ColumnChunkMetaData, rows: i64) -> bool {
    let (start, length) = chunk.byte_range();
    let Some(end) = start.checked_add(length) else { return false };
    let mut rest = places.iter();
    let Some(first) = rest.next() else { return false };
    let end_of = |place: &PageLocation| {
        let (at, size) = (u64::try_from(place.offset).ok()?, u64::try_from(place.compressed_page_size).ok()?);
        at.checked_add(size).filter(|_| size > 0)
    };
    // What lies in front of the first page is its dictionary.
    let starts = u64::try_from(first.offset).is_ok_and(|at| at >= start && at - start <= i32::MAX as u64);
    let mut last = first;
    for place in rest {
        let follows = end_of(last).is_some_and(|end| u64::try_from(place.offset).is_ok_and(|at| end <= at));
        if !follows || place.first_row_index <= last.first_row_index {
            return false;
        }
        last = place;
    }
    starts && first.first_row_index == 0 && last.first_row_index < rows && end_of(last).is_some_and(|last| last <= end)
}

/// Whether every field has the type that it should have.
fn look_over(bytes: &[u8], shape: Shape) -> Result<()> {
    let mut reader = Reader::new(bytes, 0);
    structure(&mut reader, shape, |id, reader| {
        let is_booleans = matches!(shape.iter().find(|(known, _)| *known == id), Some((_, Type::List(Type::Boolean))));
        if is_booleans {
            let count = items(reader, Type::Boolean)?;
            reader.take(count, "pages of nulls alone")?;
        }
        Ok(is_booleans)
    })
}
