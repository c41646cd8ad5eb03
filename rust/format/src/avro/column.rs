//! One column being built from datums: a reader of the writer's type that appends values of the wanted type.

use std::sync::Arc;

use arrow_array::builder::BooleanBufferBuilder;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int32Type, Int64Type, Time32MillisecondType,
    Time64MicrosecondType, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
};
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, FixedSizeBinaryArray, ListArray, MapArray, NullArray, PrimitiveArray,
    StringArray, StructArray,
};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, TimeUnit};

use super::cursor::Cursor;
use super::decode::Plan;
use crate::schema::Node;
use crate::{Error, Result};

/// A column of the result: where nulls come from, and what the values are.
#[derive(Debug)]
pub(super) struct Column {
    /// Position of null in the writer's union; `None` if the writer's type is not a union.
    null_branch: Option<usize>,
    valid: BooleanBufferBuilder,
    values: Values,
    data_type: DataType,
}

/// Values so far, by how a datum becomes one. The promotions are those of the table's evolution rules.
#[derive(Debug)]
enum Values {
    Null,
    Boolean(BooleanBufferBuilder),
    Int(Vec<i32>),
    Long(Vec<i64>),
    Float(Vec<f32>),
    Double(Vec<f64>),
    IntToLong(Vec<i64>),
    IntToFloat(Vec<f32>),
    IntToDouble(Vec<f64>),
    LongToFloat(Vec<f32>),
    LongToDouble(Vec<f64>),
    FloatToDouble(Vec<f64>),
    /// Text and bytes.
    Bytes(Variable),
    Fixed(usize, Vec<u8>),
    Enum(Vec<String>, Variable),
    /// The unscaled value as fixed of that size, or as bytes; and by how much its scale has to grow.
    Decimal {
        size: Option<usize>,
        factor: i128,
        values: Vec<i128>,
    },
    List(Vec<i32>, Box<Column>),
    Map(Vec<i32>, Box<Column>, Box<Column>),
    Struct(Plan),
}

#[derive(Debug)]
struct Variable {
    offsets: Vec<i32>,
    data: Vec<u8>,
}

impl Variable {
    fn new() -> Self {
        Self { offsets: vec![0], data: Vec::new() }
    }

    fn push(&mut self, bytes: &[u8]) -> Result<()> {
        self.data.extend_from_slice(bytes);
        self.offsets.push(offset(self.data.len())?);
        Ok(())
    }
}

fn offset(length: usize) -> Result<i32> {
    i32::try_from(length).map_err(|_| Error::unsupported("more than 2 GiB of one column in one batch"))
}

impl Column {
    /// A column that reads the writer's `node` as `data_type`.
    pub(super) fn new(node: &Node, data_type: &DataType) -> Result<Self> {
        let (inner, null_branch) = node.optional()?;
        Ok(Self {
            null_branch,
            valid: BooleanBufferBuilder::new(0),
            values: Values::new(inner, data_type)?,
            data_type: data_type.clone(),
        })
    }

    #[inline]
    pub(super) fn read(&mut self, cursor: &mut Cursor<'_>) -> Result<()> {
        if let Some(null_branch) = self.null_branch {
            let branch = cursor.long()?;
            if !(0..=1).contains(&branch) {
                return Err(Error::corrupt(format!("branch {branch} of a union of two")));
            }
            if branch as usize == null_branch {
                return self.push_null();
            }
        }
        self.valid.append(!matches!(self.values, Values::Null));
        self.values.read(cursor)
    }

    pub(super) fn push_null(&mut self) -> Result<()> {
        self.valid.append(false);
        self.values.push_default()
    }

    /// Hands out what was read and starts again.
    pub(super) fn finish(&mut self) -> Result<ArrayRef> {
        let length = self.valid.len();
        let valid: BooleanBuffer = self.valid.finish();
        let nulls = Some(NullBuffer::new(valid)).filter(|nulls| nulls.null_count() > 0);
        self.values.finish(&self.data_type, length, nulls)
    }
}

/// Float widens by its decimal text, as Apache Hudi does: 0.1f becomes 0.1.
pub fn widen_float(value: f32) -> f64 {
    if value.is_finite() { value.to_string().parse().unwrap_or(f64::from(value)) } else { f64::from(value) }
}

impl Values {
    fn new(node: &Node, data_type: &DataType) -> Result<Self> {
        Ok(match (node, data_type) {
            (Node::Null, _) => Self::Null,
            (Node::Boolean, DataType::Boolean) => Self::Boolean(BooleanBufferBuilder::new(0)),
            (Node::Int | Node::Date | Node::Time(_), DataType::Int32 | DataType::Date32 | DataType::Time32(_)) => {
                Self::Int(Vec::new())
            }
            (Node::Int, DataType::Int64) => Self::IntToLong(Vec::new()),
            (Node::Int, DataType::Float32) => Self::IntToFloat(Vec::new()),
            (Node::Int, DataType::Float64) => Self::IntToDouble(Vec::new()),
            (Node::Long | Node::Time(_), DataType::Int64 | DataType::Time64(_)) => Self::Long(Vec::new()),
            (Node::Timestamp { .. } | Node::Long, DataType::Timestamp(..)) if same_unit(node, data_type) => {
                Self::Long(Vec::new())
            }
            (Node::Timestamp { .. }, DataType::Int64) => Self::Long(Vec::new()),
            (Node::Long, DataType::Float32) => Self::LongToFloat(Vec::new()),
            (Node::Long, DataType::Float64) => Self::LongToDouble(Vec::new()),
            (Node::Float, DataType::Float32) => Self::Float(Vec::new()),
            (Node::Float, DataType::Float64) => Self::FloatToDouble(Vec::new()),
            (Node::Double, DataType::Float64) => Self::Double(Vec::new()),
            (Node::String | Node::Bytes, DataType::Utf8 | DataType::Binary) => Self::Bytes(Variable::new()),
            (Node::Enum(symbols), DataType::Utf8) => Self::Enum(symbols.clone(), Variable::new()),
            (Node::Fixed(size), DataType::FixedSizeBinary(width)) if usize::try_from(*width).ok() == Some(*size) => {
                Self::Fixed(*size, Vec::new())
            }
            (Node::Decimal { precision, scale, size }, DataType::Decimal128(to_precision, to_scale))
                if to_scale >= scale && to_precision >= precision =>
            {
                let grow = u32::try_from(to_scale - scale).unwrap_or(0);
                let factor = 10_i128.checked_pow(grow).ok_or_else(|| Error::unsupported("decimal rescaling"))?;
                Self::Decimal { size: *size, factor, values: Vec::new() }
            }
            (Node::Array(item), DataType::List(field)) => {
                Self::List(vec![0], Box::new(Column::new(item, field.data_type())?))
            }
            (Node::Map(value), DataType::Map(entries, _)) => {
                let DataType::Struct(fields) = entries.data_type() else {
                    return Err(Error::schema("a map without key and value"));
                };
                let value_field = fields.get(1).ok_or_else(|| Error::schema("a map without a value"))?;
                let key = Column::new(&Node::String, &DataType::Utf8)?;
                Self::Map(vec![0], Box::new(key), Box::new(Column::new(value, value_field.data_type())?))
            }
            (Node::Record(record), DataType::Struct(fields)) => Self::Struct(Plan::new(record, fields)?),
            (node, data_type) => {
                return Err(Error::unsupported(format!("reading Avro {} as {data_type}", node.kind())));
            }
        })
    }

    #[inline]
    fn read(&mut self, cursor: &mut Cursor<'_>) -> Result<()> {
        match self {
            Self::Null => {}
            Self::Boolean(values) => values.append(cursor.boolean()?),
            Self::Int(values) => values.push(cursor.int()?),
            Self::Long(values) => values.push(cursor.long()?),
            Self::Float(values) => values.push(f32::from_le_bytes(cursor.array()?)),
            Self::Double(values) => values.push(f64::from_le_bytes(cursor.array()?)),
            Self::IntToLong(values) => values.push(i64::from(cursor.int()?)),
            Self::IntToFloat(values) => values.push(cursor.int()? as f32),
            Self::IntToDouble(values) => values.push(f64::from(cursor.int()?)),
            Self::LongToFloat(values) => values.push(cursor.long()? as f32),
            Self::LongToDouble(values) => values.push(cursor.long()? as f64),
            Self::FloatToDouble(values) => values.push(widen_float(f32::from_le_bytes(cursor.array()?))),
            Self::Bytes(values) => values.push(cursor.bytes()?)?,
            Self::Fixed(size, values) => values.extend_from_slice(cursor.take(*size)?),
            Self::Enum(symbols, values) => {
                let at = cursor.long()?;
                let symbol = usize::try_from(at).ok().and_then(|i| symbols.get(i));
                let symbol = symbol.ok_or_else(|| Error::corrupt(format!("enum symbol {at} of {}", symbols.len())))?;
                values.push(symbol.as_bytes())?;
            }
            Self::Decimal { size, factor, values } => {
                let bytes = match size {
                    Some(size) => cursor.take(*size)?,
                    None => cursor.bytes()?,
                };
                let scaled = unscaled(bytes)?.checked_mul(*factor);
                values.push(scaled.ok_or_else(|| Error::corrupt("a decimal that exceeds its type"))?);
            }
            Self::List(offsets, item) => {
                read_items(cursor, |cursor| item.read(cursor))?;
                offsets.push(offset(item.valid.len())?);
            }
            Self::Map(offsets, key, value) => {
                read_items(cursor, |cursor| {
                    key.read(cursor)?;
                    value.read(cursor)
                })?;
                offsets.push(offset(value.valid.len())?);
            }
            Self::Struct(plan) => plan.read(cursor)?,
        }
        Ok(())
    }

    /// The filler under a null.
    fn push_default(&mut self) -> Result<()> {
        match self {
            Self::Null => {}
            Self::Boolean(values) => values.append(false),
            Self::Int(values) => values.push(0),
            Self::Long(values) | Self::IntToLong(values) => values.push(0),
            Self::Float(values) | Self::IntToFloat(values) | Self::LongToFloat(values) => values.push(0.0),
            Self::Double(values)
            | Self::IntToDouble(values)
            | Self::LongToDouble(values)
            | Self::FloatToDouble(values) => values.push(0.0),
            Self::Bytes(values) | Self::Enum(_, values) => values.push(&[])?,
            Self::Fixed(size, values) => values.resize(values.len() + *size, 0),
            Self::Decimal { values, .. } => values.push(0),
            Self::List(offsets, item) => offsets.push(offset(item.valid.len())?),
            Self::Map(offsets, _, value) => offsets.push(offset(value.valid.len())?),
            Self::Struct(plan) => plan.push_nulls()?,
        }
        Ok(())
    }

    fn finish(&mut self, data_type: &DataType, length: usize, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
        Ok(match self {
            Self::Null => Arc::new(NullArray::new(length)),
            Self::Boolean(values) => Arc::new(BooleanArray::new(values.finish(), nulls)),
            Self::Int(values) => int_array(std::mem::take(values), data_type, nulls)?,
            Self::Long(values) | Self::IntToLong(values) => long_array(std::mem::take(values), data_type, nulls)?,
            Self::Float(values) | Self::IntToFloat(values) | Self::LongToFloat(values) => {
                Arc::new(PrimitiveArray::<Float32Type>::new(std::mem::take(values).into(), nulls))
            }
            Self::Double(values)
            | Self::IntToDouble(values)
            | Self::LongToDouble(values)
            | Self::FloatToDouble(values) => {
                Arc::new(PrimitiveArray::<Float64Type>::new(std::mem::take(values).into(), nulls))
            }
            Self::Bytes(values) | Self::Enum(_, values) => variable_array(values, data_type, nulls)?,
            Self::Fixed(size, values) => {
                let size = i32::try_from(*size).map_err(|_| Error::unsupported("a fixed beyond 2 GiB"))?;
                Arc::new(FixedSizeBinaryArray::try_new(size, Buffer::from_vec(std::mem::take(values)), nulls)?)
            }
            Self::Decimal { values, .. } => {
                let array = PrimitiveArray::<Decimal128Type>::new(std::mem::take(values).into(), nulls);
                Arc::new(array.with_data_type(data_type.clone()))
            }
            Self::List(offsets, item) => {
                let DataType::List(field) = data_type else { return Err(Error::internal("a list column's type")) };
                Arc::new(ListArray::try_new(field.clone(), take_offsets(offsets)?, item.finish()?, nulls)?)
            }
            Self::Map(offsets, key, value) => {
                let DataType::Map(field, sorted) = data_type else {
                    return Err(Error::internal("a map column's type"));
                };
                let DataType::Struct(fields) = field.data_type() else {
                    return Err(Error::internal("a map column's entries"));
                };
                let entries = StructArray::try_new(fields.clone(), vec![key.finish()?, value.finish()?], None)?;
                Arc::new(MapArray::try_new(field.clone(), take_offsets(offsets)?, entries, nulls, *sorted)?)
            }
            Self::Struct(plan) => {
                let DataType::Struct(fields) = data_type else {
                    return Err(Error::internal("a struct column's type"));
                };
                let children = plan.finish()?;
                Arc::new(StructArray::try_new_with_length(fields.clone(), children, nulls, length)?)
            }
        })
    }
}

fn same_unit(node: &Node, data_type: &DataType) -> bool {
    let DataType::Timestamp(to, _) = data_type else { return false };
    match node {
        Node::Timestamp { unit, .. } => match unit {
            crate::schema::TimeUnit::Millis => *to == TimeUnit::Millisecond,
            crate::schema::TimeUnit::Micros => *to == TimeUnit::Microsecond,
            crate::schema::TimeUnit::Nanos => *to == TimeUnit::Nanosecond,
        },
        // A plain long read as a timestamp keeps its number, as Apache Hudi does.
        _ => true,
    }
}

/// Two's complement, big endian, at most 16 bytes.
fn unscaled(bytes: &[u8]) -> Result<i128> {
    let negative = bytes.first().is_some_and(|b| b & 0x80 != 0);
    let mut wide = [if negative { 0xff } else { 0 }; 16];
    let start = wide.len().checked_sub(bytes.len());
    let tail = start.and_then(|start| wide.get_mut(start..));
    let tail = tail.ok_or_else(|| Error::unsupported(format!("a decimal of {} bytes", bytes.len())))?;
    tail.copy_from_slice(bytes);
    Ok(i128::from_be_bytes(wide))
}

/// All blocks of an array or map. Items that take no bytes cannot be bounded by the input, so their number is.
fn read_items(cursor: &mut Cursor<'_>, mut item: impl FnMut(&mut Cursor<'_>) -> Result<()>) -> Result<()> {
    while let Some(count) = cursor.block()? {
        let before = cursor.left();
        for read in 0..count {
            item(cursor)?;
            if read >= before && cursor.left() == before {
                return Err(Error::corrupt(format!("an Avro block of {count} empty items")));
            }
        }
    }
    Ok(())
}

fn take_offsets(offsets: &mut Vec<i32>) -> Result<OffsetBuffer<i32>> {
    let taken = std::mem::replace(offsets, vec![0]);
    Ok(OffsetBuffer::new(ScalarBuffer::from(taken)))
}

fn variable_array(values: &mut Variable, data_type: &DataType, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    let offsets = take_offsets(&mut values.offsets)?;
    let data = Buffer::from_vec(std::mem::take(&mut values.data));
    Ok(match data_type {
        DataType::Utf8 => {
            let array = StringArray::try_new(offsets, data, nulls);
            Arc::new(array.map_err(|e| Error::corrupt("text in a log record is not UTF-8").caused_by(e))?)
        }
        _ => Arc::new(BinaryArray::try_new(offsets, data, nulls)?),
    })
}

fn primitive<T: arrow_array::types::ArrowPrimitiveType>(
    values: Vec<T::Native>,
    nulls: Option<NullBuffer>,
) -> PrimitiveArray<T>
where
    T::Native: ArrowNativeType,
{
    PrimitiveArray::new(ScalarBuffer::from(values), nulls)
}

fn int_array(values: Vec<i32>, data_type: &DataType, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    Ok(match data_type {
        DataType::Int32 => Arc::new(primitive::<Int32Type>(values, nulls)),
        DataType::Date32 => Arc::new(primitive::<Date32Type>(values, nulls)),
        DataType::Time32(TimeUnit::Millisecond) => Arc::new(primitive::<Time32MillisecondType>(values, nulls)),
        other => return Err(Error::internal(format!("ints as {other}"))),
    })
}

fn long_array(values: Vec<i64>, data_type: &DataType, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    Ok(match data_type {
        DataType::Int64 => Arc::new(primitive::<Int64Type>(values, nulls)),
        DataType::Time64(TimeUnit::Microsecond) => Arc::new(primitive::<Time64MicrosecondType>(values, nulls)),
        DataType::Timestamp(TimeUnit::Millisecond, zone) => {
            Arc::new(primitive::<TimestampMillisecondType>(values, nulls).with_timezone_opt(zone.clone()))
        }
        DataType::Timestamp(TimeUnit::Microsecond, zone) => {
            Arc::new(primitive::<TimestampMicrosecondType>(values, nulls).with_timezone_opt(zone.clone()))
        }
        DataType::Timestamp(TimeUnit::Nanosecond, zone) => {
            Arc::new(primitive::<TimestampNanosecondType>(values, nulls).with_timezone_opt(zone.clone()))
        }
        other => return Err(Error::internal(format!("longs as {other}"))),
    })
}
