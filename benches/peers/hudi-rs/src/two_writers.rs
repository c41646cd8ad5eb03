//! The part of a peer in `benches/two_writers.py`, whose page says what it does.

use std::io::{BufRead, stdin};
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use hudi_core::table::Table;

pub async fn write(words: &[String]) {
    let [path, numbers @ ..] = words else { panic!("two-writers TABLE WRITER COMMITS ROWS") };
    let numbers: Vec<i64> = numbers.iter().map(|word| word.parse().unwrap()).collect();
    let [writer, commits, rows] = numbers[..] else { panic!("two-writers TABLE WRITER COMMITS ROWS") };
    let batches: Vec<RecordBatch> = (0..commits).map(|commit| batch(writer, commit, rows)).collect();
    println!("ready");
    stdin().lock().lines().next().unwrap().unwrap();
    for batch in batches {
        loop {
            let done = async { Table::new(path).await?.upsert([batch.clone()]).await };
            match done.await {
                Ok(_) => break,
                Err(refused) => eprintln!("{refused}"),
            }
        }
        println!("acknowledged");
    }
}

fn batch(writer: i64, commit: i64, rows: i64) -> RecordBatch {
    let ids: Vec<String> = (0..rows).map(|row| format!("{writer}-{commit}-{row}")).collect();
    let payloads = ids.iter().map(|id| Some(format!("payload of {id}")));
    let columns: [ArrayRef; 3] = [
        Arc::new(StringArray::from_iter_values(&ids)),
        Arc::new(Int64Array::from(vec![commit; ids.len()])),
        Arc::new(StringArray::from_iter(payloads)),
    ];
    let schema = Schema::new(vec![
        Field::new("id", DataType::Utf8, false),
        Field::new("ts", DataType::Int64, false),
        Field::new("payload", DataType::Utf8, true),
    ]);
    RecordBatch::try_new(Arc::new(schema), columns.to_vec()).unwrap()
}
