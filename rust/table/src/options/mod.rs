//! What a caller may ask for, by key and text.
//!
//! Keys are Apache Hudi's, of today and of older releases, and `hudini.*`. Each stands in one class ([`Class`]):
//!
//! | class | a key of it is |
//! |---|---|
//! | honoured | read with its type through [`Options::get`]; declared once, in `honoured.rs` |
//! | tuning | accepted, and listed as without effect |
//! | refused | an error, unless its value asks for nothing |
//! | refused softly | the same, or a warning under `hudini.unsupported=warn` |
//! | known to nobody | an error that names the nearest key |
//!
//! All that is wrong with a set of options comes in one error, so that a job is mended in one go.

mod honoured;
mod known;
mod opt;
mod parse;
mod reference;
#[cfg(test)]
mod tests;
mod values;

use std::collections::BTreeMap;

use hudini_format::key::Generator;
use hudini_format::{Error, Result};

pub use honoured::{
    ARCHIVE_AUTOMATIC, ARCHIVE_BLOCK_ON_CLEAN, AS_OF, BOOTSTRAP_PATH, BUCKET_COUNT, BUCKET_ENGINE, CLEAN_AUTOMATIC,
    CLEAN_COMMITS, CLEAN_HOURS, CLEAN_INCREMENTAL, CLEAN_POLICY, CLEAN_TRIGGER, CLEAN_VERSIONS, COLUMN_DROP,
    COLUMN_STATS_ENABLE, COMBINE_BEFORE_INSERT, COMMIT_METADATA_PREFIX, COMPACT_INLINE, COMPACT_MAX_COMMITS,
    COMPACT_MAX_SECONDS, COMPACT_SCHEDULE_INLINE, COMPACT_TRIGGER, COMPACTION_LOG_BYTES, COMPACTION_LOG_FILES,
    COMPACTION_STRATEGY, COMPACTION_TARGET_IO, CONCURRENCY_MODE, CONFLICT_RETRIES, DATA_SKIPPING, DATABASE,
    HASH_FIELDS, HEARTBEAT_INTERVAL_MS, HEARTBEAT_MISSES, HISTORY_BATCH, HISTORY_MANIFESTS, HISTORY_TARGET_BYTES,
    HIVE_STYLE, HOLLOW_COMMITS, INDEX_TYPE, INSERT_AUTO_SPLIT, INSERT_SPLIT_SIZE, KEEP_MAX, KEEP_MIN, KEY_GENERATOR,
    LOCK_EXPIRE_MINUTES, LOCK_FOLDER, LOCK_PROVIDER, LOCK_WAIT_MS, LOG_BLOCK_BYTES, LOG_BLOCK_FORMAT, LOG_FILE_BYTES,
    MAX_FILE_SIZE, MERGE_MEMORY, MERGE_MODE, MERGE_TYPE, METADATA_COMPACTION_COMMITS, METADATA_ENABLE, OPERATION,
    ORDERING_FIELDS, PARQUET_BLOCK_SIZE, PARQUET_CODEC, PARQUET_PAGE_SIZE, PARTITION_FIELDS, PARTITIONS_TO_DELETE,
    PATH, QUERY_TYPE, RECORD_INDEX_ENABLE, RECORD_KEY, RECORD_POSITIONS, RECORD_SIZE, RECORD_SIZE_COMMITS,
    RECORD_SIZE_THRESHOLD, SMALL_FILE_CANDIDATES, SMALL_FILE_LIMIT, SPILL_FOLDER, TABLE_NAME, TABLE_SERVICES,
    TABLE_TYPE, TABLE_VERSION, UNSUPPORTED, URL_ENCODE, WRITE_POSITIONS,
};
pub use known::Class;
pub use opt::{Opt, Refusal};
pub use reference::{Description, reference_markdown};
pub use values::{
    BucketEngine, CleanPolicy, Codec, CompactionStrategy, CompactionTrigger, ConcurrencyMode, HollowCommits, IndexType,
    LockProvider, LogBlockFormat, MergeMode, MergeType, Operation, QueryType, TableType, Unsupported,
    WRITTEN_GENERATORS,
};

use honoured::HONOURED;

/// Options that were checked: what is asked for, and what of it has no effect.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// By the option's first name.
    values: BTreeMap<&'static str, String>,
    /// The names by which they were given.
    names: BTreeMap<&'static str, String>,
    commit_metadata: BTreeMap<String, String>,
    without_effect: Vec<String>,
    warnings: Vec<String>,
}

impl Options {
    /// Checks what a caller gave. The error names everything that is wrong.
    pub fn parse<I: IntoIterator<Item = (String, String)>>(given: I) -> Result<Self> {
        parse::parse(given.into_iter().collect())
    }

    /// The options among a table's stored properties. Other properties are the table's own affair and passed over;
    /// a value that hudini cannot follow is an error only for who asks for it. Where a table stores an option under
    /// several names, the first in the order of the declaration counts: a version 6 table's payload class, say,
    /// before its strategy id.
    pub fn of_table<'a, I: IntoIterator<Item = (&'a str, &'a str)>>(properties: I) -> Self {
        let properties: BTreeMap<&str, &str> = properties.into_iter().collect();
        let stored = |name: &&'static str| properties.get(*name).map(|value| value.trim().to_owned());
        let values = HONOURED
            .iter()
            .filter_map(|option| Some((option.key(), option.names().iter().find_map(stored)?)))
            .collect();
        Self { values, ..Self::default() }
    }

    /// These options, and those of `base` that are not given here.
    #[must_use]
    pub fn with(mut self, base: &Self) -> Self {
        for (key, value) in &base.values {
            self.values.entry(*key).or_insert_with(|| value.clone());
        }
        for (key, name) in &base.names {
            self.names.entry(*key).or_insert_with(|| name.clone());
        }
        for (key, value) in &base.commit_metadata {
            self.commit_metadata.entry(key.clone()).or_insert_with(|| value.clone());
        }
        self.without_effect.extend(base.without_effect.iter().cloned());
        self.without_effect.sort();
        self.without_effect.dedup();
        let missing: Vec<String> = base.warnings.iter().filter(|w| !self.warnings.contains(w)).cloned().collect();
        self.warnings.extend(missing);
        self
    }

    /// The value, if one was given.
    pub fn get<T>(&self, option: &Opt<T>) -> Result<Option<T>> {
        self.values.get(option.key()).map(|raw| option.read(raw)).transpose()
    }

    /// The value, or else the option's default. An option without a default has to be given.
    pub fn get_or_default<T>(&self, option: &Opt<T>) -> Result<T> {
        match self.values.get(option.key()).map(String::as_str).or(option.default()) {
            Some(raw) => option.read(raw),
            None => Err(Error::option(format!("option {} must be given", option.key()))),
        }
    }

    /// The fields that name a row's partition, if anything says them. With the key generator of tables without partitions
    /// fields that are left over from another job count for nothing, as in Apache Hudi.
    pub fn partition_fields(&self) -> Result<Option<Vec<String>>> {
        match self.get(&KEY_GENERATOR)? {
            Some(Generator::NonPartition) => Ok(Some(Vec::new())),
            _ => self.get(&PARTITION_FIELDS),
        }
    }

    /// Whether a value was given.
    pub fn is_set<T>(&self, option: &Opt<T>) -> bool {
        self.values.contains_key(option.key())
    }

    /// The name by which the option was given, for messages.
    pub fn name_of<T>(&self, option: &Opt<T>) -> &str {
        self.names.get(option.key()).map_or(option.key(), String::as_str)
    }

    /// What was given and is followed, by the options' first names: parsed again, it asks for the same.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let followed = self.values.iter().map(|(key, value)| (*key, value.as_str()));
        followed.chain(self.commit_metadata.iter().map(|(key, value)| (key.as_str(), value.as_str())))
    }

    /// What goes into the metadata of commits as it is.
    pub fn commit_metadata(&self) -> &BTreeMap<String, String> {
        &self.commit_metadata
    }

    /// The given keys that change nothing here, sorted.
    pub fn without_effect(&self) -> &[String] {
        &self.without_effect
    }

    /// What the caller should be told.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Every option that hudini knows: first those it follows, then the others by key.
    pub fn describe() -> impl Iterator<Item = Description> {
        reference::describe()
    }
}
