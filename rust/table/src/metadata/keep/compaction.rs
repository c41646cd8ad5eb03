//! Compaction of the metadata table: logs and base files become new base files.
//!
//! It is planned when so many commits have gone by, and carried out at once, before the next commit. Everything that it
//! folds in has completed on the table too: while a write is pending there that has completed here, nothing is compacted.
//! A compaction that was interrupted, or that Apache Hudi planned, is carried out by its plan.

use std::collections::BTreeMap;

use hudini_format::action::{CompactionOperation, CompactionPlan, NO_PREVIOUS_COMMIT, WriteStat};
use hudini_format::instant::Action;
use hudini_format::metadata_record::{Partition, file_group_of};
use hudini_format::name::{BaseFileName, write_token};

use super::deltacommit::{self, COMPACT, RecordFile, WrittenSchema};
use super::open;
use crate::config::TableConfig;
use crate::metadata::group::{Records, Wanted, by_bytes};
use crate::metadata::{FOLDER, MetadataTable};
use crate::options;
use crate::site::Locked;
use crate::timeline::{self, Instant, Timeline};
use crate::view::{DataFile, FileSlice, in_partition};
use crate::{Error, Result};

/// Version field of the plan.
const PLAN_VERSION: i32 = 2;

/// Finishes a compaction that is pending, and begins one if enough commits have gone by since the last.
pub(super) fn run_if_due(locked: Locked<'_>, config: &TableConfig, found: &Timeline) -> Result<()> {
    let table = open(*locked, config, found)?;
    let own = Timeline::load(table.storage.as_ref(), &table.config)?;
    if own.pending().any(|i| i.action == Action::LogCompaction) {
        return Err(Error::unsupported("finishing a log compaction of the metadata table")
            .with_hint("let the engine that planned it finish it"));
    }
    let pending: Vec<_> = own.pending().filter(|i| i.action == Action::Compaction).cloned().collect();
    for instant in &pending {
        let plan = own.compaction_plan(table.storage.as_ref(), instant)?.unwrap_or_default();
        execute(locked, config, &table, &instant.requested, &plan)?;
    }
    let due = locked.options.get_or_default(&options::METADATA_COMPACTION_COMMITS)?;
    if !pending.is_empty() || commits_since(&own) < due || is_ahead(&own, found) {
        return Ok(());
    }
    let plan = plan(&table)?;
    if plan.operations.as_ref().is_none_or(Vec::is_empty) {
        return Ok(());
    }
    let newest = found.newest_time().max(own.newest_time());
    let time = timeline::time_after(locked.context, config, newest)?;
    timeline::request(table.storage.as_ref(), &table.config, locked.lock, &time, Action::Compaction, &plan.encode()?)?;
    execute(locked, config, &table, &time, &plan)
}

/// Commits since the last compaction; the first ones, that made the table, count.
fn commits_since(own: &Timeline) -> u32 {
    let last = own.completed().filter(|i| i.action == Action::Commit).filter_map(|i| i.completed.as_deref()).max();
    let later = |instant: &&Instant| instant.completed.as_deref() > last;
    own.completed().filter(|i| i.action == Action::DeltaCommit).filter(later).count() as u32
}

/// Whether something has completed here that is pending on the table.
fn is_ahead(own: &Timeline, found: &Timeline) -> bool {
    found.pending().any(|pending| own.find(&pending.requested).is_some_and(Instant::is_completed))
}

fn plan(table: &MetadataTable) -> Result<CompactionPlan> {
    let mut operations = Vec::new();
    for name in table.partitions() {
        let partition = Partition::parse(name).ok_or_else(|| Error::unsupported(format!("the index {name}")))?;
        let groups = table.groups(&partition)?;
        operations.extend(groups.slices().filter(|slice| !slice.logs.is_empty()).map(|slice| operation(name, slice)));
    }
    Ok(CompactionPlan {
        operations: Some(operations),
        extra_metadata: Some(BTreeMap::new()),
        version: Some(PLAN_VERSION),
        preserve_hoodie_metadata: Some(false),
        missing_schedule_partitions: Some(Vec::new()),
        ..CompactionPlan::default()
    })
}

fn operation(partition: &str, slice: &FileSlice) -> CompactionOperation {
    CompactionOperation {
        base_instant_time: Some(slice.base_instant.clone()),
        delta_file_paths: Some(slice.logs.iter().map(|log| log.name.clone()).collect()),
        data_file_path: slice.base.as_ref().map(|base| base.name.clone()),
        file_id: Some(slice.file_id.clone()),
        partition_path: Some(partition.to_owned()),
        metrics: Some(BTreeMap::new()),
        ..CompactionOperation::default()
    }
}

fn execute(
    locked: Locked<'_>,
    config: &TableConfig,
    table: &MetadataTable,
    time: &str,
    plan: &CompactionPlan,
) -> Result<()> {
    let folder = table.storage.as_ref();
    if !timeline::inflight_exists(folder, &table.config, time, Action::Compaction)? {
        timeline::to_inflight(folder, &table.config, time, Action::Compaction, b"")?;
    }
    let schema = WrittenSchema::of(config)?;
    let operations = plan.operations.iter().flatten();
    let stats = operations.map(|operation| compact(table, time, &schema, operation)).collect::<Result<Vec<_>>>()?;
    let own = Timeline::load(folder, &table.config)?;
    let completed = timeline::completion_time(locked.context, config, &own, time)?;
    let body = deltacommit::metadata(&schema, COMPACT, stats).encode()?;
    timeline::complete(folder, &table.config, locked.lock, time, &completed, Action::Compaction, &body)
}

/// Writes the new base file of one group; one that an interrupted attempt left goes first.
fn compact(
    table: &MetadataTable,
    time: &str,
    schema: &WrittenSchema,
    operation: &CompactionOperation,
) -> Result<WriteStat> {
    let slice = slice_of(table, operation)?;
    let partition = operation.partition_path.clone().unwrap_or_default();
    let number = file_group_of(&slice.file_id).unwrap_or_default();
    let name = BaseFileName {
        file_id: slice.file_id.clone(),
        write_token: write_token(number, 0, 0),
        instant: time.to_owned(),
        extension: "hfile".to_owned(),
    };
    let name = name.to_string();
    for left in table.storage.list(&partition)? {
        let is_left = BaseFileName::parse(left.name()).is_some_and(|b| b.instant == time && b.file_id == slice.file_id);
        if is_left {
            table.storage.delete(&in_partition(&partition, left.name()))?;
        }
    }
    let mut file = RecordFile::new(schema)?;
    let mut rows = 0;
    for record in by_bytes(Records::open(&table.table, &table.counted, &slice, Wanted::All)?) {
        file.put(&record?, Some(&name))?;
        rows += 1;
    }
    let bytes = file.finish()?;
    let path = in_partition(&partition, &name);
    deltacommit::create(table.storage.as_ref(), &path, &bytes)?;
    let previous = slice.base.as_ref().map_or(NO_PREVIOUS_COMMIT, |_| slice.base_instant.as_str());
    Ok(WriteStat {
        file_id: Some(slice.file_id.clone()),
        path: Some(path),
        prev_commit: Some(previous.to_owned()),
        partition_path: Some(partition),
        num_writes: Some(rows),
        num_update_writes: Some(rows),
        total_write_bytes: Some(bytes.len() as i64),
        file_size_in_bytes: Some(bytes.len() as i64),
        total_log_files_compacted: Some(slice.logs.len() as i64),
        total_log_size_compacted: Some(slice.logs.iter().map(|log| log.size as i64).sum()),
        prev_base_file: slice.base.as_ref().map(|base| base.name.clone()),
        ..WriteStat::zeroed()
    })
}

/// What the plan names, with paths that start at the table.
fn slice_of(table: &MetadataTable, operation: &CompactionOperation) -> Result<FileSlice> {
    let partition = operation.partition_path.as_deref().unwrap_or_default();
    let file = |name: &String| {
        let path = in_partition(partition, name);
        let meta = table.storage.head(&path)?;
        let gone = || Error::storage("a file that a compaction of the metadata table is about is gone").at_path(&path);
        Ok(DataFile { name: name.clone(), size: meta.ok_or_else(gone)?.size })
    };
    Ok(FileSlice {
        partition: format!("{FOLDER}/{partition}"),
        file_id: operation.file_id.clone().unwrap_or_default(),
        base_instant: operation.base_instant_time.clone().unwrap_or_default(),
        base: operation.data_file_path.as_ref().map(file).transpose()?,
        logs: operation.delta_file_paths.iter().flatten().map(file).collect::<Result<_>>()?,
    })
}
