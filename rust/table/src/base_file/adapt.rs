//! Rows as a file has them, brought to the schema that is wanted.
//!
//! Files of one table may differ: columns were added, types widened, lists nested in another way. Fields are found by
//! name, at every depth; one that a file lacks is null; a type widens only as Apache Hudi's evolution rules have it.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{
    Array, ArrayRef, ListArray, MapArray, PrimitiveArray, RecordBatch, RecordBatchOptions, StructArray, new_null_array,
};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, Fields, Schema, SchemaRef};
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
        (Decimal128(p, s), Decimal128(to_p, to_s)) => to_s >= s && to_p >= p,
        (List(a), List(b)) => can_become(a.data_type(), b.data_type()),
        (Map(a, _), Map(b, _)) => can_become(a.data_type(), b.data_type()),
        (Struct(have), Struct(want)) => want.iter().all(|w| {
            have.iter()
                .find(|h| h.name() == w.name())
                .map_or(w.is_nullable(), |h| can_become(h.data_type(), w.data_type()))
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
        (DataType::List(_), DataType::List(item)) => {
            let list = column.as_list::<i32>();
            let items = convert(list.values(), item.data_type())?;
            Ok(Arc::new(ListArray::try_new(item.clone(), list.offsets().clone(), items, list.nulls().cloned())?))
        }
        (DataType::Map(..), DataType::Map(entries, sorted)) => {
            let map = column.as_map();
            let DataType::Struct(fields) = entries.data_type() else {
                return Err(Error::schema("a map without key and value"));
            };
            let [key, value] = fields.as_ref() else { return Err(Error::schema("a map without key and value")) };
            let pair = vec![convert(map.keys(), key.data_type())?, convert(map.values(), value.data_type())?];
            let pair = StructArray::try_new(fields.clone(), pair, None)?;
            let (offsets, nulls) = (map.offsets().clone(), map.nulls().cloned());
            Ok(Arc::new(MapArray::try_new(entries.clone(), offsets, pair, nulls, *sorted)?))
        }
        (DataType::Struct(_), DataType::Struct(fields)) => convert_struct(column.as_struct(), fields),
        (from, to) => {
            let options = CastOptions { safe: false, ..CastOptions::default() };
            cast_with_options(column, to, &options)
                .map_err(|e| Error::schema(format!("a value of type {from} cannot become {to}")).caused_by(e))
        }
    }
}

fn convert_struct(column: &StructArray, fields: &Fields) -> Result<ArrayRef> {
    let children = fields.iter().map(|field| match column.column_by_name(field.name()) {
        Some(child) => convert(child, field.data_type()),
        None => Ok(new_null_array(field.data_type(), column.len())),
    });
    let children = children.collect::<Result<Vec<_>>>()?;
    let nulls = column.nulls().cloned();
    Ok(Arc::new(StructArray::try_new_with_length(fields.clone(), children, nulls, column.len())?))
}

#[cfg(test)]
mod tests {
    use arrow_array::{Float32Array, Int32Array, Int64Array};
    use arrow_buffer::OffsetBuffer;
    use arrow_schema::Field;

    use super::*;

    fn nullable(fields: &[(&str, DataType)]) -> Fields {
        fields.iter().map(|(name, data_type)| Field::new(*name, data_type.clone(), true)).collect()
    }

    fn structs() -> ArrayRef {
        let children: Vec<ArrayRef> =
            vec![Arc::new(Int32Array::from(vec![1, 2])), Arc::new(Float32Array::from(vec![0.1, 0.2]))];
        let fields = nullable(&[("a", DataType::Int32), ("x", DataType::Float32)]);
        Arc::new(StructArray::new(fields, children, Some(vec![true, false].into())))
    }

    fn wanted() -> DataType {
        DataType::Struct(nullable(&[("x", DataType::Float64), ("later", DataType::Utf8), ("a", DataType::Int64)]))
    }

    fn check_wanted(column: &ArrayRef) {
        let column = column.as_struct();
        assert_eq!(column.column(0).as_primitive::<Float64Type>().value(0), 0.1, "a float widens by its text");
        assert_eq!(column.column(1).null_count(), column.len());
        assert_eq!(column.column(2).as_ref(), &Int64Array::from(vec![1, 2]));
        assert!(column.is_null(1));
    }

    #[test]
    fn fields_of_structs_go_by_name() {
        assert!(can_become(structs().data_type(), &wanted()));
        check_wanted(&convert(&structs(), &wanted()).unwrap());
        let renamed = DataType::Struct(nullable(&[("a", DataType::Int32), ("y", DataType::Float32)]));
        assert_eq!(convert(&structs(), &renamed).unwrap().as_struct().column(1).null_count(), 2);
    }

    #[test]
    fn so_do_those_inside_lists() {
        let item = Arc::new(Field::new("array", structs().data_type().clone(), true));
        let list: ArrayRef = Arc::new(ListArray::new(item, OffsetBuffer::from_lengths([2]), structs(), None));
        let wanted = DataType::List(Arc::new(Field::new("element", wanted(), true)));
        assert!(can_become(list.data_type(), &wanted));
        check_wanted(convert(&list, &wanted).unwrap().as_list::<i32>().values());
    }

    #[test]
    fn narrowing_is_refused() {
        assert!(!can_become(&DataType::Int64, &DataType::Int32));
        assert!(!can_become(&DataType::Decimal128(10, 2), &DataType::Decimal128(10, 1)));
        assert!(!can_become(&DataType::Utf8, &DataType::Int32));
    }
}
