//! The plan: which slices a compaction folds. Written once, read by whoever executes it.

use std::collections::{BTreeMap, BTreeSet};

use hudini_format::action::{CompactionOperation, CompactionPlan, RequestedReplaceMetadata};
use hudini_format::instant::Action;

use super::strategy;
use crate::config::TableConfig;
use crate::scan::PartitionFilter;
use crate::site::Site;
use crate::storage::Storage;
use crate::timeline::{Instant, Snapshot, Timeline};
use crate::view::{self, DataFile, FileSlice, Listing};
use crate::{Error, Result};

/// Plans of this version name files without their folders.
const VERSION: i32 = 2;

/// A file group, by partition and file id.
type Group = (String, String);

/// Of the slices with logs, those that may be folded now; `None` if there are none.
pub(super) fn make(
    site: Site<'_>,
    config: &TableConfig,
    found: &Timeline,
    snapshot: &Snapshot,
    filter: Option<&PartitionFilter>,
) -> Result<Option<CompactionPlan>> {
    let storage = site.store();
    let busy = busy_groups(storage, found)?;
    let mut partitions = view::partitions(storage, config)?;
    partitions.retain(|partition| filter.is_none_or(|filter| filter.wants(partition)));
    let (listing, absent) = Listing::of_folders(site, config, found, snapshot, &partitions)?;
    let mut slices = listing.slices(storage, config, snapshot)?;
    slices.retain(|slice| !slice.logs.is_empty() && !busy.contains(&(slice.partition.clone(), slice.file_id.clone())));
    absent.check(storage, &slices)?;
    let operations = strategy::choose(slices.into_iter().map(operation).collect(), site.options)?;
    Ok((!operations.is_empty()).then(|| CompactionPlan {
        operations: Some(operations),
        extra_metadata: Some(BTreeMap::new()),
        version: Some(VERSION),
        preserve_hoodie_metadata: Some(false),
        missing_schedule_partitions: Some(Vec::new()),
        ..CompactionPlan::default()
    }))
}

fn operation(slice: FileSlice) -> CompactionOperation {
    CompactionOperation {
        metrics: Some(strategy::metrics(&slice)),
        base_instant_time: Some(slice.base_instant),
        delta_file_paths: Some(slice.logs.into_iter().map(|log| log.name).collect()),
        data_file_path: slice.base.map(|base| base.name),
        file_id: Some(slice.file_id),
        partition_path: Some(slice.partition),
        ..CompactionOperation::default()
    }
}

/// File groups that a pending plan of some service is about.
fn busy_groups(storage: &dyn Storage, found: &Timeline) -> Result<BTreeSet<Group>> {
    let mut busy = BTreeSet::new();
    for pending in found.pending() {
        let groups = match pending.action {
            Action::Compaction | Action::LogCompaction => in_compaction(&read(storage, found, pending)?),
            Action::Clustering => in_clustering(storage, found, pending)?,
            _ => continue,
        };
        busy.extend(groups);
    }
    Ok(busy)
}

fn in_compaction(plan: &CompactionPlan) -> Vec<Group> {
    let operations = plan.operations.iter().flatten();
    operations.map(|op| group(op.partition_path.as_ref(), op.file_id.as_ref())).collect()
}

fn in_clustering(storage: &dyn Storage, found: &Timeline, pending: &Instant) -> Result<Vec<Group>> {
    let requested = RequestedReplaceMetadata::decode(&found.requested_bytes(storage, pending)?)
        .map_err(|e| e.at_instant(&pending.requested))?;
    let groups = requested.clustering_plan.and_then(|plan| plan.input_groups).unwrap_or_default();
    let slices = groups.into_iter().flat_map(|group| group.slices.unwrap_or_default());
    Ok(slices.map(|slice| group(slice.partition_path.as_ref(), slice.file_id.as_ref())).collect())
}

fn group(partition: Option<&String>, file_id: Option<&String>) -> Group {
    (partition.cloned().unwrap_or_default(), file_id.cloned().unwrap_or_default())
}

/// The plan of a pending compaction.
pub(super) fn read(storage: &dyn Storage, found: &Timeline, pending: &Instant) -> Result<CompactionPlan> {
    CompactionPlan::decode(&found.requested_bytes(storage, pending)?).map_err(|e| e.at_instant(&pending.requested))
}

/// The slices that the plan of a pending compaction is about, in its order.
///
/// A log that completed before the plan and is not in it would vanish with the old slice, and one that completed later
/// would be merged twice: where the plan says anything else than the table's files do, nothing is done.
pub(super) fn slices(
    storage: &dyn Storage,
    config: &TableConfig,
    plan: &CompactionPlan,
    snapshot: &Snapshot,
    time: &str,
) -> Result<Vec<FileSlice>> {
    check_understood(plan)?;
    // What the plan's maker saw. A group that was replaced since is compacted all the same: nobody will read it.
    let mut seen = snapshot.before(time);
    seen.replaced.clear();
    seen.pending_compactions.retain(|pending| pending.instant != time);
    let mut found: BTreeMap<Group, FileSlice> = BTreeMap::new();
    let operations = || plan.operations.iter().flatten();
    for partition in operations().map(|op| op.partition_path.clone().unwrap_or_default()).collect::<BTreeSet<_>>() {
        for slice in view::newest_slices(storage, config, &seen, &partition)? {
            found.insert((partition.clone(), slice.file_id.clone()), slice);
        }
    }
    let slice = |op: &CompactionOperation| {
        let group = group(op.partition_path.as_ref(), op.file_id.as_ref());
        let slice = found.remove(&group).filter(|slice| is_of(slice, op));
        slice.ok_or_else(|| {
            let (partition, file_id) = group;
            Error::corrupt(format!(
                "the plan says of file group {file_id} in partition '{partition}' something else than its files do"
            ))
            .with_hint("a write that completed before the plan was not seen by who made it, or a file is gone")
        })
    };
    operations().map(slice).collect()
}

/// Whether an operation names the very files of a slice.
fn is_of(slice: &FileSlice, operation: &CompactionOperation) -> bool {
    let names = |files: &[DataFile]| files.iter().map(|file| file.name.clone()).collect::<BTreeSet<_>>();
    let logs = operation.delta_file_paths.iter().flatten().cloned().collect::<BTreeSet<_>>();
    let base = operation.data_file_path.as_deref().filter(|name| !name.is_empty());
    base == slice.base.as_ref().map(|base| base.name.as_str()) && logs == names(&slice.logs)
}

fn check_understood(plan: &CompactionPlan) -> Result<()> {
    if plan.version != Some(VERSION) {
        let version = plan.version.map_or_else(|| "no version".to_owned(), |version| format!("version {version}"));
        return Err(Error::unsupported(format!("a compaction plan of {version}")));
    }
    if let Some(class) = plan.strategy.as_ref().and_then(|strategy| strategy.compactor_class_name.as_deref()) {
        return Err(Error::unsupported(format!("a compaction plan for the executor '{class}'")));
    }
    let is_bootstrapped = |op: &CompactionOperation| op.bootstrap_file_path.as_ref().is_some_and(|p| !p.is_empty());
    if plan.operations.iter().flatten().any(is_bootstrapped) {
        return Err(Error::unsupported("compacting files that a bootstrap left where they were"));
    }
    Ok(())
}
