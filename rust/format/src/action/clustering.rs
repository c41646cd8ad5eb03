//! What a replacing action plans. Clustering: which file slices to write anew, and how. Overwrites and deletes of partitions
//! have nothing to plan, their requested file holds the same record with (nearly) everything null.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::extra::{Extra, WriterSchema};
use super::form::{payload, version_1};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename = "HoodieSliceInfo", rename_all = "camelCase")]
pub struct SliceInfo {
    /// Absolute, with a scheme, as the paths of the log files.
    pub data_file_path: Option<String>,
    pub delta_file_paths: Option<Vec<String>>,
    pub file_id: Option<String>,
    pub partition_path: Option<String>,
    pub bootstrap_file_path: Option<String>,
    #[serde(default = "version_1")]
    pub version: Option<i32>,
    #[serde(flatten)]
    pub extra: Extra,
}

/// Slices whose rows go together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename = "HoodieClusteringGroup", rename_all = "camelCase")]
pub struct ClusteringGroup {
    pub slices: Option<Vec<SliceInfo>>,
    pub metrics: Option<BTreeMap<String, f64>>,
    #[serde(default = "version_1")]
    pub num_output_file_groups: Option<i32>,
    pub extra_metadata: Option<BTreeMap<String, String>>,
    #[serde(default = "version_1")]
    pub version: Option<i32>,
    #[serde(flatten)]
    pub extra: Extra,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename = "HoodieClusteringStrategy", rename_all = "camelCase")]
pub struct ClusteringStrategy {
    pub strategy_class_name: Option<String>,
    pub strategy_params: Option<BTreeMap<String, String>>,
    #[serde(default = "version_1")]
    pub version: Option<i32>,
    #[serde(flatten)]
    pub extra: Extra,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename = "HoodieClusteringPlan", rename_all = "camelCase")]
pub struct ClusteringPlan {
    pub input_groups: Option<Vec<ClusteringGroup>>,
    pub strategy: Option<ClusteringStrategy>,
    pub extra_metadata: Option<BTreeMap<String, String>>,
    #[serde(default = "version_1")]
    pub version: Option<i32>,
    pub preserve_hoodie_metadata: Option<bool>,
    /// Not in version 6.
    pub missing_schedule_partitions: Option<Vec<String>>,
    #[serde(flatten)]
    pub extra: Extra,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename = "HoodieRequestedReplaceMetadata", rename_all = "camelCase")]
pub struct RequestedReplaceMetadata {
    pub operation_type: Option<String>,
    pub clustering_plan: Option<ClusteringPlan>,
    pub extra_metadata: Option<BTreeMap<String, String>>,
    #[serde(default = "version_1")]
    pub version: Option<i32>,
    #[serde(flatten)]
    pub extra: Extra,
    #[serde(skip)]
    pub writer_schema: WriterSchema,
}

payload!(RequestedReplaceMetadata, "plan of a replacing action", "HoodieRequestedReplaceMetadata");
