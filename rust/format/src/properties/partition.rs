//! `.hoodie_partition_metadata`: the file that makes a directory a partition.
//!
//! ```text
//! #partition metadata
//! #Sat Mar 07 16:24:59 UTC 2026
//! commitTime=20260307162459000     the instant that created the partition
//! partitionDepth=1                 levels between the table's base path and this directory; 0 when unpartitioned
//! ```

use super::Properties;
use crate::{Error, Result};

/// Its name, in every partition directory.
pub const PARTITION_METADATA_FILE: &str = ".hoodie_partition_metadata";

const COMMENT: &str = "partition metadata";
const COMMIT_TIME: &str = "commitTime";
const DEPTH: &str = "partitionDepth";

/// What the file says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionMetadata {
    pub commit_time: String,
    pub depth: u32,
}

impl PartitionMetadata {
    /// For a partition path relative to the table, `""` when unpartitioned.
    pub fn new(commit_time: impl Into<String>, partition: &str) -> Self {
        let levels = partition.split('/').filter(|level| !level.is_empty()).count();
        Self { commit_time: commit_time.into(), depth: u32::try_from(levels).unwrap_or(u32::MAX) }
    }

    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let properties = Properties::parse(bytes)?;
        let value = |key: &str| {
            properties.get(key).ok_or_else(|| Error::corrupt(format!("{PARTITION_METADATA_FILE} has no {key}")))
        };
        let depth = value(DEPTH)?;
        let depth = depth.trim().parse().map_err(|e| {
            Error::corrupt(format!("{DEPTH} is '{depth}' in {PARTITION_METADATA_FILE}")).caused_by(Box::new(e))
        })?;
        Ok(Self { commit_time: value(COMMIT_TIME)?.to_owned(), depth })
    }

    /// `date` as [`super::java_date`] prints it.
    pub fn to_bytes(&self, date: &str) -> Vec<u8> {
        let properties: Properties =
            [(COMMIT_TIME, self.commit_time.clone()), (DEPTH, self.depth.to_string())].into_iter().collect();
        properties.to_bytes(COMMENT, date)
    }
}
