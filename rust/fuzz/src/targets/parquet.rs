//! Parquet files: base files and Parquet blocks of logs.

use std::sync::Arc;

use arrow_array::{ArrayRef, StringArray};
use bytes::Bytes;
use hudini_format::Result;
use hudini_format::parquet_file::{Limits, ParquetFile, Part};
use parquet::arrow::ProjectionMask;
use parquet::file::metadata::RowGroupMetaData;

use super::{Target, decode, decode_declared, nothing_to_mend};

pub(super) const TARGET: Target = Target {
    name: "parquet",
    run,
    words: &[
        b"PAR1",
        b"PARE",
        b"\x15\0\x15",
        b"\x15\x04\x15",
        b"\x15\x06\x15",
        b"\x19\xfc\x7f",
        b"\x15\xfe\xff\xff\xff\x0f",
        b"\x16\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        b"\x80\x01\x04",
        b"\x2c\x15",
        b"\x4c\x15",
        b"\x5c\x15",
        b"parquet.avro.schema",
    ],
    mend: nothing_to_mend,
};

/// Pages of more are refused: inputs are short.
const LIMITS: Limits = Limits { page_bytes: 1 << 16, page_values: 1 << 12 };
/// Rows at a time; each value may be as long as a page.
const ROWS: usize = 32;
/// Of rows that an input claims to have, more than these are not read.
const BATCHES: usize = 64;

fn run(bytes: &[u8]) {
    let whole = Bytes::copy_from_slice(bytes);
    let Some(file) = decode(bytes, |_| ParquetFile::open_with_limits(whole.clone(), LIMITS)) else { return };
    let columns = file.metadata().file_metadata().schema_descr().num_columns();
    // A column at a time: what all of them take together is their sum.
    for column in 0..columns.min(16) {
        read(bytes, &file, &file.whole(), column);
        read(bytes, &file, &some_rows(&file), column);
        look_up(bytes, &file, column);
    }
}

fn read(bytes: &[u8], file: &ParquetFile<Bytes>, parts: &[Part], column: usize) {
    let parquet = file.metadata().file_metadata().schema_descr();
    // A dictionary, a page, and the values of rows, with levels where rows are lists.
    let per_row = if parquet.column(column).max_rep_level() > 0 { LIMITS.page_values * 64 } else { LIMITS.page_bytes };
    let declared = 2 * LIMITS.page_bytes + ROWS * per_row;
    decode_declared(bytes, declared, |_| {
        let batches = file.batches(parts, ProjectionMask::leaves(parquet, [column]), ROWS)?;
        let rows: Vec<usize> = batches.take(BATCHES).map(|batch| Ok(batch?.num_rows())).collect::<Result<_>>()?;
        assert!(rows.iter().all(|count| *count <= ROWS), "{rows:?}");
        Ok(())
    });
}

/// The second row of each group and what lies around its middle: pages are asked for by the page index.
fn some_rows(file: &ParquetFile<Bytes>) -> Vec<Part> {
    let part = |(group, metadata): (usize, &RowGroupMetaData)| {
        let half = usize::try_from(metadata.num_rows()).unwrap_or(0) / 2;
        Part { group, rows: Some(vec![1..2, half.max(2)..half.saturating_add(3)]) }
    };
    file.metadata().row_groups().iter().enumerate().map(part).collect()
}

/// What the page index and the bloom filters say of a column.
fn look_up(bytes: &[u8], file: &ParquetFile<Bytes>, column: usize) {
    let groups: Vec<usize> = (0..file.metadata().num_row_groups()).collect();
    // Few bytes of an index are a page, whose bounds are two arrays.
    decode_declared(bytes, 2 * bytes.len(), |_| file.page_statistics(column, &groups));
    let value: ArrayRef = Arc::new(StringArray::from(vec!["a"]));
    for group in groups.into_iter().take(16) {
        decode(bytes, |_| {
            let filter = file.bloom_filter(group, column, LIMITS.page_bytes as u64)?;
            Ok(filter.map(|filter| filter.may_hold_any(&value)))
        });
    }
}
