//! Metadata tables, made by hand as Apache Hudi makes them.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

use std::collections::BTreeMap;

use arrow_array::cast::AsArray;
use hudini_format::action::{CommitMetadata, SCHEMA_KEY, WriteStat};
use hudini_format::hfile::{self, info};
use hudini_format::log::{BlockKind, DeleteRecord, HeaderKey, OrderingValue, encode_block, encode_deletes};
use hudini_format::metadata_record::{
    ColumnStats, FileEntry, FileId, IndexVersion, MetadataRecord, Partition, Payload, RecordIndexEntry, RecordSchema,
    SCHEMA_V9, StatValue, ValueType, key,
};
use hudini_table::metadata::MetadataTable;
use hudini_table::options::Options;
use hudini_table::scan::{Explanation, Scan, ScanRequest};
use hudini_table::view::PARTITION_FILE;
use hudini_table::{Table, inspect, metadata};

use super::{Place, World};

pub const DATA: &str = r#"{"type":"record","name":"t","fields":[{"name":"id","type":"string"},{"name":"p","type":"string"},
    {"name":"v","type":["null","int"]},{"name":"w","type":["null","int"]},{"name":"name","type":["null","string"]}]}"#;
/// The first commit of a metadata table.
pub const FIRST: &str = "00000000000000000";

/// A table and its metadata table.
pub struct Lake {
    pub world: World,
}

pub fn time(n: u32) -> String {
    format!("20261121{:09}", n * 1000)
}

pub fn base(id: &str, n: u32) -> String {
    format!("{id}_0-1-0_{}.parquet", time(n))
}

impl Lake {
    pub fn new(partitions: &str) -> Self {
        Self::ordered("COMMIT_TIME_ORDERING", partitions)
    }

    /// With that merge mode.
    pub fn ordered(mode: &str, partitions: &str) -> Self {
        let lake = Self { world: World::keeping_metadata(Place::Memory) };
        lake.world.put(
            ".hoodie/hoodie.properties",
            format!(
                "hoodie.table.name=t\nhoodie.table.version=9\nhoodie.timeline.layout.version=2\n\
                 hoodie.table.type=MERGE_ON_READ\nhoodie.record.merge.mode={mode}\n\
                 hoodie.table.ordering.fields=v\nhoodie.table.recordkey.fields=id\n\
                 hoodie.table.partition.fields=p\nhoodie.table.metadata.partitions={partitions}\n"
            )
            .as_bytes(),
        );
        lake.world.put(
            ".hoodie/metadata/.hoodie/hoodie.properties",
            b"hoodie.table.name=t_metadata\nhoodie.table.version=9\nhoodie.timeline.layout.version=2\n\
              hoodie.table.type=MERGE_ON_READ\nhoodie.table.base.file.format=HFILE\n",
        );
        lake
    }

    /// With a list of files that was begun at that time.
    pub fn listed(begun: u32, files: &[MetadataRecord]) -> Self {
        let lake = Self::new("files");
        lake.base(&Partition::Files, 0, FIRST, files);
        lake.metadata_commit(FIRST, begun);
        lake
    }

    pub fn table(&self) -> Table {
        self.world.table()
    }

    pub fn put_commit(&self, dir: &str, requested: &str, completed: u32, metadata: &CommitMetadata) {
        for state in ["deltacommit.requested", "deltacommit.inflight"] {
            self.world.put(&format!("{dir}/{requested}.{state}"), b"");
        }
        let name = format!("{dir}/{requested}_{}.deltacommit", time(completed));
        self.world.put(&name, &metadata.encode().unwrap());
    }

    pub fn metadata_commit(&self, requested: &str, completed: u32) {
        let schema = Some(BTreeMap::from([(SCHEMA_KEY.to_owned(), SCHEMA_V9.to_owned())]));
        let metadata = CommitMetadata {
            partition_to_write_stats: Some(BTreeMap::new()),
            extra_metadata: schema,
            ..CommitMetadata::default()
        };
        self.put_commit(".hoodie/metadata/.hoodie/timeline", requested, completed, &metadata);
    }

    /// A write of files, which are put there as well.
    pub fn commit(&self, n: u32, files: &[(&str, String)]) {
        let mut stats: BTreeMap<String, Vec<WriteStat>> = BTreeMap::new();
        for (partition, name) in files {
            self.world.put(&format!("{partition}/{name}"), b"1");
            let stat = WriteStat { path: Some(format!("{partition}/{name}")), ..WriteStat::zeroed() };
            stats.entry((*partition).to_owned()).or_default().push(stat);
            let _ = self.world.store.create(&format!("{partition}/{PARTITION_FILE}"), b"").unwrap();
        }
        let metadata = CommitMetadata {
            partition_to_write_stats: Some(stats),
            extra_metadata: Some(BTreeMap::from([(SCHEMA_KEY.to_owned(), DATA.to_owned())])),
            ..CommitMetadata::default()
        };
        self.put_commit(".hoodie/timeline", &time(n), n + 5, &metadata);
    }

    pub fn begin(&self, n: u32) {
        self.world.put(&format!(".hoodie/timeline/{}.deltacommit.requested", time(n)), b"");
        self.world.put(&format!(".hoodie/timeline/{}.deltacommit.inflight", time(n)), b"");
    }

    pub fn base(&self, partition: &Partition, group: u32, instant: &str, records: &[MetadataRecord]) {
        let name = format!("{}_0-0-0_{instant}.hfile", partition.file_id(group));
        self.world.put(&format!(".hoodie/metadata/{partition}/{name}"), &hfile_of(records));
    }

    pub fn log(&self, partition: &Partition, group: u32, instant: &str, blocks: &[Vec<u8>]) {
        let name = format!(".{}_{instant}.log.1_0-0-0", partition.file_id(group));
        self.world.put(&format!(".hoodie/metadata/{partition}/{name}"), &blocks.concat());
    }

    /// What a write of the table adds to the list of files.
    pub fn log_files(&self, n: u32, records: &[MetadataRecord]) {
        self.log(&Partition::Files, 0, &time(n), &[block(&time(n), records)]);
    }

    /// The same, committed.
    pub fn add_files(&self, n: u32, records: &[MetadataRecord]) {
        self.log_files(n, records);
        self.metadata_commit(&time(n), n + 4);
    }

    /// Records of an index, each in the group that its key belongs to; some of them in logs.
    pub fn index(&self, partition: &Partition, version: IndexVersion, groups: u32, records: &[MetadataRecord]) {
        for group in 0..groups {
            let of_group = |r: &&MetadataRecord| partition.file_group(version, &r.key, groups).unwrap() == group;
            let records: Vec<_> = records.iter().filter(of_group).cloned().collect();
            let (first, second) = records.split_at(records.len() / 2);
            self.log(partition, group, FIRST, &[block(FIRST, second), deletes(FIRST, &[])]);
            if !first.is_empty() {
                self.base(partition, group, FIRST, first);
            }
        }
    }

    pub fn explain(&self, options: &[(&str, &str)]) -> Explanation {
        let options = options.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        let table = Table { options: Options::parse(options).unwrap(), ..self.table() };
        Scan::plan(&table, ScanRequest::default()).unwrap().explain().unwrap()
    }

    /// Files that a read would read, and where it knows them from; the warning is for the test to look at.
    pub fn seen(&self) -> (Vec<String>, &'static str, Vec<String>) {
        let slices = inspect::slices(&self.table(), None, None).unwrap();
        let files = slices.iter().flat_map(|s| s.base.iter().chain(&s.logs).map(|file| s.path(file)));
        let explained = self.explain(&[]);
        (files.collect(), explained.listing, explained.warnings)
    }

    /// Those files, which must come from the metadata table.
    #[track_caller]
    pub fn seen_by_metadata(&self) -> Vec<String> {
        let (files, listing, warnings) = self.seen();
        assert_eq!((listing, warnings), ("metadata table", Vec::new()));
        files
    }

    /// Those files, which must come from storage, and why.
    #[track_caller]
    pub fn seen_on_storage(&self) -> (Vec<String>, String) {
        let (files, listing, warnings) = self.seen();
        assert_eq!((listing, warnings.len()), ("storage", 1), "{warnings:?}");
        (files, warnings[0].clone())
    }

    pub fn metadata(&self) -> MetadataTable {
        let table = self.table();
        let (config, timeline) = (table.config().unwrap(), table.timeline().unwrap());
        MetadataTable::open(&table.storage, &config, &timeline).unwrap().unwrap()
    }

    /// The keys of all records of a partition.
    pub fn keys(&self, partition: &str) -> hudini_table::Result<Vec<String>> {
        let found = metadata::rows(&self.table(), Some(partition))?;
        let mut keys = Vec::new();
        for batch in found.rows {
            let batch = batch?;
            keys.extend(batch.column_by_name("key").unwrap().as_string::<i32>().iter().flatten().map(str::to_owned));
        }
        Ok(keys)
    }
}

pub fn hfile_of(records: &[MetadataRecord]) -> Vec<u8> {
    let schema = RecordSchema::parse(SCHEMA_V9).unwrap();
    let mut writer = hfile::Writer::new(hfile::Options::default()).unwrap();
    writer.info(info::SCHEMA, SCHEMA_V9);
    let mut records: Vec<_> = records.iter().collect();
    records.sort_by(|a, b| a.key.cmp(&b.key));
    for record in records {
        writer.put(record.key.as_bytes(), &record.encode(&schema).unwrap()).unwrap();
    }
    writer.finish().unwrap()
}

pub fn block(instant: &str, records: &[MetadataRecord]) -> Vec<u8> {
    let headers = [(HeaderKey::InstantTime, instant), (HeaderKey::Schema, SCHEMA_V9)];
    encode_block(BlockKind::HfileData, &headers, &hfile_of(records)).unwrap()
}

pub fn deletes(instant: &str, keys: &[&str]) -> Vec<u8> {
    let record =
        |key: &&str| DeleteRecord { key: Some((*key).to_owned()), partition: None, ordering: OrderingValue::Int(0) };
    encode_deletes(&[(HeaderKey::InstantTime, instant)], &keys.iter().map(record).collect::<Vec<_>>()).unwrap()
}

/// The list of partitions; one that starts with `-` is deleted.
pub fn partitions(names: &[&str]) -> MetadataRecord {
    let entry = |name: &&str| match name.strip_prefix('-') {
        Some(deleted) => (deleted.to_owned(), FileEntry::deleted()),
        None => ((*name).to_owned(), FileEntry::new(0)),
    };
    MetadataRecord::new(key::ALL_PARTITIONS, Payload::Partitions(names.iter().map(entry).collect()))
}

/// Files of a partition; one that starts with `-` is deleted.
pub fn files(partition: &str, names: &[&str]) -> MetadataRecord {
    let entry = |name: &&str| match name.strip_prefix('-') {
        Some(deleted) => (deleted.to_owned(), FileEntry::deleted()),
        None => ((*name).to_owned(), FileEntry::new(1)),
    };
    MetadataRecord::new(partition, Payload::Files(names.iter().map(entry).collect()))
}

pub fn stats(column: &str, file: &str, min: i32, max: i32) -> ColumnStats {
    ColumnStats {
        file_name: Some(file.to_owned()),
        column_name: Some(column.to_owned()),
        min_value: Some(StatValue::Int(min)),
        max_value: Some(StatValue::Int(max)),
        value_count: Some(10),
        null_count: Some(1),
        value_type: Some(ValueType { ordinal: 3, additional: None }),
        ..ColumnStats::default()
    }
}

pub fn located(key: &str, partition: &str) -> MetadataRecord {
    let file_id = FileId::parse("0921720f-38af-4dfb-a91d-75ee0f63f035-0");
    let entry = RecordIndexEntry { partition: partition.to_owned(), file_id, instant_millis: 0, position: None };
    MetadataRecord::new(key, Payload::RecordIndex(entry))
}
