//! One read or one write, timed. Making the table and reading the rows are not in it.

use std::fs::File;
use std::time::Instant;

use arrow_array::RecordBatch;
use arrow_ipc::reader::FileReader;
use arrow_ipc::writer::FileWriter;
use hudi_core::config::read_options::ReadOptions;
use hudi_core::config::table::TableTypeValue;
use hudi_core::table::Table;
use rustix::time::{ClockId, clock_gettime};

#[derive(Default)]
pub struct Job {
    table: String,
    operation: String,
    rows: Option<String>,
    create: Option<String>,
    columns: Option<String>,
    out: Option<String>,
    options: Vec<(String, String)>,
}

/// What hudini calls an index is, in hudi-rs, whether there is a record index.
const INDEX: &str = "hoodie.index.type";
const METADATA: &str = "hoodie.metadata.enable";
/// Options that hudi-rs has words of its own for, or does not have.
const OWN: [&str; 5] = [
    "hoodie.table.name",
    "hoodie.datasource.write.recordkey.field",
    "hoodie.table.ordering.fields",
    INDEX,
    METADATA,
];

impl Job {
    pub fn parse(words: Vec<String>) -> Self {
        let mut job = Self { operation: "read".to_owned(), ..Self::default() };
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            let mut next = || words.next().unwrap();
            match word.as_str() {
                "--operation" => job.operation = next(),
                "--rows" => job.rows = Some(next()),
                "--create" => job.create = Some(next()),
                "--columns" => job.columns = Some(next()),
                "--out" => job.out = Some(next()),
                "--option" => {
                    let option = next();
                    let (key, value) = option.split_once('=').unwrap();
                    job.options.push((key.to_owned(), value.to_owned()));
                }
                _ => job.table = word,
            }
        }
        job
    }

    fn says(&self, key: &str, value: &str) -> bool {
        self.options.iter().any(|(k, v)| k == key && v == value)
    }

    async fn create(&self, table_type: &str) {
        let of_type =
            if table_type == "MERGE_ON_READ" { TableTypeValue::MergeOnRead } else { TableTypeValue::CopyOnWrite };
        let mut table = Table::create(&self.table)
            .with_table_name("trips")
            .with_table_type(of_type)
            .with_record_key_fields(["id"])
            .with_ordering_fields(["ts"])
            .with_metadata_table_enabled(!self.says(METADATA, "false"))
            .with_record_index_enabled(self.says(INDEX, "RECORD_INDEX"));
        let rest = |key: &str| !OWN.contains(&key) && !key.contains("bucket");
        for (key, value) in self.options.iter().filter(|(key, _)| rest(key)) {
            table = table.with_option(key, value);
        }
        table.create().await.unwrap();
    }
}

fn rows(path: &str) -> Vec<RecordBatch> {
    FileReader::try_new(File::open(path).unwrap(), None).unwrap().map(Result::unwrap).collect()
}

pub async fn run(job: Job) {
    let rows = job.rows.as_deref().map_or_else(Vec::new, rows);
    if let Some(table_type) = &job.create {
        job.create(table_type).await;
    }
    let (started, before) = (Instant::now(), cpu());
    let mut table = Table::new(&job.table).await.unwrap();
    let mut read = Vec::new();
    match job.operation.as_str() {
        "read" => {
            let columns = job.columns.as_deref().map(|names| names.split(','));
            let options = columns.map_or_else(ReadOptions::new, |names| ReadOptions::new().with_projection(names));
            read = table.read(&options).await.unwrap();
        }
        "bulk_insert" => drop(table.append(rows).await.unwrap()),
        "upsert" => drop(table.upsert(rows).await.unwrap()),
        "compact" => drop(table.compact().await.unwrap()),
        other => panic!("the operation {other}"),
    }
    let (cpu, wall) = (cpu() - before, started.elapsed().as_secs_f64());
    let count: usize = read.iter().map(RecordBatch::num_rows).sum();
    println!(r#"{{"rows": {count}, "cpu": {cpu:.4}, "wall": {wall:.4}}}"#);
    if let (Some(out), Some(first)) = (&job.out, read.first()) {
        let mut writer = FileWriter::try_new(File::create(out).unwrap(), first.schema_ref()).unwrap();
        read.iter().for_each(|batch| writer.write(batch).unwrap());
        writer.finish().unwrap();
    }
}

fn cpu() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
