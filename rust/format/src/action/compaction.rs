//! What a compaction plans: for each file group the base file and the log files to fold into a new base file.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::{PayloadSchema, container};
use crate::Result;

static PLAN: LazyLock<PayloadSchema> =
    LazyLock::new(|| PayloadSchema::new(include_str!("schemas/HoodieCompactionPlan.avsc")));

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename = "HoodieCompactionOperation", rename_all = "camelCase", default)]
pub struct CompactionOperation {
    pub base_instant_time: Option<String>,
    /// File names, relative to the partition.
    pub delta_file_paths: Option<Vec<String>>,
    pub data_file_path: Option<String>,
    pub file_id: Option<String>,
    pub partition_path: Option<String>,
    pub metrics: Option<BTreeMap<String, f64>>,
    pub bootstrap_file_path: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename = "HoodieCompactionStrategy", rename_all = "camelCase", default)]
pub struct CompactionStrategy {
    pub compactor_class_name: Option<String>,
    pub strategy_params: Option<BTreeMap<String, String>>,
    pub version: Option<i32>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename = "HoodieCompactionPlan", rename_all = "camelCase", default)]
pub struct CompactionPlan {
    pub operations: Option<Vec<CompactionOperation>>,
    pub extra_metadata: Option<BTreeMap<String, String>>,
    pub version: Option<i32>,
    pub strategy: Option<CompactionStrategy>,
    pub preserve_hoodie_metadata: Option<bool>,
    pub missing_schedule_partitions: Option<Vec<String>>,
}

impl CompactionPlan {
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        container::decode(bytes, "compaction plan")
    }

    pub fn encode(&self) -> Result<Vec<u8>> {
        PLAN.encode(self)
    }
}
