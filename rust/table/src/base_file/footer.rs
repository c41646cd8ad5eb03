//! The footer of a base file: what its writer says of the rows.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_schema::Schema;
use hudini_format::bloom::{
    BLOOM_FILTER_FOOTER, BLOOM_TYPE_FOOTER, BloomFilter, BloomKind, MAX_RECORD_KEY_FOOTER, MIN_RECORD_KEY_FOOTER,
};
use hudini_format::parquet_file::ParquetFile;
use parquet::file::metadata::RowGroupMetaData;

use super::read::whole;
use crate::Result;
use crate::storage::Storage;

#[derive(Debug, Clone)]
pub struct Footer {
    pub rows: u64,
    /// The file's own columns.
    pub schema: Schema,
    /// What the writer put beside them, by key.
    pairs: BTreeMap<String, String>,
}

/// Reads the footer alone.
pub fn footer(storage: &Arc<dyn Storage>, path: &str) -> Result<Footer> {
    let file = ParquetFile::open(whole(storage, path)?).map_err(|e| e.at_path(path))?;
    let metadata = file.metadata().file_metadata();
    let pairs = metadata.key_value_metadata().into_iter().flatten();
    let pairs = pairs.filter_map(|pair| Some((pair.key.clone(), pair.value.clone()?))).collect();
    let rows = u64::try_from(metadata.num_rows())
        .map_err(|e| crate::Error::corrupt("a base file with less than no rows").caused_by(e).at_path(path))?;
    Ok(Footer { rows, schema: file.schema().clone(), pairs })
}

/// By top column: its bytes in the file, and before they were compressed.
pub(crate) fn column_bytes(storage: &Arc<dyn Storage>, path: &str) -> Result<BTreeMap<String, (i64, i64)>> {
    let file = ParquetFile::open(whole(storage, path)?).map_err(|e| e.at_path(path))?;
    Ok(bytes_of(file.metadata().row_groups()))
}

/// The same of row groups that have just been written.
pub(super) fn bytes_of<G: Borrow<RowGroupMetaData>>(groups: &[G]) -> BTreeMap<String, (i64, i64)> {
    let mut sizes: BTreeMap<String, (i64, i64)> = BTreeMap::new();
    for chunk in groups.iter().flat_map(|group| group.borrow().columns()) {
        let Some(top) = chunk.column_path().parts().first() else { continue };
        let (bytes, raw) = sizes.entry(top.clone()).or_default();
        *bytes = bytes.saturating_add(chunk.compressed_size());
        *raw = raw.saturating_add(chunk.uncompressed_size());
    }
    sizes
}

impl Footer {
    /// The bloom filter of the record keys, if there is one.
    pub fn bloom(&self) -> Result<Option<BloomFilter>> {
        let Some(text) = self.pairs.get(BLOOM_FILTER_FOOTER) else { return Ok(None) };
        // Until releases had more than one kind, none was named.
        let kind = self.pairs.get(BLOOM_TYPE_FOOTER).map_or(Ok(BloomKind::Simple), |kind| BloomKind::parse(kind))?;
        BloomFilter::from_text(kind, text).map(Some)
    }

    /// The least and the greatest record key.
    pub fn key_range(&self) -> (Option<&str>, Option<&str>) {
        let text = |key| self.pairs.get(key).map(String::as_str);
        (text(MIN_RECORD_KEY_FOOTER), text(MAX_RECORD_KEY_FOOTER))
    }
}
