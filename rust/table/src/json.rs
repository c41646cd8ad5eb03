//! Rows as JSON, for people and for programs that have no Arrow.
//!
//! | Arrow | JSON |
//! |---|---|
//! | integers, finite floats, booleans, text | themselves |
//! | binary | Base64 |
//! | lists, structs, maps | arrays, objects; a map's keys as text |
//! | NaN, infinities | text: `NaN`, `Infinity`, `-Infinity` |
//! | all else: decimals, dates, times, timestamps | text, as Arrow prints it |

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, Date32Array, Decimal128Array, Float32Array, RecordBatch, StructArray, Time64MicrosecondArray,
    TimestampMicrosecondArray, make_array,
};
use arrow_cast::display::array_value_to_string;
use arrow_schema::{DECIMAL128_MAX_PRECISION, DataType};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use hudini_format::log::{DECIMAL_SCALE, OrderingValue};
use serde_json::{Map, Number, Value};

use crate::{Error, Result};

/// The first `limit` rows of a batch, each an object of its columns.
pub(crate) fn rows(batch: &RecordBatch, limit: usize) -> Result<Vec<Value>> {
    let fields = StructArray::from(batch.clone());
    (0..batch.num_rows().min(limit)).map(|row| object(&fields, row)).collect()
}

/// Text as such, all else as Base64.
pub(crate) fn bytes(bytes: &[u8]) -> Value {
    str::from_utf8(bytes).map_or_else(|_| base64(bytes), Value::from)
}

/// The ordering value of a delete, as its column would show it.
pub(crate) fn ordering(ordering: &OrderingValue) -> Result<Value> {
    Ok(match ordering {
        OrderingValue::Null => Value::Null,
        OrderingValue::Bool(is) => (*is).into(),
        OrderingValue::Int(number) => (*number).into(),
        OrderingValue::Long(number) => (*number).into(),
        OrderingValue::Float(float) => value(&Float32Array::from(vec![*float]), 0)?,
        OrderingValue::Double(float) => number(*float),
        OrderingValue::Bytes(bytes) => base64(bytes),
        OrderingValue::String(text) => text.as_str().into(),
        OrderingValue::Date(days) | OrderingValue::LocalDate(days) => value(&Date32Array::from(vec![*days]), 0)?,
        OrderingValue::Decimal(unscaled) => {
            let decimals = Decimal128Array::from(vec![*unscaled]);
            value(&decimals.with_precision_and_scale(DECIMAL128_MAX_PRECISION, DECIMAL_SCALE as i8)?, 0)?
        }
        OrderingValue::TimeMicros(micros) => value(&Time64MicrosecondArray::from(vec![*micros]), 0)?,
        OrderingValue::TimestampMicros(micros) => value(&TimestampMicrosecondArray::from(vec![*micros]), 0)?,
        OrderingValue::Array(values) => values.iter().map(self::ordering).collect::<Result<_>>().map(Value::Array)?,
        other => return Err(Error::unsupported(format!("the ordering value {other:?}"))),
    })
}

fn base64(bytes: &[u8]) -> Value {
    Value::String(BASE64_STANDARD.encode(bytes))
}

fn object(fields: &StructArray, row: usize) -> Result<Value> {
    let members = fields.fields().iter().zip(fields.columns());
    members
        .map(|(field, column)| Ok((field.name().clone(), value(column, row)?)))
        .collect::<Result<_>>()
        .map(Value::Object)
}

pub(crate) fn value(array: &dyn Array, row: usize) -> Result<Value> {
    if array.is_null(row) {
        return Ok(Value::Null);
    }
    Ok(match array.data_type() {
        DataType::Null => Value::Null,
        DataType::Boolean => array.as_boolean().value(row).into(),
        DataType::Int8 => array.as_primitive::<Int8Type>().value(row).into(),
        DataType::Int16 => array.as_primitive::<Int16Type>().value(row).into(),
        DataType::Int32 => array.as_primitive::<Int32Type>().value(row).into(),
        DataType::Int64 => array.as_primitive::<Int64Type>().value(row).into(),
        DataType::UInt8 => array.as_primitive::<UInt8Type>().value(row).into(),
        DataType::UInt16 => array.as_primitive::<UInt16Type>().value(row).into(),
        DataType::UInt32 => array.as_primitive::<UInt32Type>().value(row).into(),
        DataType::UInt64 => array.as_primitive::<UInt64Type>().value(row).into(),
        DataType::Float32 => {
            let float = array.as_primitive::<Float32Type>().value(row);
            // By its shortest text: 0.1 stays 0.1 and does not become 0.10000000149011612.
            number(float.to_string().parse().unwrap_or(f64::from(float)))
        }
        DataType::Float64 => number(array.as_primitive::<Float64Type>().value(row)),
        DataType::Utf8 => array.as_string::<i32>().value(row).into(),
        DataType::LargeUtf8 => array.as_string::<i64>().value(row).into(),
        DataType::Binary => base64(array.as_binary::<i32>().value(row)),
        DataType::LargeBinary => base64(array.as_binary::<i64>().value(row)),
        DataType::FixedSizeBinary(_) => base64(array.as_fixed_size_binary().value(row)),
        DataType::List(_) => items(&array.as_list::<i32>().value(row))?,
        DataType::LargeList(_) => items(&array.as_list::<i64>().value(row))?,
        DataType::FixedSizeList(..) => items(&array.as_fixed_size_list().value(row))?,
        DataType::Struct(_) => object(array.as_struct(), row)?,
        DataType::Map(..) => map(&array.as_map().value(row))?,
        DataType::Timestamp(unit, Some(_)) => {
            // All zones of Avro and Parquet are UTC.
            let local =
                array.slice(row, 1).to_data().into_builder().data_type(DataType::Timestamp(*unit, None)).build()?;
            format!("{}Z", text(&make_array(local), 0)?).into()
        }
        _ => text(array, row)?.into(),
    })
}

/// What JSON has no number for is spelled as Java and JavaScript spell it; Rust's `inf` few parsers take for a number.
fn number(float: f64) -> Value {
    Number::from_f64(float).map_or_else(|| float.to_string().replace("inf", "Infinity").into(), Value::Number)
}

fn items(array: &dyn Array) -> Result<Value> {
    (0..array.len()).map(|row| value(array, row)).collect::<Result<_>>().map(Value::Array)
}

fn map(entries: &StructArray) -> Result<Value> {
    let [keys, values] = entries.columns() else { return Err(Error::internal("a map without key and value")) };
    let pairs = (0..entries.len()).map(|row| Ok((text(keys, row)?, value(values, row)?)));
    pairs.collect::<Result<Map<_, _>>>().map(Value::Object)
}

fn text(array: &dyn Array, row: usize) -> Result<String> {
    array_value_to_string(array, row).map_err(|e| Error::internal("a value has no text").caused_by(e))
}

#[cfg(test)]
mod tests {
    use arrow_array::Float64Array;

    use super::*;

    #[test]
    fn floats_that_are_no_numbers_are_spelled_as_apache_hudi_spells_them() {
        let single = Float32Array::from(vec![f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 0.1]);
        let double = Float64Array::from(vec![f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 0.1]);
        for array in [&single as &dyn Array, &double] {
            let texts: Vec<String> = (0..4).map(|row| value(array, row).unwrap().to_string()).collect();
            assert_eq!(texts, [r#""Infinity""#, r#""-Infinity""#, r#""NaN""#, "0.1"]);
        }
    }
}
