//! Collected values to Arrow arrays.

use std::sync::Arc;

use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int32Type, Int64Type,
    Time32MillisecondType, Time64MicrosecondType, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType,
};
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, FixedSizeBinaryArray, ListArray, MapArray, NullArray, PrimitiveArray,
    StringArray, StructArray,
};
use arrow_buffer::{Buffer, NullBuffer};
use arrow_schema::{DataType, TimeUnit};

use super::column::{Values, entry_fields};
use super::vectors::{Variable, finish_offsets};
use crate::schema::vectors_of_bytes;
use crate::{Error, Result};

impl Values {
    /// Hands out the values so far and starts again.
    pub(super) fn finish(
        &mut self,
        data_type: &DataType,
        length: usize,
        nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef> {
        Ok(match self {
            Self::Null => Arc::new(NullArray::new(length)),
            Self::Boolean(values) => Arc::new(BooleanArray::new(values.finish(), nulls)),
            Self::Int(values) => ints(std::mem::take(values), data_type, nulls)?,
            Self::Long(values) => longs(std::mem::take(values), data_type, nulls)?,
            Self::Float(values) => primitive::<Float32Type>(std::mem::take(values), data_type, nulls),
            Self::Double(values) => primitive::<Float64Type>(std::mem::take(values), data_type, nulls),
            Self::Bytes(values) | Self::Enum(_, values) => variable(values, data_type, nulls)?,
            Self::Fixed(size, values) => {
                let size = i32::try_from(*size).map_err(|_| Error::unsupported("a fixed beyond 2 GiB"))?;
                let data = Buffer::from_vec(std::mem::take(values));
                let values = FixedSizeBinaryArray::try_new_with_len(size, data, nulls, length)?;
                match data_type {
                    DataType::FixedSizeList(..) => vectors_of_bytes(&values, data_type)?,
                    _ => Arc::new(values),
                }
            }
            Self::FixedDecimal(_, values) | Self::Decimal(values) => {
                decimals(std::mem::take(values), data_type, nulls)?
            }
            Self::List(offsets, items) => {
                let DataType::List(field) = data_type else { return Err(Error::internal("a list column's type")) };
                let items = items.columns.finish()?;
                Arc::new(ListArray::try_new(field.clone(), finish_offsets(offsets), items, nulls)?)
            }
            Self::Map(offsets, items) => {
                let DataType::Map(entries, sorted) = data_type else {
                    return Err(Error::internal("a map column's type"));
                };
                let (key, value) = entry_fields(entries)?;
                let fields = vec![Arc::clone(key), Arc::clone(value)].into();
                let columns = vec![items.columns.0.finish()?, items.columns.1.finish()?];
                let items = StructArray::try_new(fields, columns, None)?;
                Arc::new(MapArray::try_new(entries.clone(), finish_offsets(offsets), items, nulls, *sorted)?)
            }
            Self::Struct(plan) => {
                let DataType::Struct(fields) = data_type else {
                    return Err(Error::internal("a struct column's type"));
                };
                Arc::new(StructArray::try_new_with_length(fields.clone(), plan.finish()?, nulls, length)?)
            }
        })
    }
}

/// `data_type` adds to the physical type what Arrow keeps beside it: zone, precision, scale.
fn primitive<T: ArrowPrimitiveType>(
    values: Vec<T::Native>,
    data_type: &DataType,
    nulls: Option<NullBuffer>,
) -> ArrayRef {
    Arc::new(PrimitiveArray::<T>::new(values.into(), nulls).with_data_type(data_type.clone()))
}

fn ints(values: Vec<i32>, data_type: &DataType, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    Ok(match data_type {
        DataType::Int32 => primitive::<Int32Type>(values, data_type, nulls),
        DataType::Date32 => primitive::<Date32Type>(values, data_type, nulls),
        DataType::Time32(TimeUnit::Millisecond) => primitive::<Time32MillisecondType>(values, data_type, nulls),
        other => return Err(Error::internal(format!("ints as {other}"))),
    })
}

fn longs(values: Vec<i64>, data_type: &DataType, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    Ok(match data_type {
        DataType::Int64 => primitive::<Int64Type>(values, data_type, nulls),
        DataType::Time64(TimeUnit::Microsecond) => primitive::<Time64MicrosecondType>(values, data_type, nulls),
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            primitive::<TimestampMillisecondType>(values, data_type, nulls)
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            primitive::<TimestampMicrosecondType>(values, data_type, nulls)
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => primitive::<TimestampNanosecondType>(values, data_type, nulls),
        other => return Err(Error::internal(format!("longs as {other}"))),
    })
}

/// Bytes hold more than the digits of their type, as Spark refuses too.
fn decimals(values: Vec<i128>, data_type: &DataType, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    let DataType::Decimal128(precision, _) = data_type else { return Err(Error::internal("a decimal column's type")) };
    let limit = 10_u128.checked_pow(u32::from(*precision)).unwrap_or(u128::MAX);
    if let Some(value) = values.iter().find(|value| value.unsigned_abs() >= limit) {
        return Err(Error::corrupt(format!("the decimal {value} (unscaled) of more than {precision} digits")));
    }
    Ok(primitive::<Decimal128Type>(values, data_type, nulls))
}

fn variable(values: &mut Variable, data_type: &DataType, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    let (offsets, data) = values.finish();
    Ok(match data_type {
        DataType::Utf8 => {
            let array = StringArray::try_new(offsets, data, nulls);
            Arc::new(array.map_err(|e| Error::corrupt("text in a log record is not UTF-8").caused_by(e))?)
        }
        _ => Arc::new(BinaryArray::try_new(offsets, data, nulls)?),
    })
}
