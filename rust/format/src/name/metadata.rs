//! File ids of the metadata table, whose file groups are counted, not random.
//!
//! ```text
//! <prefix of the partition>[<data partition>-]<number, 4 digits>-0
//!
//! files-0000-0    col-stats-0001-0    secondary-index-idx-rider-0003-0    record-index-city%3Dsf-0000-0
//! ```
//!
//! The partitions of secondary and expression indexes carry the name of the index, whose `_` turn into `-` in file ids. The
//! record index of a partitioned kind has groups for every data partition, escaped as in URLs, with `-` and `_` as well.

use std::borrow::Cow;
use std::fmt;

use super::is_digits;
use crate::key::{push_escaped, unescape};

const FILE_INDEX: &str = "-0";
const NUMBER_DIGITS: usize = 4;

/// A kind of partition of the metadata table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum IndexPartition {
    Files,
    ColumnStats,
    BloomFilters,
    RecordIndex,
    ExpressionIndex,
    SecondaryIndex,
    PartitionStats,
}

impl IndexPartition {
    pub const ALL: [Self; 7] = [
        Self::Files,
        Self::ColumnStats,
        Self::BloomFilters,
        Self::RecordIndex,
        Self::ExpressionIndex,
        Self::SecondaryIndex,
        Self::PartitionStats,
    ];

    /// The name of the partition; of the kinds with many, what its name begins with.
    pub fn name(self) -> &'static str {
        match self {
            Self::Files => "files",
            Self::ColumnStats => "column_stats",
            Self::BloomFilters => "bloom_filters",
            Self::RecordIndex => "record_index",
            Self::ExpressionIndex => "expr_index_",
            Self::SecondaryIndex => "secondary_index_",
            Self::PartitionStats => "partition_stats",
        }
    }

    fn file_id_prefix(self) -> &'static str {
        match self {
            Self::Files => "files-",
            Self::ColumnStats => "col-stats-",
            Self::BloomFilters => "bloom-filters-",
            Self::RecordIndex => "record-index-",
            Self::ExpressionIndex => "expr-index-",
            Self::SecondaryIndex => "secondary-index-",
            Self::PartitionStats => "partition-stats-",
        }
    }

    /// Whether there is a partition for every index.
    fn is_named(self) -> bool {
        matches!(self, Self::ExpressionIndex | Self::SecondaryIndex)
    }

    /// The kind of a partition; `None` for names that no index has.
    pub fn of(partition: &str) -> Option<Self> {
        let is = |kind: &Self| {
            let rest = partition.strip_prefix(kind.name());
            rest.is_some_and(|rest| if kind.is_named() { !rest.is_empty() } else { rest.is_empty() })
        };
        Self::ALL.into_iter().find(is)
    }
}

/// The id of a file group of the metadata table.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct MetadataFileId {
    pub kind: IndexPartition,
    /// Between the kind and the number: the index with `-` for `_`, or the data partition; empty otherwise.
    pub middle: String,
    /// Which of the partition's file groups, or of the data partition's.
    pub number: u32,
}

impl MetadataFileId {
    /// The id of a partition's file group; `None` for a partition that no index has.
    pub fn new(partition: &str, number: u32) -> Option<Self> {
        let kind = IndexPartition::of(partition)?;
        let index = partition.strip_prefix(kind.name()).unwrap_or_default();
        Some(Self { kind, middle: index.replace('_', "-"), number })
    }

    /// The id of a file group for one data partition, in the record index of the partitioned kind.
    pub fn of_data_partition(data_partition: &str, number: u32) -> Self {
        let mut escaped = String::new();
        push_escaped(data_partition, &mut escaped);
        let middle = escaped.replace('-', "%2D").replace('_', "%5F");
        Self { kind: IndexPartition::RecordIndex, middle, number }
    }

    /// `None` for other file ids.
    pub fn parse(file_id: &str) -> Option<Self> {
        let kind = IndexPartition::ALL.into_iter().find(|kind| file_id.starts_with(kind.file_id_prefix()))?;
        let rest = file_id.strip_prefix(kind.file_id_prefix())?.strip_suffix(FILE_INDEX)?;
        let (middle, number) = rest.rsplit_once('-').map_or((None, rest), |(middle, number)| (Some(middle), number));
        let fits = match middle {
            Some(_) => kind.is_named() || kind == IndexPartition::RecordIndex,
            None => !kind.is_named(),
        };
        // Four digits, or more without a zero in front: so that printing gives the same id back.
        let counted = is_digits(number)
            && number.len() >= NUMBER_DIGITS
            && (number.len() == NUMBER_DIGITS || !number.starts_with('0'));
        if !fits || !counted || middle == Some("") {
            return None;
        }
        Some(Self { kind, middle: middle.unwrap_or_default().to_owned(), number: number.parse().ok()? })
    }

    /// The data partition that a file group of a record index is for, if it is of the partitioned kind.
    pub fn data_partition(&self) -> Option<Cow<'_, str>> {
        (self.kind == IndexPartition::RecordIndex && !self.middle.is_empty()).then(|| unescape(&self.middle))
    }
}

impl fmt::Display for MetadataFileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, middle, number } = self;
        let separator = if middle.is_empty() { "" } else { "-" };
        write!(f, "{}{middle}{separator}{number:0NUMBER_DIGITS$}{FILE_INDEX}", kind.file_id_prefix())
    }
}
