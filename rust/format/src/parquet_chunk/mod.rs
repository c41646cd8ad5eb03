//! Column chunks of Parquet files, written.
//!
//! ```text
//! chunk            dictionary page, if any | data page...
//! dictionary page  header | values, PLAIN                                   in the order in which they came
//! data page (v1)   header | levels, if values may be null | values          as places in the dictionary, or PLAIN
//! levels           u32 size, least byte first | runs of 1 (there) and 0 (null)
//! places           bits of each | runs
//! ```
//!
//! The `parquet` crate writes the same bytes (the tests hold one against the other), but looks at values one by one and
//! several times. What differs:
//!
//! * A dictionary is given up also after the first page, where it and the places take as much room as the values. So do the
//!   writers in Java; a column of keys would otherwise be told apart value by value until the dictionary is full, for
//!   nothing.
//! * A page ends at the very row that is its last one, and before a value that would make it too large, not some rows later.
//! * Gzip is that of libdeflate.

mod bounds;
mod codec;
mod hybrid;
mod kind;
mod numbers;
mod packed;
mod pages;
mod slots;
#[cfg(test)]
mod tests;
mod texts;
mod type_order;
mod under;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    BinaryType, Date32Type, Float32Type, Float64Type, Int32Type, Int64Type, TimestampMicrosecondType,
    TimestampMillisecondType, Utf8Type,
};
use arrow_schema::{DataType, TimeUnit};
use bytes::Bytes;
use parquet::basic::Encoding;
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::{ParquetError, Result};
use parquet::file::properties::{EnabledStatistics, WriterPropertiesPtr, WriterVersion};
use parquet::schema::types::ColumnDescPtr;

use self::codec::Codec;
use self::hybrid::{append_runs, width_of};
use self::kind::{Dictionary, Kind};
use self::numbers::Numbers;
use self::packed::Known;
use self::pages::{PageTold, Pages, Whole, merge};
use self::texts::Texts;
use self::under::{ROOM_FOR_LEVELS, Under};

use crate::counted::Counted;

pub use self::type_order::{OrderedFooter, in_type_order};

/// A column of one row group, under way.
pub trait ChunkWriter: Send {
    /// Values of the column's type, or packed: numbers of a dictionary of them.
    fn write(&mut self, values: &dyn Array) -> Result<()>;

    /// Texts, for a column of those.
    fn write_counted(&mut self, texts: &Counted) -> Result<()>;

    /// About so many bytes it has so far.
    fn bytes(&self) -> usize;

    fn close(self: Box<Self>) -> Result<WrittenChunk>;
}

/// A whole chunk, for a writer of row groups.
#[derive(Debug, Clone)]
pub struct WrittenChunk {
    pub bytes: Bytes,
    pub told: ColumnCloseResult,
    /// The least and the greatest value of a column of texts, in full. `None` for others, and where all are null.
    pub extremes: Option<TextExtremes>,
}

pub type TextExtremes = (Vec<u8>, Vec<u8>);

impl WrittenChunk {
    /// The chunk of a column of the same type that has the same values in all rows.
    pub fn of_twin(&self, column: &ColumnDescPtr) -> Result<Self> {
        let metadata = pages::metadata_of_twin(&self.told.metadata, column)?;
        let told = ColumnCloseResult { metadata, ..self.told.clone() };
        Ok(Self { bytes: Bytes::clone(&self.bytes), told, extremes: self.extremes.clone() })
    }
}

/// `None` where it is left to the crate: nested columns, and types and settings that base files hardly ever have.
pub fn chunk_writer(
    column: &ColumnDescPtr,
    values: &DataType,
    properties: &WriterPropertiesPtr,
) -> Option<Box<dyn ChunkWriter>> {
    match values {
        DataType::Utf8 => chunk::<Texts<Utf8Type>>(column, properties),
        DataType::Binary => chunk::<Texts<BinaryType>>(column, properties),
        DataType::Int32 => chunk::<Numbers<Int32Type>>(column, properties),
        DataType::Int64 => chunk::<Numbers<Int64Type>>(column, properties),
        DataType::Float32 => chunk::<Numbers<Float32Type>>(column, properties),
        DataType::Float64 => chunk::<Numbers<Float64Type>>(column, properties),
        DataType::Date32 => chunk::<Numbers<Date32Type>>(column, properties),
        DataType::Timestamp(TimeUnit::Millisecond, _) => chunk::<Numbers<TimestampMillisecondType>>(column, properties),
        DataType::Timestamp(TimeUnit::Microsecond, _) => chunk::<Numbers<TimestampMicrosecondType>>(column, properties),
        _ => None,
    }
}

fn chunk<K: Kind>(column: &ColumnDescPtr, properties: &WriterPropertiesPtr) -> Option<Box<dyn ChunkWriter>> {
    let path = column.path();
    let is_known = column.physical_type() == K::PHYSICAL
        && column.max_rep_level() == 0
        && path.parts().len() == 1
        && properties.writer_version() == WriterVersion::PARQUET_1_0
        && properties.statistics_enabled(path) == EnabledStatistics::Page
        && !properties.write_page_header_statistics(path)
        && properties.encoding(path).is_none_or(|encoding| encoding == Encoding::PLAIN)
        && properties.bloom_filter_properties(path).is_none();
    let codec = Codec::of(properties.compression(path)).filter(|_| is_known)?;
    Some(Box::new(Chunk::<K> {
        has_levels: column.max_def_level() > 0,
        page_rows: properties.data_page_row_count_limit().max(1),
        page_bytes: properties.column_data_page_size_limit(path),
        dictionary_bytes: properties.column_dictionary_page_size_limit(path),
        pages: Pages::new(ColumnDescPtr::clone(column), WriterPropertiesPtr::clone(properties), codec),
        page: Under::new(),
        dictionary: properties.dictionary_enabled(path).then(K::Dictionary::default),
        is_dictionary_full: false,
        is_dictionary_judged: false,
        widest: None,
        repeated: None,
        known: Known::default(),
    }))
}

/// The least and the greatest.
type Bounds<K> = (<K as Kind>::Bound, <K as Kind>::Bound);

struct Chunk<K: Kind> {
    has_levels: bool,
    page_rows: usize,
    page_bytes: usize,
    dictionary_bytes: usize,
    pages: Pages<K>,
    page: Under<K::Bound>,
    dictionary: Option<K::Dictionary>,
    /// The pages so far refer to it, no other will.
    is_dictionary_full: bool,
    /// Whether a page of it has shown that it is worth its room.
    is_dictionary_judged: bool,
    /// The extremes of its first values, so many, where the last page had all that there were.
    widest: Option<(usize, Bounds<K>)>,
    /// The last values of which every row had the same one. Those that come next are often parts of them.
    repeated: Option<K::Values>,
    known: Known<K>,
}

impl<K: Kind> ChunkWriter for Chunk<K> {
    fn write(&mut self, values: &dyn Array) -> Result<()> {
        if let Some(packed) = values.as_dictionary_opt::<Int32Type>() {
            return self.write_packed(packed);
        }
        let values = K::values(values)
            .ok_or_else(|| ParquetError::General(format!("a column chunk of {} values", values.data_type())))?;
        let is_repeated = K::is_repeated(values, self.repeated.as_ref());
        self.repeated = is_repeated.then(|| values.clone());
        self.write_by_page(
            values.len(),
            |at, bytes| K::fitting(values, at, bytes),
            |chunk, at, rows| {
                chunk.take(&K::slice(values, at, rows), is_repeated);
                Ok(())
            },
        )
    }

    fn write_counted(&mut self, texts: &Counted) -> Result<()> {
        if self.dictionary.is_some() {
            let array = texts.to_array().map_err(|e| ParquetError::External(Box::new(e)))?;
            return self.write(&array);
        }
        self.write_by_page(
            texts.count(),
            |at, bytes| texts.part(at, texts.count()).fitting(texts::LENGTH, bytes),
            |chunk, at, rows| chunk.take_counted(&texts.part(at, rows)),
        )
    }

    fn bytes(&self) -> usize {
        let dictionary = self.dictionary.as_ref().map_or(0, Dictionary::plain_bytes);
        self.pages.bytes() + dictionary + self.page.laid_bytes() + self.page.places.len() * size_of::<u16>()
    }

    fn close(mut self: Box<Self>) -> Result<WrittenChunk> {
        if self.page.rows > 0 {
            self.end_page()?;
        }
        let dictionary = self.dictionary.filter(|dictionary| dictionary.len() > 0).map(|dictionary| {
            let count = dictionary.len();
            (dictionary.into_plain(), count)
        });
        self.pages.close(dictionary)
    }
}

impl<K: Kind> Chunk<K> {
    /// The dictionary, while values go into it.
    fn filling(&mut self) -> Option<&mut K::Dictionary> {
        self.dictionary.as_mut().filter(|_| !self.is_dictionary_full)
    }

    /// Bytes that are looked at next, at most.
    fn room(&mut self) -> usize {
        let (dictionary_bytes, page_bytes) = (self.dictionary_bytes, self.page_bytes);
        match self.filling() {
            Some(_) => dictionary_bytes,
            None => page_bytes.saturating_sub(self.page.plain_bytes),
        }
    }

    /// Goes over so many values, as many at a time as fit into the page under way.
    fn write_by_page(
        &mut self,
        count: usize,
        fitting: impl Fn(usize, usize) -> usize,
        take: impl Fn(&mut Self, usize, usize) -> Result<()>,
    ) -> Result<()> {
        let mut at = 0;
        while at < count {
            let most = (count - at).min(self.page_rows - self.page.rows);
            let fitting = fitting(at, self.room()).min(most);
            if fitting == 0 && self.page.rows > 0 {
                self.end_page()?;
                continue;
            }
            // A value may be larger than a page should be.
            let rows = fitting.max(1);
            take(self, at, rows)?;
            at += rows;
            self.end_what_is_full()?;
        }
        Ok(())
    }

    fn take_counted(&mut self, texts: &Counted) -> Result<()> {
        if self.has_levels {
            self.page.append_levels_of_all(texts.count());
        }
        self.page.rows += texts.count();
        self.page.plain_bytes += texts.bytes(texts::LENGTH);
        let extremes = K::append_counted(texts, &mut self.page.laid);
        let extremes = extremes.ok_or_else(|| ParquetError::General("texts for a column of others".to_owned()))?;
        merge::<K>(&mut self.page.extremes, extremes);
        Ok(())
    }

    fn take(&mut self, values: &K::Values, is_repeated: bool) {
        if self.has_levels {
            self.page.append_levels(values);
        }
        self.page.rows += values.len();
        self.page.plain_bytes += K::plain_bytes(values);
        if let Some(odd) = K::odd_values(values) {
            *self.page.odd_values.get_or_insert(0) += odd;
        }
        let dictionary = self.dictionary.as_mut().filter(|_| !self.is_dictionary_full);
        if let Some(extremes) = (K::IS_QUICKLY_COMPARED || dictionary.is_none()).then(|| K::extremes(values)).flatten()
        {
            merge::<K>(&mut self.page.extremes, extremes);
        }
        let Some(dictionary) = dictionary else { return K::append_plain(values, &mut self.page.laid) };
        let places = &mut self.page.places;
        if let Some(place) = if is_repeated { dictionary.place_of(values, 0) } else { None } {
            places.resize(places.len() + values.len(), place);
        } else {
            dictionary.append_places(values, places);
        }
    }

    fn end_what_is_full(&mut self) -> Result<()> {
        let most = self.dictionary_bytes;
        let is_dictionary_full = self.filling().is_some_and(|dictionary| dictionary.plain_bytes() >= most);
        if is_dictionary_full || self.page.rows >= self.page_rows || self.page.laid_bytes() >= self.page_bytes {
            self.end_page()?;
            self.is_dictionary_full |= is_dictionary_full;
        }
        Ok(())
    }

    fn end_page(&mut self) -> Result<()> {
        let encoding = self.lay_values();
        let page = &mut self.page;
        let (raw, front) = page.lay_levels(self.has_levels);
        let text_bytes = K::text_bytes(page.plain_bytes, page.rows - page.nulls);
        let (rows, nulls, odd_values) = (page.rows, page.nulls, page.odd_values);
        let told = PageTold { rows, nulls, extremes: page.extremes.take(), odd_values, text_bytes };
        self.pages.append(Whole { raw: raw.get(front..).unwrap_or_default(), encoding, told })?;
        self.page.clear(raw);
        Ok(())
    }

    /// The extremes of the page are known after it.
    fn lay_values(&mut self) -> Encoding {
        let page = &mut self.page;
        // Where all are null nothing shows yet whether there will be a dictionary.
        let filling = self.dictionary.as_ref().filter(|dictionary| !self.is_dictionary_full && dictionary.len() > 0);
        let Some(dictionary) = filling else { return Encoding::PLAIN };
        if !K::IS_QUICKLY_COMPARED || page.has_packed {
            let places: Vec<u32> = distinct(&page.places, dictionary.len()).collect();
            let count = (places.len() == dictionary.len()).then_some(places.len());
            page.extremes = match self.widest.take().filter(|(known, _)| Some(*known) == count) {
                Some((_, extremes)) => Some(extremes),
                None => dictionary.extremes(places.into_iter()),
            };
            self.widest = count.zip(page.extremes.clone());
        }
        let width = width_of((dictionary.len() as u32).saturating_sub(1));
        page.laid.push(width);
        append_runs(&page.places, width, &mut page.laid);
        let is_worth_it = page.laid_bytes() + dictionary.plain_bytes() < page.plain_bytes;
        if std::mem::replace(&mut self.is_dictionary_judged, true) || is_worth_it {
            return Encoding::RLE_DICTIONARY;
        }
        page.laid.truncate(ROOM_FOR_LEVELS);
        dictionary.append_plain(&page.places, &mut page.laid);
        self.dictionary = None;
        Encoding::PLAIN
    }
}

/// Each of the places once, out of so many.
fn distinct(places: &[u32], count: usize) -> impl Iterator<Item = u32> {
    let mut is_met = vec![false; count];
    let is_new = move |place: &u32| is_met.get_mut(*place as usize).is_some_and(|met| !std::mem::replace(met, true));
    // There are no others once as many were met, as mostly soon in a column of few values.
    places.iter().copied().filter(is_new).take(count)
}
