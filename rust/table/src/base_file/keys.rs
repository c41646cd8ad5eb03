//! What the footer says of the keys: a filter for look-ups, and their range.

use std::sync::Arc;

use arrow_array::{Array, RecordBatch};
use hudini_format::bloom::{
    BLOOM_FILTER_FOOTER, BLOOM_TYPE_FOOTER, BloomFilter, DEFAULT_FALSE_POSITIVES, DEFAULT_MAX_ENTRIES,
    MAX_RECORD_KEY_FOOTER, MIN_RECORD_KEY_FOOTER,
};
use hudini_format::extremes::bytes_of_all;
use hudini_format::parquet_chunk::TextExtremes;

use super::footer::footer;
use crate::merge::record_keys;
use crate::storage::Storage;
use crate::{Error, Result};

/// Collects the keys of a file that is written.
#[derive(Debug, Clone)]
pub struct KeySummary {
    bloom: BloomFilter,
    /// Of the keys so far that are not all of ASCII, and of those that are known.
    range: Option<(String, String)>,
    rows: u64,
    /// So many rows from the first on have keys that are in already.
    known: u64,
}

impl KeySummary {
    /// `expected_rows` sizes the filter.
    pub fn new(expected_rows: u64) -> Result<Self> {
        let bloom = BloomFilter::dynamic(entries(expected_rows), DEFAULT_FALSE_POSITIVES, DEFAULT_MAX_ENTRIES)?;
        Ok(Self { bloom, range: None, rows: 0, known: 0 })
    }

    /// Of a file whose first rows have the keys of the rows of the file at `from`, all of them: those are not hashed again
    /// if that file says enough, and its filter is not too small for what is expected.
    pub(crate) fn going_on(storage: &Arc<dyn Storage>, from: &str, expected_rows: u64) -> Result<Self> {
        let footer = footer(storage, from)?;
        let is_large_enough = |capacity: u32| capacity >= entries(expected_rows) / 2;
        // One that can't be read is no reason not to write a good one.
        let bloom = footer.bloom().ok().flatten().filter(|bloom| bloom.row_capacity().is_some_and(is_large_enough));
        let (Some(bloom), (Some(least), Some(greatest))) = (bloom, footer.key_range()) else {
            return Self::new(expected_rows);
        };
        let range = Some((least.to_owned(), greatest.to_owned()));
        Ok(Self { bloom: bloom.growing_to(DEFAULT_MAX_ENTRIES), range, rows: 0, known: footer.rows })
    }

    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    pub(super) fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        let keys = record_keys(batch)?;
        let known = usize::try_from(self.known.saturating_sub(self.rows)).unwrap_or(usize::MAX).min(keys.len());
        self.rows += keys.len() as u64;
        let keys = keys.slice(known, keys.len() - known);
        self.bloom.add_all(&keys);
        // In a text of ASCII units are bytes: the file's writer tells of those.
        if !bytes_of_all(&keys).is_ascii() {
            keys.iter().flatten().for_each(|key| self.widen(key));
        }
        Ok(())
    }

    fn widen(&mut self, key: &str) {
        match &mut self.range {
            None => self.range = Some((key.to_owned(), key.to_owned())),
            Some((low, high)) => {
                if java_less(key, low) {
                    key.clone_into(low);
                }
                if java_less(high, key) {
                    key.clone_into(high);
                }
            }
        }
    }

    /// With the least and the greatest key by their bytes.
    pub(super) fn footer(mut self, by_bytes: Option<&TextExtremes>) -> Result<Vec<(&'static str, String)>> {
        if self.rows < self.known {
            return Err(Error::internal("a file that was to begin with the rows of another one has fewer"));
        }
        for key in by_bytes.into_iter().flat_map(|(least, greatest)| [least, greatest]) {
            self.widen(str::from_utf8(key).map_err(|e| Error::internal("a key is no text").caused_by(e))?);
        }
        let mut pairs =
            vec![(BLOOM_FILTER_FOOTER, self.bloom.to_text()), (BLOOM_TYPE_FOOTER, self.bloom.kind().code().to_owned())];
        if let Some((low, high)) = self.range {
            pairs.push((MIN_RECORD_KEY_FOOTER, low));
            pairs.push((MAX_RECORD_KEY_FOOTER, high));
        }
        Ok(pairs)
    }
}

fn entries(expected_rows: u64) -> u32 {
    u32::try_from(expected_rows).unwrap_or(u32::MAX).clamp(1, DEFAULT_MAX_ENTRIES)
}

/// The order of Java's strings: by UTF-16 units, which is that of the bytes except beyond the basic plane.
pub(crate) fn java_less(a: &str, b: &str) -> bool {
    if a.is_ascii() && b.is_ascii() { a < b } else { a.encode_utf16().lt(b.encode_utf16()) }
}

#[cfg(test)]
mod tests {
    use arrow_array::{ArrayRef, StringArray};
    use hudini_format::schema::meta;
    use rstest::rstest;

    use super::super::write::{BaseFileWriter, WriteOptions};
    use super::*;
    use crate::context::ManualClock;
    use crate::options::Options;
    use crate::storage::memory::Memory;

    fn rows(keys: std::ops::Range<usize>) -> RecordBatch {
        let keys: ArrayRef = Arc::new(StringArray::from_iter_values(keys.map(|key| format!("key {key:04}"))));
        RecordBatch::try_from_iter_with_nullable([(meta::RECORD_KEY, keys, true)]).unwrap()
    }

    fn write(storage: &Arc<dyn Storage>, path: &str, keys: KeySummary, rows: &[RecordBatch]) {
        let options = WriteOptions::of(&Options::default()).unwrap();
        let schema = rows[0].schema();
        let mut writer = BaseFileWriter::new(storage.as_ref(), path, &schema, "t", &options, keys).unwrap();
        rows.iter().for_each(|rows| writer.write(&rows.clone().into()).unwrap());
        writer.finish(|| Ok(())).unwrap();
    }

    #[rstest]
    #[case::goes_on(1000, 0)]
    #[case::is_hashed_anew(10, 1000)]
    fn keys_of_before_are_kept(#[case] expected_before: u64, #[case] hashed_of_before: u64) {
        let storage: Arc<dyn Storage> = Arc::new(Memory::new("t", Arc::new(ManualClock::new(0))));
        write(&storage, "before", KeySummary::new(expected_before).unwrap(), &[rows(100..1100)]);
        let keys = KeySummary::going_on(&storage, "before", 2000).unwrap();
        assert_eq!(1000 - keys.known, hashed_of_before);
        // Batches end elsewhere, and one of them holds old and new keys.
        write(&storage, "after", keys, &[rows(100..700), rows(700..1300), rows(50..51)]);
        let footer = footer(&storage, "after").unwrap();
        let bloom = footer.bloom().unwrap().unwrap();
        let has = |key: usize| bloom.contains(&format!("key {key:04}"));
        assert!((100..1300).chain([50]).all(has));
        assert!((2000..9000).filter(|key| has(*key)).count() < 10);
        assert_eq!((footer.rows, footer.key_range()), (1201, (Some("key 0050"), Some("key 1299"))));
    }

    #[test]
    fn a_file_with_fewer_rows_than_promised_is_not_written() {
        let storage: Arc<dyn Storage> = Arc::new(Memory::new("t", Arc::new(ManualClock::new(0))));
        write(&storage, "before", KeySummary::new(10).unwrap(), &[rows(0..10)]);
        let mut keys = KeySummary::going_on(&storage, "before", 10).unwrap();
        keys.add(&rows(0..9)).unwrap();
        assert!(keys.clone().footer(None).is_err());
        keys.add(&rows(9..10)).unwrap();
        assert!(keys.footer(None).is_ok());
    }

    /// U+FF5E comes before U+10400 by the bytes, behind it by the units that Java compares.
    #[rstest]
    #[case::one_batch(&[vec!["a", "\u{ff5e}", "\u{10400}", "b"]])]
    #[case::ascii_in_other_batches(&[vec!["b", "c"], vec!["\u{10400}", "\u{ff5e}"], vec!["a", "d"]])]
    fn the_range_is_in_the_order_of_java(#[case] batches: &[Vec<&str>]) {
        let storage: Arc<dyn Storage> = Arc::new(Memory::new("t", Arc::new(ManualClock::new(0))));
        let batch = |keys: &Vec<&str>| {
            let keys: ArrayRef = Arc::new(StringArray::from_iter_values(keys));
            RecordBatch::try_from_iter_with_nullable([(meta::RECORD_KEY, keys, true)]).unwrap()
        };
        let rows: Vec<_> = batches.iter().map(batch).collect();
        write(&storage, "file", KeySummary::new(10).unwrap(), &rows);
        assert_eq!(footer(&storage, "file").unwrap().key_range(), (Some("a"), Some("\u{ff5e}")));
    }
}
