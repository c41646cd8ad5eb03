//! Base rows in which columns are packed: numbers of a dictionary, as the file keeps them.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use hudini_format::parquet_file;

use crate::Result;

/// The rows with those columns unpacked whose values are looked at.
pub(super) fn unpacked(rows: RecordBatch, is_seen: impl Fn(&str) -> bool) -> Result<RecordBatch> {
    let schema = rows.schema();
    let columns = schema.fields().iter().zip(rows.columns()).map(|(field, column)| -> Result<ArrayRef> {
        if is_seen(field.name()) { parquet_file::unpacked(column) } else { Ok(Arc::clone(column)) }
    });
    let columns = columns.collect::<Result<Vec<_>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
    Ok(RecordBatch::try_new_with_options(parquet_file::schema_of(&schema, &columns), columns, &options)?)
}
