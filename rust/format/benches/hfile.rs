//! HFiles: full scans beside the decompression alone, and look-ups in blocks that are decoded already.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs, reason = "a bench")]

use std::hint::black_box;
use std::io::Read;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use hudini_format::hfile::{Codec, LookupBlock, Options, Reader, Span, Writer};

/// Entries as in a record index: a UUID, and 60 bytes in which only the middle differs.
const ENTRIES: u64 = 300_000;

fn key(n: u64) -> String {
    let hash = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    format!("{:08x}-{:04x}-4{:03x}-8{:03x}-{:012x}", n, hash >> 48, hash >> 36 & 0xfff, hash >> 24 & 0xfff, hash >> 12)
}

fn file(codec: Codec) -> Vec<u8> {
    let mut writer = Writer::new(Options { codec, ..Options::default() }).unwrap();
    for n in 0..ENTRIES {
        let value = format!("\0\0\0\0\0\0\n\0\0\0\x02\x02city=san_francisco{:016x}\x02\0\x02\0\x02\0\0\0\0", n / 1000);
        writer.put(key(n).as_bytes(), value.as_bytes()).unwrap();
    }
    writer.info("schema", "\"bytes\"");
    writer.finish().unwrap()
}

fn scan(reader: &Reader<'_>) -> usize {
    let mut bytes = 0;
    let visited = reader.visit(Span::All, |cell| {
        bytes += cell.key.len() + cell.value.len();
        Ok(())
    });
    visited.unwrap();
    bytes
}

/// The compressed payloads of the data blocks.
fn members<'a>(reader: &Reader<'_>, file: &'a [u8]) -> Vec<&'a [u8]> {
    let blocks = reader.layout().index.entries().iter().map(|entry| &file[entry.block.start as usize..]);
    blocks.map(|block| &block[33..u32::from_be_bytes(block[29..33].try_into().unwrap()) as usize]).collect()
}

fn scans(c: &mut Criterion) {
    let plain = file(Codec::None);
    let mut group = c.benchmark_group("hfile");
    group.sample_size(20).throughput(Throughput::Bytes(plain.len() as u64));
    group.bench_function("scan, none", |b| b.iter(|| scan(&Reader::open(black_box(&plain)).unwrap())));
    group.bench_function("entries, none", |b| b.iter(|| Reader::open(black_box(&plain)).unwrap().entries().count()));
    let packed = file(Codec::Gzip);
    group.bench_function("scan, gzip", |b| b.iter(|| scan(&Reader::open(black_box(&packed)).unwrap())));
    let reader = Reader::open(&packed).unwrap();
    let members = members(&reader, &packed);
    group.bench_function("gunzip alone (flate2)", |b| {
        let mut out = Vec::new();
        b.iter(|| {
            for member in &members {
                out.clear();
                flate2::bufread::GzDecoder::new(black_box(*member)).read_to_end(&mut out).unwrap();
            }
            out.len()
        });
    });
    group.finish();
}

fn lookups(c: &mut Criterion) {
    let file = file(Codec::Gzip);
    let reader = Reader::open(&file).unwrap();
    let index = &reader.layout().index;
    let cached: std::collections::BTreeMap<u64, LookupBlock<'_>> =
        reader.blocks(Span::All).map(|block| block.unwrap()).map(|b| (b.offset(), b.for_lookups().unwrap())).collect();
    let keys: Vec<String> = (0..ENTRIES).step_by(997).map(key).collect();
    let mut group = c.benchmark_group("hfile");
    group.throughput(Throughput::Elements(1));
    let mut next = keys.iter().cycle();
    group.bench_function("look-up, cached blocks", |b| {
        b.iter(|| {
            let key = next.next().unwrap().as_bytes();
            let entry = index.select(&[Span::Key(key)])[0];
            cached[&entry.block.start].get(key).unwrap().value.len()
        });
    });
    let mut next = keys.iter().cycle();
    group.bench_function("look-up, nothing cached", |b| {
        b.iter(|| reader.get(next.next().unwrap().as_bytes()).unwrap().unwrap().len());
    });
    group.finish();
}

criterion_group!(benches, scans, lookups);
criterion_main!(benches);
