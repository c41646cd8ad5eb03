//! A table with 10 000 archived actions, opened and listed: their times alone, and with what they did. And its folders listed
//! for a read, for which the archived commits are asked which files there should be.
#![allow(clippy::unwrap_used, missing_docs, reason = "a benchmark")]

use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, criterion_group, criterion_main};
use hudini_format::action::{CommitMetadata, SCHEMA_KEY, WriteStat};
use hudini_format::history::{self, Entry, HistoryFile, Manifest};
use hudini_format::instant::Action;
use hudini_table::context::{Context, SeededIds};
use hudini_table::options::Options;
use hudini_table::scan::{Scan, ScanRequest};
use hudini_table::storage::Storage;
use hudini_table::storage::local::Local;
use hudini_table::view::PARTITION_FILE;
use hudini_table::{Listed, Location, Table};
use tempfile::TempDir;

const ACTIONS: u64 = 10_000;
/// A merge of history files takes ten.
const FILES: u64 = 10;
const DIR: &str = ".hoodie/timeline/history";
const SCHEMA: &str = r#"{"type":"record","name":"t","fields":[{"name":"id","type":"string"}]}"#;
const PROPERTIES: &str = "hoodie.table.name=t\nhoodie.table.version=9\nhoodie.timeline.layout.version=2\n";

fn instant(number: u64) -> String {
    format!("{:017}", 20_261_121_000_000_000 + number * 1000)
}

/// New versions of four file groups.
fn name(number: u64, file: u64) -> String {
    format!("6f8d2c1e-00000000-{file}_0-1-2_{}.parquet", instant(number))
}

/// A write of four files, as Apache Hudi describes it.
fn metadata(number: u64) -> Vec<u8> {
    let stat = |file: u64| WriteStat {
        file_id: Some(format!("6f8d2c1e-00000000-{file}")),
        path: Some(format!("day=1/{}", name(number, file))),
        num_writes: Some(1000),
        num_inserts: Some(number as i64),
        ..WriteStat::default()
    };
    let stats = (0..4).map(stat).collect();
    let metadata = CommitMetadata {
        partition_to_write_stats: Some(BTreeMap::from([("day=1".to_owned(), stats)])),
        extra_metadata: Some(BTreeMap::from([(SCHEMA_KEY.to_owned(), SCHEMA.to_owned())])),
        operation_type: Some("UPSERT".to_owned()),
        ..CommitMetadata::default()
    };
    metadata.encode().unwrap()
}

fn entry(number: u64) -> Entry {
    Entry {
        requested: instant(number),
        completed: Some(instant(number)),
        action: Some(Action::DeltaCommit),
        metadata: Some(metadata(number)),
        plan: None,
    }
}

fn table() -> (Table, TempDir) {
    let dir = TempDir::new().unwrap();
    let url = dir.path().to_str().unwrap().to_owned();
    let store = Local::new(&url, Arc::new(SeededIds::new(1))).unwrap();
    let put = |path: &str, bytes: &[u8]| drop(store.replace(path, bytes).unwrap());
    put(".hoodie/hoodie.properties", PROPERTIES.as_bytes());
    let each = ACTIONS / FILES;
    let file = |number: u64| {
        let entries: Vec<_> = (number * each..(number + 1) * each).map(entry).collect();
        let bytes = history::write(&entries).unwrap();
        let file_name = format!("{}_{}_1.parquet", instant(number * each), instant((number + 1) * each - 1));
        put(&format!("{DIR}/{file_name}"), &bytes);
        HistoryFile { file_name, file_len: bytes.len() as u64 }
    };
    let files = (0..FILES).map(file).collect();
    put(&format!("{DIR}/manifest_1"), &Manifest { files }.encode());
    put(&format!("{DIR}/_version_"), b"1");
    put(&format!(".hoodie/timeline/{0}_{0}.deltacommit", instant(ACTIONS)), &metadata(ACTIONS));
    put(&format!("day=1/{PARTITION_FILE}"), b"");
    (0..4).for_each(|file| put(&format!("day=1/{}", name(ACTIONS, file)), b"1"));
    let location = Location { url, storage_options: BTreeMap::new() };
    (Table::open(location, Options::parse(Vec::new()).unwrap(), Context::system(None)).unwrap(), dir)
}

fn listing(c: &mut Criterion) {
    let (table, _dir) = table();
    let listed = |operations| table.timeline_lines(Listed { archived: true, operations }).unwrap();
    assert_eq!(listed(true).len() as u64, ACTIONS + 1);
    assert!(listed(true).iter().all(|line| line.operation.as_deref() == Some("upsert")));
    assert_eq!(listed(false).len() as u64, ACTIONS + 1);
    let mut group = c.benchmark_group("10 000 archived actions");
    group.sample_size(10);
    group.bench_function("times", |b| b.iter(|| black_box(listed(false))));
    group.bench_function("with what they did", |b| b.iter(|| black_box(listed(true))));
    group.finish();
}

fn planning(c: &mut Criterion) {
    let (table, _dir) = table();
    let plan = || Scan::plan(&table, ScanRequest::default()).unwrap();
    let explained = plan().explain().unwrap();
    assert_eq!((explained.base_files, explained.listing, explained.warnings), (4, "storage", Vec::new()));
    c.bench_function("10 000 archived commits asked for files that are gone", |b| b.iter(|| black_box(plan())));
}

criterion_group!(benches, listing, planning);
criterion_main!(benches);
