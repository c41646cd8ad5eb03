//! Which partitions of the metadata table an indexing action builds, and up to which instant it built them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::extra::{Extra, WriterSchema};
use super::form::{payload, version_1};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename = "HoodieIndexPartitionInfo", rename_all = "camelCase")]
pub struct IndexPartitionInfo {
    #[serde(default = "version_1")]
    pub version: Option<i32>,
    pub metadata_partition_path: Option<String>,
    pub index_upto_instant: Option<String>,
    pub extra_metadata: Option<BTreeMap<String, String>>,
    #[serde(flatten)]
    pub extra: Extra,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename = "HoodieIndexPlan", rename_all = "camelCase")]
pub struct IndexPlan {
    #[serde(default = "version_1")]
    pub version: Option<i32>,
    pub index_partition_infos: Option<Vec<IndexPartitionInfo>>,
    #[serde(flatten)]
    pub extra: Extra,
    #[serde(skip)]
    pub writer_schema: WriterSchema,
}

payload!(IndexPlan, "index plan", "HoodieIndexPlan");

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename = "HoodieIndexCommitMetadata", rename_all = "camelCase")]
pub struct IndexCommitMetadata {
    #[serde(default = "version_1")]
    pub version: Option<i32>,
    pub operation_type: Option<String>,
    pub index_partition_infos: Option<Vec<IndexPartitionInfo>>,
    #[serde(flatten)]
    pub extra: Extra,
    #[serde(skip)]
    pub writer_schema: WriterSchema,
}

payload!(IndexCommitMetadata, "index metadata", "HoodieIndexCommitMetadata");
