//! The bucket index of a table, and which bucket a key is in.

use arrow_array::StringArray;
use hudini_format::hash::{PARTITION_BUCKETS_FOLDER, bucket_of_key, bucket_of_key_by_0_15, buckets_of_keys};

use super::{HOODIE, MAX_BUCKETS, TableConfig, keys, split_fields, unknown};
use crate::storage::Storage;
use crate::{Error, Result};

/// From here on tables are made by releases that have today's rule for keys with colons.
const FIRST_WITH_ONE_RULE: u32 = 8;

/// The bucket index of a table: its buckets are fixed for life.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Buckets {
    pub count: u32,
    pub hash_fields: Vec<String>,
    /// The table was there before release 1.0: rows may lie where release 0.15 puts them.
    pub began_before_1_0: bool,
}

impl Buckets {
    /// Of a table that is made now.
    pub fn new(count: u32, hash_fields: Vec<String>) -> Self {
        Self { count, hash_fields, began_before_1_0: false }
    }

    /// Where writers look for the key today, hudini and Apache Hudi.
    pub fn today(&self, key: &str) -> u32 {
        bucket_of_key(key, &self.hash_fields, self.count)
    }

    /// The one bucket in which the key's row can be; `None` if that depends on the release that wrote it.
    pub fn only(&self, key: &str) -> Option<u32> {
        let today = self.today(key);
        let is_moved = || bucket_of_key_by_0_15(key, &self.hash_fields, self.count) != today;
        (!self.began_before_1_0 || !is_moved()).then_some(today)
    }

    /// The buckets of keys, none of which may be null. A key that may have its row in another bucket already would get a
    /// second one.
    pub fn of_all(&self, keys: &StringArray) -> Result<Vec<u32>> {
        let is_moved = |key: &&str| self.only(key).is_none();
        if self.began_before_1_0
            && let Some(key) = keys.iter().flatten().find(is_moved)
        {
            return Err(Error::unsupported(format!(
                "writing the key '{key}' to buckets of a table that began before version 8"
            ))
            .with_hint(
                "release 0.15 and later ones put keys with colons into different buckets; a new table has one rule",
            ));
        }
        Ok(buckets_of_keys(keys, &self.hash_fields, self.count))
    }
}

impl TableConfig {
    /// The bucket index that the table itself stores, if it does.
    pub fn buckets(&self) -> Result<Option<Buckets>> {
        let Some(count) = self.get(keys::BUCKET_COUNT) else { return Ok(None) };
        let count = count.parse().ok().filter(|n| (1..=MAX_BUCKETS).contains(n));
        let count =
            count.ok_or_else(|| unknown(keys::BUCKET_COUNT, self.get(keys::BUCKET_COUNT).unwrap_or_default()))?;
        Ok(Some(self.buckets_of(count, split_fields(self.get(keys::HASH_FIELDS).unwrap_or_default()))))
    }

    /// Buckets that are known to be the table's. No hash fields mean those of the record key.
    pub fn buckets_of(&self, count: u32, hash_fields: Vec<String>) -> Buckets {
        let hash_fields = if hash_fields.is_empty() { self.record_key.clone() } else { hash_fields };
        Buckets { began_before_1_0: !self.began_with(FIRST_WITH_ONE_RULE), ..Buckets::new(count, hash_fields) }
    }

    /// The buckets of all partitions, if the table says how its keys are put into them: hashed into a fixed number.
    pub fn simple_buckets(&self, storage: &dyn Storage) -> Result<Option<Buckets>> {
        let is = |key: &str, value: &str, absent: bool| {
            self.get(key).map_or(absent, |found| found.eq_ignore_ascii_case(value))
        };
        if !is(keys::INDEX_TYPE, "BUCKET", false) || !is(keys::BUCKET_ENGINE, "SIMPLE", true) {
            return Ok(None);
        }
        let Ok(Some(buckets)) = self.buckets() else { return Ok(None) };
        // Partitions may have numbers of buckets of their own.
        let uniform = storage.list(&format!("{HOODIE}/{PARTITION_BUCKETS_FOLDER}"))?.is_empty();
        Ok(uniform.then_some(buckets))
    }
}
