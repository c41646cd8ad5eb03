//! What a compaction or log compaction plans: for each file group the base file and the log files to fold.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::extra::{Extra, WriterSchema};
use super::form::{payload, version_1};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename = "HoodieCompactionOperation", rename_all = "camelCase")]
pub struct CompactionOperation {
    /// Instant of the slice: of its base file, or of its first log file where it has none.
    pub base_instant_time: Option<String>,
    /// File names, relative to the partition.
    pub delta_file_paths: Option<Vec<String>>,
    /// None where the slice has no base file.
    pub data_file_path: Option<String>,
    pub file_id: Option<String>,
    pub partition_path: Option<String>,
    pub metrics: Option<BTreeMap<String, f64>>,
    pub bootstrap_file_path: Option<String>,
    #[serde(flatten)]
    pub extra: Extra,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename = "HoodieCompactionStrategy", rename_all = "camelCase")]
pub struct CompactionStrategy {
    pub compactor_class_name: Option<String>,
    pub strategy_params: Option<BTreeMap<String, String>>,
    #[serde(default = "version_1")]
    pub version: Option<i32>,
    #[serde(flatten)]
    pub extra: Extra,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename = "HoodieCompactionPlan", rename_all = "camelCase")]
pub struct CompactionPlan {
    pub operations: Option<Vec<CompactionOperation>>,
    pub extra_metadata: Option<BTreeMap<String, String>>,
    #[serde(default = "version_1")]
    pub version: Option<i32>,
    pub strategy: Option<CompactionStrategy>,
    #[serde(default = "not_preserved")]
    pub preserve_hoodie_metadata: Option<bool>,
    pub missing_schedule_partitions: Option<Vec<String>>,
    #[serde(flatten)]
    pub extra: Extra,
    #[serde(skip)]
    pub writer_schema: WriterSchema,
}

payload!(CompactionPlan, "compaction plan", "HoodieCompactionPlan");

fn not_preserved() -> Option<bool> {
    Some(false)
}
