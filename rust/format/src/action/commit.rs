//! What a completed commit says: for every file written, where it is and what is in it.
//!
//! Layout 2 stores `HoodieCommitMetadata` or `HoodieReplaceCommitMetadata` as an Avro container; layout 1 stores the same
//! fields as JSON. The inflight file holds the same record with the workload profile.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::{PayloadSchema, container};
use crate::{Error, Result};

/// `extraMetadata` key under which each commit stores the table's schema, without the meta columns.
pub const SCHEMA_KEY: &str = "schema";

/// `prevCommit` of a file that starts a file group: the text, not an absent value.
pub const NO_PREVIOUS_COMMIT: &str = "null";

static COMMIT: LazyLock<PayloadSchema> =
    LazyLock::new(|| PayloadSchema::new(include_str!("schemas/HoodieCommitMetadata.avsc")));
static REPLACE_COMMIT: LazyLock<PayloadSchema> =
    LazyLock::new(|| PayloadSchema::new(include_str!("schemas/HoodieReplaceCommitMetadata.avsc")));

/// One file that a commit wrote. Field order is the order of the Avro schema.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename = "HoodieWriteStat", rename_all = "camelCase", default)]
pub struct WriteStat {
    pub file_id: Option<String>,
    pub path: Option<String>,
    pub prev_commit: Option<String>,
    pub num_writes: Option<i64>,
    pub num_deletes: Option<i64>,
    pub num_update_writes: Option<i64>,
    pub total_write_bytes: Option<i64>,
    pub total_write_errors: Option<i64>,
    pub partition_path: Option<String>,
    pub total_log_records: Option<i64>,
    pub total_log_files: Option<i64>,
    pub total_updated_records_compacted: Option<i64>,
    pub num_inserts: Option<i64>,
    pub total_log_blocks: Option<i64>,
    pub total_corrupt_log_block: Option<i64>,
    pub total_rollback_blocks: Option<i64>,
    pub file_size_in_bytes: Option<i64>,
    pub log_version: Option<i32>,
    pub log_offset: Option<i64>,
    pub base_file: Option<String>,
    pub log_files: Option<Vec<String>>,
    pub cdc_stats: Option<BTreeMap<String, i64>>,
    pub prev_base_file: Option<String>,
    pub min_event_time: Option<i64>,
    pub max_event_time: Option<i64>,
    pub runtime_stats: Option<RuntimeStats>,
    pub total_log_files_compacted: Option<i64>,
    pub total_log_read_time_ms: Option<i64>,
    pub total_log_size_compacted: Option<i64>,
    pub temp_path: Option<String>,
    pub num_updates: Option<i64>,
}

impl WriteStat {
    /// A stat with every counter at zero, as Java leaves the ones it does not use.
    pub fn zeroed() -> Self {
        let zero = Some(0);
        Self {
            num_writes: zero,
            num_deletes: zero,
            num_update_writes: zero,
            total_write_bytes: zero,
            total_write_errors: zero,
            total_log_records: zero,
            total_updated_records_compacted: zero,
            num_inserts: zero,
            total_log_blocks: zero,
            total_corrupt_log_block: zero,
            total_rollback_blocks: zero,
            file_size_in_bytes: zero,
            total_log_files_compacted: zero,
            total_log_read_time_ms: zero,
            total_log_size_compacted: zero,
            num_updates: zero,
            ..Self::default()
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename = "HoodieRuntimeStats", rename_all = "camelCase", default)]
pub struct RuntimeStats {
    pub total_scan_time: Option<i64>,
    pub total_create_time: Option<i64>,
    pub total_upsert_time: Option<i64>,
}

/// Commit metadata, plain or replacing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename = "HoodieReplaceCommitMetadata", rename_all = "camelCase", default)]
pub struct CommitMetadata {
    pub partition_to_write_stats: Option<BTreeMap<String, Vec<WriteStat>>>,
    pub compacted: Option<bool>,
    pub extra_metadata: Option<BTreeMap<String, String>>,
    pub version: Option<i32>,
    pub operation_type: Option<String>,
    /// Only in replace commits.
    pub partition_to_replace_file_ids: Option<BTreeMap<String, Vec<String>>>,
}

/// The record of a commit that replaces nothing: the encoder tells the two apart by name.
#[derive(Serialize)]
#[serde(rename = "HoodieCommitMetadata", rename_all = "camelCase")]
struct PlainCommitMetadata {
    partition_to_write_stats: Option<BTreeMap<String, Vec<WriteStat>>>,
    compacted: Option<bool>,
    extra_metadata: Option<BTreeMap<String, String>>,
    version: Option<i32>,
    operation_type: Option<String>,
}

impl CommitMetadata {
    /// Decodes a completed or inflight file of either layout; an empty file is an empty commit.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        match bytes.first() {
            None => Ok(Self::default()),
            Some(b'{') => serde_json::from_slice(bytes)
                .map_err(|e| Error::corrupt("commit metadata is not the JSON of a commit").caused_by(e)),
            Some(_) => container::decode(bytes, "commit metadata"),
        }
    }

    /// Encodes for layout 2.
    pub fn encode(&self) -> Result<Vec<u8>> {
        if self.partition_to_replace_file_ids.is_some() {
            return REPLACE_COMMIT.encode(self);
        }
        COMMIT.encode(&PlainCommitMetadata {
            partition_to_write_stats: self.partition_to_write_stats.clone(),
            compacted: self.compacted,
            extra_metadata: self.extra_metadata.clone(),
            version: self.version,
            operation_type: self.operation_type.clone(),
        })
    }

    pub fn write_stats(&self) -> impl Iterator<Item = &WriteStat> {
        self.partition_to_write_stats.iter().flat_map(BTreeMap::values).flatten()
    }

    /// The table schema this commit was written with, if it says so and says it non-empty.
    pub fn schema(&self) -> Option<&str> {
        self.extra_metadata.as_ref()?.get(SCHEMA_KEY).map(String::as_str).filter(|text| !text.is_empty())
    }
}
