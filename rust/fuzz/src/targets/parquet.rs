//! Parquet files: base files and Parquet blocks of logs.

use bytes::Bytes;
use hudini_format::Result;
use hudini_format::parquet_file::{Limits, ParquetFile};
use parquet::arrow::ProjectionMask;

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
    let parquet = file.metadata().file_metadata().schema_descr();
    // A column at a time: what all of them take together is their sum.
    for (column, leaf) in parquet.columns().iter().enumerate().take(16) {
        // A dictionary, a page, and the values of rows, with levels where rows are lists.
        let per_row = if leaf.max_rep_level() > 0 { LIMITS.page_values * 64 } else { LIMITS.page_bytes };
        let declared = 2 * LIMITS.page_bytes + ROWS * per_row;
        decode_declared(bytes, declared, |_| {
            let groups = (0..file.metadata().num_row_groups()).collect();
            let batches = file.batches(groups, ProjectionMask::leaves(parquet, [column]), ROWS)?;
            let rows: Vec<usize> = batches.take(BATCHES).map(|batch| Ok(batch?.num_rows())).collect::<Result<_>>()?;
            assert!(rows.iter().all(|count| *count <= ROWS), "{rows:?}");
            Ok(())
        });
    }
}
