//! Commit metadata of 10 000 write statistics: 100 partitions of 100 files each, as an upsert of a copy-on-write table
//! leaves them. Beside ours stands apache-avro, which makes a tree of values of the same container.
#![allow(clippy::unwrap_used, reason = "benches")]

use std::collections::BTreeMap;
use std::hint::black_box;

use apache_avro::Reader;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use hudini_format::action::{CommitMetadata, CommitOutline, RuntimeStats, WriteStat};

const PARTITIONS: i64 = 100;
const FILES: i64 = 100;

fn stat(partition: &str, file: i64) -> WriteStat {
    let file_id = format!("{file:08x}-5c2c-4a3a-9d0e-{:012x}-0", file * 7919);
    WriteStat {
        path: Some(format!("{partition}/{file_id}_{file}-21-40_20261121100057710.parquet")),
        prev_base_file: Some(format!("{file_id}_{file}-13-20_20261121100009121.parquet")),
        prev_commit: Some("20261121100009121".into()),
        partition_path: Some(partition.into()),
        file_id: Some(file_id),
        num_writes: Some(120_000 + file),
        num_update_writes: Some(300),
        num_inserts: Some(20),
        total_write_bytes: Some(31_457_280 + file),
        file_size_in_bytes: Some(31_457_280 + file),
        runtime_stats: Some(RuntimeStats {
            total_scan_time: Some(0),
            total_create_time: Some(0),
            total_upsert_time: Some(2311),
            ..RuntimeStats::default()
        }),
        ..WriteStat::zeroed()
    }
}

fn commit() -> CommitMetadata {
    let partition = |p: i64| {
        let name = format!("date=2026-{:02}-{:02}", 1 + p / 28, 1 + p % 28);
        let stats = (0..FILES).map(|file| stat(&name, p * FILES + file)).collect();
        (name, stats)
    };
    CommitMetadata {
        partition_to_write_stats: Some((0..PARTITIONS).map(partition).collect()),
        compacted: Some(false),
        extra_metadata: Some(BTreeMap::from([("schema".to_owned(), "{\"type\":\"record\"}".repeat(40))])),
        operation_type: Some("UPSERT".into()),
        ..CommitMetadata::default()
    }
}

fn commit_metadata(c: &mut Criterion) {
    let commit = commit();
    let avro = commit.encode().unwrap();
    let json = serde_json::to_vec_pretty(&commit).unwrap();
    let mut group = c.benchmark_group("commit_metadata_10000_stats");
    group.sample_size(20);
    group.throughput(Throughput::Bytes(avro.len() as u64));
    group.bench_function("decode", |b| b.iter(|| CommitMetadata::decode(black_box(&avro)).unwrap()));
    group.bench_function("outline", |b| b.iter(|| CommitOutline::decode(black_box(&avro)).unwrap()));
    group.bench_function("decode_apache_avro_values", |b| {
        b.iter(|| Reader::new(black_box(&avro[..])).unwrap().next().unwrap().unwrap());
    });
    group.bench_function("encode", |b| b.iter(|| black_box(&commit).encode().unwrap()));
    group.throughput(Throughput::Bytes(json.len() as u64));
    group.bench_function("decode_json", |b| b.iter(|| CommitMetadata::decode(black_box(&json)).unwrap()));
    group.finish();
}

criterion_group!(benches, commit_metadata);
criterion_main!(benches);
