//! What a rollback plans to delete, and what it deleted.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::extra::{Extra, WriterSchema};
use super::form::{payload, version_1};

/// Names an instant inside plans: its requested time and the action of its pending file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename = "HoodieInstantInfo", rename_all = "camelCase")]
pub struct InstantInfo {
    pub commit_time: String,
    pub action: String,
    #[serde(flatten)]
    pub extra: Extra,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename = "HoodieRollbackRequest", rename_all = "camelCase")]
pub struct RollbackRequest {
    pub partition_path: String,
    pub file_id: Option<String>,
    pub latest_base_instant: Option<String>,
    #[serde(default)]
    /// Absolute paths without a scheme.
    pub files_to_be_deleted: Vec<String>,
    pub log_blocks_to_be_deleted: Option<BTreeMap<String, i64>>,
    #[serde(flatten)]
    pub extra: Extra,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename = "HoodieRollbackPlan", rename_all = "camelCase")]
pub struct RollbackPlan {
    pub instant_to_rollback: Option<InstantInfo>,
    /// Spelled with a capital R in the schema.
    #[serde(rename = "RollbackRequests")]
    pub rollback_requests: Option<Vec<RollbackRequest>>,
    #[serde(default = "version_1")]
    pub version: Option<i32>,
    #[serde(flatten)]
    pub extra: Extra,
    #[serde(skip)]
    pub writer_schema: WriterSchema,
}

payload!(RollbackPlan, "rollback plan", "HoodieRollbackPlan");

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename = "HoodieRollbackPartitionMetadata", rename_all = "camelCase")]
pub struct RollbackPartitionMetadata {
    pub partition_path: String,
    pub success_delete_files: Vec<String>,
    pub failed_delete_files: Vec<String>,
    pub rollback_log_files: Option<BTreeMap<String, i64>>,
    pub log_files_from_failed_commit: Option<BTreeMap<String, i64>>,
    #[serde(flatten)]
    pub extra: Extra,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename = "HoodieRollbackMetadata", rename_all = "camelCase")]
pub struct RollbackMetadata {
    pub start_rollback_time: String,
    pub time_taken_in_millis: i64,
    pub total_files_deleted: i32,
    pub commits_rollback: Vec<String>,
    pub partition_metadata: BTreeMap<String, RollbackPartitionMetadata>,
    #[serde(default = "version_1")]
    pub version: Option<i32>,
    #[serde(default)]
    pub instants_rollback: Vec<InstantInfo>,
    #[serde(flatten)]
    pub extra: Extra,
    #[serde(skip)]
    pub writer_schema: WriterSchema,
}

payload!(RollbackMetadata, "rollback metadata", "HoodieRollbackMetadata");
