//! What a completed commit says of the table, without what it says of each file: most who ask a commit want no more, and the
//! statistics of a large one are a hundred thousand records.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};

use super::{commit, lists};
use crate::Result;

/// A commit that was read in passing. It can't be written again: [`CommitMetadata`](super::CommitMetadata) has all of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CommitOutline {
    pub extra_metadata: Option<BTreeMap<String, String>>,
    pub operation_type: Option<String>,
    /// Only in replace commits.
    pub partition_to_replace_file_ids: Option<BTreeMap<String, Vec<String>>>,
    /// Paths of the files to which rows were added, or in which some are new.
    #[serde(default, rename = "partitionToWriteStats", deserialize_with = "files_with_rows")]
    pub files_with_rows: Vec<String>,
}

impl CommitOutline {
    /// Decodes a completed file of either layout; an empty file is an empty commit.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        Ok(commit::decode(bytes)?.map(|(outline, _)| outline).unwrap_or_default())
    }

    /// The table schema this commit was written with, if it says so and says it non-empty.
    pub fn schema(&self) -> Option<&str> {
        commit::schema_in(self.extra_metadata.as_ref())
    }
}

/// What of a file's statistics tells whether it has rows of the commit.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Rows {
    path: Option<String>,
    num_inserts: Option<i64>,
    num_update_writes: Option<i64>,
}

fn files_with_rows<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let lists = lists::by_partition::<Rows, D>(deserializer)?;
    let has_rows = |rows: &Rows| rows.num_inserts.max(rows.num_update_writes).is_some_and(|count| count > 0);
    Ok(lists.into_iter().flatten().flat_map(|(_, list)| list).filter(has_rows).filter_map(|rows| rows.path).collect())
}
