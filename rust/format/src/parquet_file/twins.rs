//! Columns of texts whose chunks are the same bytes, as those of the record keys and of the one key field of most tables: they
//! are decoded once, and share what comes out.
//!
//! What a footer says of chunks tells which of them may be the same. Whether they are, their bytes tell, which have to be
//! fetched anyway: those that are decoded are kept until then.

use std::collections::BTreeMap;

use arrow_schema::{DataType, FieldRef, Fields};
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use parquet::file::reader::ChunkReader;

use super::ParquetFile;
use super::selected::Part;

/// Bytes that are kept of all columns, at most.
const MOST_KEPT: u64 = 16 << 20;
/// Who wants fewer rows at a time may soon have enough, and should not wait for whole chunks.
const MANY_ROWS: usize = 1024;
/// Bytes that are compared at a time.
const PIECE: usize = 1 << 20;

/// The bytes of some chunks, by number of the row group and of the leaf.
pub(super) type Kept = BTreeMap<(usize, usize), Bytes>;

/// What is decoded once.
#[derive(Debug, Default)]
pub(super) struct Twins {
    /// Leaves that are not decoded, with those that have their values.
    leaves: BTreeMap<usize, usize>,
    pub(super) kept: Kept,
}

impl Twins {
    fn is_decoded(&self, leaf: usize) -> bool {
        !self.leaves.contains_key(&leaf)
    }
}

/// A column that is not decoded, by its place among those that are read, and by that of the one before it that it is like.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) at: usize,
    pub(super) of: usize,
    pub(super) field: FieldRef,
}

impl<R: ChunkReader + 'static> ParquetFile<R> {
    /// Of the columns that are read, those that are alike. `fields` says how columns are decoded.
    pub(super) fn twins(&self, parts: &[Part], columns: &ProjectionMask, fields: &Fields, batch_rows: usize) -> Twins {
        let mut twins = Twins::default();
        if batch_rows < MANY_ROWS || parts.is_empty() || parts.iter().any(|part| part.rows.is_some()) {
            return twins;
        }
        let groups: Vec<_> =
            parts.iter().filter_map(|part| Some((part.group, self.metadata.row_groups().get(part.group)?))).collect();
        let schema = self.metadata.file_metadata().schema_descr();
        let texts: Vec<(usize, &DataType)> = (0..schema.num_columns())
            .filter(|leaf| columns.leaf_included(*leaf))
            .filter_map(|leaf| Some((leaf, text_type(fields, schema.get_column_root_idx(leaf))?)))
            .collect();
        for (at, (leaf, kind)) in texts.iter().enumerate() {
            let is_like = |(other, of_kind): &&(usize, &DataType)| {
                kind == of_kind
                    && twins.is_decoded(*other)
                    && groups.iter().all(|(_, group)| may_be_same(group, *leaf, *other))
            };
            let before = texts.get(..at).unwrap_or_default().iter().find(is_like).map(|(other, _)| *other);
            let same = before.and_then(|other| Some((other, self.same_bytes(&groups, *leaf, other, &twins.kept)?)));
            if let Some((other, kept)) = same {
                twins.leaves.insert(*leaf, other);
                twins.kept.extend(kept);
            }
        }
        twins
    }

    /// The bytes of the second leaf's chunks if the first one's are the same. What can't be compared is read as it is.
    fn same_bytes(
        &self,
        groups: &[(usize, &RowGroupMetaData)],
        leaf: usize,
        other: usize,
        kept: &Kept,
    ) -> Option<Kept> {
        let range =
            |group: &RowGroupMetaData, leaf: usize| group.columns().get(leaf).map(ColumnChunkMetaData::byte_range);
        let ranges = groups.iter().map(|(at, group)| Some((*at, range(group, leaf)?, range(group, other)?)));
        let ranges = ranges.collect::<Option<Vec<_>>>()?;
        let new = ranges.iter().filter(|(group, ..)| !kept.contains_key(&(*group, other)));
        let old = kept.values().map(|bytes| bytes.len() as u64);
        if new.map(|(_, (_, length), _)| *length).chain(old).fold(0, u64::saturating_add) > MOST_KEPT {
            return None;
        }
        let mut same = Kept::new();
        for (group, (start, length), (other_start, _)) in ranges {
            let whole = match kept.get(&(group, other)) {
                Some(whole) => whole.clone(),
                None => self.source.fetch(other_start..other_start.checked_add(length)?).ok()?,
            };
            for (at, piece) in (0..).step_by(PIECE).zip(whole.chunks(PIECE)) {
                let from = start.checked_add(at)?;
                let twin = self.source.fetch(from..from.checked_add(piece.len() as u64)?).ok()?;
                if twin != piece {
                    return None;
                }
            }
            same.insert((group, other), whole);
        }
        Some(same)
    }

    /// The columns that are decoded.
    pub(super) fn without(&self, columns: ProjectionMask, twins: &Twins) -> ProjectionMask {
        if twins.leaves.is_empty() {
            return columns;
        }
        let schema = self.metadata.file_metadata().schema_descr();
        let leaves = (0..schema.num_columns()).filter(|leaf| columns.leaf_included(*leaf) && twins.is_decoded(*leaf));
        ProjectionMask::leaves(schema, leaves)
    }

    /// The places of the others among all columns that are read, in order, and those of their twins before them.
    pub(super) fn places_of(&self, columns: &ProjectionMask, twins: &Twins) -> Vec<Place> {
        let schema = self.metadata.file_metadata().schema_descr();
        let mut roots: Vec<usize> = (0..schema.num_columns())
            .filter(|leaf| columns.leaf_included(*leaf))
            .map(|leaf| schema.get_column_root_idx(leaf))
            .collect();
        roots.dedup();
        let place = |leaf: usize| roots.binary_search(&schema.get_column_root_idx(leaf)).ok();
        let places = twins.leaves.iter().map(|(leaf, other)| {
            let field = self.schema.fields().get(schema.get_column_root_idx(*leaf))?;
            Some(Place { at: place(*leaf)?, of: place(*other)?, field: field.clone() })
        });
        places.flatten().collect()
    }
}

/// The type of a column that holds texts or bytes, and is decoded value by value.
fn text_type(fields: &Fields, root: usize) -> Option<&DataType> {
    let kind = fields.get(root).map(|field| field.data_type());
    kind.filter(|kind| matches!(kind, DataType::Utf8 | DataType::Binary))
}

/// Whether the footer says the same of two chunks.
fn may_be_same(group: &RowGroupMetaData, leaf: usize, other: usize) -> bool {
    let Some((chunk, other)) = group.columns().get(leaf).zip(group.columns().get(other)) else { return false };
    let of = |chunk: &ColumnChunkMetaData| {
        let descriptor = chunk.column_descr();
        let kind = (descriptor.physical_type(), descriptor.max_def_level(), descriptor.max_rep_level());
        let pages = (chunk.num_values(), chunk.compression(), chunk.dictionary_page_offset().is_some());
        (kind, pages, chunk.compressed_size(), chunk.uncompressed_size(), chunk.byte_range().1)
    };
    of(chunk) == of(other) && chunk.statistics() == other.statistics()
}
