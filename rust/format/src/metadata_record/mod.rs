//! The records of the metadata table, and the keys under which they stand.
//!
//! | partition | key | record |
//! |---|---|---|
//! | `files` | `__all_partitions__`, or a partition path (`.` for none) | [`Payload::Partitions`], [`Payload::Files`] |
//! | `column_stats` | h64(column) h64(partition) h128(file name) | [`Payload::ColumnStats`] |
//! | `partition_stats` | h64(column) h64(partition) | [`Payload::PartitionStats`] |
//! | `bloom_filters` | h64(partition) h128(file name) | [`Payload::BloomFilter`] |
//! | `record_index` | record key | [`Payload::RecordIndex`] |
//! | `secondary_index_…` | escaped value `$` escaped record key | [`Payload::SecondaryIndex`] |
//! | `expr_index_…` | as column_stats, partition_stats or bloom_filters | as those |
//!
//! All are one Avro record, `HoodieMetadataRecord`, of which a number says what it holds. It is read with the schema that
//! its file carries, by name: releases have added fields and branches. Its field `key` is empty, the key is that of the
//! HFile's entry; the five meta columns in front are null, or hold the name of the base file.

mod index;
pub mod key;
mod merge;
mod partition;
mod record;
mod rows;
mod schema;
mod stats;

#[cfg(test)]
mod tests;

pub use index::{FileId, RecordIndexEntry};
pub use merge::merge;
pub use partition::{IndexVersion, Partition, data_partition_of, file_group_of};
pub use record::{BloomFilterEntry, FileEntry, MetadataRecord, Payload};
pub use schema::{RecordSchema, SCHEMA_V8, SCHEMA_V9, without_meta_columns};
pub use stats::{ColumnStats, NULL_TYPE, Scalar, StatValue, ValueType};
