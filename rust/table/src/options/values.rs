//! The values an option can have: words with a fixed meaning, numbers, lists of fields.

use std::fmt;
use std::str::FromStr;

use hudini_format::key::Generator;
use hudini_format::{Error, Result};

use super::opt::Refusal;

/// An enumeration whose variants are words of Apache Hudi's configuration, matched without regard to case.
/// `not_done` are words of Apache Hudi that hudini knows and refuses.
macro_rules! words {
    (
        $(#[$doc:meta])*
        $name:ident {
            $(#[$first_doc:meta])* $first:ident = $first_word:literal $(| $first_also:literal)*
            $(, $(#[$variant_doc:meta])* $variant:ident = $word:literal $(| $also:literal)*)* $(,)?
        }
        not_done: [$($not_done:literal),* $(,)?]
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name {
            $(#[$first_doc])* $first,
            $($(#[$variant_doc])* $variant,)*
        }

        impl $name {
            /// The accepted words, for people.
            pub const VALUES: &'static str = concat!("`", $first_word, "`" $(, ", `", $word, "`")*);

            /// The word that Apache Hudi writes.
            pub fn word(self) -> &'static str {
                match self {
                    Self::$first => $first_word,
                    $(Self::$variant => $word,)*
                }
            }

            /// Reads a word.
            pub fn parse(raw: &str) -> Result<Self, Refusal> {
                let is = |words: &[&str]| words.iter().any(|word| word.eq_ignore_ascii_case(raw));
                if is(&[$first_word $(, $first_also)*]) {
                    return Ok(Self::$first);
                }
                $(if is(&[$word $(, $also)*]) {
                    return Ok(Self::$variant);
                })*
                if is(&[$($not_done),*]) {
                    return Err(not_done(raw, Self::VALUES));
                }
                Err(Refusal::Invalid(format!("expected one of {}, not '{raw}'", Self::VALUES)))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.word())
            }
        }
    };
}

words! {
    /// How a table keeps updates.
    TableType {
        /// In rewritten base files.
        CopyOnWrite = "COPY_ON_WRITE" | "cow",
        /// In log files beside the base file.
        MergeOnRead = "MERGE_ON_READ" | "mor",
    }
    not_done: []
}

words! {
    /// What a write does with its rows.
    Operation {
        /// Updates rows whose key exists, inserts the others.
        Upsert = "upsert",
        /// Inserts without looking for existing keys.
        Insert = "insert",
        /// Inserts many rows into base files.
        BulkInsert = "bulk_insert",
        /// Deletes the rows with the given keys.
        Delete = "delete",
        /// Replaces the partitions that the rows belong to.
        InsertOverwrite = "insert_overwrite",
        /// Replaces all rows of the table.
        OverwriteTable = "insert_overwrite_table",
        /// Takes whole partitions away.
        DeletePartitions = "delete_partition",
    }
    not_done: [
        "insert_prepped", "upsert_prepped", "bulk_insert_prepped", "delete_prepped", "bootstrap", "cluster", "compact",
        "index", "alter_schema", "log_compact",
    ]
}

impl Operation {
    /// Whether rows are written without a look at what is there.
    pub fn adds_as_is(self) -> bool {
        matches!(self, Self::Insert | Self::BulkInsert | Self::InsertOverwrite | Self::OverwriteTable)
    }

    /// Whether rows are written, and not only named.
    pub fn brings_rows(self) -> bool {
        !matches!(self, Self::Delete | Self::DeletePartitions)
    }

    /// Whether file groups are taken away.
    pub fn replaces(self) -> bool {
        matches!(self, Self::InsertOverwrite | Self::OverwriteTable | Self::DeletePartitions)
    }
}

words! {
    /// What a clean keeps.
    CleanPolicy {
        /// The states of the last commits.
        Commits = "KEEP_LATEST_COMMITS" | "commits",
        /// The states of the commits of the last hours.
        Hours = "KEEP_LATEST_BY_HOURS" | "hours",
        /// The last versions of each file group.
        Versions = "KEEP_LATEST_FILE_VERSIONS" | "versions",
    }
    not_done: []
}

words! {
    /// Which of two rows with one key wins.
    ///
    /// The older ways of saying it mean the same: the merge strategy's id, and the payload classes that Apache Hudi
    /// itself turns into a merge mode.
    MergeMode {
        /// The row with the greater ordering value; of equal ones the later.
        EventTime = "EVENT_TIME_ORDERING"
            | "eeb8d96f-b1e4-49fd-bbf8-28ac514178e5"
            | "org.apache.hudi.common.model.DefaultHoodieRecordPayload"
            | "org.apache.hudi.common.model.EventTimeAvroPayload",
        /// The later row.
        CommitTime = "COMMIT_TIME_ORDERING"
            | "ce9acb64-bde0-424c-9b91-f6ebba25356d"
            | "org.apache.hudi.common.model.OverwriteWithLatestAvroPayload",
    }
    not_done: ["CUSTOM"]
}

impl MergeMode {
    /// The id of the strategy that means it, where tables state that too.
    pub fn strategy_id(self) -> &'static str {
        match self {
            Self::EventTime => "eeb8d96f-b1e4-49fd-bbf8-28ac514178e5",
            Self::CommitTime => "ce9acb64-bde0-424c-9b91-f6ebba25356d",
        }
    }

    /// The payload class that means it, where tables state that too.
    pub fn payload_class(self) -> &'static str {
        match self {
            Self::EventTime => "org.apache.hudi.common.model.DefaultHoodieRecordPayload",
            Self::CommitTime => "org.apache.hudi.common.model.OverwriteWithLatestAvroPayload",
        }
    }
}

words! {
    /// How a write finds where a key lives. All of Apache Hudi's are words here, since a reader may be given any;
    /// a writer asks [`IndexType::require_writable`].
    IndexType {
        /// By the hash of the key.
        Bucket = "BUCKET",
        /// By joining with the keys of the base files.
        Simple = "SIMPLE",
        /// The same over all partitions.
        GlobalSimple = "GLOBAL_SIMPLE",
        /// By bloom filters and key ranges.
        Bloom = "BLOOM",
        /// The same over all partitions.
        GlobalBloom = "GLOBAL_BLOOM",
        /// By the metadata table, over all partitions.
        GlobalRecordLevel = "GLOBAL_RECORD_LEVEL_INDEX" | "RECORD_INDEX",
        /// By the metadata table, per partition.
        RecordLevel = "RECORD_LEVEL_INDEX",
        /// In memory, for tests of Apache Hudi.
        InMemory = "INMEMORY",
        /// In Flink's state.
        FlinkState = "FLINK_STATE",
        /// In HBase (before 1.1).
        HBase = "HBASE",
    }
    not_done: []
}

impl IndexType {
    /// Refuses indexes that hudini does not write with.
    pub fn require_writable(self) -> Result<()> {
        if matches!(self, Self::Bucket | Self::Simple | Self::Bloom | Self::GlobalRecordLevel) {
            return Ok(());
        }
        Err(Error::unsupported(format!("hudini does not write with the {self} index"))
            .with_hint("it writes with SIMPLE, BLOOM, BUCKET and RECORD_INDEX"))
    }
}

words! {
    /// How the bucket index divides keys.
    BucketEngine {
        /// By a fixed number of buckets.
        Simple = "SIMPLE",
    }
    not_done: ["CONSISTENT_HASHING"]
}

words! {
    /// How the pages of base files are compressed.
    Codec {
        /// Zstandard.
        Zstd = "zstd",
        /// Gzip.
        Gzip = "gzip",
        /// Snappy.
        Snappy = "snappy",
        /// LZ4 in Parquet's own framing.
        Lz4Raw = "lz4_raw",
        /// Not at all.
        Uncompressed = "uncompressed" | "none",
    }
    not_done: ["lz4", "lzo", "brotli"]
}

words! {
    /// How log files hold rows.
    LogBlockFormat {
        /// Avro records.
        Avro = "avro",
        /// A Parquet file in each block.
        Parquet = "parquet",
    }
    not_done: ["hfile", "lance"]
}

words! {
    /// Whom a writer expects beside itself. hudini expects others under every value.
    ConcurrencyMode {
        /// Nobody.
        SingleWriter = "SINGLE_WRITER",
        /// Writers that check for conflicts before they commit.
        Optimistic = "OPTIMISTIC_CONCURRENCY_CONTROL",
    }
    not_done: ["NON_BLOCKING_CONCURRENCY_CONTROL"]
}

words! {
    /// The lock that writers share with Apache Hudi.
    LockProvider {
        /// None: that one knows of its own process alone.
        InProcess = "org.apache.hudi.client.transaction.lock.InProcessLockProvider",
        /// A file that is there while somebody has the lock.
        FileSystem = "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider",
    }
    not_done: []
}

words! {
    /// What a read returns.
    QueryType {
        /// The newest state of every row.
        Snapshot = "snapshot",
        /// The base files alone.
        ReadOptimized = "read_optimized",
    }
    not_done: ["incremental"]
}

words! {
    /// What becomes of a range of time with a write that has not completed before one that has.
    HollowCommits {
        /// An error.
        Fail = "FAIL",
        /// It ends before that write.
        Block = "BLOCK",
        /// It goes by the times at which files of the timeline came about.
        TransitionTime = "USE_TRANSITION_TIME",
    }
    not_done: []
}

words! {
    /// Whether a snapshot is merged.
    MergeType {
        /// One row for each key.
        Merged = "payload_combine",
        /// The rows of base files and logs side by side.
        Unmerged = "skip_merge",
    }
    not_done: []
}

words! {
    /// When enough was logged for a compaction after a write.
    CompactionTrigger {
        /// After so many delta commits since the last compaction completed.
        Commits = "NUM_COMMITS",
        /// After so many delta commits since the last compaction was planned.
        CommitsAfterLastRequest = "NUM_COMMITS_AFTER_LAST_REQUEST",
        /// After so many seconds since the last compaction.
        Time = "TIME_ELAPSED",
        /// After both.
        CommitsAndTime = "NUM_AND_TIME",
        /// After either.
        CommitsOrTime = "NUM_OR_TIME",
    }
    not_done: []
}

words! {
    /// Which slices a compaction takes first, and how many.
    CompactionStrategy {
        /// Those with the largest logs first, within a bound on what is read and written.
        LogFileSize = "org.apache.hudi.table.action.compact.strategy.LogFileSizeBasedCompactionStrategy",
        /// Those with the most logs first, within the bound.
        LogFileNumber = "org.apache.hudi.table.action.compact.strategy.LogFileNumBasedCompactionStrategy",
        /// As they come, within the bound.
        BoundedIo = "org.apache.hudi.table.action.compact.strategy.BoundedIOCompactionStrategy",
        /// All.
        Unbounded = "org.apache.hudi.table.action.compact.strategy.UnBoundedCompactionStrategy",
    }
    not_done: [
        "org.apache.hudi.table.action.compact.strategy.DayBasedCompactionStrategy",
        "org.apache.hudi.table.action.compact.strategy.BoundedPartitionAwareCompactionStrategy",
        "org.apache.hudi.table.action.compact.strategy.UnBoundedPartitionAwareCompactionStrategy",
        "org.apache.hudi.table.action.compact.strategy.PartitionRegexBasedCompactionStrategy",
        "org.apache.hudi.table.action.compact.strategy.CompositeCompactionStrategy"
    ]
}

words! {
    /// What becomes of options that hudini refuses although they change no row.
    Unsupported {
        /// They are an error.
        Error = "error",
        /// They are a warning.
        Warn = "warn",
    }
    not_done: []
}

/// A strategy of Apache Hudi; any other class is somebody's code.
pub(super) fn compaction_strategy(raw: &str) -> Result<CompactionStrategy, Refusal> {
    let known = CompactionStrategy::parse(raw);
    known.map_err(|refusal| if raw.contains('.') { not_done(raw, CompactionStrategy::VALUES) } else { refusal })
}

/// A lock of Apache Hudi; any other class is somebody's code.
pub(super) fn lock_provider(raw: &str) -> Result<LockProvider, Refusal> {
    LockProvider::parse(raw).map_err(|_| not_done(raw, LockProvider::VALUES))
}

fn not_done(raw: &str, values: &str) -> Refusal {
    Refusal::Unsupported(format!("hudini does not do '{raw}' (it does {values})"))
}

/// A merge mode, or the Java class or strategy id that stands for one. Any other class or id is somebody's code, which
/// hudini cannot run, rather than a misspelt word.
pub(super) fn merge_mode(raw: &str) -> Result<MergeMode, Refusal> {
    let is_code = raw.contains(['.', '-']);
    MergeMode::parse(raw).map_err(|refusal| if is_code { not_done(raw, MergeMode::VALUES) } else { refusal })
}

/// A key generator's type or Java class.
pub(super) fn key_generator(raw: &str) -> Result<Generator, Refusal> {
    let known = Generator::parse(raw).ok().filter(|generator| WRITTEN_GENERATORS.contains(generator));
    known.ok_or_else(|| not_done(raw, KEY_GENERATORS))
}

/// The key generators that hudini writes with.
pub const WRITTEN_GENERATORS: [Generator; 3] = [Generator::Simple, Generator::Complex, Generator::NonPartition];

pub(super) const KEY_GENERATORS: &str = "`SIMPLE`, `COMPLEX`, `NON_PARTITION`";

pub(super) const BOOLEAN: &str = "`true`, `false`";

pub(super) fn boolean(raw: &str) -> Result<bool, Refusal> {
    match raw.to_ascii_lowercase().as_str() {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(Refusal::Invalid(format!("expected true or false, not '{raw}'"))),
    }
}

/// A whole number of at least `LEAST`.
pub(super) fn at_least<const LEAST: u32, N: FromStr + From<u32> + PartialOrd>(raw: &str) -> Result<N, Refusal> {
    raw.parse::<N>()
        .ok()
        .filter(|n| *n >= N::from(LEAST))
        .ok_or_else(|| Refusal::Invalid(format!("expected a whole number from {LEAST} on, not '{raw}'")))
}

pub(super) fn factor(raw: &str) -> Result<f64, Refusal> {
    let number = raw.parse::<f64>().ok().filter(|n| n.is_finite() && *n >= 0.0);
    number.ok_or_else(|| Refusal::Invalid(format!("expected a number from 0 on, not '{raw}'")))
}

/// File ids carry the bucket in eight digits.
pub(super) fn buckets(raw: &str) -> Result<u32, Refusal> {
    at_least::<1, u32>(raw)
        .ok()
        .filter(|n| *n <= 99_999_999)
        .ok_or_else(|| Refusal::Invalid(format!("expected a whole number from 1 to 99999999, not '{raw}'")))
}

pub(super) fn table_version(raw: &str) -> Result<u32, Refusal> {
    match raw.parse() {
        Ok(version @ (8 | 9)) => Ok(version),
        Ok(version) => Err(not_done(&format!("table version {version}"), "versions 8 and 9")),
        Err(_) => Err(Refusal::Invalid(format!("expected 8 or 9, not '{raw}'"))),
    }
}

pub(super) fn text(raw: &str) -> Result<String, Refusal> {
    if raw.is_empty() { Err(Refusal::Invalid("expected a text, not nothing".into())) } else { Ok(raw.into()) }
}

/// Field names between commas. Nothing at all is the empty list, which is how Apache Hudi's users say "not partitioned".
pub(super) fn fields(raw: &str) -> Result<Vec<String>, Refusal> {
    if raw.is_empty() {
        return Ok(Vec::new());
    }
    let names: Vec<String> = raw.split(',').map(|name| name.trim().to_owned()).collect();
    for (i, name) in names.iter().enumerate() {
        if name.is_empty() {
            return Err(Refusal::Invalid(format!("a field name is missing in '{raw}'")));
        }
        if names.iter().take(i).any(|earlier| earlier == name) {
            return Err(Refusal::Invalid(format!("'{name}' is named twice")));
        }
    }
    Ok(names)
}
