//! One read of a table with hudi-rs, timed: `hudi-rs-peer TABLE [--columns a,b] [--out FILE]`. Prints what
//! hudini's example `read` prints.

use std::fs::File;
use std::time::Instant;

use arrow_ipc::writer::FileWriter;
use hudi_core::config::read_options::ReadOptions;
use hudi_core::table::Table;
use rustix::time::{ClockId, clock_gettime};

fn cpu() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

#[tokio::main]
async fn main() {
    let (mut table, mut out, mut options) = (String::new(), None, ReadOptions::new());
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--columns" => options = options.with_projection(words.next().unwrap().split(',')),
            "--out" => out = words.next(),
            _ => table = word,
        }
    }
    let (started, before) = (Instant::now(), cpu());
    let batches = Table::new(&table).await.unwrap().read(&options).await.unwrap();
    let rows: usize = batches.iter().map(|batch| batch.num_rows()).sum();
    println!(r#"{{"rows": {rows}, "cpu": {:.4}, "wall": {:.4}}}"#, cpu() - before, started.elapsed().as_secs_f64());
    if let (Some(out), Some(first)) = (out, batches.first()) {
        let mut writer = FileWriter::try_new(File::create(out).unwrap(), first.schema_ref()).unwrap();
        batches.iter().for_each(|batch| writer.write(batch).unwrap());
        writer.finish().unwrap();
    }
}
