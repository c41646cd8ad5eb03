//! One read of a table, timed:
//! `read TABLE [--columns a,b] [--option key=value] [--threads n] [--count | --plain | --streamed] [--out FILE]`.
//! Says its seconds, of the CPU and by the clock, as JSON; `--out` keeps the rows, so that they can be compared.
//! `--plain` decodes the base files alone, with the parquet crate and nothing else.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_types, reason = "a benchmark")]

use std::collections::BTreeMap;
use std::fs::File;
use std::time::Instant;

use arrow_array::RecordBatch;
use arrow_ipc::writer::FileWriter;
use hudini_table::context::Context;
use hudini_table::options::Options;
use hudini_table::scan::{Scan, ScanRequest};
use hudini_table::{Location, Table};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use rustix::time::{ClockId, clock_gettime};

#[derive(Default)]
struct Job {
    table: String,
    columns: Option<Vec<String>>,
    options: Vec<(String, String)>,
    threads: Option<usize>,
    count: bool,
    plain: bool,
    /// Batches are let go as they come.
    streamed: bool,
    out: Option<String>,
}

fn job() -> Job {
    let mut job = Job::default();
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut next = || words.next().unwrap();
        match word.as_str() {
            "--columns" => job.columns = Some(next().split(',').map(str::to_owned).collect()),
            "--option" => {
                let option = next();
                let (key, value) = option.split_once('=').unwrap();
                job.options.push((key.to_owned(), value.to_owned()));
            }
            "--threads" => job.threads = Some(next().parse().unwrap()),
            "--count" => job.count = true,
            "--plain" => job.plain = true,
            "--streamed" => job.streamed = true,
            "--out" => job.out = Some(next()),
            _ => job.table = word,
        }
    }
    job
}

fn scan(job: &Job) -> Scan {
    let location = Location { url: job.table.clone(), storage_options: BTreeMap::new() };
    let table =
        Table::open(location, Options::parse(job.options.clone()).unwrap(), Context::system(job.threads)).unwrap();
    Scan::plan(&table, ScanRequest { columns: job.columns.clone(), ..ScanRequest::default() }).unwrap()
}

/// Every base file in the folder, as it stands.
fn plain(folder: &str) -> Vec<RecordBatch> {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|end| end == "parquet"));
    let read = |path| ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
    files.flat_map(|path| read(path).with_batch_size(8192).build().unwrap().map(Result::unwrap)).collect()
}

fn rows(job: &Job) -> (u64, Vec<RecordBatch>) {
    if job.count {
        return (scan(job).count().unwrap(), Vec::new());
    }
    if job.streamed {
        return (scan(job).read().unwrap().map(|batch| batch.unwrap().num_rows() as u64).sum(), Vec::new());
    }
    let batches = if job.plain { plain(&job.table) } else { scan(job).read().unwrap().map(Result::unwrap).collect() };
    (batches.iter().map(|batch| batch.num_rows() as u64).sum(), batches)
}

fn cpu() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn main() {
    let job = job();
    let (started, before) = (Instant::now(), cpu());
    let (rows, batches) = rows(&job);
    println!(r#"{{"rows": {rows}, "cpu": {:.4}, "wall": {:.4}}}"#, cpu() - before, started.elapsed().as_secs_f64());
    if let (Some(out), Some(first)) = (&job.out, batches.first()) {
        let mut writer = FileWriter::try_new(File::create(out).unwrap(), &first.schema()).unwrap();
        batches.iter().for_each(|batch| writer.write(batch).unwrap());
        writer.finish().unwrap();
    }
}
