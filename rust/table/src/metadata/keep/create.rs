//! A metadata table is made: of the files that the table has now, as Apache Hudi makes it with the first write.
//!
//! The property that tells readers of it is set last; what an interrupted attempt left is removed by the next.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_schema::Schema;
use hudini_format::action::{NO_PREVIOUS_COMMIT, WriteStat};
use hudini_format::instant::{Action, TIME_DIGITS};
use hudini_format::log::{BlockKind, HeaderKey, delete, encode_block};
use hudini_format::metadata_record::{FileEntry, IndexVersion, MetadataRecord, Partition, Payload, key};
use hudini_format::name::{BaseFileName, LogFileName, write_token};
use hudini_format::properties::{PartitionMetadata, Properties, java_date, table_checksum};

use super::deltacommit::{self, Changes, NewFile, RecordFile, WrittenSchema};
use super::keys::{Before, Moves};
use super::records::{self, Kept};
use super::{define, define_record_index, index_definitions, keeps_statistics, of_columns, wants_record_index};
use crate::config::{self, HOODIE, TableConfig, keys};
use crate::metadata::ranges::{self, chosen_columns};
use crate::metadata::{FIRST_WITH_VERSIONS, FOLDER, definitions_path};
use crate::site::{Locked, Site};
use crate::storage::Storage;
use crate::storage::folder::Folder;
use crate::timeline::{self, Snapshot, Timeline, Until, arrow_schema};
use crate::view::{self, Listing, PARTITION_FILE, in_partition};
use crate::{Error, Result};

/// Partitions with the number of their file groups: Apache Hudi's defaults.
const FILES: (Partition, u32) = (Partition::Files, 1);
const COLUMN_STATS: (Partition, u32) = (Partition::ColumnStats, 2);
const PARTITION_STATS: (Partition, u32) = (Partition::PartitionStats, 1);

/// Of the record index the number of file groups follows from the number of keys.
const RECORD_INDEX_GROUPS: std::ops::RangeInclusive<usize> = 10..=10_000;
/// ... which is thought to double,
const RECORD_INDEX_GROWTH: usize = 2;
/// ... and which take so many bytes each
const RECORD_INDEX_ENTRY_BYTES: usize = 48;
/// ... of the bytes of a group.
const RECORD_INDEX_GROUP_BYTES: usize = 1 << 30;

const FIRST_TOKEN: &str = "0-0-0";

pub(super) fn create(locked: Locked<'_>, config: &TableConfig, found: &Timeline) -> Result<()> {
    let site = locked.site;
    site.storage.delete_dir(FOLDER)?;
    let folder: Arc<dyn Storage> = Arc::new(Folder::new(Arc::clone(site.storage), FOLDER));
    let own = make_table(site, config, folder.as_ref())?;
    let snapshot = Snapshot::pin(site.store(), config, found, Until::Now)?;
    let with_statistics = keeps_statistics(site)?;
    let with_records = wants_record_index(site.options)?;
    let kept = kept(config, &snapshot, with_statistics)?;
    refuse_gone(site, config, found, &snapshot)?;
    let known = what_is_there(site, config, &snapshot, &kept, with_records)?;
    let records = (Partition::RecordIndex, record_index_groups(known.count(&Partition::RecordIndex)));
    // In Apache Hudi's order.
    let partitions = [
        Some(FILES),
        with_statistics.then_some(COLUMN_STATS),
        with_records.then_some(records),
        kept.partitions.then_some(PARTITION_STATS),
    ];
    let partitions: Vec<_> = partitions.into_iter().flatten().collect();
    let mut known = known.by_partition();
    let schema = WrittenSchema::of(config)?;
    for (number, (partition, groups)) in partitions.iter().enumerate() {
        let first = First { locked, config, folder: folder.as_ref(), own: &own, schema: &schema };
        first.commit(number, partition, *groups, known.remove(partition).unwrap_or_default())?;
    }
    let defines_records = with_records && config.version >= FIRST_WITH_VERSIONS;
    if kept.columns.is_some() || defines_records {
        let mut definitions = index_definitions(site.store(), config)?;
        if let Some(version) = kept.columns {
            define(&mut definitions, &kept.names, version, config);
        }
        if defines_records {
            define_record_index(&mut definitions);
        }
        site.storage.replace(definitions_path(config), &definitions.encode()?)?;
    }
    let mut names: Vec<String> = partitions.iter().map(|(partition, _)| partition.to_string()).collect();
    names.sort();
    config::announce_metadata_table(site.store(), site.context, &names, kept.columns.is_some() || defines_records)
}

fn record_index_groups(keys: usize) -> u32 {
    let per_group = RECORD_INDEX_GROUP_BYTES / RECORD_INDEX_ENTRY_BYTES;
    let groups = keys.saturating_mul(RECORD_INDEX_GROWTH) / per_group;
    groups.clamp(*RECORD_INDEX_GROUPS.start(), *RECORD_INDEX_GROUPS.end()) as u32
}

fn kept(config: &TableConfig, snapshot: &Snapshot, with_statistics: bool) -> Result<Kept> {
    let version = if config.version >= FIRST_WITH_VERSIONS { IndexVersion::V2 } else { IndexVersion::V1 };
    let schema = snapshot.schema.as_deref().map(arrow_schema).transpose()?.unwrap_or_else(Schema::empty);
    let names = chosen_columns(&schema);
    Ok(Kept {
        columns: with_statistics.then_some(version),
        schema: of_columns(&schema, &names),
        names,
        partitions: with_statistics && !config.partition_by.is_empty(),
    })
}

/// Folders and properties, as Apache Hudi 1.2 makes them.
fn make_table(site: Site<'_>, config: &TableConfig, folder: &dyn Storage) -> Result<TableConfig> {
    for dir in [
        "timeline/history",
        ".temp",
        ".schema",
        ".heartbeat",
        ".aux/.bootstrap/.partitions",
        ".aux/.bootstrap/.fileids",
    ] {
        folder.make_dir(&format!("{HOODIE}/{dir}"))?;
    }
    let name = format!("{}_metadata", config.name);
    let version = config.version.to_string();
    let mut properties = Properties::new();
    for (key, value) in [
        (keys::NAME, name.as_str()),
        (keys::TYPE, "MERGE_ON_READ"),
        (keys::VERSION, &version),
        (keys::INITIAL_VERSION, &version),
        (keys::LAYOUT, "2"),
        (keys::TIMELINE_PATH, "timeline"),
        (keys::HISTORY_PATH, "history"),
        (keys::ARCHIVE_FOLDER, "history"),
        (keys::BASE_FORMAT, "HFILE"),
        (keys::RECORD_KEY, "key"),
        (keys::META_FIELDS, "false"),
        (keys::DROP_PARTITION_COLUMNS, "false"),
        (keys::KEY_GENERATOR_TYPE, "HOODIE_TABLE_METADATA"),
        (keys::PAYLOAD, "org.apache.hudi.metadata.HoodieMetadataPayload"),
        (keys::MERGE_MODE, "CUSTOM"),
        (keys::MERGE_STRATEGY, "00000000-0000-0000-0000-000000000000"),
        (keys::CHECKSUM, &table_checksum(None, &name).to_string()),
    ] {
        properties.set(key, value);
    }
    config::write_properties(folder, site.context, &properties)?;
    TableConfig::load(folder)
}

/// Nobody who goes by the list would ever miss a file that was gone when it was made.
fn refuse_gone(site: Site<'_>, config: &TableConfig, found: &Timeline, snapshot: &Snapshot) -> Result<()> {
    let partitions = view::partitions(site.store(), config)?;
    let (listing, absent) = Listing::of_folders(site, config, found, snapshot, &partitions)?;
    absent.check(site.store(), &listing.slices(site.store(), config, snapshot)?)
}

/// All committed files; statistics, and the keys, of those that make up the newest state.
fn what_is_there(
    site: Site<'_>,
    config: &TableConfig,
    snapshot: &Snapshot,
    kept: &Kept,
    with_records: bool,
) -> Result<Changes> {
    let mut changes = Changes::default();
    let mut keys = Moves::default();
    let mut partitions = BTreeMap::new();
    for partition in view::partitions(site.store(), config)? {
        let files = view::files_in(site.store(), &partition)?;
        let committed =
            files.into_iter().filter(|file| instant_of(&file.name).is_some_and(|t| snapshot.is_committed(&t)));
        let entry =
            |size: u64| i64::try_from(size).map(FileEntry::new).map_err(|_| Error::unsupported("a file of 2^63 bytes"));
        let files = committed.map(|file| Ok((file.name, entry(file.size)?))).collect::<Result<BTreeMap<_, _>>>()?;
        if files.is_empty() {
            continue;
        }
        partitions.insert(key::partition_name(&partition).to_owned(), FileEntry::new(0));
        records::put_files(&mut changes, &partition, files)?;
        if kept.columns.is_some() {
            put_statistics(site, config, snapshot, &partition, kept, &mut changes)?;
        }
        if with_records {
            Before::new(site, config, snapshot)?.add_all(&partition, &mut keys)?;
        }
    }
    keys.put(&mut changes);
    changes.put(&Partition::Files, MetadataRecord::new(key::ALL_PARTITIONS, Payload::Partitions(partitions)))?;
    Ok(changes)
}

fn put_statistics(
    site: Site<'_>,
    config: &TableConfig,
    snapshot: &Snapshot,
    partition: &str,
    kept: &Kept,
    changes: &mut Changes,
) -> Result<()> {
    for slice in view::newest_slices(site.store(), config, snapshot, partition)? {
        for file in slice.base.iter().chain(&slice.logs) {
            for range in ranges::of_file(site.storage, &slice.path(file), &kept.schema)? {
                records::put_range(changes, partition, &file.name, &range, kept)?;
            }
        }
    }
    Ok(())
}

/// The write that made a data file; logs of changes are files too.
fn instant_of(name: &str) -> Option<String> {
    match LogFileName::parse(name) {
        Some(log) => Some(log.instant),
        None => BaseFileName::parse(name).map(|base| base.instant),
    }
}

/// The first commit of a partition.
struct First<'f> {
    locked: Locked<'f>,
    config: &'f TableConfig,
    folder: &'f dyn Storage,
    own: &'f TableConfig,
    schema: &'f WrittenSchema,
}

impl First<'_> {
    /// The groups are told by empty logs, which are there also where a group has no record yet.
    fn commit(&self, number: usize, partition: &Partition, groups: u32, records: Changes) -> Result<()> {
        let time = format!("{number:0TIME_DIGITS$}");
        let dir = partition.to_string();
        let marker =
            PartitionMetadata::new(time.clone(), &dir).to_bytes(&java_date(self.locked.context.clock.now_ms()));
        deltacommit::create(self.folder, &in_partition(&dir, PARTITION_FILE), &marker)?;
        deltacommit::begin(self.folder, self.own, self.locked.lock, &time)?;
        let empty = encode_block(BlockKind::Delete, &[(HeaderKey::InstantTime, &time)], &delete::encode(&[])?)?;
        for group in 0..groups {
            let name = deltacommit::log_name(&partition.file_id(group), &time, FIRST_TOKEN);
            deltacommit::create(self.folder, &in_partition(&dir, &name), &empty)?;
        }
        let count = records.len();
        let by_group = records.by_group(|partition, key| partition.file_group(IndexVersion::V1, key, groups))?;
        let files = deltacommit::files(*self.locked, count, by_group, |((partition, group), records)| {
            self.base_file(&partition, group, &time, records.values().flatten())
        })?;
        let stats = files.into_iter().map(|file| file.write(self.folder)).collect::<Result<_>>()?;
        let metadata = deltacommit::metadata(self.schema, "BULK_INSERT_PREPPED", stats);
        let timeline = Timeline::load(self.folder, self.own)?;
        let completed = timeline::completion_time(self.locked.context, self.config, &timeline, &time)?;
        let lock = self.locked.lock;
        timeline::complete(self.folder, self.own, lock, &time, &completed, Action::DeltaCommit, &metadata.encode()?)
    }

    fn base_file<'r>(
        &self,
        partition: &Partition,
        group: u32,
        time: &str,
        records: impl Iterator<Item = &'r MetadataRecord> + Clone,
    ) -> Result<NewFile> {
        let name = BaseFileName {
            file_id: partition.file_id(group),
            write_token: write_token(group, 0, 0),
            instant: time.to_owned(),
            extension: "hfile".to_owned(),
        };
        let dir = partition.to_string();
        let bytes = RecordFile::of(records.clone(), self.schema)?;
        let rows = records.count() as i64;
        let stat = WriteStat {
            path: Some(in_partition(&dir, &name.to_string())),
            file_id: Some(name.file_id),
            prev_commit: Some(NO_PREVIOUS_COMMIT.to_owned()),
            partition_path: Some(dir),
            num_writes: Some(rows),
            num_inserts: Some(rows),
            ..WriteStat::zeroed()
        };
        Ok(NewFile { bytes, stat })
    }
}
