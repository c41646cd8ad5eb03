//! Columns of texts and bytes that a file keeps as numbers of a dictionary are decoded to those numbers, and then unpacked
//! in one go: their room is known beforehand, where the `parquet` crate would let it grow value by value.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, DataType, FieldRef, Fields, Schema, SchemaRef};
use arrow_select::take::take;
use parquet::basic::{ConvertedType, Encoding};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};

use super::selected::Part;

/// All columns of the file, those packed that are numbers of a dictionary throughout the parts.
pub(super) fn packed(schema: &Schema, metadata: &ParquetMetaData, parts: &[Part]) -> Fields {
    let descriptor = metadata.file_metadata().schema_descr();
    let mut all_numbers = vec![true; schema.fields().len()];
    let groups = parts.iter().filter_map(|part| metadata.row_groups().get(part.group));
    for (leaf, chunk) in groups.flat_map(|group| group.columns().iter().enumerate().take(descriptor.num_columns())) {
        let root = descriptor.get_column_root_idx(leaf);
        if let (Some(all_numbers), Some(field)) = (all_numbers.get_mut(root), schema.fields().get(root)) {
            *all_numbers &= is_all_numbers(chunk) && dictionary_type(chunk) == *field.data_type();
        }
    }
    let pack = |(field, all_numbers): (&FieldRef, bool)| match field.data_type() {
        DataType::Utf8 | DataType::Binary if all_numbers => {
            let packed = DataType::Dictionary(Box::new(DataType::Int32), Box::new(field.data_type().clone()));
            Arc::new(field.as_ref().clone().with_data_type(packed))
        }
        _ => Arc::clone(field),
    };
    schema.fields().iter().zip(all_numbers).map(pack).collect()
}

/// A dictionary that was given up within a chunk would have to be made anew.
fn is_all_numbers(chunk: &ColumnChunkMetaData) -> bool {
    let is_only = |encoding| chunk.page_encoding_stats_mask().is_some_and(|mask| mask.is_only(encoding));
    is_only(Encoding::RLE_DICTIONARY) || is_only(Encoding::PLAIN_DICTIONARY)
}

/// What the crate makes of a dictionary of byte arrays, whatever type the column has: JSON is text, but not there.
fn dictionary_type(chunk: &ColumnChunkMetaData) -> DataType {
    if chunk.column_descr().converted_type() == ConvertedType::UTF8 { DataType::Utf8 } else { DataType::Binary }
}

/// The schema of the rows once they are unpacked.
pub(super) fn unpacked_schema(schema: &Schema) -> SchemaRef {
    let unpack = |field: &FieldRef| match field.data_type() {
        DataType::Dictionary(_, values) => Arc::new(field.as_ref().clone().with_data_type(values.as_ref().clone())),
        _ => Arc::clone(field),
    };
    Arc::new(Schema::new(schema.fields().iter().map(unpack).collect::<Fields>()))
}

pub(super) fn unpack(rows: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    let columns = rows.columns().iter().map(unpack_column).collect::<Result<Vec<_>, _>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)
}

fn unpack_column(column: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    match column.as_dictionary_opt::<Int32Type>() {
        Some(packed) => take(packed.values().as_ref(), packed.keys(), None),
        None => Ok(Arc::clone(column)),
    }
}
