//! Partitions of the metadata table: their names, their file groups, and which group holds a key.

use std::fmt;

use super::key::escaped_prefix;
use crate::Result;
use crate::hash::metadata_shard;
use crate::key::{push_escaped, unescape};

const SECONDARY: &str = "secondary_index_";
const EXPRESSION: &str = "expr_index_";

/// A partition of the metadata table.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Partition {
    Files,
    ColumnStats,
    BloomFilters,
    RecordIndex,
    PartitionStats,
    /// With what follows `secondary_index_`.
    SecondaryIndex(String),
    /// With what follows `expr_index_`.
    ExpressionIndex(String),
}

/// `version` of an index definition. It decides which part of a secondary index's key is hashed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IndexVersion {
    V1,
    V2,
}

impl Partition {
    /// Parses the name of a folder, which is also the name in `hoodie.table.metadata.partitions`; `None` for any other.
    pub fn parse(name: &str) -> Option<Self> {
        let named = |prefix| name.strip_prefix(prefix).filter(|rest: &&str| !rest.is_empty()).map(str::to_owned);
        match name {
            "files" => Some(Self::Files),
            "column_stats" => Some(Self::ColumnStats),
            "bloom_filters" => Some(Self::BloomFilters),
            "record_index" => Some(Self::RecordIndex),
            "partition_stats" => Some(Self::PartitionStats),
            _ => named(SECONDARY).map(Self::SecondaryIndex).or_else(|| named(EXPRESSION).map(Self::ExpressionIndex)),
        }
    }

    fn file_id_prefix(&self) -> String {
        match self {
            Self::ColumnStats => "col-stats".to_owned(),
            other => other.to_string().replace('_', "-"),
        }
    }

    /// The file id of a group.
    pub fn file_id(&self, group: u32) -> String {
        format!("{}-{group:04}-0", self.file_id_prefix())
    }

    /// The file id of a group of a record index that is kept for each partition of the table.
    pub fn file_id_within(&self, data_partition: &str, group: u32) -> String {
        format!("{}-{}-{group:04}-0", self.file_id_prefix(), escape_path(data_partition))
    }

    /// Which of `groups` file groups holds a key.
    pub fn file_group(&self, version: IndexVersion, key: &str, groups: u32) -> Result<u32> {
        let hashed = match (self, version) {
            (Self::SecondaryIndex(_), IndexVersion::V2) => escaped_prefix(key)?,
            _ => key,
        };
        Ok(metadata_shard(hashed, groups))
    }
}

impl fmt::Display for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Files => f.write_str("files"),
            Self::ColumnStats => f.write_str("column_stats"),
            Self::BloomFilters => f.write_str("bloom_filters"),
            Self::RecordIndex => f.write_str("record_index"),
            Self::PartitionStats => f.write_str("partition_stats"),
            Self::SecondaryIndex(name) => write!(f, "{SECONDARY}{name}"),
            Self::ExpressionIndex(name) => write!(f, "{EXPRESSION}{name}"),
        }
    }
}

/// The number of a group in its file id. Old releases end their file ids with it, newer ones put `-0` behind.
pub fn file_group_of(file_id: &str) -> Option<u32> {
    let digits = |text: &str| text.rsplit_once('-').map(|(_, number)| number.to_owned());
    let number = file_id.strip_suffix("-0").and_then(digits).or_else(|| digits(file_id))?;
    (number.bytes().all(|b| b.is_ascii_digit())).then(|| number.parse().ok()).flatten()
}

/// The partition of the table that a group of a record index is for; `None` if it is for all of them.
pub fn data_partition_of(file_id: &str) -> Option<String> {
    let rest = file_id.strip_prefix(Partition::RecordIndex.file_id_prefix().as_str())?.strip_prefix('-')?;
    let (escaped, _) = rest.strip_suffix("-0").unwrap_or(rest).rsplit_once('-')?;
    Some(unescape(escaped).into_owned())
}

/// As in partition paths, and what file ids and file names are taken apart at.
fn escape_path(path: &str) -> String {
    let mut escaped = String::with_capacity(path.len());
    push_escaped(path, &mut escaped);
    escaped.replace('-', "%2D").replace('_', "%5F")
}
