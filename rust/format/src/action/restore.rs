//! What a restore plans to roll back, newest first, and what each of its rollbacks deleted.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::extra::{Extra, WriterSchema};
use super::form::{payload, version_1};
use super::rollback::{InstantInfo, RollbackMetadata};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename = "HoodieRestorePlan", rename_all = "camelCase")]
pub struct RestorePlan {
    #[serde(default)]
    pub instants_to_rollback: Vec<InstantInfo>,
    #[serde(default = "version_2")]
    pub version: Option<i32>,
    pub savepoint_to_restore_timestamp: Option<String>,
    #[serde(flatten)]
    pub extra: Extra,
    #[serde(skip)]
    pub writer_schema: WriterSchema,
}

payload!(RestorePlan, "restore plan", "HoodieRestorePlan");

fn version_2() -> Option<i32> {
    Some(2)
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename = "HoodieRestoreMetadata", rename_all = "camelCase")]
pub struct RestoreMetadata {
    pub start_restore_time: String,
    pub time_taken_in_millis: i64,
    pub instants_to_rollback: Vec<String>,
    /// By instant; a list of one.
    pub hoodie_restore_metadata: BTreeMap<String, Vec<Option<RollbackMetadata>>>,
    #[serde(default = "version_1")]
    pub version: Option<i32>,
    #[serde(default)]
    pub restore_instant_info: Vec<InstantInfo>,
    #[serde(flatten)]
    pub extra: Extra,
    #[serde(skip)]
    pub writer_schema: WriterSchema,
}

payload!(RestoreMetadata, "restore metadata", "HoodieRestoreMetadata");
