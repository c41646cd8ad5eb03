//! One million record positions: header text → set, beside the same work done with the libraries alone.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic, reason = "a bench")]

use std::hint::black_box;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use hudini_format::positions::Positions;
use roaring::RoaringTreemap;

const POSITIONS: u64 = 1_000_000;

fn shapes() -> [(&'static str, Positions); 3] {
    let spread = |step: u64| (0..POSITIONS).map(move |i| i * step + i % step.div_ceil(2)).collect();
    [("dense", spread(3)), ("sparse", spread(31)), ("runs", (0..POSITIONS).map(|i| i / 40 * 64 + i % 40).collect())]
}

fn positions(c: &mut Criterion) {
    let mut group = c.benchmark_group("positions");
    group.throughput(Throughput::Elements(POSITIONS));
    for (shape, positions) in shapes() {
        let text = positions.to_header();
        group.bench_function(format!("decode/{shape}"), |b| b.iter(|| Positions::from_header(black_box(&text))));
        group.bench_function(format!("decode/{shape}/base64+roaring"), |b| {
            b.iter(|| STANDARD.decode(black_box(&text)).map(|bytes| RoaringTreemap::deserialize_from(&*bytes)))
        });
        group.bench_function(format!("iterate/{shape}"), |b| b.iter(|| black_box(&positions).iter().sum::<u64>()));
        group.bench_function(format!("encode/{shape}"), |b| b.iter(|| black_box(&positions).to_header()));
    }
    group.finish();
}

criterion_group!(benches, positions);
criterion_main!(benches);
