//! A log of a million small blocks, passed through by header: as one who looks for the blocks of one instant does.
#![allow(clippy::unwrap_used, reason = "a bench")]

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use hudini_format::log::{BlockKind, Event, HeaderKey, Reader, Scanned, encode_block, scan};

const BLOCKS: u64 = 1_000_000;
/// As a store hands them out.
const WINDOW: usize = 1 << 20;

fn log() -> Vec<u8> {
    let mut file = Vec::new();
    for i in 0..BLOCKS {
        let instant = format!("2026010100{:07}", i / 10);
        let headers =
            [(HeaderKey::Schema, r#"{"type":"record","name":"r","fields":[]}"#), (HeaderKey::InstantTime, &instant)];
        file.extend(encode_block(BlockKind::Delete, &headers, &[0; 40]).unwrap());
    }
    file
}

/// Blocks of one instant, counted, by a reader that gets a window at a time.
fn through_windows(file: &[u8]) -> u64 {
    let mut reader = Reader::new(file.len() as u64);
    let (mut start, mut count) = (0, 0);
    loop {
        let window = file.get(start..(start + WINDOW).min(file.len())).unwrap_or_default();
        match reader.push(start as u64, window).unwrap() {
            Event::Need(need) => start = need.offset as usize,
            Event::Block(block) => count += u64::from(block.instant_time().unwrap() == "20260101000050000"),
            Event::End => return count,
            other => drop(black_box(other)),
        }
    }
}

fn in_memory(file: &[u8]) -> u64 {
    let is_it =
        |scanned| matches!(scanned, Ok(Scanned::Block(block)) if block.instant_time().unwrap() == "20260101000050000");
    scan(file).map(is_it).map(u64::from).sum()
}

fn skip(c: &mut Criterion) {
    let file = log();
    assert_eq!((through_windows(&file), in_memory(&file)), (10, 10));
    let mut group = c.benchmark_group("log_skip");
    group.sample_size(20).throughput(Throughput::Elements(BLOCKS));
    group.bench_function("windows of 1 MiB", |b| b.iter(|| through_windows(black_box(&file))));
    group.bench_function("in memory", |b| b.iter(|| in_memory(black_box(&file))));
    group.finish();
}

criterion_group!(benches, skip);
criterion_main!(benches);
