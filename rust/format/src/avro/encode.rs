//! Rows of a record batch to datums.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int32Type, Int64Type, Time32MillisecondType,
    Time64MicrosecondType, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
};
use arrow_array::{Array, BinaryArray, BooleanArray, FixedSizeBinaryArray, RecordBatch, StringArray, StructArray};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, TimeUnit};

use crate::schema::{Node, Record};
use crate::wire::{put_avro_bytes, put_avro_long};
use crate::{Error, Result};

/// Writes rows of one batch. Columns are found by name; all fields of the schema must be there.
#[derive(Debug)]
pub struct RowEncoder<'a> {
    columns: Vec<Column<'a>>,
}

impl<'a> RowEncoder<'a> {
    pub fn new(schema: &'a Record, batch: &'a RecordBatch) -> Result<Self> {
        let columns = schema
            .fields
            .iter()
            .map(|field| {
                let array = batch
                    .column_by_name(&field.name)
                    .ok_or_else(|| Error::schema(format!("column '{}' is missing", field.name)))?;
                Column::new(&field.node, array.as_ref())
                    .map_err(|e| Error::new(e.kind(), format!("column '{}': {}", field.name, e.message())))
            })
            .collect::<Result<_>>()?;
        Ok(Self { columns })
    }

    /// Appends the datum of one row.
    pub fn encode(&self, row: usize, out: &mut Vec<u8>) -> Result<()> {
        self.columns.iter().try_for_each(|column| column.write(row, out))
    }
}

#[derive(Debug)]
struct Column<'a> {
    array: &'a dyn Array,
    null_branch: Option<usize>,
    values: Values<'a>,
}

#[derive(Debug)]
enum Values<'a> {
    Null,
    Boolean(&'a BooleanArray),
    Int(&'a [i32]),
    Long(&'a [i64]),
    Float(&'a [f32]),
    Double(&'a [f64]),
    Text(&'a StringArray),
    Bytes(&'a BinaryArray),
    Fixed(&'a FixedSizeBinaryArray),
    Decimal(Option<usize>, &'a [i128]),
    List(&'a OffsetBuffer<i32>, Box<Column<'a>>),
    Map(&'a OffsetBuffer<i32>, &'a StringArray, Box<Column<'a>>),
    Struct(Vec<Column<'a>>),
}

impl<'a> Column<'a> {
    fn new(node: &'a Node, array: &'a dyn Array) -> Result<Self> {
        let (inner, null_branch) = node.optional()?;
        Ok(Self { array, null_branch, values: Values::new(inner, array)? })
    }

    fn write(&self, row: usize, out: &mut Vec<u8>) -> Result<()> {
        let null = matches!(self.values, Values::Null) || self.array.is_null(row);
        match (self.null_branch, null) {
            (Some(branch), true) => {
                put_avro_long(out, branch as i64);
                return Ok(());
            }
            (Some(branch), false) => put_avro_long(out, 1 - branch as i64),
            (None, true) if !matches!(self.values, Values::Null) => {
                return Err(Error::schema(format!("null in row {row} of a column that must not be null")));
            }
            (None, _) => {}
        }
        self.values.write(row, out)
    }
}

impl<'a> Values<'a> {
    fn new(node: &'a Node, array: &'a dyn Array) -> Result<Self> {
        Ok(match (node, array.data_type()) {
            (Node::Null, DataType::Null) => Self::Null,
            (Node::Boolean, DataType::Boolean) => Self::Boolean(array.as_boolean()),
            (Node::Int, DataType::Int32) => Self::Int(array.as_primitive::<Int32Type>().values()),
            (Node::Date, DataType::Date32) => Self::Int(array.as_primitive::<Date32Type>().values()),
            (Node::Time(_), DataType::Time32(TimeUnit::Millisecond)) => {
                Self::Int(array.as_primitive::<Time32MillisecondType>().values())
            }
            (Node::Time(_), DataType::Time64(TimeUnit::Microsecond)) => {
                Self::Long(array.as_primitive::<Time64MicrosecondType>().values())
            }
            (Node::Long, DataType::Int64) => Self::Long(array.as_primitive::<Int64Type>().values()),
            (Node::Timestamp { .. }, DataType::Timestamp(unit, _)) => Self::Long(match unit {
                TimeUnit::Millisecond => array.as_primitive::<TimestampMillisecondType>().values(),
                TimeUnit::Microsecond => array.as_primitive::<TimestampMicrosecondType>().values(),
                TimeUnit::Nanosecond => array.as_primitive::<TimestampNanosecondType>().values(),
                TimeUnit::Second => return Err(Error::unsupported("timestamps of seconds in Avro")),
            }),
            (Node::Float, DataType::Float32) => Self::Float(array.as_primitive::<Float32Type>().values()),
            (Node::Double, DataType::Float64) => Self::Double(array.as_primitive::<Float64Type>().values()),
            (Node::String, DataType::Utf8) => Self::Text(array.as_string()),
            (Node::Bytes, DataType::Binary) => Self::Bytes(array.as_binary()),
            (Node::Fixed(_), DataType::FixedSizeBinary(_)) => Self::Fixed(array.as_fixed_size_binary()),
            (Node::Decimal { size, .. }, DataType::Decimal128(..)) => {
                Self::Decimal(*size, array.as_primitive::<Decimal128Type>().values())
            }
            (Node::Array(item), DataType::List(_)) => {
                let list = array.as_list::<i32>();
                Self::List(list.offsets(), Box::new(Column::new(item, list.values().as_ref())?))
            }
            (Node::Map(value), DataType::Map(..)) => {
                let map = array.as_map();
                Self::Map(map.offsets(), map.keys().as_string(), Box::new(Column::new(value, map.values().as_ref())?))
            }
            (Node::Record(record), DataType::Struct(_)) => Self::Struct(children(record, array.as_struct())?),
            (node, data_type) => {
                return Err(Error::unsupported(format!("writing {data_type} as Avro {}", node.kind())));
            }
        })
    }

    fn write(&self, row: usize, out: &mut Vec<u8>) -> Result<()> {
        let gone = || Error::internal("a row beyond the end of its column");
        match self {
            Self::Null => {}
            Self::Boolean(values) => out.push(u8::from(values.value(row))),
            Self::Int(values) => put_avro_long(out, i64::from(*values.get(row).ok_or_else(gone)?)),
            Self::Long(values) => put_avro_long(out, *values.get(row).ok_or_else(gone)?),
            Self::Float(values) => out.extend_from_slice(&values.get(row).ok_or_else(gone)?.to_le_bytes()),
            Self::Double(values) => out.extend_from_slice(&values.get(row).ok_or_else(gone)?.to_le_bytes()),
            Self::Text(values) => put_avro_bytes(out, values.value(row).as_bytes()),
            Self::Bytes(values) => put_avro_bytes(out, values.value(row)),
            Self::Fixed(values) => out.extend_from_slice(values.value(row)),
            Self::Decimal(size, values) => put_decimal(out, *values.get(row).ok_or_else(gone)?, *size)?,
            Self::List(offsets, item) => {
                let (start, end) = bounds(offsets, row).ok_or_else(gone)?;
                put_items(out, start, end, |at, out| item.write(at, out))?;
            }
            Self::Map(offsets, keys, value) => {
                let (start, end) = bounds(offsets, row).ok_or_else(gone)?;
                put_items(out, start, end, |at, out| {
                    put_avro_bytes(out, keys.value(at).as_bytes());
                    value.write(at, out)
                })?;
            }
            Self::Struct(columns) => columns.iter().try_for_each(|column| column.write(row, out))?,
        }
        Ok(())
    }
}

fn children<'a>(record: &'a Record, array: &'a StructArray) -> Result<Vec<Column<'a>>> {
    let child = |name: &str| {
        array.column_by_name(name).ok_or_else(|| Error::schema(format!("the struct field '{name}' is missing")))
    };
    record.fields.iter().map(|f| Column::new(&f.node, child(&f.name)?.as_ref())).collect()
}

fn bounds(offsets: &OffsetBuffer<i32>, row: usize) -> Option<(usize, usize)> {
    Some((usize::try_from(*offsets.get(row)?).ok()?, usize::try_from(*offsets.get(row + 1)?).ok()?))
}

/// All items in one block, as Java's encoder does.
fn put_items(
    out: &mut Vec<u8>,
    start: usize,
    end: usize,
    mut item: impl FnMut(usize, &mut Vec<u8>) -> Result<()>,
) -> Result<()> {
    if end > start {
        put_avro_long(out, (end - start) as i64);
        (start..end).try_for_each(|at| item(at, out))?;
    }
    put_avro_long(out, 0);
    Ok(())
}

fn put_decimal(out: &mut Vec<u8>, value: i128, size: Option<usize>) -> Result<()> {
    let wide = value.to_be_bytes();
    let needed = (1..16).find(|n| {
        let shift = 128 - 8 * *n as u32;
        (value << shift) >> shift == value
    });
    let needed = needed.unwrap_or(16);
    let width = size.unwrap_or(needed);
    let tail = wide.len().checked_sub(width).and_then(|start| wide.get(start..));
    match tail {
        Some(tail) if needed <= width => {
            if size.is_none() {
                put_avro_long(out, width as i64);
            }
            out.extend_from_slice(tail);
            Ok(())
        }
        _ => Err(Error::schema(format!("the decimal {value} (unscaled) does not fit {width} bytes"))),
    }
}
