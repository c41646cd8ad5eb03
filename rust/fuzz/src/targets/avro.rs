//! Rows: a schema, a choice of columns, and datums.
//!
//! ```text
//! choice of columns (1) | schema text | 00 | frames, a datum each
//! ```

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use hudini_format::avro::{RowDecoder, RowEncoder};
use hudini_format::schema::Record;
use hudini_format::{ErrorKind, Result};

use super::{Input, Target, decode, nothing_to_mend, schema};

pub(super) const TARGET: Target = Target { name: "avro", run, words: schema::WORDS, mend: nothing_to_mend };

fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let choice = input.choice();
    let text = input.text();
    let Some(record) = decode(text.as_bytes(), |_| Record::parse(text)) else { return };
    let Some(schema) = decode(text.as_bytes(), |_| record.to_arrow()) else { return };
    let schema = Arc::new(schema);
    let datums: Vec<&[u8]> = std::iter::from_fn(|| input.frame()).collect();
    // Rows that want a batch of their own take more memory than can be compared with others.
    let Some(1) = decode(bytes, |_| stream(&record, schema.clone(), &datums)) else { return };
    let rows = read(&record, schema, &datums).unwrap_or_else(|error| panic!("read before, and now: {error}"));
    assert_eq!(rows.num_rows(), datums.len());
    check_projection(&record, &rows, &datums, choice, bytes);
    check_encoding(&record, &rows);
}

/// Reads and drops. Gives the number of batches.
fn stream(record: &Record, schema: SchemaRef, datums: &[&[u8]]) -> Result<usize> {
    let mut decoder = RowDecoder::new(record, schema)?;
    let mut batches = 1;
    for datum in datums {
        decoder.decode(datum)?;
        if decoder.is_full() {
            decoder.flush()?;
            batches += 1;
        }
    }
    decoder.flush()?;
    Ok(batches)
}

/// Reads all rows as one batch.
fn read(record: &Record, schema: SchemaRef, datums: &[&[u8]]) -> Result<RecordBatch> {
    let mut decoder = RowDecoder::new(record, schema)?;
    decoder.decode_many(datums.iter().copied()).map_err(|bad| bad.error)?;
    decoder.flush()
}

fn read_one_by_one(record: &Record, schema: SchemaRef, datums: &[&[u8]]) -> Result<RecordBatch> {
    let mut decoder = RowDecoder::new(record, schema)?;
    datums.iter().try_for_each(|datum| decoder.decode(datum))?;
    decoder.flush()
}

/// Fewer columns are the same columns, fewer, however they are read.
fn check_projection(record: &Record, rows: &RecordBatch, datums: &[&[u8]], choice: u8, bytes: &[u8]) {
    let chosen: Vec<usize> = (0..rows.num_columns()).filter(|at| choice >> (at % 8) & 1 == 1).collect();
    let Ok(expected) = rows.project(&chosen) else { return };
    let projected = decode(bytes, |_| read(record, expected.schema(), datums));
    assert_eq!(projected.as_ref(), Some(&expected), "columns {chosen:?}");
    let one_by_one = read_one_by_one(record, expected.schema(), datums).ok();
    assert_eq!(one_by_one.as_ref(), Some(&expected), "columns {chosen:?}, one by one");
}

/// Rows that are written read back as they were.
fn check_encoding(record: &Record, rows: &RecordBatch) {
    let encoder = match RowEncoder::new(record, rows) {
        Ok(encoder) => encoder,
        Err(error) => return assert_eq!(error.kind(), ErrorKind::UnsupportedFeature, "{error}"),
    };
    let datums: Vec<Vec<u8>> = (0..rows.num_rows())
        .map(|row| {
            let mut datum = Vec::new();
            encoder.encode(row, &mut datum).unwrap_or_else(|error| panic!("row {row} does not encode: {error}"));
            datum
        })
        .collect();
    let datums: Vec<&[u8]> = datums.iter().map(Vec::as_slice).collect();
    let again = read(record, rows.schema(), &datums);
    let again = again.unwrap_or_else(|error| panic!("what was encoded does not decode: {error}"));
    assert_eq!(&again, rows);
}
