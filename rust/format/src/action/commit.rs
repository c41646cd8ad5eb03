//! What a completed commit says: for every file written, where it is and what is in it.
//!
//! Layout 2 stores `HoodieCommitMetadata` or `HoodieReplaceCommitMetadata` as an Avro container; layout 1 stores the same
//! fields as JSON. The inflight file holds the same record with the workload profile.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::extra::{Extra, WriterSchema};
use super::form::{Form, encode_as_read};
use super::{json, lists};
use crate::Result;

/// `extraMetadata` key under which each commit stores the table's schema, without the meta columns.
pub const SCHEMA_KEY: &str = "schema";

/// `prevCommit` of a file that starts a file group: the text, not an absent value.
pub const NO_PREVIOUS_COMMIT: &str = "null";

const WHAT: &str = "commit metadata";

static COMMIT: LazyLock<Form> = LazyLock::new(|| Form::new(include_str!("schemas/HoodieCommitMetadata.avsc")));
static REPLACE_COMMIT: LazyLock<Form> =
    LazyLock::new(|| Form::new(include_str!("schemas/HoodieReplaceCommitMetadata.avsc")));

/// One file that a commit wrote. Field order is the order of the Avro schema.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename = "HoodieWriteStat", rename_all = "camelCase")]
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
    #[serde(flatten)]
    pub extra: Extra,
}

impl WriteStat {
    /// Whether rows were added to the file, or some in it are new.
    pub fn has_rows(&self) -> bool {
        has_rows(self.num_inserts, self.num_update_writes)
    }

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

pub(super) fn has_rows(inserts: Option<i64>, updates: Option<i64>) -> bool {
    inserts.max(updates).is_some_and(|count| count > 0)
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename = "HoodieRuntimeStats", rename_all = "camelCase")]
pub struct RuntimeStats {
    pub total_scan_time: Option<i64>,
    pub total_create_time: Option<i64>,
    pub total_upsert_time: Option<i64>,
    #[serde(flatten)]
    pub extra: Extra,
}

/// Commit metadata, plain or replacing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename = "HoodieReplaceCommitMetadata", rename_all = "camelCase")]
pub struct CommitMetadata {
    /// May be empty; without it Apache Hudi fails on the file.
    #[serde(default, deserialize_with = "lists::by_partition")]
    pub partition_to_write_stats: Option<BTreeMap<String, Vec<WriteStat>>>,
    pub compacted: Option<bool>,
    pub extra_metadata: Option<BTreeMap<String, String>>,
    /// Always null, as Apache Hudi writes it.
    pub version: Option<i32>,
    pub operation_type: Option<String>,
    /// Only in replace commits.
    pub partition_to_replace_file_ids: Option<BTreeMap<String, Vec<String>>>,
    #[serde(flatten)]
    pub extra: Extra,
    #[serde(skip)]
    pub writer_schema: WriterSchema,
}

impl CommitMetadata {
    /// Decodes a completed or inflight file of either layout; an empty file is an empty commit.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let Some((mut value, schema)) = decode::<Self>(bytes)? else { return Ok(Self::default()) };
        value.writer_schema = schema;
        Ok(value)
    }

    /// Encodes for layout 2: the bytes of Apache Hudi but for the order of maps and the sync marker. Members of a JSON
    /// body that no release of layout 2 knows have no place there, and go as they go when Apache Hudi upgrades a table.
    pub fn encode(&self) -> Result<Vec<u8>> {
        if let Some(schema) = self.writer_schema.text() {
            return encode_as_read(self, schema, Self::decode);
        }
        let form = if self.partition_to_replace_file_ids.is_some() { &REPLACE_COMMIT } else { &COMMIT };
        form.encode(self)
    }

    pub fn write_stats(&self) -> impl Iterator<Item = &WriteStat> {
        self.partition_to_write_stats.iter().flat_map(BTreeMap::values).flatten()
    }

    /// The table schema this commit was written with, if it says so and says it non-empty.
    pub fn schema(&self) -> Option<&str> {
        schema_in(self.extra_metadata.as_ref())
    }
}

/// All or part of a commit, with the schema of its file if that is a wider one; `None` of an empty file.
pub(super) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<Option<(T, WriterSchema)>> {
    match bytes.first() {
        None => Ok(None),
        Some(b'{') => Ok(Some((json::decode(bytes, WHAT)?, WriterSchema::default()))),
        Some(_) => Form::decode(&[&COMMIT, &REPLACE_COMMIT], bytes, WHAT).map(Some),
    }
}

pub(super) fn schema_in(extra: Option<&BTreeMap<String, String>>) -> Option<&str> {
    extra?.get(SCHEMA_KEY).map(String::as_str).filter(|text| !text.is_empty())
}
