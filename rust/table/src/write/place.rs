//! From the profile of located rows to tasks: one for each file group that rows belong to.

use std::collections::{BTreeMap, BTreeSet};

use hudini_format::action::{CommitMetadata, NO_PREVIOUS_COMMIT, WriteStat};
use hudini_format::hash::{bucket_of_file_id, java_string_hash};
use hudini_format::name::bucket_file_id;

use super::action::Action;
use super::task::{FileKind, Task};
use crate::concurrency::Touched;
use crate::config::TableConfig;
use crate::options::Operation;
use crate::storage::{Entry, Storage};
use crate::timeline::Snapshot;
use crate::view::{self, FileSlice};
use crate::{Error, ErrorKind, Result};

/// How many rows belong to one file group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupProfile {
    pub partition: String,
    pub slot: i32,
    pub rows: u64,
}

/// A task and the group whose rows it wants.
#[derive(Debug, Clone)]
pub struct PlacedTask {
    pub partition: String,
    pub slot: i32,
    pub task: Task,
}

/// The live slice of each bucket of a partition. Files that are not buckets of the table mean that somebody wrote with
/// another index or count: looked for here, their keys would not be found and would be written twice.
fn slices_by_bucket(
    storage: &dyn Storage,
    config: &TableConfig,
    snapshot: &Snapshot,
    partition: &str,
    buckets: u32,
) -> Result<BTreeMap<u32, FileSlice>> {
    let mut found = BTreeMap::new();
    for slice in view::newest_slices(storage, config, snapshot, partition)? {
        let bucket = bucket_of_file_id(&slice.file_id).filter(|bucket| *bucket < buckets);
        let bucket = bucket.ok_or_else(|| {
            Error::option(format!(
                "partition '{partition}' has the file group {}, which is none of the table's {buckets} buckets",
                slice.file_id
            ))
            .with_hint("it was written with another index or another bucket count; writing here would duplicate keys")
        })?;
        if let Some(other) = found.insert(bucket, slice) {
            return Err(Error::new(
                ErrorKind::DuplicateKey,
                format!(
                    "bucket {bucket} of partition '{partition}' has two file groups, one of them {}",
                    other.file_id
                ),
            )
            .with_hint("two writers that did not know of each other made them; one must be replaced"));
        }
    }
    Ok(found)
}

/// Apache Hudi looks for partitions down to the first directory that is one: rows of a partition inside another would not
/// be seen.
fn refuse_nested<T>(storage: &dyn Storage, partition: &str, wanted: &BTreeMap<&str, T>) -> Result<()> {
    let nested = |outer: &str, inner: &str| {
        Error::schema(format!("the partition '{inner}' would lie inside the partition '{outer}'"))
            .with_hint("create the table with hoodie.datasource.write.partitionpath.urlencode=true")
    };
    for (slash, _) in partition.match_indices('/') {
        let outer = partition.get(..slash).unwrap_or_default();
        if wanted.contains_key(outer) || storage.head(&view::in_partition(outer, view::PARTITION_FILE))?.is_some() {
            return Err(nested(outer, partition));
        }
    }
    match storage.list(partition)?.iter().find(|entry| matches!(entry, Entry::Dir { .. })) {
        Some(inner) => Err(nested(partition, &view::in_partition(partition, inner.name()))),
        None => Ok(()),
    }
}

pub(super) fn tasks(action: &Action, profile: &[GroupProfile]) -> Result<Vec<PlacedTask>> {
    let mut wanted: BTreeMap<&str, BTreeMap<u32, u64>> = BTreeMap::new();
    let buckets = action.locator().buckets().count;
    for group in profile.iter().filter(|g| g.rows > 0) {
        let slot = u32::try_from(group.slot).ok().filter(|slot| *slot < buckets);
        let slot = slot.ok_or_else(|| Error::internal(format!("the slot {} of {buckets}", group.slot)))?;
        *wanted.entry(&group.partition).or_default().entry(slot).or_default() += group.rows;
    }
    for partition in wanted.keys().filter(|p| !p.is_empty()) {
        refuse_nested(action.storage(), partition, &wanted)?;
    }
    let mut tasks = Vec::new();
    for (partition, groups) in wanted {
        let mut live = slices_by_bucket(action.storage(), action.config(), action.snapshot(), partition, buckets)?;
        for (bucket, rows) in groups {
            let slice = live.remove(&bucket);
            if slice.is_none() && action.operation() == Operation::Delete {
                continue;
            }
            let kind = match &slice {
                Some(_) if action.is_mor() => FileKind::Log,
                _ => FileKind::Base,
            };
            let file_id = match &slice {
                Some(slice) => slice.file_id.clone(),
                None => bucket_file_id(bucket, group_bits(action.seed(), partition, bucket)),
            };
            let task = action.task(partition, bucket, file_id, kind, slice, rows)?;
            let slot = i32::try_from(bucket).map_err(|_| Error::internal("a bucket number beyond its range"))?;
            tasks.push(PlacedTask { partition: partition.to_owned(), slot, task });
        }
    }
    Ok(tasks)
}

/// The random part of a new file id: the same for every attempt at the same plan.
fn group_bits(seed: u128, partition: &str, bucket: u32) -> u128 {
    let salt = (u128::from(java_string_hash(partition).cast_unsigned()) << 32) | u128::from(bucket);
    let mut mixed = seed ^ salt.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
    mixed = (mixed ^ (mixed >> 67)).wrapping_mul(0xd6e8_feb8_6659_fd93_2d35_8d5b_3a1f_4c61);
    mixed ^ (mixed >> 61)
}

pub(super) fn touched<'a>(tasks: impl Iterator<Item = &'a PlacedTask>) -> BTreeSet<Touched> {
    tasks.map(|t| Touched::bucket(&t.partition, &t.task.file_id)).collect()
}

/// The inflight file's content: what the write is about to do, file group by file group.
pub(super) fn workload(action: &Action, tasks: &[PlacedTask]) -> CommitMetadata {
    let mut stats: BTreeMap<String, Vec<WriteStat>> = BTreeMap::new();
    for placed in tasks {
        let rows = i64::try_from(placed.task.expected_rows).unwrap_or(i64::MAX);
        let of_partition = stats.entry(placed.partition.clone()).or_default();
        of_partition.push(match &placed.task.slice {
            Some(slice) => WriteStat {
                file_id: Some(slice.file_id.clone()),
                prev_commit: Some(slice.base_instant.clone()),
                num_update_writes: Some(rows),
                ..WriteStat::zeroed()
            },
            None => WriteStat {
                file_id: Some(String::new()),
                prev_commit: Some(NO_PREVIOUS_COMMIT.to_owned()),
                num_inserts: Some(rows),
                ..WriteStat::zeroed()
            },
        });
    }
    CommitMetadata {
        partition_to_write_stats: Some(stats),
        compacted: Some(false),
        extra_metadata: Some(BTreeMap::new()),
        operation_type: Some(action.operation_type().to_owned()),
        ..CommitMetadata::default()
    }
}
