//! `.hoodie_partition_metadata`: the file that makes a directory a partition.
//!
//! ```text
//! #partition metadata
//! #Sat Mar 07 16:24:59 UTC 2026
//! commitTime=20260307162459000     the instant that created the partition
//! partitionDepth=1                 levels between the table's base path and this directory; 0 when unpartitioned
//! ```
//!
//! A table with `hoodie.partition.metafile.use.base.format` has the same pairs in the footer of a Parquet file without rows,
//! `.hoodie_partition_metadata.parquet`. An empty file makes a directory a partition as well, but says nothing.

use bytes::Bytes;

use super::Properties;
use crate::{Error, Result, parquet_file};

/// Its name, in every partition directory.
pub const PARTITION_METADATA_FILE: &str = ".hoodie_partition_metadata";

const COMMENT: &str = "partition metadata";
const COMMIT_TIME: &str = "commitTime";
const DEPTH: &str = "partitionDepth";
/// The Parquet form takes a few hundred bytes; a footer of damaged lengths must not take much more.
const MAX_PARQUET_BYTES: usize = 64 * 1024;

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

    /// Whether a file of this name makes its directory a partition, in whatever form.
    pub fn is_its_name(name: &str) -> bool {
        let rest = name.strip_prefix(PARTITION_METADATA_FILE);
        rest.is_some_and(|rest| matches!(rest, "" | ".parquet" | ".orc"))
    }

    /// Reads the file of this name.
    pub fn decode(name: &str, bytes: &[u8]) -> Result<Self> {
        match name.strip_prefix(PARTITION_METADATA_FILE) {
            Some("") => Self::parse(bytes),
            Some(".parquet") => Self::parse_parquet(bytes),
            _ => Err(Error::unsupported(format!("partition metadata in the file {name}"))),
        }
    }

    /// Reads the text form.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        Self::from_pairs(&Properties::parse(bytes)?)
    }

    /// Reads the Parquet form.
    pub fn parse_parquet(bytes: &[u8]) -> Result<Self> {
        if bytes.len() > MAX_PARQUET_BYTES {
            let message = format!("{} bytes of partition metadata, more than {MAX_PARQUET_BYTES}", bytes.len());
            return Err(Error::corrupt(message));
        }
        let metadata = parquet_file::read_footer(&Bytes::copy_from_slice(bytes))?;
        let pairs = metadata.file_metadata().key_value_metadata().into_iter().flatten();
        let pairs = pairs.filter_map(|pair| Some((pair.key.clone(), pair.value.clone()?)));
        Self::from_pairs(&pairs.collect())
    }

    fn from_pairs(properties: &Properties) -> Result<Self> {
        let value = |key: &str| {
            properties.get(key).ok_or_else(|| Error::corrupt(format!("{PARTITION_METADATA_FILE} has no {key}")))
        };
        let depth = value(DEPTH)?;
        let depth = depth.trim().parse().map_err(|e| {
            Error::corrupt(format!("{DEPTH} is '{depth}' in {PARTITION_METADATA_FILE}")).caused_by(Box::new(e))
        })?;
        Ok(Self { commit_time: value(COMMIT_TIME)?.to_owned(), depth })
    }

    /// The text form. `date` as [`super::java_date`] prints it.
    pub fn to_bytes(&self, date: &str) -> Vec<u8> {
        let properties: Properties =
            [(COMMIT_TIME, self.commit_time.clone()), (DEPTH, self.depth.to_string())].into_iter().collect();
        properties.to_bytes(COMMENT, date)
    }
}
