//! Where a key lives: which file groups of its partition hold it.
//!
//! | index | finds a key by | new keys go to |
//! |---|---|---|
//! | buckets | arithmetic | the file group of their bucket |
//! | SIMPLE | the keys of the base files, and of the logs where no base file has it | base files |
//! | BLOOM | the same, of files whose footer does not rule it out | base files |
//! | RECORD_INDEX | the metadata table, over all partitions: a row stays in the partition where its key is | base files |
//!
//! SIMPLE and BLOOM are Apache Hudi's for tables without buckets. They look into base files alone, there, so whatever
//! writes such a table must put a new key into a base file: Apache Hudi would write a key that is in a log only a second
//! time.

mod buckets;
mod lookup;
mod resolve;
mod rivals;

use hudini_format::hash::{RING_FOLDER, bucket_of_file_id};
use serde::{Deserialize, Serialize};

use crate::Result;
use crate::config::{Buckets, HOODIE, TableConfig};
use crate::storage::Storage;
use crate::view::FileSlice;

pub(crate) use lookup::key_column;
pub use lookup::{Keys, Lookup};
pub(crate) use resolve::{refuse_buckets, resolve};
pub(crate) use rivals::{NewKeys, check_new_keys};

/// How a write finds the file groups of its keys; the same on every worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Index {
    /// By the hash of the key.
    Buckets(Buckets),
    /// By a look into the files of the key's partition; at those alone, by their bloom filters, that may hold one.
    Files { by_bloom: bool },
    /// By the record index of the metadata table.
    Records,
}

impl Index {
    pub fn buckets(&self) -> Option<&Buckets> {
        match self {
            Self::Buckets(buckets) => Some(buckets),
            Self::Files { .. } | Self::Records => None,
        }
    }
}

/// Whether the file group looks as if a writer made it that has keys in buckets; of others one in forty does by chance.
pub(crate) fn is_bucket(slice: &FileSlice) -> bool {
    bucket_of_file_id(&slice.file_id).is_some()
}

/// Whether one key may rightly have a row in each of several partitions: writers of buckets look for it in the partition
/// that its row names, and nowhere else. An index with one place for a key does not know of the others. In such a table all
/// file groups are buckets, or partitions have rings of them, which Apache Hudi gives to merge-on-read tables alone.
pub(crate) fn is_within_partitions<'s>(
    storage: &dyn Storage,
    config: &TableConfig,
    mut slices: impl Iterator<Item = &'s FileSlice>,
) -> Result<bool> {
    let is_partitioned = !config.partition_by.is_empty();
    Ok(is_partitioned && (slices.all(is_bucket) || (config.is_mor() && has_rings(storage)?)))
}

/// Whether buckets of the table were ever those of consistent hashing.
fn has_rings(storage: &dyn Storage) -> Result<bool> {
    Ok(!storage.list(&format!("{HOODIE}/{RING_FOLDER}"))?.is_empty())
}
