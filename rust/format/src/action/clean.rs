//! What a clean plans to delete, and what it deleted: from where on the table's past is whole.
//!
//! The plan stands in the requested file; releases before 1.2 repeat it in the inflight file, later ones leave that empty.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::extra::{Extra, WriterSchema};
use super::form::{payload, version_1};

/// An instant and how far it had come.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename = "HoodieActionInstant", rename_all = "camelCase")]
pub struct ActionInstant {
    pub timestamp: String,
    pub action: String,
    pub state: String,
    #[serde(flatten)]
    pub extra: Extra,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename = "HoodieCleanFileInfo", rename_all = "camelCase")]
pub struct CleanFileInfo {
    /// Absolute; with a scheme if the plan was made from a listing of files, without if from the metadata table.
    pub file_path: Option<String>,
    pub is_bootstrap_base_file: Option<bool>,
    #[serde(flatten)]
    pub extra: Extra,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename = "HoodieCleanerPlan", rename_all = "camelCase")]
pub struct CleanerPlan {
    /// None where the clean counts file versions instead of commits.
    pub earliest_instant_to_retain: Option<ActionInstant>,
    #[serde(default)]
    pub last_completed_commit_timestamp: String,
    pub policy: String,
    /// Bare names: how the first releases planned.
    pub files_to_be_deleted_per_partition: Option<BTreeMap<String, Vec<String>>>,
    #[serde(default = "version_1")]
    pub version: Option<i32>,
    pub file_paths_to_be_deleted_per_partition: Option<BTreeMap<String, Vec<CleanFileInfo>>>,
    pub partitions_to_be_deleted: Option<Vec<String>>,
    pub extra_metadata: Option<BTreeMap<String, String>>,
    #[serde(flatten)]
    pub extra: Extra,
    #[serde(skip)]
    pub writer_schema: WriterSchema,
}

payload!(CleanerPlan, "clean plan", "HoodieCleanerPlan");

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename = "HoodieCleanPartitionMetadata", rename_all = "camelCase")]
pub struct CleanPartitionMetadata {
    pub partition_path: String,
    pub policy: String,
    /// Bare file names, as in the two that follow.
    pub delete_path_patterns: Vec<String>,
    pub success_delete_files: Vec<String>,
    pub failed_delete_files: Vec<String>,
    pub is_partition_deleted: Option<bool>,
    #[serde(flatten)]
    pub extra: Extra,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename = "HoodieCleanMetadata", rename_all = "camelCase")]
pub struct CleanMetadata {
    pub start_clean_time: String,
    pub time_taken_in_millis: i64,
    pub total_files_deleted: i32,
    /// States before this instant may lack files. Empty where the clean counts file versions instead of commits.
    pub earliest_commit_to_retain: String,
    #[serde(default)]
    pub last_completed_commit_timestamp: String,
    pub partition_metadata: BTreeMap<String, CleanPartitionMetadata>,
    #[serde(default = "version_1")]
    pub version: Option<i32>,
    pub bootstrap_partition_metadata: Option<BTreeMap<String, CleanPartitionMetadata>>,
    pub extra_metadata: Option<BTreeMap<String, String>>,
    #[serde(flatten)]
    pub extra: Extra,
    #[serde(skip)]
    pub writer_schema: WriterSchema,
}

payload!(CleanMetadata, "clean metadata", "HoodieCleanMetadata");
