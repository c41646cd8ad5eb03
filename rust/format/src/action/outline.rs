//! What a completed commit says of the table, without what it says of each file: most who ask a commit want no more, and the
//! statistics of a large one are a hundred thousand records.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::commit;

/// So many files with rows are looked for: who wants to know what they have in common seldom needs a second one.
const FIRST: usize = 256;

/// A commit that was read in passing. It can't be written again: [`CommitMetadata`](super::CommitMetadata) has all of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CommitOutline {
    pub extra_metadata: Option<BTreeMap<String, String>>,
    pub operation_type: Option<String>,
    /// Only in replace commits.
    pub partition_to_replace_file_ids: Option<BTreeMap<String, Vec<String>>>,
    #[serde(default, rename = "partitionToWriteStats", deserialize_with = "files_with_rows")]
    pub files_with_rows: FilesWithRows,
}

/// The files to which rows were added, or in which some are new.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilesWithRows {
    /// Paths, no more of them than a few hundred.
    pub first: Vec<String>,
    /// Whether the commit tells of no files beyond those that were looked at for them.
    pub are_all: bool,
}

impl Default for FilesWithRows {
    fn default() -> Self {
        Self { first: Vec::new(), are_all: true }
    }
}

impl CommitOutline {
    /// Decodes a completed file of either layout; an empty file is an empty commit.
    pub fn decode(bytes: &[u8]) -> crate::Result<Self> {
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

impl Rows {
    fn path_of_some(self) -> Option<String> {
        self.path.filter(|_| commit::has_rows(self.num_inserts, self.num_update_writes))
    }
}

/// Collects from a map of lists by partition.
struct Collector<'f>(&'f mut FilesWithRows);

fn files_with_rows<'de, D: Deserializer<'de>>(deserializer: D) -> Result<FilesWithRows, D::Error> {
    let mut files = FilesWithRows::default();
    deserializer.deserialize_option(Collector(&mut files))?;
    Ok(files)
}

impl<'de> DeserializeSeed<'de> for Collector<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, list: D) -> Result<(), D::Error> {
        list.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Collector<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map of lists, or nothing")
    }

    fn visit_none<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while map.next_key::<IgnoredAny>()?.is_some() {
            map.next_value_seed(Collector(&mut *self.0))?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while self.0.first.len() < FIRST {
            let Some(rows) = list.next_element::<Rows>()? else { return Ok(()) };
            self.0.first.extend(rows.path_of_some());
        }
        while list.next_element::<IgnoredAny>()?.is_some() {
            self.0.are_all = false;
        }
        Ok(())
    }
}
