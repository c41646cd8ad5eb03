//! What of a table need not be read for a filter because an index of the metadata table says so.
//!
//! | index | tells of | holds |
//! |---|---|---|
//! | column statistics, bloom filters, both of expressions | files, by name | always: a file never changes |
//! | record index | the newest state of the table | for a read of that very state; that a key is not there, as below |
//! | partition statistics, secondary index | the same, as the write saw it that was asked for last | the same, if writes completed in the order in which they were asked for |
//!
//! An index that is damaged, or that is given up while it is read, costs a warning and leaves nothing out.

mod believed;
mod expressions;
mod keys;
mod values;

use arrow_schema::Schema;

use super::prune::{Choice, Evidence, Pruned};
use super::shape::RowShape;
use crate::config::TableConfig;
use crate::filter::Predicate;
use crate::metadata::{InPartition, MetadataTable};
use crate::storage::Storage;
use crate::timeline::{Order, Snapshot};
use crate::view::FileSlice;
use crate::{Error, Result};

pub(crate) use believed::{Of, believes_bounds};
pub(crate) use keys::{secondary_column, texts};
pub(crate) use values::in_every_file;

/// A read whose slices indexes may rule out.
pub(super) struct Indexed<'r> {
    pub(super) storage: &'r dyn Storage,
    pub(super) metadata: &'r MetadataTable,
    pub(super) config: &'r TableConfig,
    pub(super) snapshot: &'r Snapshot,
    pub(super) shape: &'r RowShape,
    pub(super) choice: &'r Choice,
    /// The writes up to now, if all rows are read as they are now, merged.
    pub(super) now: Option<&'r Order>,
}

/// Which slices are still wanted, one for one; `None` if the index has nothing to say.
type Wanted = Option<Vec<bool>>;

/// What all indexes need to know of a read.
struct Question<'r> {
    read: &'r Indexed<'r>,
    predicate: &'r Predicate,
    /// All columns as they are shown.
    columns: Schema,
}

/// Of the newest state of the table.
const OF_NOW: [Evidence; 3] = [Evidence::RecordIndex, Evidence::SecondaryIndex, Evidence::PartitionStats];
/// Of files.
const OF_FILES: [Evidence; 3] = [Evidence::ColumnStats, Evidence::ExpressionIndex, Evidence::BloomFilters];

impl Indexed<'_> {
    /// Keeps the slices that may hold rows that match. Counts the others, and says what went wrong.
    pub(super) fn leave_out(&self, slices: &mut Vec<FileSlice>, pruned: &mut Pruned) -> Result<Vec<String>> {
        let Some(predicate) = self.choice.predicate() else { return Ok(Vec::new()) };
        let question = Question { read: self, predicate, columns: self.shape.shown(self.snapshot, true)? };
        // An index that is ahead of the timeline may know a row's next place, and not this one.
        let of_now = OF_NOW.iter().filter(|_| self.now.is_some() && !self.metadata.is_ahead());
        let mut warnings = Vec::new();
        for evidence in of_now.chain(&OF_FILES).copied() {
            if slices.is_empty() {
                break;
            }
            match question.ask(evidence, slices) {
                Ok(None) => {}
                Ok(Some(wanted)) => pruned.add(evidence, keep(slices, &wanted, evidence)),
                Err(error) => warnings.push(not_used(evidence, &error)),
            }
        }
        Ok(warnings)
    }
}

impl Question<'_> {
    fn ask(&self, evidence: Evidence, slices: &[FileSlice]) -> Result<Wanted> {
        match evidence {
            Evidence::RecordIndex => self.by_record_index(slices),
            Evidence::SecondaryIndex => self.if_in_order(self.by_secondary_index(slices)?),
            Evidence::PartitionStats => self.if_in_order(self.by_partition_stats(slices)?),
            Evidence::ColumnStats => self.by_column_stats(slices),
            Evidence::ExpressionIndex => self.by_expression_indexes(slices),
            Evidence::BloomFilters => self.by_bloom_filters(slices),
            Evidence::Paths | Evidence::Buckets => Ok(None),
        }
    }

    /// What the write says that was asked for last, unless it may not have known of all before it.
    fn if_in_order(&self, wanted: Wanted) -> Result<Wanted> {
        let leaves_out = wanted.iter().flatten().any(|wanted| !wanted);
        Ok(if leaves_out && !self.is_in_order()? { None } else { wanted })
    }

    fn is_in_order(&self) -> Result<bool> {
        let Indexed { storage, config, now, .. } = *self.read;
        now.map_or(Ok(false), |order| order.is_kept(storage, config))
    }

    fn was_restored(&self) -> Result<bool> {
        let Indexed { storage, config, now, .. } = *self.read;
        now.map_or(Ok(true), |order| order.was_restored(storage, config))
    }

    /// Whether files have a column in the type in which it is shown. What folders tell is not read from files.
    fn is_as_in_files(&self, stored: &Schema, column: &str) -> bool {
        let kind = |schema: &Schema| schema.field_with_name(column).ok().map(|field| field.data_type().clone());
        let shown = kind(&self.columns);
        shown.is_some() && shown == kind(stored) && !self.read.shape.folders_say(column)
    }
}

/// Keeps what is wanted, and counts what is not: partitions where whole ones go, else slices.
fn keep(slices: &mut Vec<FileSlice>, wanted: &[bool], evidence: Evidence) -> usize {
    let (before, partitions) = (slices.len(), partitions_of(slices).len());
    let mut wanted = wanted.iter();
    slices.retain(|_| wanted.next().copied().unwrap_or(true));
    match evidence {
        Evidence::PartitionStats => partitions - partitions_of(slices).len(),
        _ => before - slices.len(),
    }
}

fn partitions_of(slices: &[FileSlice]) -> Vec<String> {
    let mut partitions: Vec<String> = slices.iter().map(|slice| slice.partition.clone()).collect();
    partitions.sort();
    partitions.dedup();
    partitions
}

fn not_used(evidence: Evidence, error: &Error) -> String {
    format!("nothing is left out by {} of the metadata table, because it cannot be used: {error}", evidence.name())
}

fn in_partition(slice: &FileSlice, name: &str) -> InPartition {
    (slice.partition.clone(), name.to_owned())
}

fn given_up() -> Error {
    Error::storage("the index was given up while it was read")
}
