//! What a savepoint keeps: the files of the newest slices at its instant.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::extra::{Extra, WriterSchema};
use super::form::{payload, version_1};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename = "HoodieSavepointPartitionMetadata", rename_all = "camelCase")]
pub struct SavepointPartitionMetadata {
    pub partition_path: String,
    /// Names of base and log files.
    pub savepoint_data_file: Vec<String>,
    #[serde(flatten)]
    pub extra: Extra,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename = "HoodieSavepointMetadata", rename_all = "camelCase")]
pub struct SavepointMetadata {
    pub savepointed_by: String,
    /// Milliseconds since 1970.
    pub savepointed_at: i64,
    pub comments: String,
    pub partition_metadata: BTreeMap<String, SavepointPartitionMetadata>,
    #[serde(default = "version_1")]
    pub version: Option<i32>,
    #[serde(flatten)]
    pub extra: Extra,
    #[serde(skip)]
    pub writer_schema: WriterSchema,
}

payload!(SavepointMetadata, "savepoint metadata", "HoodieSavepointMetadata");
