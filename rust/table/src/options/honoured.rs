//! The options that hudini follows: one declaration each. Parsing, checks and the reference page come from it.

use hudini_format::key::Generator;

use super::opt::{Honoured, Opt};
use super::values::{
    self, BOOLEAN, BucketEngine, CleanPolicy, Codec, CompactionStrategy, CompactionTrigger, ConcurrencyMode,
    HollowCommits, IndexType, LockProvider, LogBlockFormat, MergeMode, MergeType, Operation, QueryType, TableType,
    Unsupported,
};

const FIELDS: &str = "field names, between commas";

/// Declares each option as a constant and lists them all, so that none can be declared and forgotten.
macro_rules! options {
    ($(
        $name:ident: $type:ty = $key:literal $(| $other:literal)*;
        $(default $default:literal;)?
        values $values:expr, $read:expr;
        help $help:literal;
    )+) => {
        $(
            #[doc = $help]
            pub const $name: Opt<$type> = Opt {
                key: $key,
                other_names: &[$($other),*],
                default: options!(@default $($default)?),
                values: $values,
                help: $help,
                read: $read,
            };
        )+

        /// All of them, in the order of the reference page.
        pub(super) static HONOURED: &[&dyn Honoured] = &[$(&$name),+];
    };
    (@default) => { None };
    (@default $default:literal) => { Some($default) };
}

options! {
    // The table.
    PATH: String = "path" | "hoodie.base.path";
    values "a path or URL", values::text;
    help "Where the table is. Spark's `load` and `save` set it.";

    TABLE_NAME: String = "hoodie.table.name" | "hoodie.datasource.write.table.name";
    values "a name", values::text;
    help "The table's name.";

    DATABASE: String = "hoodie.database.name";
    values "a name", values::text;
    help "The database that the table belongs to in a catalogue. A new table stores it, and it means nothing else.";

    TABLE_TYPE: TableType = "hoodie.datasource.write.table.type"
        | "hoodie.datasource.write.storage.type" | "hoodie.table.type" | "type";
    default "COPY_ON_WRITE";
    values TableType::VALUES, TableType::parse;
    help "How the table keeps updates: in rewritten base files, or in log files that readers merge. `cow` and `mor` do too.";

    TABLE_VERSION: u32 = "hoodie.write.table.version";
    default "9";
    values "`8`, `9`", values::table_version;
    help "The table version of a new table. An existing table keeps its own.";

    RECORD_KEY: Vec<String> = "hoodie.datasource.write.recordkey.field"
        | "hoodie.table.recordkey.fields" | "primaryKey";
    values FIELDS, values::fields;
    help "The fields that identify a row.";

    PARTITION_FIELDS: Vec<String> = "hoodie.datasource.write.partitionpath.field" | "hoodie.table.partition.fields";
    values FIELDS, values::fields;
    help "The fields whose values name a row's partition. Empty: no partitions. Beside the key generator `NON_PARTITION` they count for nothing, as in Apache Hudi.";

    ORDERING_FIELDS: Vec<String> = "hoodie.table.ordering.fields"
        | "hoodie.datasource.write.precombine.field" | "hoodie.table.precombine.field"
        | "orderingFields" | "preCombineField";
    values FIELDS, values::fields;
    help "The fields that decide which of two rows with one key wins, the greater value first.";

    MERGE_MODE: MergeMode = "hoodie.write.record.merge.mode"
        | "hoodie.record.merge.mode"
        | "hoodie.datasource.write.payload.class" | "hoodie.compaction.payload.class"
        | "hoodie.write.record.merge.strategy.id" | "hoodie.datasource.write.record.merger.strategy"
        | "hoodie.record.merge.strategy.id" | "hoodie.compaction.record.merger.strategy";
    values MergeMode::VALUES, values::merge_mode;
    help "Which of two rows with one key wins: the one with the greater ordering value, or the later one. Not given: by ordering value if there are ordering fields. The payload classes and strategy ids that mean one of the two are taken as well.";

    KEY_GENERATOR: Generator = "hoodie.datasource.write.keygenerator.type"
        | "hoodie.datasource.write.keygenerator.class"
        | "hoodie.table.keygenerator.type" | "hoodie.table.keygenerator.class";
    values values::KEY_GENERATORS, values::key_generator;
    help "How key and partition path come out of a row. Not given: from the number of key and partition fields. Apache Hudi's class names are taken as well.";

    HIVE_STYLE: bool = "hoodie.datasource.write.hive_style_partitioning";
    default "false";
    values BOOLEAN, values::boolean;
    help "Whether partition directories are called `field=value` instead of `value`.";

    URL_ENCODE: bool = "hoodie.datasource.write.partitionpath.urlencode";
    default "false";
    values BOOLEAN, values::boolean;
    help "Whether special characters in partition directories are escaped as in a URL.";

    // Writing.
    OPERATION: Operation = "hoodie.datasource.write.operation";
    default "upsert";
    values Operation::VALUES, Operation::parse;
    help "What a write through the data source does with its rows.";

    PARTITIONS_TO_DELETE: Vec<String> = "hoodie.datasource.write.partitions.to.delete";
    values "partition paths, between commas", values::fields;
    help "Which partitions the operation `delete_partition` takes away. Patterns are refused.";

    INDEX_TYPE: IndexType = "hoodie.index.type";
    default "BUCKET";
    values "`BUCKET`, `SIMPLE`, `BLOOM`, `RECORD_INDEX`", IndexType::parse;
    help "How a write finds where a key lives: by the key's hash, by reading the keys of the partition's files, by reading those of files whose bloom filters may hold it, or by the record index, which is one for all partitions and is made where there is none. A new table has buckets if not told otherwise, and stores them; writes to a table without buckets go by `SIMPLE` if not told otherwise. Apache Hudi's other indexes may be named, but a write with one of them is refused.";

    BUCKET_ENGINE: BucketEngine = "hoodie.index.bucket.engine";
    default "SIMPLE";
    values BucketEngine::VALUES, BucketEngine::parse;
    help "How the bucket index divides the keys.";

    BUCKET_COUNT: u32 = "hoodie.bucket.index.num.buckets";
    default "4";
    values "a whole number from 1 to 99999999", values::buckets;
    help "Buckets in each partition of a new table (Apache Hudi: 256, for partitions of many gigabytes). The table stores the number, and it can never change: a key looked for in another bucket would be written twice. A table that stores none has to be told it with every write.";

    HASH_FIELDS: Vec<String> = "hoodie.bucket.index.hash.field";
    values FIELDS, values::fields;
    help "The key fields whose values choose the bucket. Not given: all of the record key.";

    COMMIT_METADATA_PREFIX: String = "hoodie.datasource.write.commitmeta.key.prefix";
    default "_";
    values "a text", values::text;
    help "Options whose name starts so go into the commit's metadata as they are.";

    // Files.
    PARQUET_CODEC: Codec = "hoodie.parquet.compression.codec";
    default "zstd";
    values Codec::VALUES, Codec::parse;
    help "How base files are compressed. Apache Hudi's own default is gzip: larger files, and slower to write.";

    PARQUET_BLOCK_SIZE: u64 = "hoodie.parquet.block.size";
    default "125829120";
    values "bytes", values::at_least::<1, u64>;
    help "The size of a row group in base files.";

    PARQUET_PAGE_SIZE: u64 = "hoodie.parquet.page.size";
    default "1048576";
    values "bytes", values::at_least::<1, u64>;
    help "The size of a page in base files.";

    LOG_BLOCK_FORMAT: LogBlockFormat = "hoodie.logfile.data.block.format";
    default "avro";
    values LogBlockFormat::VALUES, LogBlockFormat::parse;
    help "How log files hold rows.";

    LOG_BLOCK_BYTES: u64 = "hoodie.logfile.data.block.max.size";
    default "268435456";
    values "bytes", values::at_least::<1, u64>;
    help "The size at which rows in a log file become a block, and the next ones another.";

    LOG_FILE_BYTES: u64 = "hoodie.logfile.max.size";
    default "1073741824";
    values "bytes", values::at_least::<1, u64>;
    help "A write that has brought a log file beyond this size goes on in another one.";

    WRITE_POSITIONS: bool = "hoodie.write.record.positions";
    default "false";
    values BOOLEAN, values::boolean;
    help "Whether log files say which rows of the base file their records are about, so that readers need no keys to merge them. A write then reads the keys of the base files that it changes; what has no row there makes all that the write logs for its file group go without.";

    SMALL_FILE_LIMIT: u64 = "hoodie.parquet.small.file.limit";
    default "104857600";
    values "bytes", values::at_least::<0, u64>;
    help "In tables without buckets, new rows go to base files smaller than this first. 0: always to new files.";

    MAX_FILE_SIZE: u64 = "hoodie.parquet.max.file.size";
    default "125829120";
    values "bytes", values::at_least::<1, u64>;
    help "In tables without buckets, the size that a base file grows to before new rows go to another one.";

    RECORD_SIZE: u64 = "hoodie.copyonwrite.record.size.estimate";
    values "bytes", values::at_least::<1, u64>;
    help "What a row takes in a base file, as long as no commit tells it. By default its values are measured.";

    RECORD_SIZE_THRESHOLD: f64 = "hoodie.record.size.estimation.threshold";
    default "1.0";
    values "a number from 0 on", values::factor;
    help "How much a commit must have written to tell what a row takes, as a part of the small file limit.";

    RECORD_SIZE_COMMITS: u32 = "_hoodie.record.size.estimator.max.commits";
    default "5";
    values "a whole number from 0 on", values::at_least::<0, u32>;
    help "How many commits are asked what a row takes.";

    COMBINE_BEFORE_INSERT: bool = "hoodie.combine.before.insert";
    default "false";
    values BOOLEAN, values::boolean;
    help "Whether of the rows of one key in one write that adds rows as they are, only one is added: the one that the merge mode picks. Rows that are there already are not looked at.";

    COLUMN_DROP: bool = "hoodie.datasource.write.schema.allow.auto.evolution.column.drop";
    default "false";
    values BOOLEAN, values::boolean;
    help "Whether columns that the rows lack are dropped from the table. Writes refuse it; to reads it means nothing.";

    INSERT_AUTO_SPLIT: bool = "hoodie.copyonwrite.insert.auto.split";
    default "true";
    values BOOLEAN, values::boolean;
    help "Whether a new file group gets as many rows as fit into a base file, instead of a fixed number.";

    INSERT_SPLIT_SIZE: u64 = "hoodie.copyonwrite.insert.split.size";
    default "500000";
    values "rows", values::at_least::<1, u64>;
    help "That fixed number.";

    SMALL_FILE_CANDIDATES: u32 = "hoodie.merge.small.file.group.candidates.limit";
    default "1";
    values "a whole number from 0 on", values::at_least::<0, u32>;
    help "How many small file groups of a partition one write fills in a merge-on-read table.";

    // Other writers.
    CONCURRENCY_MODE: ConcurrencyMode = "hoodie.write.concurrency.mode";
    default "OPTIMISTIC_CONCURRENCY_CONTROL";
    values ConcurrencyMode::VALUES, ConcurrencyMode::parse;
    help "Whom the writer expects beside itself. hudini always takes the lock and checks for conflicts, so both values do the same.";

    CONFLICT_RETRIES: u32 = "hoodie.write.num.retries.on.conflict.failures";
    default "4";
    values "a whole number from 0 on", values::at_least::<0, u32>;
    help "How often a write starts anew when another writer changed the same files first. Apache Hudi's default is 0.";

    LOCK_WAIT_MS: u64 = "hoodie.write.lock.wait_time_ms";
    default "60000";
    values "milliseconds", values::at_least::<0, u64>;
    help "How long to wait for the table's lock.";

    LOCK_PROVIDER: LockProvider = "hoodie.write.lock.provider";
    default "org.apache.hudi.client.transaction.lock.InProcessLockProvider";
    values LockProvider::VALUES, values::lock_provider;
    help "Which lock writers take beside hudini's own: that of `FileSystemBasedLockProvider` is a file that Apache Hudi asks for too, so that both may write at the same time.";

    LOCK_FOLDER: String = "hoodie.write.lock.filesystem.path";
    values "a path", values::text;
    help "The folder of that file. Without one it is the table's `.hoodie`. All writers must name the same.";

    LOCK_EXPIRE_MINUTES: u32 = "hoodie.write.lock.filesystem.expire";
    default "0";
    values "minutes; 0 for never", values::at_least::<0, u32>;
    help "From when on that file is a dead writer's and is taken over: more minutes than a commit ever takes. What a dead hudini of the same machine left is taken over at once.";

    HEARTBEAT_INTERVAL_MS: u64 = "hoodie.client.heartbeat.interval_in_ms";
    default "60000";
    values "milliseconds, from 1000 on", values::at_least::<1000, u64>;
    help "The longest time between two signs of life of a writer at work.";

    HEARTBEAT_MISSES: u32 = "hoodie.client.heartbeat.tolerable.misses";
    default "2";
    values "a whole number from 1 on", values::at_least::<1, u32>;
    help "How many intervals a writer may be silent. After that it commits no more, and what it began may be rolled back.";

    // Compaction.
    COMPACT_INLINE: bool = "hoodie.compact.inline";
    default "false";
    values BOOLEAN, values::boolean;
    help "Whether a write to a merge-on-read table is followed by what is planned of compactions, and by a new one if it is due. Writes through Spark are, unless told otherwise.";

    COMPACT_SCHEDULE_INLINE: bool = "hoodie.compact.schedule.inline";
    default "false";
    values BOOLEAN, values::boolean;
    help "Whether a write to a merge-on-read table plans a compaction if it is due and none is planned, for somebody else to run.";

    COMPACT_TRIGGER: CompactionTrigger = "hoodie.compact.inline.trigger.strategy";
    default "NUM_COMMITS";
    values CompactionTrigger::VALUES, CompactionTrigger::parse;
    help "When a compaction after a write is due. One that is asked for by name always is.";

    COMPACT_MAX_COMMITS: u32 = "hoodie.compact.inline.max.delta.commits";
    default "5";
    values "a whole number from 1 on", values::at_least::<1, u32>;
    help "How many delta commits make a compaction due.";

    COMPACT_MAX_SECONDS: u32 = "hoodie.compact.inline.max.delta.seconds";
    default "3600";
    values "seconds", values::at_least::<0, u32>;
    help "How long after the last compaction the next one is due, where the trigger asks for the time.";

    COMPACTION_STRATEGY: CompactionStrategy = "hoodie.compaction.strategy";
    default "org.apache.hudi.table.action.compact.strategy.LogFileSizeBasedCompactionStrategy";
    values CompactionStrategy::VALUES, values::compaction_strategy;
    help "Which file groups a compaction takes: those with the largest logs, with the most logs, or as they come, each up to a bound on reading and writing; or all.";

    COMPACTION_TARGET_IO: u64 = "hoodie.compaction.target.io";
    default "512000";
    values "megabytes", values::at_least::<0, u64>;
    help "The bound: once a compaction reads and writes so much, no file group is added to it.";

    COMPACTION_LOG_BYTES: u64 = "hoodie.compaction.logfile.size.threshold";
    default "0";
    values "bytes", values::at_least::<0, u64>;
    help "File groups with less in their logs are left out, where the largest logs come first.";

    COMPACTION_LOG_FILES: u64 = "hoodie.compaction.logfile.num.threshold";
    default "0";
    values "a number of files", values::at_least::<0, u64>;
    help "File groups with fewer logs are left out, where the most logs come first.";

    // Upkeep.
    TABLE_SERVICES: bool = "hoodie.table.services.enabled";
    default "true";
    values BOOLEAN, values::boolean;
    help "Whether a write may compact, clean and archive once it has committed, where it is due, and clean and archive the metadata table. What is asked for by name is always done.";

    CLEAN_AUTOMATIC: bool = "hoodie.clean.automatic";
    default "true";
    values BOOLEAN, values::boolean;
    help "Whether a write, once it has committed, deletes files that no state to be kept needs any more.";

    CLEAN_POLICY: CleanPolicy = "hoodie.clean.policy" | "hoodie.cleaner.policy";
    default "KEEP_LATEST_COMMITS";
    values CleanPolicy::VALUES, CleanPolicy::parse;
    help "What a clean keeps: the states of the last commits, those of the last hours, or so many versions of each file group. The newest state is always kept.";

    CLEAN_COMMITS: u32 = "hoodie.clean.commits.retained" | "hoodie.cleaner.commits.retained";
    default "10";
    values "a whole number from 1 on", values::at_least::<1, u32>;
    help "How many commits a clean keeps, with the state before them.";

    CLEAN_HOURS: u32 = "hoodie.clean.hours.retained" | "hoodie.cleaner.hours.retained";
    default "24";
    values "a whole number from 1 on", values::at_least::<1, u32>;
    help "Of how many hours a clean keeps the commits, with the state before them.";

    CLEAN_VERSIONS: u32 = "hoodie.clean.fileversions.retained" | "hoodie.cleaner.fileversions.retained";
    default "3";
    values "a whole number from 1 on", values::at_least::<1, u32>;
    help "How many versions of each file group a clean keeps.";

    CLEAN_TRIGGER: u32 = "hoodie.clean.trigger.max.commits" | "hoodie.clean.max.commits";
    default "1";
    values "a whole number from 1 on", values::at_least::<1, u32>;
    help "After how many commits the next clean is due.";

    CLEAN_INCREMENTAL: bool = "hoodie.clean.incremental.enabled" | "hoodie.cleaner.incremental.mode";
    default "true";
    values BOOLEAN, values::boolean;
    help "Whether a clean looks only into partitions that were written to since what the last one kept.";

    ARCHIVE_AUTOMATIC: bool = "hoodie.archive.automatic";
    default "true";
    values BOOLEAN, values::boolean;
    help "Whether a write, once it has committed, moves old instants from the active timeline into its history.";

    KEEP_MIN: u32 = "hoodie.keep.min.commits";
    default "20";
    values "a whole number from 1 on", values::at_least::<1, u32>;
    help "How many commits stay on the active timeline when the others are archived. More do if a clean keeps more.";

    KEEP_MAX: u32 = "hoodie.keep.max.commits";
    default "30";
    values "a whole number from 2 on, greater than `hoodie.keep.min.commits`", values::at_least::<2, u32>;
    help "With more commits than these on the active timeline, archiving is due.";

    ARCHIVE_BLOCK_ON_CLEAN: bool = "hoodie.archive.block.on.latest.clean.ectr";
    default "false";
    values BOOLEAN, values::boolean;
    help "Whether archiving stops at the earliest commit that the last clean kept.";

    HISTORY_BATCH: u32 = "hoodie.timeline.compaction.batch.size";
    default "10";
    values "a whole number from 2 on", values::at_least::<2, u32>;
    help "How many files of one level of the history are merged into one of the next.";

    HISTORY_TARGET_BYTES: u64 = "hoodie.timeline.compaction.target.file.max.bytes";
    default "1048576000";
    values "bytes", values::at_least::<1, u64>;
    help "At most so many bytes of the history are merged into one file.";

    HISTORY_MANIFESTS: u32 = "hoodie.timeline.manifest.retained.versions";
    default "3";
    values "a whole number from 1 on", values::at_least::<1, u32>;
    help "How many manifests of the history, with the files that they name, are kept for its readers.";

    // Reading.
    QUERY_TYPE: QueryType = "hoodie.datasource.query.type" | "hoodie.datasource.view.type";
    default "snapshot";
    values QueryType::VALUES, QueryType::parse;
    help "What a read returns: the newest state of every row, or the base files alone.";

    AS_OF: String = "as.of.instant" | "as_of";
    values "an instant or an ISO time", values::text;
    help "Read the table as it stood then.";

    MERGE_TYPE: MergeType = "hoodie.datasource.merge.type";
    default "payload_combine";
    values MergeType::VALUES, MergeType::parse;
    help "Whether a snapshot of a merge-on-read table is merged, or shows the rows of base files and logs side by side and no deletes.";

    HOLLOW_COMMITS: HollowCommits = "hoodie.read.timeline.holes.resolution.policy";
    default "FAIL";
    values HollowCommits::VALUES, HollowCommits::parse;
    help "What becomes of a range of time of a table of version 6 that holds writes younger than one that has not completed: an error, or an end before that one. Its rows would have a place before those that the range tells already, and who goes on from there would never see them. Later versions go by completion times, and it means nothing to them. `USE_TRANSITION_TIME` is refused for version 6.";

    RECORD_POSITIONS: bool = "hoodie.merge.use.record.positions";
    default "true";
    values BOOLEAN, values::boolean;
    help "Whether log records that name rows of the base file are merged with those; otherwise with the rows of their key.";

    MERGE_MEMORY: u64 = "hoodie.memory.merge.max.size";
    default "1073741824";
    values "a number of bytes", values::at_least::<0, u64>;
    help "What the changes of file groups that are read at once may take in memory. Beyond it they go to disk, all but their keys. So do the rows of a write that come as a stream, and what a task of a write brings to its file group. A change feed may take as much for what it compares of each file group, and unmerged reads for its logs; beyond it they end with an error.";

    SPILL_FOLDER: String = "hoodie.memory.spillable.map.path";
    values "a path", values::text;
    help "Where changes and rows go that do not fit into memory. Not given: where the system keeps temporary files.";

    BOOTSTRAP_PATH: String = "hoodie.bootstrap.base.path";
    values "a path or URL", values::text;
    help "Where the files are now of which a bootstrap made the table. Not given: where they were then.";

    METADATA_ENABLE: bool = "hoodie.metadata.enable";
    default "true";
    values BOOLEAN, values::boolean;
    help "Whether the metadata table is used. A read asks it, if there is one, for the table's files, instead of listing directories; the rows are the same. A write keeps it, and makes one where there is none; one that is told not to removes it, for it would not be true any more.";

    COLUMN_STATS_ENABLE: bool = "hoodie.metadata.index.column.stats.enable";
    default "true";
    values BOOLEAN, values::boolean;
    help "Whether a metadata table that a write makes holds column statistics, and those of partitions. One that is there keeps what it has.";

    RECORD_INDEX_ENABLE: bool = "hoodie.metadata.global.record.level.index.enable" | "hoodie.metadata.record.index.enable";
    default "false";
    values BOOLEAN, values::boolean;
    help "Whether the metadata table holds a record index: where the row of each key is. hoodie.index.type=RECORD_INDEX asks for it too. A table that has one keeps it, and writes look their keys up there.";

    METADATA_COMPACTION_COMMITS: u32 = "hoodie.metadata.compact.max.delta.commits";
    default "10";
    values "a whole number from 1 on", values::at_least::<1, u32>;
    help "After how many of its commits the metadata table is compacted.";

    DATA_SKIPPING: bool = "hoodie.enable.data.skipping";
    default "true";
    values BOOLEAN, values::boolean;
    help "Whether a read with a filter asks the indexes of the metadata table which files it can leave out. The rows are the same. Without the metadata table there are none to ask.";

    // hudini's own.
    UNSUPPORTED: Unsupported = "hudini.unsupported";
    default "error";
    values Unsupported::VALUES, Unsupported::parse;
    help "What becomes of options that ask for something hudini leaves undone and that changes no row (a catalogue sync, a callback, metrics, a table service, an index): an error, or one warning.";
}
