//! The pages of a chunk as they are laid down, and what footer and page index say of them.

use std::cmp::Ordering;

use parquet::basic::{BoundaryOrder, Encoding, EncodingMask, PageType};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{
    ColumnChunkMetaData, ColumnIndexBuilder, LevelHistogram, OffsetIndexBuilder, PageEncodingStats,
};
use parquet::file::properties::WriterPropertiesPtr;
use parquet::file::statistics::Statistics;
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;

use super::WrittenChunk;
use super::codec::Codec;
use super::kind::{Kind, Told};

/// A page that has all its rows.
pub(super) struct Whole<'p, B> {
    /// Levels and values.
    pub(super) raw: &'p [u8],
    pub(super) encoding: Encoding,
    pub(super) told: PageTold<B>,
}

/// What is told of a page.
pub(super) struct PageTold<B> {
    pub(super) rows: usize,
    pub(super) nulls: usize,
    pub(super) extremes: Option<(B, B)>,
    pub(super) odd_values: Option<u64>,
    /// Bytes of texts alone.
    pub(super) text_bytes: Option<i64>,
}

pub(super) struct Pages<K: Kind> {
    column: ColumnDescPtr,
    properties: WriterPropertiesPtr,
    codec: Codec,
    sink: TrackedWrite<Vec<u8>>,
    /// Offset and size of each.
    places: Vec<(usize, i32)>,
    encodings: Vec<PageEncodingStats>,
    raw_bytes: usize,
    rows: usize,
    nulls: usize,
    odd_values: Option<u64>,
    text_bytes: Option<i64>,
    row_counts: Vec<(i64, Option<i64>)>,
    index: ColumnIndexBuilder,
    extremes: Option<(K::Bound, K::Bound)>,
    order: Order<K::Bound>,
}

/// Whether pages follow each other in order.
struct Order<B> {
    last: Option<(B, B)>,
    ascends: bool,
    descends: bool,
}

impl<K: Kind> Pages<K> {
    pub(super) fn new(column: ColumnDescPtr, properties: WriterPropertiesPtr, codec: Codec) -> Self {
        Self {
            column,
            properties,
            codec,
            sink: TrackedWrite::new(Vec::new()),
            places: Vec::new(),
            encodings: Vec::new(),
            raw_bytes: 0,
            rows: 0,
            nulls: 0,
            odd_values: None,
            text_bytes: None,
            row_counts: Vec::new(),
            index: ColumnIndexBuilder::new(K::PHYSICAL),
            extremes: None,
            order: Order { last: None, ascends: true, descends: true },
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.sink.bytes_written()
    }

    pub(super) fn append(&mut self, page: Whole<'_, K::Bound>) -> Result<()> {
        let Whole { raw, encoding, told } = page;
        let uncompressed = raw.len();
        let page = Page::DataPage {
            buf: self.codec.compressed(raw)?.into(),
            num_values: u32::try_from(told.rows).map_err(|_| odd("2^32 rows in a page"))?,
            encoding,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        };
        let spec = SerializedPageWriter::new(&mut self.sink).write_page(CompressedPage::new(page, uncompressed))?;
        let size = i32::try_from(spec.compressed_size).map_err(|_| odd("a page of 2 GiB"))?;
        self.places.push((usize::try_from(spec.offset).map_err(|_| odd("an offset"))?, size));
        self.raw_bytes += spec.uncompressed_size;
        self.count_page(PageType::DATA_PAGE, encoding);
        self.tell(told);
        Ok(())
    }

    fn count_page(&mut self, page_type: PageType, encoding: Encoding) {
        match self.encodings.last_mut() {
            Some(last) if last.page_type == page_type && last.encoding == encoding => last.count += 1,
            _ => self.encodings.push(PageEncodingStats { page_type, encoding, count: 1 }),
        }
    }

    fn tell(&mut self, page: PageTold<K::Bound>) {
        self.rows += page.rows;
        self.nulls += page.nulls;
        self.odd_values = sum(self.odd_values, page.odd_values);
        self.text_bytes = sum(self.text_bytes, page.text_bytes);
        self.row_counts.push((page.rows as i64, page.text_bytes));
        let (nulls, odd_values) = (page.nulls as i64, page.odd_values.map(|odd| odd as i64));
        match &page.extremes {
            Some(extremes) => {
                let ((least, greatest), _) = Self::cut(extremes, self.properties.column_index_truncate_length());
                self.index.append(false, K::bytes(&least), K::bytes(&greatest), nulls, odd_values);
            }
            None => self.index.append(true, Vec::new(), Vec::new(), nulls, odd_values),
        }
        self.index.append_histograms(&None, &self.levels(page.rows, page.nulls));
        if let Some(extremes) = page.extremes {
            self.order.follow::<K>(&extremes);
            merge::<K>(&mut self.extremes, extremes);
        }
    }

    /// How many rows have which level.
    fn levels(&self, rows: usize, nulls: usize) -> Option<LevelHistogram> {
        let has_levels = self.column.max_def_level() > 0;
        has_levels.then(|| LevelHistogram::from(vec![nulls as i64, (rows - nulls) as i64]))
    }

    /// Bounds that are not too long, and whether they are the values themselves.
    fn cut((least, greatest): &(K::Bound, K::Bound), most: Option<usize>) -> ((K::Bound, K::Bound), (bool, bool)) {
        let below = most.and_then(|most| K::shorter_below(least, most));
        let above = most.and_then(|most| K::shorter_above(greatest, most));
        let are_exact = (below.is_none(), above.is_none());
        ((below.unwrap_or_else(|| least.clone()), above.unwrap_or_else(|| greatest.clone())), are_exact)
    }

    /// The chunk, behind the values of its dictionary and how many they are, where it has one.
    pub(super) fn close(mut self, dictionary: Option<(Vec<u8>, usize)>) -> Result<WrittenChunk> {
        let mut front = TrackedWrite::new(Vec::new());
        if let Some((plain, count)) = dictionary {
            let encoding = self.properties.dictionary_page_encoding();
            let uncompressed = plain.len();
            let page = Page::DictionaryPage {
                buf: self.codec.compressed(&plain)?.into(),
                num_values: u32::try_from(count).map_err(|_| odd("2^32 values in a dictionary"))?,
                encoding,
                is_sorted: false,
            };
            let spec = SerializedPageWriter::new(&mut front).write_page(CompressedPage::new(page, uncompressed))?;
            self.raw_bytes += spec.uncompressed_size;
            let stats = PageEncodingStats { page_type: PageType::DICTIONARY_PAGE, encoding, count: 1 };
            self.encodings.insert(0, stats);
        }
        let metadata = self.metadata(front.bytes_written())?;
        let mut offsets = OffsetIndexBuilder::new();
        for ((at, size), (rows, text_bytes)) in self.places.iter().zip(&self.row_counts) {
            offsets.append_row_count(*rows);
            offsets.append_offset_and_size((front.bytes_written() + at) as i64, *size);
            offsets.append_unencoded_byte_array_data_bytes(*text_bytes);
        }
        self.index.set_boundary_order(self.order.told());
        let mut bytes = front.into_inner()?;
        bytes.append(&mut self.sink.into_inner()?);
        let told = ColumnCloseResult {
            bytes_written: bytes.len() as u64,
            rows_written: self.rows as u64,
            metadata,
            bloom_filter: None,
            column_index: Some(self.index.build()?),
            offset_index: Some(offsets.build()),
        };
        Ok(WrittenChunk { bytes: bytes.into(), told, extremes: self.extremes.and_then(K::texts) })
    }

    fn metadata(&mut self, front: usize) -> Result<ColumnChunkMetaData> {
        let encodings = [Encoding::RLE].into_iter().chain(self.encodings.iter().map(|stats| stats.encoding));
        let encodings: Vec<_> = encodings.collect();
        ColumnChunkMetaData::builder(ColumnDescPtr::clone(&self.column))
            .set_compression(self.properties.compression(self.column.path()))
            .set_encodings_mask(EncodingMask::new_from_encodings(encodings.iter()))
            .set_page_encoding_stats(std::mem::take(&mut self.encodings))
            .set_total_compressed_size((front + self.bytes()) as i64)
            .set_total_uncompressed_size(self.raw_bytes as i64)
            .set_num_values(self.rows as i64)
            .set_data_page_offset(front as i64)
            .set_dictionary_page_offset((front > 0).then_some(0))
            .set_statistics(self.statistics())
            .set_unencoded_byte_array_data_bytes(self.text_bytes)
            .set_definition_level_histogram(self.levels(self.rows, self.nulls))
            .build()
    }

    fn statistics(&self) -> Statistics {
        let most = self.properties.statistics_truncate_length();
        let (bounds, are_exact) = self.extremes.as_ref().map(|extremes| Self::cut(extremes, most)).unzip();
        K::statistics(Told {
            bounds,
            are_exact: are_exact.unwrap_or((true, true)),
            nulls: self.nulls as u64,
            odd_values: self.odd_values,
            is_signed: self.column.sort_order().is_signed(),
        })
    }
}

impl<B: Clone> Order<B> {
    fn follow<K: Kind<Bound = B>>(&mut self, page: &(B, B)) {
        if let Some(last) = &self.last {
            let orders = [K::order(&last.0, &page.0), K::order(&last.1, &page.1)];
            self.ascends &= !orders.contains(&Ordering::Greater);
            self.descends &= !orders.contains(&Ordering::Less);
        }
        self.last = Some(page.clone());
    }

    fn told(&self) -> BoundaryOrder {
        match (self.ascends, self.descends) {
            (true, _) => BoundaryOrder::ASCENDING,
            (false, true) => BoundaryOrder::DESCENDING,
            (false, false) => BoundaryOrder::UNORDERED,
        }
    }
}

/// What is said of a chunk in [`Pages::metadata`], for another column.
pub(super) fn metadata_of_twin(told: &ColumnChunkMetaData, column: &ColumnDescPtr) -> Result<ColumnChunkMetaData> {
    let twin = ColumnChunkMetaData::builder(ColumnDescPtr::clone(column))
        .set_compression(told.compression())
        .set_encodings_mask(*told.encodings_mask())
        .set_page_encoding_stats(told.page_encoding_stats().cloned().unwrap_or_default())
        .set_total_compressed_size(told.compressed_size())
        .set_total_uncompressed_size(told.uncompressed_size())
        .set_num_values(told.num_values())
        .set_data_page_offset(told.data_page_offset())
        .set_dictionary_page_offset(told.dictionary_page_offset())
        .set_unencoded_byte_array_data_bytes(told.unencoded_byte_array_data_bytes())
        .set_definition_level_histogram(told.definition_level_histogram().cloned());
    match told.statistics() {
        Some(statistics) => twin.set_statistics(statistics.clone()).build(),
        None => twin.build(),
    }
}

/// Makes them the extremes of both.
pub(super) fn merge<K: Kind>(all: &mut Option<(K::Bound, K::Bound)>, more: (K::Bound, K::Bound)) {
    *all = Some(match all.take() {
        None => more,
        Some((least, greatest)) => {
            (outer::<K>(least, more.0, Ordering::Less), outer::<K>(greatest, more.1, Ordering::Greater))
        }
    });
}

fn outer<K: Kind>(old: K::Bound, new: K::Bound, outwards: Ordering) -> K::Bound {
    match (K::is_odd(&old), K::is_odd(&new)) {
        (true, false) => new,
        (false, true) => old,
        _ if K::order(&new, &old) == outwards => new,
        _ => old,
    }
}

fn sum<N: std::ops::Add<Output = N>>(all: Option<N>, more: Option<N>) -> Option<N> {
    match (all, more) {
        (Some(all), Some(more)) => Some(all + more),
        (all, more) => all.or(more),
    }
}

fn odd(what: &str) -> ParquetError {
    ParquetError::General(format!("a column chunk with {what}"))
}
