//! The metadata table, kept: every action of the table is told to it in a commit of its own, under the same time and before
//! the action completes.
//!
//! ```text
//! create        it is made with the first write, out of what is there
//! records       what it has to learn of an action: files, and what is in their columns
//! keys          the same of the keys of rows
//! deltacommit   a log file for each of its file groups that changes, and the commit
//! compaction    logs become base files, so that looking up stays cheap
//! restored      a record index that a restore of Apache Hudi left behind
//! undo          a commit of it whose action is rolled back, or that broke off
//! ```
//!
//! A crash between its commit and the action's leaves a commit that nobody believes, because the action is still pending;
//! the rollback of the action takes it back. All of it happens under the table's lock.

mod compaction;
mod create;
mod deltacommit;
mod keys;
mod records;
mod restored;
mod undo;

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_schema::{Schema, SchemaRef};
use hudini_format::action::{CleanMetadata, CommitMetadata, WriteStat};
use hudini_format::metadata_record::{IndexVersion, Partition};
use hudini_format::properties::{IndexDefinition, IndexDefinitions};
use hudini_format::schema::meta;

use self::deltacommit::{Changes, Group, WrittenSchema};
pub(crate) use self::keys::may_bring_keys;
use self::records::Kept;
pub(crate) use self::restored::refuse_left_behind;
use super::ranges::{self, ColumnRange, chosen_columns};
use super::{FIRST_WITH_VERSIONS, MetadataTable, index_definitions, partitions, partitions_in_flight};
use crate::config::{TableConfig, clear_metadata_table};
use crate::options::{self, IndexType, Options};
use crate::site::{Locked, Site};
use crate::timeline::{self, Snapshot, Timeline, Until, arrow_schema};
use crate::{Error, Result};

/// What an action did.
#[derive(Debug, Clone, Copy)]
pub(crate) enum News<'n> {
    /// Files were added. What is in them is read from them where it is not told.
    Wrote(&'n CommitMetadata, &'n Told),
    Cleaned(&'n CleanMetadata),
}

/// What an action knows of the files that it wrote.
#[derive(Debug, Default)]
pub(crate) struct Told {
    pub(crate) ranges: RangesByFile,
    /// Whether each key in its logs was found in the record index.
    pub(crate) logs_bring_no_keys: bool,
}

/// Column ranges of written files, by their paths.
type RangesByFile = BTreeMap<String, Vec<ColumnRange>>;

/// Refuses what the metadata table would have to learn and cannot: before anything is written.
pub(crate) fn check(site: Site<'_>, config: &TableConfig) -> Result<()> {
    if !is_wanted(site)? {
        return Ok(());
    }
    let hint = "with hoodie.metadata.enable=false the write removes the metadata table; Apache Hudi builds it anew";
    if let Some(building) = partitions_in_flight(config).first() {
        return Err(Error::unsupported(format!("writing while the index {building} is being built")).with_hint(hint));
    }
    let is_kept = |name: &&String| {
        use Partition::{ColumnStats, Files, PartitionStats, RecordIndex};
        matches!(Partition::parse(name), Some(Files | ColumnStats | PartitionStats | RecordIndex))
    };
    let partitions = partitions(config);
    if let Some(other) = partitions.iter().find(|name| !is_kept(name)) {
        return Err(Error::unsupported(format!("keeping the index {other}")).with_hint(hint));
    }
    if has_record_index(config) && records_by_partition(&index_definitions(site.store(), config)?) {
        return Err(Error::unsupported("keeping the record index of each partition").with_hint(hint));
    }
    Ok(())
}

/// Whether writers look keys up in the record index, which they keep.
pub(crate) fn has_record_index(config: &TableConfig) -> bool {
    partitions(config).contains(&Partition::RecordIndex.to_string())
}

fn records_by_partition(definitions: &IndexDefinitions) -> bool {
    let definition = definitions.get(&Partition::RecordIndex.to_string());
    definition.is_some_and(|definition| definition.index_options.get(BY_PARTITION).is_some_and(|word| word == "true"))
}

/// Makes the record index if it is asked for and not there, out of what the table holds. Answers whether
/// anything changed.
pub(crate) fn prepare(locked: Locked<'_>, config: &TableConfig, found: &Timeline) -> Result<bool> {
    let site = locked.site;
    let is_missing = is_wanted(site)? && wants_record_index(site.options)? && !has_record_index(config);
    if is_missing {
        check(site, config)?;
        give_up(site, config)?;
        create::create(locked, config, found)?;
    }
    Ok(is_missing)
}

/// Whether a write asks for one.
pub(crate) fn wants_record_index(given: &Options) -> Result<bool> {
    let as_index = given.get(&options::INDEX_TYPE)? == Some(IndexType::GlobalRecordLevel);
    Ok(as_index || given.get_or_default(&options::RECORD_INDEX_ENABLE)?)
}

/// The columns whose ranges a write has to tell; `columns` are the table's after it.
pub(crate) fn indexed_columns(site: Site<'_>, config: &TableConfig, columns: &Schema) -> Result<Vec<String>> {
    let kept = partitions(config);
    if !is_wanted(site)? || (kept.is_empty() && !keeps_statistics(site)?) {
        return Ok(Vec::new());
    }
    if kept.is_empty() {
        return Ok(chosen_columns(columns));
    }
    if !kept.contains(&Partition::ColumnStats.to_string()) {
        return Ok(Vec::new());
    }
    let definitions = index_definitions(site.store(), config)?;
    let timeline = Timeline::load(site.store(), config)?;
    let before = Snapshot::pin(site.store(), config, &timeline, Until::Now)?.schema;
    Ok(indexed(&definitions, before.as_deref(), Some(columns))?.0)
}

/// Tells the metadata table of an action that was requested at `time` and is about to complete. Answers the newest time
/// that it has now. A table that has none gets one with the first write.
pub(crate) fn tell(
    locked: Locked<'_>,
    config: &TableConfig,
    found: &Timeline,
    time: &str,
    news: News<'_>,
) -> Result<Option<String>> {
    let site = locked.site;
    if !is_wanted(site)? {
        give_up(site, config)?;
        return Ok(None);
    }
    check(site, config)?;
    let made;
    let config = match (partitions(config).is_empty(), news) {
        (false, _) => config,
        (true, News::Cleaned(_)) => return Ok(None),
        (true, News::Wrote(..)) => {
            create::create(locked, config, found)?;
            made = TableConfig::load(site.store())?;
            &made
        }
    };
    if let News::Cleaned(_) = news
        && let Some(told) = undo::told_before(site, config, time)?
    {
        return Ok(Some(told));
    }
    compaction::run_if_due(locked, config, found)?;
    let table = open(site, config, found)?;
    let after = match news {
        News::Wrote(metadata, _) => metadata.schema().map(arrow_schema).transpose()?,
        News::Cleaned(_) => None,
    };
    let kept = kept(site, config, found, &table, after.as_ref())?;
    let changes = match news {
        News::Wrote(metadata, told) => {
            let ranges = completed_ranges(site, metadata, &told.ranges, &kept)?;
            let mut changes = records::of_write(metadata, &ranges, &kept)?;
            if table.has(&Partition::RecordIndex) {
                let before = Snapshot::pin(site.store(), config, found, Until::Now)?;
                let before = keys::Before::new(site, config, &before)?;
                before.put_changes(&table, time, metadata, told.logs_bring_no_keys, &mut changes)?;
            }
            changes
        }
        News::Cleaned(metadata) => records::of_clean(metadata, &kept)?,
    };
    if changes.is_empty() { Ok(None) } else { commit(locked, config, &table, time, changes).map(Some) }
}

/// Undoes what the metadata table was told of the write `victim`, which the action at `time` rolls back.
pub(crate) fn take_back(locked: Locked<'_>, config: &TableConfig, time: &str, victim: &str) -> Result<()> {
    if !is_wanted(*locked)? {
        return give_up(*locked, config);
    }
    if partitions(config).is_empty() { Ok(()) } else { undo::take_back(locked, config, time, victim) }
}

/// Writes keep it, as reads use it, unless they are told not to.
pub(crate) fn is_wanted(site: Site<'_>) -> Result<bool> {
    site.options.get_or_default(&options::METADATA_ENABLE)
}

fn keeps_statistics(site: Site<'_>) -> Result<bool> {
    site.options.get_or_default(&options::COLUMN_STATS_ENABLE)
}

/// A writer that does not keep it must say so before it commits.
fn give_up(site: Site<'_>, config: &TableConfig) -> Result<()> {
    if config.metadata_partitions().is_empty() { Ok(()) } else { clear_metadata_table(site.store(), site.context) }
}

fn open(site: Site<'_>, config: &TableConfig, found: &Timeline) -> Result<MetadataTable> {
    MetadataTable::open(site.storage, config, found)?
        .ok_or_else(|| Error::internal("a metadata table without partitions"))
}

/// What is kept of columns; a definition that is not the right one any more is written anew.
fn kept(
    site: Site<'_>,
    config: &TableConfig,
    found: &Timeline,
    table: &MetadataTable,
    after: Option<&Schema>,
) -> Result<Kept> {
    if !table.has(&Partition::ColumnStats) {
        return Ok(Kept::nothing());
    }
    let mut definitions = table.definitions()?;
    let before = Snapshot::pin(site.store(), config, found, Until::Now)?.schema;
    let (names, is_new) = indexed(&definitions, before.as_deref(), after)?;
    let version = statistics_version(&definitions, config)?;
    if is_new {
        define(&mut definitions, &names, version, config);
        site.storage.replace(&table.definitions_path, &definitions.encode()?)?;
    }
    let before = before.as_deref().map(arrow_schema).transpose()?;
    let columns = after.or(before.as_ref()).cloned().unwrap_or_else(Schema::empty);
    Ok(Kept {
        columns: Some(version),
        schema: of_columns(&columns, &names),
        names,
        partitions: table.has(&Partition::PartitionStats),
    })
}

/// The columns as files have them, meta columns among them.
fn of_columns(table: &Schema, names: &[String]) -> SchemaRef {
    let with_meta = meta::with_meta(table);
    let wanted = with_meta.fields().iter().filter(|field| names.contains(field.name())).cloned();
    Arc::new(Schema::new(wanted.collect::<Vec<_>>()))
}

/// The columns of the index, and whether its definition has to say so. Where the table has all columns that are indexed
/// unless somebody says otherwise, those that are added to it are indexed too.
fn indexed(
    definitions: &IndexDefinitions,
    before: Option<&str>,
    after: Option<&Schema>,
) -> Result<(Vec<String>, bool)> {
    let before = before.map(arrow_schema).transpose()?;
    let chosen = |schema: Option<&Schema>| schema.map(chosen_columns).unwrap_or_default();
    let Some(definition) = definitions.get(&Partition::ColumnStats.to_string()) else {
        return Ok((chosen(after.or(before.as_ref())), true));
    };
    let stated = definition.source_fields.clone();
    let as_chosen = chosen(before.as_ref());
    let is_chosen = stated.len() == as_chosen.len() && stated.iter().all(|name| as_chosen.contains(name));
    match after.map(chosen_columns).filter(|now| is_chosen && now.iter().any(|name| !stated.contains(name))) {
        Some(now) => Ok((now, true)),
        None => Ok((stated, false)),
    }
}

fn statistics_version(definitions: &IndexDefinitions, config: &TableConfig) -> Result<IndexVersion> {
    match definitions.get(&Partition::ColumnStats.to_string()) {
        Some(definition) => definition.key_version(),
        None if config.version >= FIRST_WITH_VERSIONS => Ok(IndexVersion::V2),
        None => Ok(IndexVersion::V1),
    }
}

/// Apache Hudi's word for an index that has groups of its own for each partition.
const BY_PARTITION: &str = "isPartitioned";

/// Releases before the ninth version tell nothing of it.
fn define_record_index(definitions: &mut IndexDefinitions) {
    let name = Partition::RecordIndex.to_string();
    let definition = IndexDefinition {
        index_name: name.clone(),
        index_type: name.clone(),
        index_function: String::new(),
        source_fields: Vec::new(),
        index_options: [(BY_PARTITION.to_owned(), "false".into())].into_iter().collect(),
        version: Some("V1".to_owned()),
    };
    definitions.set(&name, definition);
}

fn define(definitions: &mut IndexDefinitions, columns: &[String], version: IndexVersion, config: &TableConfig) {
    let name = Partition::ColumnStats.to_string();
    let word = match version {
        IndexVersion::V1 => "V1",
        IndexVersion::V2 => "V2",
    };
    let definition = IndexDefinition {
        index_name: name.clone(),
        index_type: name.clone(),
        index_function: name.clone(),
        source_fields: columns.to_vec(),
        index_options: Default::default(),
        version: (config.version >= FIRST_WITH_VERSIONS).then(|| word.to_owned()),
    };
    definitions.set(&name, definition);
}

/// What was told, and what has to be read from the files themselves.
fn completed_ranges(
    site: Site<'_>,
    metadata: &CommitMetadata,
    told: &RangesByFile,
    kept: &Kept,
) -> Result<RangesByFile> {
    let mut ranges = RangesByFile::new();
    if kept.columns.is_none() {
        return Ok(ranges);
    }
    let wanted = |column: &String| !meta::is_meta(column);
    for path in metadata.write_stats().filter_map(|stat: &WriteStat| stat.path.as_ref()) {
        let of_file = match told.get(path) {
            // Another column may be indexed since the write began.
            Some(told) if kept.names.iter().filter(|c| wanted(c)).all(|c| told.iter().any(|r| r.column == *c)) => {
                told.clone()
            }
            _ => ranges::of_file(site.storage, path, &kept.schema)?,
        };
        ranges.insert(path.clone(), of_file);
    }
    Ok(ranges)
}

/// Writes the changes as a commit of the metadata table; answers when it completed.
fn commit(
    locked: Locked<'_>,
    config: &TableConfig,
    table: &MetadataTable,
    time: &str,
    changes: Changes,
) -> Result<String> {
    let folder = table.storage.as_ref();
    let schema = WrittenSchema::of(config)?;
    let mut groups = BTreeMap::new();
    for name in table.partitions() {
        let partition = Partition::parse(name).ok_or_else(|| Error::unsupported(format!("the index {name}")))?;
        groups.insert(partition.clone(), table.groups(&partition)?);
    }
    let of_key = |partition: &Partition, key: &str| match groups.get(partition) {
        Some(groups) => groups.number_of_key(key),
        None => Err(Error::internal(format!("changes of {partition}, which is not there"))),
    };
    let count = changes.len();
    let logs = deltacommit::files(*locked, count, changes.by_group(of_key)?, |((partition, number), changes)| {
        let file_id = groups.get(&partition).and_then(|groups| groups.file_id(number));
        let file_id = file_id.ok_or_else(|| Error::internal(format!("no file group {number} in {partition}")))?;
        deltacommit::log_file(time, &schema, &Group { partition: &partition, number, file_id }, &changes)
    })?;
    deltacommit::begin(folder, &table.config, locked.lock, time)?;
    let stats = logs.into_iter().map(|log| log.write(folder)).collect::<Result<_>>()?;
    complete(locked, config, table, time, deltacommit::metadata(&schema, "UPSERT_PREPPED", stats))
}

fn complete(
    locked: Locked<'_>,
    config: &TableConfig,
    table: &MetadataTable,
    time: &str,
    metadata: CommitMetadata,
) -> Result<String> {
    let folder = table.storage.as_ref();
    let own = Timeline::load(folder, &table.config)?;
    // By the table's own clock: its metadata table says nothing of a zone.
    let completed = timeline::completion_time(locked.context, config, &own, time)?;
    let action = hudini_format::instant::Action::DeltaCommit;
    timeline::complete(folder, &table.config, locked.lock, time, &completed, action, &metadata.encode()?)?;
    Ok(completed)
}
