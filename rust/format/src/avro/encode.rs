//! Rows of a record batch to datums.

use std::collections::BTreeMap;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int32Type, Int64Type, Time32MillisecondType,
    Time64MicrosecondType, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
};
use arrow_array::{Array, BinaryArray, BooleanArray, FixedSizeBinaryArray, RecordBatch, StringArray, StructArray};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, TimeUnit};

use super::shape::{self, Nullable};
use crate::schema::{Node, Record, arrow_type};
use crate::wire::{put_avro_bytes, put_avro_long};
use crate::{Error, Result};

/// Writes rows of one batch. Columns are found by name; all fields of the schema must be there, in the very types that
/// the schema means: what has to be converted or filled is so before.
#[derive(Debug)]
pub struct RowEncoder<'a> {
    columns: Vec<Column<'a>>,
    rows: usize,
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
        Ok(Self { columns, rows: batch.num_rows() })
    }

    /// Appends the datum of one row. After an error, part of it may be there.
    pub fn encode(&self, row: usize, out: &mut Vec<u8>) -> Result<()> {
        if row >= self.rows {
            return Err(Error::internal(format!("row {row} of a batch of {}", self.rows)));
        }
        self.columns.iter().try_for_each(|column| column.write(row, out))
    }
}

#[derive(Debug)]
struct Column<'a> {
    nullable: Nullable,
    nulls: Option<&'a NullBuffer>,
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
    Enum(BTreeMap<&'a str, i64>, &'a StringArray),
    /// As fixed of that size, or as bytes.
    Decimal(Option<usize>, &'a [i128]),
    List(&'a OffsetBuffer<i32>, Box<Column<'a>>),
    Map(&'a OffsetBuffer<i32>, &'a StringArray, Box<Column<'a>>),
    Struct(Vec<Column<'a>>),
}

impl<'a> Column<'a> {
    fn new(node: &'a Node, array: &'a dyn Array) -> Result<Self> {
        let (inner, nullable) = shape::nullable(node)?;
        Ok(Self { nullable, nulls: array.nulls(), values: Values::new(inner, array)? })
    }

    #[inline]
    fn write(&self, row: usize, out: &mut Vec<u8>) -> Result<()> {
        let null = self.nulls.is_some_and(|nulls| nulls.is_null(row));
        match (self.nullable, &self.values) {
            (_, Values::Null) => {}
            (Nullable::Branch { null: branch, .. }, _) if null => {
                out.push(branch);
                return Ok(());
            }
            (Nullable::Branch { value, .. }, _) => out.push(value),
            _ if null => {
                return Err(Error::schema(format!("null in row {row} of a column that must not be null")));
            }
            _ => {}
        }
        if self.nullable == Nullable::Alone {
            put_avro_long(out, 0);
        }
        self.values.write(row, out)
    }
}

impl<'a> Values<'a> {
    fn new(node: &'a Node, array: &'a dyn Array) -> Result<Self> {
        let data_type = array.data_type();
        let refused = || Error::unsupported(format!("writing {data_type} as Avro {}", node.kind()));
        Ok(match (node, data_type) {
            (Node::Enum(symbols), DataType::Utf8) => {
                let numbers = symbols.iter().map(String::as_str).zip(0..).collect();
                Self::Enum(numbers, array.as_string())
            }
            (Node::Array(item), DataType::List(_)) => {
                let list = array.as_list::<i32>();
                Self::List(list.offsets(), Box::new(Column::new(item, list.values().as_ref())?))
            }
            (Node::Map(value), DataType::Map(..)) => {
                let map = array.as_map();
                let keys = map.keys().as_string_opt().ok_or_else(refused)?;
                Self::Map(map.offsets(), keys, Box::new(Column::new(value, map.values().as_ref())?))
            }
            (Node::Record(record), DataType::Struct(_)) => Self::Struct(children(record, array.as_struct())?),
            (Node::Decimal { size, .. }, DataType::Decimal128(..)) if arrow_type(node)? == *data_type => {
                Self::Decimal(*size, array.as_primitive::<Decimal128Type>().values())
            }
            (_, _) if same_but_for_zone(&arrow_type(node)?, data_type) => Self::leaf(array).ok_or_else(refused)?,
            _ => return Err(refused()),
        })
    }

    /// By the type of the array, which is the one that the schema means.
    fn leaf(array: &'a dyn Array) -> Option<Self> {
        Some(match array.data_type() {
            DataType::Null => Self::Null,
            DataType::Boolean => Self::Boolean(array.as_boolean()),
            DataType::Int32 => Self::Int(array.as_primitive::<Int32Type>().values()),
            DataType::Date32 => Self::Int(array.as_primitive::<Date32Type>().values()),
            DataType::Time32(TimeUnit::Millisecond) => {
                Self::Int(array.as_primitive::<Time32MillisecondType>().values())
            }
            DataType::Int64 => Self::Long(array.as_primitive::<Int64Type>().values()),
            DataType::Time64(TimeUnit::Microsecond) => {
                Self::Long(array.as_primitive::<Time64MicrosecondType>().values())
            }
            DataType::Timestamp(unit, _) => Self::Long(match unit {
                TimeUnit::Millisecond => array.as_primitive::<TimestampMillisecondType>().values(),
                TimeUnit::Microsecond => array.as_primitive::<TimestampMicrosecondType>().values(),
                TimeUnit::Nanosecond => array.as_primitive::<TimestampNanosecondType>().values(),
                TimeUnit::Second => return None,
            }),
            DataType::Float32 => Self::Float(array.as_primitive::<Float32Type>().values()),
            DataType::Float64 => Self::Double(array.as_primitive::<Float64Type>().values()),
            DataType::Utf8 => Self::Text(array.as_string()),
            DataType::Binary => Self::Bytes(array.as_binary()),
            DataType::FixedSizeBinary(_) => Self::Fixed(array.as_fixed_size_binary()),
            _ => return None,
        })
    }

    #[inline]
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
            Self::Enum(numbers, values) => {
                let symbol = values.value(row);
                let number = numbers.get(symbol);
                put_avro_long(
                    out,
                    *number.ok_or_else(|| Error::schema(format!("'{symbol}' is no symbol of the enum")))?,
                );
            }
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

/// Every zone is a way to show the same instants; having none is another type.
fn same_but_for_zone(meant: &DataType, found: &DataType) -> bool {
    match (meant, found) {
        (DataType::Timestamp(unit, zone), DataType::Timestamp(found_unit, found_zone)) => {
            unit == found_unit && zone.is_some() == found_zone.is_some()
        }
        _ => meant == found,
    }
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

/// Bytes take as few as hold the sign too, like Java's `BigInteger.toByteArray`.
fn put_decimal(out: &mut Vec<u8>, value: i128, size: Option<usize>) -> Result<()> {
    let wide = value.to_be_bytes();
    let redundant = if value < 0 { value.leading_ones() } else { value.leading_zeros() } - 1;
    let needed = wide.len() - redundant as usize / 8;
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
