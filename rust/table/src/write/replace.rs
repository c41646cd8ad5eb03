//! What a write takes away: whole file groups, which readers no longer see once it has completed.

use std::collections::BTreeMap;

use super::action::Action;
use super::place::GroupProfile;
use crate::concurrency::{Stake, Touched};
use crate::options::Operation;
use crate::view;
use crate::{Error, Result};

/// File ids by partition.
pub(super) type Replaced = BTreeMap<String, Vec<String>>;

/// The live file groups of the partitions that the write is to replace.
pub(super) fn replaced(action: &Action, profile: &[GroupProfile]) -> Result<Replaced> {
    let partitions: Vec<String> = match action.operation() {
        Operation::InsertOverwrite => profile.iter().map(|group| group.partition.clone()).collect(),
        Operation::OverwriteTable => view::partitions(action.storage(), action.config())?,
        Operation::DeletePartitions => action.partitions().to_vec(),
        Operation::Upsert | Operation::Insert | Operation::BulkInsert | Operation::Delete => Vec::new(),
    };
    let mut replaced = Replaced::new();
    for partition in partitions {
        if replaced.contains_key(&partition) {
            continue;
        }
        let live = view::newest_slices(action.storage(), action.config(), action.snapshot(), &partition)?;
        let ids: Vec<String> = live.into_iter().map(|slice| slice.file_id).collect();
        // A whole table has partitions that others emptied before.
        if !ids.is_empty() || action.operation() == Operation::InsertOverwrite {
            replaced.insert(partition, ids);
        }
    }
    Ok(replaced)
}

/// Adds it to what the write changes.
pub(super) fn claim(stake: &mut Stake, operation: Operation, replaced: &Replaced) {
    for (partition, ids) in replaced {
        stake.touched.extend(ids.iter().map(|id| Touched::bucket(partition, id)));
        stake.emptied.insert(partition.clone());
    }
    stake.whole_table = operation == Operation::OverwriteTable;
}

/// Refuses names that cannot be partitions, before anything is begun.
fn is_odd(path: &str) -> bool {
    path.contains('*') || path.split('/').any(|part| ["", ".", ".."].contains(&part))
}

pub(super) fn check_partitions(partitions: &[String], is_partitioned: bool) -> Result<()> {
    if !is_partitioned {
        return Err(Error::option("the table has no partitions"));
    }
    match partitions.iter().find(|path| is_odd(path)) {
        Some(path) if path.contains('*') => {
            Err(Error::unsupported(format!("deleting partitions by a pattern, as in '{path}'")))
        }
        Some(path) => Err(Error::option(format!("'{path}' is no partition"))),
        None => Ok(()),
    }
}
