//! One write of a table, timed:
//! `write TABLE --rows FILE [--operation upsert] [--create mor] [--option key=value] [--threads n]`, the rows in Arrow's
//! file format. `--operation compact` takes no rows. `--operation plain` writes them into a Parquet file, with the
//! parquet crate and nothing else.
//! Says its seconds, of the CPU and by the clock, as JSON; reading the rows and making the table are not in them.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_types, reason = "a benchmark")]

use std::collections::BTreeMap;
use std::fs::File;
use std::time::Instant;

use arrow_array::RecordBatch;
use arrow_ipc::reader::FileReader;
use arrow_schema::SchemaRef;
use hudini_table::config::Wishes;
use hudini_table::context::Context;
use hudini_table::options::{self, Operation, Options};
use hudini_table::service::{CompactRequest, compact};
use hudini_table::write::{self, WriteRequest};
use hudini_table::{Location, Table};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, GzipLevel, ZstdLevel};
use parquet::file::properties::WriterProperties;
use rustix::time::{ClockId, clock_gettime};

#[derive(Default)]
struct Job {
    table: String,
    rows: Option<String>,
    operation: String,
    /// Make the table first, of that type.
    create: Option<String>,
    options: Vec<(String, String)>,
    threads: Option<usize>,
}

fn job() -> Job {
    let mut job = Job::default();
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut next = || words.next().unwrap();
        match word.as_str() {
            "--rows" => job.rows = Some(next()),
            "--operation" => job.operation = next(),
            "--create" => job.create = Some(next()),
            "--option" => {
                let option = next();
                let (key, value) = option.split_once('=').unwrap();
                job.options.push((key.to_owned(), value.to_owned()));
            }
            "--threads" => job.threads = Some(next().parse().unwrap()),
            _ => job.table = word,
        }
    }
    job
}

/// The rows of a file, in memory.
fn rows(path: &str) -> (SchemaRef, Vec<RecordBatch>) {
    let file = FileReader::try_new(File::open(path).unwrap(), None).unwrap();
    (file.schema(), file.map(Result::unwrap).collect())
}

fn create(job: &Job, schema: &SchemaRef) {
    let Some(table_type) = &job.create else { return };
    let options = Options::parse(job.options.clone()).unwrap();
    let wishes = Wishes { table_type: Some(options::TABLE_TYPE.read(table_type).unwrap()), ..Wishes::default() };
    let new = wishes.settle(schema.as_ref().clone(), &options, &job.table).unwrap();
    Table::create(location(job), &new, options, Context::system(job.threads), false).unwrap();
}

fn location(job: &Job) -> Location {
    Location { url: job.table.clone(), storage_options: BTreeMap::new() }
}

fn run(job: &Job, schema: &SchemaRef, rows: Vec<RecordBatch>) -> u64 {
    if job.operation == "plain" {
        return plain(job, schema, &rows);
    }
    let options = Options::parse(job.options.clone()).unwrap();
    let table = Table::open(location(job), options, Context::system(job.threads)).unwrap();
    let done = if job.operation == "compact" {
        compact(&table, CompactRequest::default())
    } else {
        let request = WriteRequest::new(Operation::parse(&job.operation).unwrap());
        let request = WriteRequest { is_in_memory: true, ..request };
        write::write(&table, schema, rows.into_iter().map(Ok), &request)
    };
    let done = done.unwrap();
    done.warnings.iter().for_each(|warning| eprintln!("{warning}"));
    done.inserted + done.updated
}

fn plain(job: &Job, schema: &SchemaRef, rows: &[RecordBatch]) -> u64 {
    let gzip = job.options.iter().any(|(_, value)| value == "gzip");
    let codec = if gzip { Compression::GZIP(GzipLevel::default()) } else { Compression::ZSTD(ZstdLevel::default()) };
    let properties = WriterProperties::builder().set_compression(codec).build();
    let file = File::create(&job.table).unwrap();
    let mut writer = ArrowWriter::try_new(file, SchemaRef::clone(schema), Some(properties)).unwrap();
    rows.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.close().unwrap().file_metadata().num_rows().unsigned_abs()
}

fn cpu() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn main() {
    let job = job();
    let (schema, batches) = job.rows.as_deref().map_or_else(|| (arrow_schema::Schema::empty().into(), vec![]), rows);
    create(&job, &schema);
    // To free them is no part of a write: who has rows in memory mostly keeps them, as the callers of other libraries do.
    let kept = batches.clone();
    let (started, before) = (Instant::now(), cpu());
    let rows = run(&job, &schema, batches);
    println!(r#"{{"rows": {rows}, "cpu": {:.4}, "wall": {:.4}}}"#, cpu() - before, started.elapsed().as_secs_f64());
    drop(kept);
}
