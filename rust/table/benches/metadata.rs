//! Planning a read of a table with 100 000 files in 1 000 partitions, by its metadata table; all of it, and one partition.
//! One commit wrote them all, so its file is as long as such files get. Of its data files only those of the first partition are
//! there: planning opens one, for the columns that no commit tells.
#![allow(clippy::unwrap_used, missing_docs, reason = "a benchmark")]

use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::Arc;

use arrow_array::{RecordBatch, StringArray};
use criterion::{Criterion, criterion_group, criterion_main};
use hudini_format::action::{CommitMetadata, NO_PREVIOUS_COMMIT, SCHEMA_KEY, WriteStat};
use hudini_format::hfile::{Options as HfileOptions, Writer, info};
use hudini_format::metadata_record::{FileEntry, FileId, MetadataRecord, Payload, RecordSchema, SCHEMA_V9, key};
use hudini_table::context::{Context, SeededIds};
use hudini_table::options::Options;
use hudini_table::scan::{Scan, ScanRequest};
use hudini_table::storage::Storage;
use hudini_table::storage::local::Local;
use hudini_table::{Location, Table};
use parquet::arrow::ArrowWriter;
use tempfile::TempDir;

const PARTITIONS: u64 = 1_000;
const FILES: u64 = 100;
const FIRST: &str = "00000000000000000";
const INSTANT: &str = "20261121090000000";
const COMPLETED: &str = "20261121090005000";
const DATA: &str =
    r#"{"type":"record","name":"t","fields":[{"name":"id","type":"string"},{"name":"day","type":"string"}]}"#;
const LAYOUT: &str = "hoodie.table.version=9\nhoodie.timeline.layout.version=2\n";

fn path(number: u64) -> String {
    format!("day=2026-{number:04}")
}

/// A file group each, as Apache Hudi names them.
fn file(partition: u64, number: u64) -> String {
    // Spread like the bits of a random id.
    let bits = u128::from(partition * FILES + number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
    format!("{}_{number}-12-{partition}_{INSTANT}.parquet", FileId::Uuid { bits, number: Some(0) })
}

fn list() -> Vec<u8> {
    let schema = RecordSchema::parse(SCHEMA_V9).unwrap();
    let mut records = BTreeMap::new();
    let paths = (0..PARTITIONS).map(|number| (path(number), FileEntry::new(0))).collect();
    records.insert(key::ALL_PARTITIONS.to_owned(), Payload::Partitions(paths));
    for partition in 0..PARTITIONS {
        let files = (0..FILES).map(|number| (file(partition, number), FileEntry::new(120_000_000))).collect();
        records.insert(path(partition), Payload::Files(files));
    }
    let mut writer = Writer::new(HfileOptions::default()).unwrap();
    writer.info(info::SCHEMA, SCHEMA_V9);
    for (key, payload) in records {
        let value = MetadataRecord::new(key.clone(), payload).encode(&schema).unwrap();
        writer.put(key.as_bytes(), &value).unwrap();
    }
    writer.finish().unwrap()
}

/// As a commit tells of it.
fn stat(partition: u64, number: u64) -> WriteStat {
    let name = file(partition, number);
    WriteStat {
        file_id: name.split('_').next().map(str::to_owned),
        path: Some(format!("{}/{name}", path(partition))),
        partition_path: Some(path(partition)),
        prev_commit: Some(NO_PREVIOUS_COMMIT.to_owned()),
        num_writes: Some(1_000_000),
        num_inserts: Some(1_000_000),
        total_write_bytes: Some(120_000_000),
        file_size_in_bytes: Some(120_000_000),
        ..WriteStat::zeroed()
    }
}

fn commit(schema: &str, partitions: u64) -> Vec<u8> {
    let stats = |partition| (0..FILES).map(|number| stat(partition, number)).collect();
    let metadata = CommitMetadata {
        partition_to_write_stats: Some((0..partitions).map(|partition| (path(partition), stats(partition))).collect()),
        extra_metadata: Some(BTreeMap::from([(SCHEMA_KEY.to_owned(), schema.to_owned())])),
        ..CommitMetadata::default()
    };
    metadata.encode().unwrap()
}

fn table() -> TempDir {
    let dir = TempDir::new().unwrap();
    let url = dir.path().to_str().unwrap().to_owned();
    let store = Local::new(&url, Arc::new(SeededIds::new(1))).unwrap();
    let put = |path: &str, bytes: &[u8]| drop(store.replace(path, bytes).unwrap());
    let own = "hoodie.table.name=t\nhoodie.table.partition.fields=day\nhoodie.datasource.write.hive_style_partitioning=true\nhoodie.table.metadata.partitions=files\n";
    put(".hoodie/hoodie.properties", format!("{own}{LAYOUT}").as_bytes());
    put(&format!(".hoodie/timeline/{INSTANT}_{COMPLETED}.commit"), &commit(DATA, PARTITIONS));
    let its = "hoodie.table.name=t_metadata\nhoodie.table.type=MERGE_ON_READ\nhoodie.table.base.file.format=HFILE\n";
    put(".hoodie/metadata/.hoodie/hoodie.properties", format!("{its}{LAYOUT}").as_bytes());
    for instant in [FIRST, INSTANT] {
        let told = format!(".hoodie/metadata/.hoodie/timeline/{instant}_{COMPLETED}.deltacommit");
        put(&told, &commit(SCHEMA_V9, 0));
    }
    put(&format!(".hoodie/metadata/files/files-0000-0_0-0-0_{FIRST}.hfile"), &list());
    let batch = RecordBatch::try_from_iter([("id", Arc::new(StringArray::from(vec!["k"])) as _)]).unwrap();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    let rows = writer.into_inner().unwrap();
    (0..FILES).for_each(|number| put(&format!("{}/{}", path(0), file(0, number)), &rows));
    dir
}

fn planned(url: &str, filter: Option<&str>) -> Scan {
    let location = Location { url: url.to_owned(), storage_options: BTreeMap::new() };
    let options = Options::parse(Vec::new()).unwrap();
    let table = Table::open(location, options, Context::system(None)).unwrap();
    Scan::plan(&table, ScanRequest { filter: filter.map(str::to_owned), ..ScanRequest::default() }).unwrap()
}

fn planning(c: &mut Criterion) {
    let dir = table();
    let url = dir.path().to_str().unwrap();
    let one_partition = Some("day = '2026-0500'");
    for (filter, slices) in [(None, PARTITIONS * FILES), (one_partition, FILES)] {
        let explained = planned(url, filter).explain().unwrap();
        assert_eq!((explained.listing, explained.slices as u64), ("metadata table", slices));
    }
    let mut group = c.benchmark_group("metadata table");
    group.sample_size(10);
    group.bench_function("open, and plan 100k files in 1000 partitions", |b| b.iter(|| black_box(planned(url, None))));
    group.bench_function("open, and plan one partition of them", |b| b.iter(|| black_box(planned(url, one_partition))));
    group.finish();
}

criterion_group!(benches, planning);
criterion_main!(benches);
