//! What of a file is read: row groups, whole or some of their rows, and of these the pages that hold them.
//!
//! Where a page index says how the pages lie, only those with wanted rows are asked for, each by its place. That a page holds
//! as many rows as the index says is checked when it is read.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use parquet::arrow::arrow_reader::{RowGroups, RowSelection};
use parquet::basic::{Compression, Type as PhysicalType};
use parquet::column::page::{Page, PageIterator, PageMetadata, PageReader};
use parquet::errors::Result as ParquetResult;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData};
use parquet::file::page_index::offset_index::PageLocation;
use parquet::file::reader::ChunkReader;
use parquet::file::serialized_reader::SerializedPageReader;

use super::chunk_bytes::{Asked, ChunkBytes};
use super::inflate::Inflater;
use super::pages::{Checked, check_page};
use super::twins::Kept;
use crate::{Error, Result};

/// What of a row group is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    pub group: usize,
    /// Its rows, in order and apart; all of them if `None`.
    pub rows: Option<Vec<Range<usize>>>,
}

impl Part {
    pub fn whole(group: usize) -> Self {
        Self { group, rows: None }
    }
}

/// Where the pages lie of some columns of some row groups, by number of the group and of the leaf.
pub(super) type Places = BTreeMap<(usize, usize), Vec<PageLocation>>;

/// Parts of a file.
#[derive(Debug)]
pub(super) struct Groups<R> {
    source: Arc<Checked<R>>,
    metadata: Arc<ParquetMetaData>,
    chosen: Vec<usize>,
    /// Of which rows are passed over.
    cut: Vec<usize>,
    places: Places,
    kept: Kept,
}

impl<R> Groups<R> {
    pub(super) fn new(
        source: Arc<Checked<R>>,
        metadata: Arc<ParquetMetaData>,
        chosen: Vec<usize>,
        cut: Vec<usize>,
        places: Places,
        kept: Kept,
    ) -> Self {
        Self { source, metadata, chosen, cut, places, kept }
    }

    fn chosen(&self) -> impl Iterator<Item = (usize, &RowGroupMetaData)> {
        self.chosen.iter().filter_map(|at| Some((*at, self.metadata.row_groups().get(*at)?)))
    }
}

fn rows_of(group: &RowGroupMetaData) -> usize {
    usize::try_from(group.num_rows()).unwrap_or(0)
}

/// The rows of all parts, as if their groups were one; `None` if they are all wanted.
pub(super) fn selection(metadata: &ParquetMetaData, parts: &[Part]) -> Option<RowSelection> {
    if parts.iter().all(|part| part.rows.is_none()) {
        return None;
    }
    let mut wanted = Vec::new();
    let mut before = 0_usize;
    for part in parts {
        let rows = metadata.row_groups().get(part.group).map_or(0, rows_of);
        match &part.rows {
            None => wanted.push(before..before + rows),
            Some(ranges) => {
                wanted.extend(ranges.iter().map(|range| before + range.start..before + range.end.min(rows)))
            }
        }
        before += rows;
    }
    Some(RowSelection::from_consecutive_ranges(wanted.into_iter().filter(|range| !range.is_empty()), before))
}

impl<R: ChunkReader + 'static> RowGroups for Groups<R> {
    fn num_rows(&self) -> usize {
        self.chosen().map(|(_, group)| rows_of(group)).sum()
    }

    fn column_chunks(&self, column: usize) -> ParquetResult<Box<dyn PageIterator>> {
        let chunks = self.chosen().filter_map(|(at, group)| {
            let places = self.places.get(&(at, column)).cloned();
            let is_cut = self.cut.contains(&at);
            let kept = self.kept.get(&(at, column)).cloned();
            Some(Chunk { rows: rows_of(group), metadata: group.columns().get(column)?.clone(), is_cut, places, kept })
        });
        let chunks: Vec<_> = chunks.collect();
        Ok(Box::new(Chunks { source: Arc::clone(&self.source), chunks: chunks.into_iter() }))
    }

    fn row_groups(&self) -> Box<dyn Iterator<Item = &RowGroupMetaData> + '_> {
        Box::new(self.chosen().map(|(_, group)| group))
    }

    fn metadata(&self) -> &ParquetMetaData {
        &self.metadata
    }
}

struct Chunk {
    /// Of its group.
    rows: usize,
    metadata: ColumnChunkMetaData,
    is_cut: bool,
    places: Option<Vec<PageLocation>>,
    /// All of its bytes, if they are at hand.
    kept: Option<Bytes>,
}

/// The chunks of one column.
struct Chunks<R> {
    source: Arc<Checked<R>>,
    chunks: std::vec::IntoIter<Chunk>,
}

impl<R: ChunkReader + 'static> Iterator for Chunks<R> {
    type Item = ParquetResult<Box<dyn PageReader>>;

    fn next(&mut self) -> Option<Self::Item> {
        let chunk = self.chunks.next()?;
        Some(Pages::of(&self.source, chunk).map(|pages| Box::new(pages) as Box<dyn PageReader>))
    }
}

impl<R: ChunkReader + 'static> PageIterator for Chunks<R> {}

/// The pages of one chunk.
struct Pages<R: ChunkReader> {
    source: Arc<Checked<R>>,
    pages: SerializedPageReader<ChunkBytes<R>>,
    /// If `pages` hands them out as they are stored.
    inflater: Option<Inflater>,
    /// The greatest repetition level and the greatest definition level.
    levels: [i16; 2],
    has_dictionary: bool,
    /// Whether the crate jumps over values by lengths that it takes on trust.
    jumps: bool,
    /// Of those that the footer announces.
    values_left: i64,
    /// Whether a page index says which page comes next.
    is_announced: bool,
}

impl<R: ChunkReader + 'static> Pages<R> {
    fn of(source: &Arc<Checked<R>>, chunk: Chunk) -> ParquetResult<Self> {
        let Chunk { rows, metadata, is_cut, places, kept } = chunk;
        let jumps = is_cut && metadata.column_type() == PhysicalType::BYTE_ARRAY;
        let levels = [metadata.column_descr().max_rep_level(), metadata.column_descr().max_def_level()];
        let values_left = metadata.num_values();
        let is_announced = places.is_some();
        let asked = if is_announced { Asked::ByPlace } else { Asked::InOrder };
        let (start, length) = metadata.byte_range();
        let bytes =
            Arc::new(ChunkBytes::new(source, asked, start.saturating_add(length), kept.map(|kept| (start, kept))));
        let inflater = matches!(metadata.compression(), Compression::GZIP(_)).then(|| Inflater::new(source.limits()));
        let metadata = match &inflater {
            Some(_) => metadata.into_builder().set_compression(Compression::UNCOMPRESSED).build()?,
            None => metadata,
        };
        Ok(Self {
            source: Arc::clone(source),
            pages: SerializedPageReader::new(bytes, &metadata, rows, places)?,
            inflater,
            levels,
            has_dictionary: false,
            jumps,
            values_left,
            is_announced,
        })
    }
}

impl<R: ChunkReader> Pages<R> {
    fn checked(&mut self, mut page: Option<Page>, announced: Option<&PageMetadata>) -> ParquetResult<Option<Page>> {
        if let Some(page) = &mut page {
            let inflated = self.inflater.as_mut().map_or(Ok(()), |inflater| inflater.inflate(page));
            inflated.and_then(|()| self.check(page, announced)).map_err(|e| self.source.keep(e))?;
        }
        Ok(page)
    }

    fn check(&mut self, page: &Page, announced: Option<&PageMetadata>) -> Result<()> {
        if let Some(announced) = announced {
            self.check_announced(page, announced)?;
        }
        if page.is_dictionary_page() {
            self.has_dictionary = true;
        } else {
            let values = i64::from(page.num_values());
            self.values_left = self.values_left.checked_sub(values).filter(|left| *left >= 0).ok_or_else(|| {
                Error::corrupt(format!("a Parquet page of {values} values where {} are left", self.values_left))
            })?;
        }
        check_page(page, self.levels, self.has_dictionary, self.jumps)
    }

    /// Rows would come from other columns' rows if a page had more or fewer of them than the page index says.
    fn check_announced(&self, page: &Page, announced: &PageMetadata) -> Result<()> {
        let rows = match page {
            Page::DataPageV2 { num_rows, .. } => Some(*num_rows as usize),
            // Of lists only the levels tell.
            Page::DataPage { num_values, .. } if self.levels[0] == 0 => Some(*num_values as usize),
            _ => None,
        };
        let is_as_announced = page.is_dictionary_page() == announced.is_dict
            && rows.zip(announced.num_rows).is_none_or(|(rows, announced)| rows == announced);
        if is_as_announced {
            Ok(())
        } else {
            Err(Error::corrupt("a Parquet page is not what the page index says of it"))
        }
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
        let announced = if self.is_announced { self.pages.peek_next_page()? } else { None };
        let page = self.pages.get_next_page()?;
        self.checked(page, announced.as_ref())
    }

    fn peek_next_page(&mut self) -> ParquetResult<Option<PageMetadata>> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> ParquetResult<()> {
        // A dictionary that is passed over is taken once a page refers to it.
        self.has_dictionary |= self.pages.peek_next_page()?.is_some_and(|next| next.is_dict);
        self.pages.skip_next_page()
    }

    fn supports_deferred_dictionary(&self) -> bool {
        self.pages.supports_deferred_dictionary()
    }

    fn take_deferred_dictionary(&mut self) -> ParquetResult<Option<Page>> {
        let page = self.pages.take_deferred_dictionary()?;
        if page.as_ref().is_some_and(|page| !page.is_dictionary_page()) {
            return Err(self.source.keep(Error::corrupt("a Parquet page stands where a dictionary should be")));
        }
        self.checked(page, None)
    }

    fn at_record_boundary(&mut self) -> ParquetResult<bool> {
        self.pages.at_record_boundary()
    }
}
