//! Bucket counts of their own for some partitions: `.hoodie/.bucket_index/partition_bucket_index_meta/configs`.
//!
//! A file `<instant>.hashing_config` names rules; the newest one that belongs to a completed instant counts. Rules are
//! regular expressions of Java with a count each, the first that matches a whole partition path wins.

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// Where a table keeps these files, below `.hoodie`.
pub const PARTITION_BUCKETS_FOLDER: &str = ".bucket_index/partition_bucket_index_meta/configs";
/// Behind the instant of such a file.
pub const PARTITION_BUCKETS_SUFFIX: &str = ".hashing_config";

/// The one kind of rule there is.
const REGEX: &str = "regex";

/// The file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PartitionBuckets {
    /// `<regular expression>,<count>;…`
    pub expressions: String,
    /// Of partitions that no rule is about.
    pub default_bucket_number: u32,
    pub rule: String,
    pub version: i32,
    pub instant: String,
}

impl PartitionBuckets {
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let file: Self = serde_json::from_slice(bytes).map_err(|e| {
            Error::corrupt("bucket counts of partitions (.hashing_config) cannot be decoded").caused_by(e)
        })?;
        if file.rule != REGEX {
            return Err(Error::unsupported(format!("rules of kind '{}' for bucket counts", file.rule)));
        }
        file.each_rule().try_for_each(|rule| rule.map(drop))?;
        Ok(file)
    }

    pub fn encode(&self) -> Result<Vec<u8>> {
        crate::json::to_pretty(self)
    }

    pub fn file_name(&self) -> String {
        format!("{}{PARTITION_BUCKETS_SUFFIX}", self.instant)
    }

    /// Expressions with their counts, in order.
    pub fn rules(&self) -> Result<Vec<(&str, u32)>> {
        self.each_rule().collect()
    }

    fn each_rule(&self) -> impl Iterator<Item = Result<(&str, u32)>> {
        let rule = |text| {
            let (expression, count) = str::rsplit_once(text, ',')?;
            Some((expression.trim(), count.trim().parse().ok()?))
        };
        self.expressions.split(';').filter(|text| !text.trim().is_empty()).map(move |text| {
            rule(text).ok_or_else(|| Error::corrupt(format!("'{text}' is no rule for a bucket count")))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Printed by PartitionBucketIndexHashingConfig of Apache Hudi 1.2.0.
    const FILE: &str = "{\n  \"expressions\" : \"\\\\d{4}-(06)-.*,256;a,1\",\n  \"defaultBucketNumber\" : 16,\n  \
        \"rule\" : \"regex\",\n  \"version\" : 1,\n  \"instant\" : \"20260101000000000\"\n}";

    #[test]
    fn a_file_of_apache_hudi() {
        let file = PartitionBuckets::decode(FILE.as_bytes()).unwrap();
        assert_eq!(file.rules().unwrap(), [("\\d{4}-(06)-.*", 256), ("a", 1)]);
        assert_eq!(file.file_name(), "20260101000000000.hashing_config");
        assert_eq!(file.encode().unwrap(), FILE.as_bytes());
    }

    #[test]
    fn rules_that_are_none() {
        for (from, to) in [("regex", "glob"), ("256", "many"), (",256;a,1", ";")] {
            assert!(PartitionBuckets::decode(FILE.replace(from, to).as_bytes()).is_err(), "{to}");
        }
    }
}
