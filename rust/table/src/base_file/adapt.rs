//! Rows as a file has them, brought to the schema that is wanted.
//!
//! Files of one table may differ: columns were added, types widened, lists nested in another way. A column that a file
//! lacks is null; a type widens only as Apache Hudi's evolution rules have it.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{ArrayRef, PrimitiveArray, RecordBatch, RecordBatchOptions, new_null_array};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, Schema, SchemaRef};
use hudini_format::avro::widen_float;

use crate::{Error, Result};

/// Refuses a file whose types cannot become the wanted ones.
pub(super) fn check(file: &Schema, wanted: &Schema) -> Result<()> {
    for field in wanted.fields() {
        if let Ok(have) = file.field_with_name(field.name())
            && !can_become(have.data_type(), field.data_type())
        {
            return Err(Error::schema(format!(
                "column '{}' is {} in the file and {} in the table",
                field.name(),
                have.data_type(),
                field.data_type()
            )));
        }
    }
    Ok(())
}

pub(super) fn adapt(batch: &RecordBatch, wanted: &SchemaRef) -> Result<RecordBatch> {
    let columns = wanted.fields().iter().map(|field| match batch.column_by_name(field.name()) {
        Some(column) => convert(column, field.data_type()),
        None => Ok(new_null_array(field.data_type(), batch.num_rows())),
    });
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(wanted.clone(), columns.collect::<Result<_>>()?, &options)
        .map_err(|e| Error::schema("the file's rows do not fit the table's schema").caused_by(e))
}

fn can_become(from: &DataType, to: &DataType) -> bool {
    use DataType::{
        Binary, Date32, Decimal128, FixedSizeBinary, Float32, Float64, Int32, Int64, List, Map, Struct, Timestamp, Utf8,
    };
    match (from, to) {
        (from, to) if from == to => true,
        (Int32, Int64 | Float32 | Float64) | (Int64, Float32 | Float64) | (Float32, Float64) => true,
        (Utf8, Binary) | (Binary, Utf8) | (FixedSizeBinary(_), Binary) | (Int32, Date32) => true,
        (Timestamp(a, _), Timestamp(b, _)) => a == b,
        (Decimal128(p, s), Decimal128(to_p, to_s)) => {
            to_s >= s && i16::from(*to_p) - i16::from(*to_s) >= i16::from(*p) - i16::from(*s)
        }
        (List(a), List(b)) => can_become(a.data_type(), b.data_type()),
        (Map(a, _), Map(b, _)) => can_become(a.data_type(), b.data_type()),
        (Struct(have), Struct(want)) => want.iter().all(|w| {
            have.iter().find(|h| h.name() == w.name()).is_none_or(|h| can_become(h.data_type(), w.data_type()))
        }),
        _ => false,
    }
}

fn convert(column: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    match (column.data_type(), to) {
        (from, to) if from == to => Ok(Arc::clone(column)),
        (DataType::Float32, DataType::Float64) => {
            let floats = column.as_primitive::<Float32Type>();
            let doubles: PrimitiveArray<Float64Type> = floats.unary(widen_float);
            Ok(Arc::new(doubles))
        }
        (from, to) => {
            let options = CastOptions { safe: false, ..CastOptions::default() };
            cast_with_options(column, to, &options)
                .map_err(|e| Error::schema(format!("a value of type {from} cannot become {to}")).caused_by(e))
        }
    }
}
