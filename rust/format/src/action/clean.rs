//! What a clean deleted, and from where on the table's past is whole.

use serde::{Deserialize, Serialize};

use super::container;
use crate::Result;

/// The part of `HoodieCleanMetadata` that readers of the table need.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename = "HoodieCleanMetadata", rename_all = "camelCase", default)]
pub struct CleanMetadata {
    pub start_clean_time: String,
    pub total_files_deleted: i32,
    /// States before this instant may lack files. Empty where the clean counts file versions instead of commits.
    pub earliest_commit_to_retain: String,
}

impl CleanMetadata {
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        container::decode(bytes, "clean metadata")
    }
}
