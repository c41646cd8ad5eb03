//! From the profile of located rows to tasks: one for each file group that rows belong to.

use std::collections::{BTreeMap, BTreeSet};

use hudini_format::action::{CommitMetadata, NO_PREVIOUS_COMMIT, WriteStat};
use hudini_format::hash::{bucket_of_file_id, java_string_hash};
use hudini_format::name::{bucket_file_id, new_file_id};

use super::action::Action;
use super::sizes::{Share, Spread};
use super::task::{FileKind, Task};
use super::workers::NewSlots;
use crate::concurrency::{Stake, Touched};
use crate::index::Index;
use crate::options::Operation;
use crate::storage::{Entry, Storage};
use crate::view::{self, FileSlice};
use crate::{Error, ErrorKind, Result};

/// The slot of rows whose key no file group has. Placing gives them one.
pub const NEW_KEYS: i32 = -1;

/// How many rows belong to one file group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupProfile {
    pub partition: String,
    pub slot: i32,
    pub rows: u64,
    /// What the values of all of them take, if those are rows of new keys.
    pub bytes: u64,
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
fn by_bucket(slices: Vec<FileSlice>, partition: &str, buckets: u32) -> Result<BTreeMap<u32, FileSlice>> {
    let mut found = BTreeMap::new();
    for slice in slices {
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

/// By partition and slot.
type Wanted<'p> = BTreeMap<&'p str, BTreeMap<i32, Amount>>;

#[derive(Debug, Clone, Copy, Default)]
struct Amount {
    rows: u64,
    /// What their values take, of new ones.
    bytes: u64,
}

/// What a write does, file group by file group.
#[derive(Debug, Default)]
pub(super) struct Placement {
    pub(super) tasks: Vec<PlacedTask>,
    pub(super) new_slots: NewSlots,
}

pub(super) fn place(action: &Action, profile: &[GroupProfile]) -> Result<Placement> {
    let mut wanted = Wanted::new();
    for group in profile.iter().filter(|g| g.rows > 0) {
        let amount = wanted.entry(&group.partition).or_default().entry(group.slot).or_default();
        amount.rows += group.rows;
        amount.bytes += group.bytes;
    }
    for partition in wanted.keys().filter(|p| !p.is_empty()) {
        refuse_nested(action.storage(), partition, &wanted)?;
    }
    let mut placement = Placement::default();
    match action.locator().index() {
        Index::Buckets(buckets) => in_buckets(action, wanted, buckets.count, &mut placement)?,
        Index::Files { .. } | Index::Records => in_files(action, wanted, &mut placement)?,
    }
    Ok(placement)
}

fn in_buckets(action: &Action, wanted: Wanted<'_>, buckets: u32, placement: &mut Placement) -> Result<()> {
    let partitions: Vec<String> = wanted.keys().map(|partition| (*partition).to_owned()).collect();
    let mut slices = action.slices(&partitions)?;
    for (partition, groups) in wanted {
        let mut live = by_bucket(slices.remove(partition).unwrap_or_default(), partition, buckets)?;
        if action.operation().replaces() {
            live.clear();
        }
        for (slot, Amount { rows, .. }) in groups {
            let bucket = u32::try_from(slot).ok().filter(|slot| *slot < buckets);
            let bucket = bucket.ok_or_else(|| Error::internal(format!("the slot {slot} of {buckets}")))?;
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
            placement.tasks.push(PlacedTask { partition: partition.to_owned(), slot, task });
        }
    }
    Ok(())
}

/// The live file groups have the slots from 0 on, in the order of their ids; new ones come behind them.
fn in_files(action: &Action, wanted: Wanted<'_>, placement: &mut Placement) -> Result<()> {
    let writes_new = action.operation() != Operation::Delete;
    let mut spreads = BTreeMap::new();
    for (partition, mut groups) in wanted {
        let live = action.live(partition)?;
        let added = groups.remove(&NEW_KEYS).filter(|_| writes_new).unwrap_or_default();
        let mut spread = Spread::default();
        let mut filled = BTreeSet::new();
        let mut next = slot_of(live.len())?;
        for share in shares(action, partition, live, added)? {
            let (slot, rows) = match share {
                Share::Fill { group, rows } => (slot_of(group)?, rows),
                Share::New { rows } => {
                    next += 1;
                    (next - 1, rows)
                }
            };
            filled.insert(slot);
            spread.add(slot, rows);
            groups.entry(slot).or_default().rows += rows;
        }
        for (slot, Amount { rows, .. }) in groups {
            let number = u32::try_from(placement.tasks.len()).map_err(|_| Error::unsupported("so many file groups"))?;
            let at = usize::try_from(slot).map_err(|_| Error::internal(format!("the slot {slot}")))?;
            let slice = live.get(at).cloned();
            if slice.is_none() && !filled.contains(&slot) {
                return Err(Error::internal(format!("the slot {slot} of partition '{partition}'")));
            }
            // Apache Hudi's indexes see no key in a log: new ones go to base files.
            let kind = match &slice {
                Some(_) if action.is_mor() && !filled.contains(&slot) => FileKind::Log,
                _ => FileKind::Base,
            };
            let file_id = match &slice {
                Some(slice) => slice.file_id.clone(),
                None => unlike_buckets(group_bits(action.seed(), partition, slot.unsigned_abs())),
            };
            let task = action.task(partition, number, file_id, kind, slice, rows)?;
            placement.tasks.push(PlacedTask { partition: partition.to_owned(), slot, task });
        }
        spreads.insert(partition.to_owned(), spread);
    }
    placement.new_slots = NewSlots::new(spreads, writes_new);
    Ok(())
}

pub(super) fn slot_of(at: usize) -> Result<i32> {
    i32::try_from(at).map_err(|_| Error::unsupported("so many file groups in one partition"))
}

/// Who gets the new rows of a partition.
fn shares(action: &Action, partition: &str, live: &[FileSlice], new: Amount) -> Result<Vec<Share>> {
    if new.rows == 0 {
        return Ok(Vec::new());
    }
    let sizes = action.sizes()?;
    let compacted_soon = |slice: &FileSlice| {
        let pending = &action.snapshot().pending_compactions;
        pending.iter().any(|pending| pending.partition == partition && pending.file_id == slice.file_id)
    };
    let fills = !action.operation().replaces() && action.operation() != Operation::BulkInsert;
    // Rewritten, a base file takes the place of the logs on top of it too.
    let may_fill = |slice: &FileSlice| fills && slice.logs.is_empty() && !compacted_soon(slice);
    Ok(sizes.share(new.rows, new.bytes, live, may_fill, action.is_mor()))
}

/// A file id that nobody takes for a bucket's: it begins with a letter.
fn unlike_buckets(bits: u128) -> String {
    new_file_id(bits | 0xa << 124)
}

/// The random part of a new file id: the same for every attempt at the same plan.
fn group_bits(seed: u128, partition: &str, bucket: u32) -> u128 {
    let salt = (u128::from(java_string_hash(partition).cast_unsigned()) << 32) | u128::from(bucket);
    let mut mixed = seed ^ salt.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
    mixed = (mixed ^ (mixed >> 67)).wrapping_mul(0xd6e8_feb8_6659_fd93_2d35_8d5b_3a1f_4c61);
    mixed ^ (mixed >> 61)
}

/// What the tasks change.
pub(super) fn stake(tasks: &[PlacedTask]) -> Stake {
    let of = |t: &PlacedTask| Touched::bucket(&t.partition, &t.task.file_id);
    let based = tasks.iter().filter(|t| t.task.kind == FileKind::Base);
    Stake { touched: tasks.iter().map(of).collect(), based: based.map(of).collect(), ..Stake::default() }
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
