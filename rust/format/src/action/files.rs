//! What a completed commit says of which files there are: all that who compares it with a list of files wants of it.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{commit, lists};

/// A commit that was read for the names in it. It can't be written again: [`CommitMetadata`](super::CommitMetadata) has
/// all of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CommitFiles {
    #[serde(default, deserialize_with = "lists::by_partition")]
    partition_to_write_stats: Option<BTreeMap<String, Vec<Written>>>,
    /// Only in replace commits.
    pub partition_to_replace_file_ids: Option<BTreeMap<String, Vec<String>>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Written {
    path: Option<String>,
}

impl CommitFiles {
    /// Decodes a completed file of either layout; an empty file is an empty commit.
    pub fn decode(bytes: &[u8]) -> crate::Result<Self> {
        Ok(commit::decode(bytes)?.map(|(files, _)| files).unwrap_or_default())
    }

    /// The paths of the files that it wrote, partition by partition.
    pub fn written(&self) -> impl Iterator<Item = (&str, impl Iterator<Item = &str>)> {
        let partitions = self.partition_to_write_stats.iter().flatten();
        partitions.map(|(partition, files)| (partition.as_str(), files.iter().filter_map(|file| file.path.as_deref())))
    }
}
