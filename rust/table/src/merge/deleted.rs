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

/// Where `_hoodie_is_deleted` is true, `_hoodie_operation` tells a delete or the row before an update, or the marker's
/// column has its text, if the rows have such columns.
pub(super) fn deleted_rows(rows: &RecordBatch, marker: Option<&DeleteMarker>) -> Result<Option<BooleanArray>> {
    let flagged = match rows.column_by_name(meta::IS_DELETED) {
        None => None,
        Some(column) if *column.data_type() == DataType::Boolean => Some(column.as_boolean().clone()),
        Some(column) => {
            return Err(Error::schema(format!("{} must be boolean, not {}", meta::IS_DELETED, column.data_type())));
        }
    };
    let flagged = match texts_of(rows, meta::OPERATION)? {
        None => flagged,
        Some(operations) => Some(either(flagged, &by_operation(operations)?)),
    };
    let Some(marker) = marker else { return Ok(flagged) };
    let Some(texts) = texts_of(rows, &marker.field)? else { return Ok(flagged) };
    let marked = texts.iter().map(|text| Some(text == Some(marker.text.as_str()))).collect();
    Ok(Some(either(flagged, &marked)))
}

fn texts_of<'r>(rows: &'r RecordBatch, column: &str) -> Result<Option<&'r StringArray>> {
    let Some(values) = rows.column_by_name(column) else { return Ok(None) };
    let texts = values.as_string_opt::<i32>();
    texts.map(Some).ok_or_else(|| {
        Error::unsupported(format!("the delete marker in column '{column}' of type {}", values.data_type()))
    })
}

/// What is no operation Apache Hudi does not read either.
fn by_operation(operations: &StringArray) -> Result<BooleanArray> {
    let is_delete = |operation: Option<&str>| match operation {
        Some("D" | "-U") => Ok(Some(true)),
        None | Some("I" | "U") => Ok(Some(false)),
        Some(other) => Err(Error::corrupt(format!("'{other}' is no {}", meta::OPERATION))),
    };
    operations.iter().map(is_delete).collect()
}

/// Where one of both is true.
fn either(flagged: Option<BooleanArray>, marked: &BooleanArray) -> BooleanArray {
    let Some(flagged) = flagged else { return marked.clone() };
    let pairs = flagged.iter().zip(marked.iter());
    pairs.map(|(flagged, marked)| Some(flagged == Some(true) || marked == Some(true))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;
    use arrow_array::ArrayRef;

    fn rows(flags: Option<[Option<bool>; 5]>, operations: [Option<&str>; 5]) -> RecordBatch {
        let operations = Arc::new(StringArray::from(operations.to_vec())) as ArrayRef;
        let flags = flags.map(|flags| (meta::IS_DELETED, Arc::new(BooleanArray::from(flags.to_vec())) as ArrayRef));
        RecordBatch::try_from_iter_with_nullable(
            flags.into_iter().chain([(meta::OPERATION, operations)]).map(|(name, values)| (name, values, true)),
        )
        .unwrap()
    }

    #[test]
    fn deletes_and_rows_before_updates_are_gone() {
        let operations = [Some("I"), Some("-U"), Some("U"), Some("D"), None];
        let gone = |flags| deleted_rows(&rows(flags, operations), None).unwrap().unwrap();
        assert_eq!(gone(None), BooleanArray::from(vec![false, true, false, true, false]));
        let flags = [Some(true), None, None, Some(false), Some(true)];
        assert_eq!(gone(Some(flags)), BooleanArray::from(vec![true, true, false, true, true]));
        let marker = DeleteMarker { field: meta::OPERATION.to_owned(), text: "U".to_owned() };
        let marked = deleted_rows(&rows(None, operations), Some(&marker)).unwrap().unwrap();
        assert_eq!(marked, BooleanArray::from(vec![false, true, true, true, false]));
    }

    #[test]
    fn what_is_no_operation_is_no_row() {
        let error = deleted_rows(&rows(None, [Some("I"), Some("d"), None, None, None]), None).unwrap_err();
        assert_eq!((error.kind(), error.message()), (ErrorKind::CorruptFile, "'d' is no _hoodie_operation"));
    }
}
