//! Rows of an Avro log block → Arrow, beside `apache-avro` (value trees) and `arrow-avro` (an uncompressed container).
//!
//! | job | what it does |
//! |---|---|
//! | `hudini` | frames of the block → all columns |
//! | `hudini_2` | the same, two columns wanted: which customer, how much |
//! | `hudini_2_ends` | the first and the last column: nothing is left out at the end |
//! | `apache_avro` | frames of the block → `Value`s |
//! | `arrow_avro` | a container of the same datums → all columns |
//! | `hudini_encode` | all columns → frames of a block |
//!
//! Throughput counts the bytes of the block (for the container: nearly as many).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic, reason = "a bench")]

mod support;

use std::hint::black_box;
use std::io::Cursor;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};
use criterion::{BenchmarkGroup, Criterion, SamplingMode, Throughput, criterion_group, criterion_main};
use hudini_format::avro::{RowDecoder, RowEncoder};
use hudini_format::log::avro_block;
use hudini_format::schema::{Record, avro_text};

/// A few MB, as a reader holds them while it decodes; of more, the memory's speed would be measured too.
const ROWS: usize = 20_000;
const BATCH_ROWS: usize = 8192;

/// Rows in three forms.
struct Corpus {
    rows: RecordBatch,
    text: String,
    record: Record,
    block: Vec<u8>,
    container: Vec<u8>,
}

impl Corpus {
    fn new(rows: RecordBatch) -> Self {
        let text = avro_text(&rows.schema(), "orders").expect("types that Avro has");
        let record = Record::parse(&text).expect("our own schema");
        let block = encode(&record, &rows);
        let container = container(&text, &block);
        Self { rows, text, record, block, container }
    }

    fn columns(&self, names: [&str; 2]) -> SchemaRef {
        let schema = self.rows.schema();
        let fields = names.map(|name| schema.field_with_name(name).expect("a column of the table").clone());
        Arc::new(Schema::new(fields.to_vec()))
    }
}

fn encode(record: &Record, rows: &RecordBatch) -> Vec<u8> {
    let encoder = RowEncoder::new(record, rows).expect("the schema of the rows");
    let (mut datums, mut ends) = (Vec::new(), vec![0]);
    for row in 0..rows.num_rows() {
        encoder.encode(row, &mut datums).expect("a row of its schema");
        ends.push(datums.len());
    }
    avro_block::encode_records(ends.windows(2).map(|w| &datums[w[0]..w[1]])).expect("less than 2 GiB")
}

/// An uncompressed container of the block's datums, in blocks of the size that Java's writer makes.
fn container(schema: &str, block: &[u8]) -> Vec<u8> {
    const SYNC: [u8; 16] = *b"sixteen of these";
    const BLOCK_BYTES: usize = 64_000;
    fn long(out: &mut Vec<u8>, value: usize) {
        let mut rest = value << 1;
        while rest > 0x7f {
            out.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        out.push(rest as u8);
    }
    let mut out = b"Obj\x01".to_vec();
    let entries: [(&[u8], &[u8]); 2] = [(b"avro.schema", schema.as_bytes()), (b"avro.codec", b"null")];
    long(&mut out, entries.len());
    for part in entries.into_iter().flat_map(|(key, value)| [key, value]) {
        long(&mut out, part.len());
        out.extend_from_slice(part);
    }
    out.push(0);
    out.extend_from_slice(&SYNC);
    let (mut datums, mut count) = (Vec::new(), 0);
    let mut records =
        avro_block::records(block, 0).expect("our own block").map(|r| r.expect("whole frames")).peekable();
    while let Some(datum) = records.next() {
        datums.extend_from_slice(datum);
        count += 1;
        if datums.len() >= BLOCK_BYTES || records.peek().is_none() {
            long(&mut out, count);
            long(&mut out, datums.len());
            out.append(&mut datums);
            out.extend_from_slice(&SYNC);
            count = 0;
        }
    }
    out
}

fn decode(record: &Record, wanted: &SchemaRef, block: &[u8]) -> usize {
    let mut decoder = RowDecoder::new(record, wanted.clone()).expect("columns of the schema");
    let mut datums = avro_block::records(block, 0).expect("a block").map(|datum| datum.expect("a frame"));
    let mut rows = 0;
    while decoder.decode_many(datums.by_ref().take(BATCH_ROWS)).expect("rows") > 0 {
        rows += black_box(decoder.flush().expect("a batch")).num_rows();
    }
    rows
}

fn decode_values(schema: &apache_avro::Schema, block: &[u8]) -> usize {
    let reader = apache_avro::reader::datum::GenericDatumReader::builder(schema).build().expect("a schema");
    let mut rows = 0;
    for datum in avro_block::records(block, 0).expect("a block") {
        black_box(reader.read_value(&mut datum.expect("a frame")).expect("a row"));
        rows += 1;
    }
    rows
}

fn decode_container(container: &[u8]) -> usize {
    let builder = arrow_avro::reader::ReaderBuilder::new().with_batch_size(BATCH_ROWS);
    let reader = builder.build(Cursor::new(container)).expect("a container");
    reader.map(|batch| black_box(batch.expect("a batch")).num_rows()).sum()
}

fn measure(c: &mut Criterion, name: &str, rows: RecordBatch) {
    let corpus = Corpus::new(rows);
    let library = apache_avro::Schema::parse_str(&corpus.text).expect("the same schema");
    let all = corpus.rows.schema();
    let (two, ends) = (corpus.columns(["customer", "amount"]), corpus.columns([all.field(0).name(), "total"]));
    let mut group: BenchmarkGroup<'_, _> = c.benchmark_group(format!("log_avro/{name}"));
    group.throughput(Throughput::Bytes(corpus.block.len() as u64));
    group.sampling_mode(SamplingMode::Flat).sample_size(30);
    group.warm_up_time(std::time::Duration::from_secs(1)).measurement_time(std::time::Duration::from_secs(3));
    let right = |rows: usize| assert_eq!(rows, ROWS);
    group.bench_function("hudini", |b| b.iter(|| right(decode(&corpus.record, &all, &corpus.block))));
    group.bench_function("hudini_2", |b| b.iter(|| right(decode(&corpus.record, &two, &corpus.block))));
    group.bench_function("hudini_2_ends", |b| b.iter(|| right(decode(&corpus.record, &ends, &corpus.block))));
    group.bench_function("apache_avro", |b| b.iter(|| right(decode_values(&library, &corpus.block))));
    group.bench_function("arrow_avro", |b| b.iter(|| right(decode_container(&corpus.container))));
    group.bench_function("hudini_encode", |b| b.iter(|| black_box(encode(&corpus.record, &corpus.rows))));
    group.finish();
}

fn benches(c: &mut Criterion) {
    let orders = support::orders(ROWS);
    let with_meta = support::with_meta(&orders);
    measure(c, "12_columns", orders);
    measure(c, "12_columns_and_meta", with_meta);
}

criterion_group!(log_avro, benches);
criterion_main!(log_avro);
