//! Columns of texts and bytes that a file keeps as numbers of a dictionary are decoded to those numbers, and then unpacked
//! in one go: their room is known beforehand, where the `parquet` crate would let it grow value by value.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, DataType, FieldRef, Fields, Schema, SchemaRef};
use arrow_select::take::take;
use parquet::basic::{ConvertedType, Encoding};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};

use super::selected::Part;
use super::twins::Place;

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

/// The values of a column that may be packed.
pub fn unpacked(column: &ArrayRef) -> crate::Result<ArrayRef> {
    match column.as_dictionary_opt::<Int32Type>() {
        Some(packed) => Ok(take(packed.values().as_ref(), packed.keys(), None)?),
        None => Ok(Arc::clone(column)),
    }
}

/// The schema, with the types that its columns have, which may be packed.
pub fn schema_of(schema: &SchemaRef, columns: &[ArrayRef]) -> SchemaRef {
    let is_packed = |kind: &DataType| matches!(kind, DataType::Dictionary(..));
    let differs = |field: &FieldRef, column: &ArrayRef| {
        let (told, found) = (field.data_type(), column.data_type());
        (is_packed(told) || is_packed(found)) && told != found
    };
    if !schema.fields().iter().zip(columns).any(|(field, column)| differs(field, column)) {
        return Arc::clone(schema);
    }
    let typed = |(field, column): (&FieldRef, &ArrayRef)| match differs(field, column) {
        true => Arc::new(field.as_ref().clone().with_data_type(column.data_type().clone())),
        false => Arc::clone(field),
    };
    Arc::new(Schema::new(schema.fields().iter().zip(columns).map(typed).collect::<Fields>()))
}

/// The columns of the rows once they are unpacked.
fn unpacked_fields(schema: &Schema) -> Vec<FieldRef> {
    let unpack = |field: &FieldRef| match field.data_type() {
        DataType::Dictionary(_, values) => Arc::new(field.as_ref().clone().with_data_type(values.as_ref().clone())),
        _ => Arc::clone(field),
    };
    schema.fields().iter().map(unpack).collect()
}

/// Brings batches of one file to their schema.
#[derive(Debug)]
pub(super) struct Unpacker {
    /// Of what comes out.
    schema: SchemaRef,
    /// Of what is read.
    names: Vec<String>,
    alike: Vec<Place>,
    /// By column, the last one that had one value in all rows. Most meta columns are so throughout a file, and the names
    /// of files are long: batches share it.
    same: Vec<Option<ArrayRef>>,
    /// The columns that are left as they are, unless they have one value.
    left: Vec<bool>,
}

impl Unpacker {
    /// `packed` is the schema of batches as they are read; `alike` says which of their columns are others too, in order.
    pub(super) fn new(packed: &Schema, alike: Vec<Place>) -> Self {
        let columns = packed.fields().len();
        let names = packed.fields().iter().map(|field| field.name().clone()).collect();
        let mut fields = unpacked_fields(packed);
        alike.iter().for_each(|place| fields.insert(place.at.min(fields.len()), FieldRef::clone(&place.field)));
        let schema = Arc::new(Schema::new(fields));
        Self { schema, names, alike, same: vec![None; columns], left: vec![false; columns] }
    }

    pub(super) fn leave(&mut self, is_left: impl Fn(&str) -> bool) {
        self.left = self.names.iter().map(|name| is_left(name)).collect();
    }

    pub(super) fn unpack(&mut self, rows: &RecordBatch) -> Result<RecordBatch, ArrowError> {
        let columns = rows.columns().iter().zip(&mut self.same).zip(&self.left);
        let columns = columns.map(|((column, same), left)| unpack_column(column, same, *left));
        let mut columns = columns.collect::<Result<Vec<_>, _>>()?;
        for Place { at, of, .. } in &self.alike {
            columns.extend(columns.get(*of).cloned());
            // In order, so that all before it are there.
            columns.get_mut(*at..).unwrap_or_default().rotate_right(1);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
        RecordBatch::try_new_with_options(schema_of(&self.schema, &columns), columns, &options)
    }
}

fn unpack_column(column: &ArrayRef, same: &mut Option<ArrayRef>, left: bool) -> Result<ArrayRef, ArrowError> {
    let Some(packed) = column.as_dictionary_opt::<Int32Type>() else { return Ok(Arc::clone(column)) };
    let value = packed.values();
    let unpacked = || take(value.as_ref(), packed.keys(), None);
    let may_be_left = || if left { Ok(Arc::clone(column)) } else { unpacked() };
    if value.len() != 1 || value.null_count() > 0 || packed.keys().null_count() > 0 || packed.is_empty() {
        return may_be_left();
    }
    match same {
        Some(same) if same.len() >= packed.len() && same.slice(0, 1).as_ref() == value.as_ref() => {
            Ok(same.slice(0, packed.len()))
        }
        same => Ok(Arc::clone(same.insert(unpacked()?))),
    }
}
