//! Which rows are deletes.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, BooleanArray, RecordBatch, StringArray};
use arrow_schema::{DataType, Schema};
use arrow_select::filter::filter_record_batch;
use hudini_format::schema::meta;

use super::rule::DeleteMarker;
use crate::{Error, Result};

/// The record keys of rows that carry the meta columns.
pub(crate) fn record_keys(rows: &RecordBatch) -> Result<&StringArray> {
    let column = rows.column_by_name(meta::RECORD_KEY);
    column
        .and_then(|c| c.as_string_opt::<i32>())
        .ok_or_else(|| Error::schema(format!("rows without the column {}", meta::RECORD_KEY)))
}

/// The rows that are not marked as deleted.
pub(crate) fn without_deleted(rows: RecordBatch) -> Result<RecordBatch> {
    let Some(deleted) = deleted_rows(&rows, None)? else { return Ok(rows) };
    let live: BooleanArray =
        (0..rows.num_rows()).map(|row| Some(deleted.is_null(row) || !deleted.value(row))).collect();
    Ok(filter_record_batch(&rows, &live)?)
}

/// Rows of a changelog say in a column of their own whether they are deletes; merged as data, they would come back.
pub(crate) fn refuse_changelog(columns: &Schema) -> Result<()> {
    match columns.field_with_name(meta::OPERATION) {
        Ok(_) => {
            Err(Error::unsupported(format!("rows with the column {}, by which Flink marks deletes", meta::OPERATION))
                .with_hint("give the column another name, or leave it out and delete by _hoodie_is_deleted"))
        }
        Err(_) => Ok(()),
    }
}

/// Refuses columns that cannot say what is deleted, though they have the name for it.
pub(crate) fn check_markers(columns: &Schema, marker: Option<&DeleteMarker>) -> Result<()> {
    deleted_rows(&RecordBatch::new_empty(Arc::new(columns.clone())), marker).map(drop)
}

/// Where `_hoodie_is_deleted` is true or the marker's column has its text, if the rows have such columns.
pub(super) fn deleted_rows(rows: &RecordBatch, marker: Option<&DeleteMarker>) -> Result<Option<BooleanArray>> {
    let flagged = match rows.column_by_name(meta::IS_DELETED) {
        None => None,
        Some(column) if *column.data_type() == DataType::Boolean => Some(column.as_boolean().clone()),
        Some(column) => {
            return Err(Error::schema(format!("{} must be boolean, not {}", meta::IS_DELETED, column.data_type())));
        }
    };
    let Some(marker) = marker else { return Ok(flagged) };
    let Some(column) = rows.column_by_name(&marker.field) else { return Ok(flagged) };
    let texts = column.as_string_opt::<i32>().ok_or_else(|| {
        Error::unsupported(format!("the delete marker in column '{}' of type {}", marker.field, column.data_type()))
    })?;
    let is_flagged = |row: usize| flagged.as_ref().is_some_and(|flagged| flagged.is_valid(row) && flagged.value(row));
    let marked =
        texts.iter().enumerate().map(|(row, text)| Some(is_flagged(row) || text == Some(marker.text.as_str())));
    Ok(Some(marked.collect()))
}
