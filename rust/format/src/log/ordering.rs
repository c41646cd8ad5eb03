//! The ordering value of a delete: a union of wrapper records.
//!
//! Every branch wraps its type in a record of one field, so a value is its branch number followed by its plain encoding:
//! Int 0 is `04 00`, Long 50 is `06 64`. Apache Hudi compares the *Java class* of an ordering value with that of the
//! column; a delete of any other type makes the file group unreadable for it.

use crate::wire::{Reader, put_avro_bytes, put_avro_long};
use crate::{Error, Result};

const DECIMAL_BYTES: usize = size_of::<i128>();
const FIELD: &str = "orderingVal";
/// Ordering fields of one table.
const MOST_FIELDS: usize = 1000;

/// The ordering value of a delete, by branch of the union.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum OrderingValue {
    /// Apache Hudi writes it for a null ordering column and then fails on it: write [`OrderingValue::NONE`] instead. In an
    /// array it fails as it decodes the block.
    Null,
    Bool(bool),
    /// Of int columns, and epoch days of date columns.
    Int(i32),
    /// Of bigint columns, and epoch microseconds of timestamp columns.
    Long(i64),
    Float(f32),
    Double(f64),
    Bytes(Vec<u8>),
    String(String),
    /// Epoch days; Spark readers fail on it.
    Date(i32),
    /// Unscaled, at [`DECIMAL_SCALE`] digits after the point.
    Decimal(i128),
    /// Apache Hudi 1.2.0 neither writes it nor decodes a block that has it.
    TimeMicros(i64),
    /// Spark readers fail on it.
    TimestampMicros(i64),
    /// Epoch days; exists inside [`OrderingValue::Array`] only, and is how date columns go there.
    LocalDate(i32),
    /// One value for each of several ordering fields. Arrays do not nest.
    Array(Vec<Self>),
}

/// Scale of all decimals in delete blocks, whatever the column's.
pub const DECIMAL_SCALE: u32 = 15;

/// Branch numbers. The twelfth means an array on top and a local date inside an array.
mod branch {
    pub(super) const NULL: i64 = 0;
    pub(super) const BOOL: i64 = 1;
    pub(super) const INT: i64 = 2;
    pub(super) const LONG: i64 = 3;
    pub(super) const FLOAT: i64 = 4;
    pub(super) const DOUBLE: i64 = 5;
    pub(super) const BYTES: i64 = 6;
    pub(super) const STRING: i64 = 7;
    pub(super) const DATE: i64 = 8;
    pub(super) const DECIMAL: i64 = 9;
    pub(super) const TIME_MICROS: i64 = 10;
    pub(super) const TIMESTAMP_MICROS: i64 = 11;
    pub(super) const ARRAY: i64 = 12;
    pub(super) const LOCAL_DATE_IN_ARRAY: i64 = 12;
}

impl OrderingValue {
    /// "Delete whatever is there": how Apache Hudi says that a delete has no ordering value.
    pub const NONE: Self = Self::Int(0);
}

/// Where a value stands: branch 12 depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Alone,
    InArray,
}

pub(super) fn read_ordering(reader: &mut Reader<'_>, place: Place) -> Result<OrderingValue> {
    let offset = reader.offset();
    Ok(match reader.avro_long(FIELD)? {
        branch::NULL => OrderingValue::Null,
        branch::BOOL => OrderingValue::Bool(read_bool(reader)?),
        branch::INT => OrderingValue::Int(reader.avro_int(FIELD)?),
        branch::LONG => OrderingValue::Long(reader.avro_long(FIELD)?),
        branch::FLOAT => OrderingValue::Float(reader.f32_le(FIELD)?),
        branch::DOUBLE => OrderingValue::Double(reader.f64_le(FIELD)?),
        branch::BYTES => OrderingValue::Bytes(reader.avro_bytes(FIELD)?.to_vec()),
        branch::STRING => OrderingValue::String(reader.avro_string(FIELD)?.to_owned()),
        branch::DATE => OrderingValue::Date(reader.avro_int(FIELD)?),
        branch::DECIMAL => OrderingValue::Decimal(read_decimal(reader)?),
        branch::TIME_MICROS => OrderingValue::TimeMicros(reader.avro_long(FIELD)?),
        branch::TIMESTAMP_MICROS => OrderingValue::TimestampMicros(reader.avro_long(FIELD)?),
        branch::LOCAL_DATE_IN_ARRAY if place == Place::InArray => OrderingValue::LocalDate(reader.avro_int(FIELD)?),
        branch::ARRAY => OrderingValue::Array(read_wrapped(reader)?),
        other => return Err(unknown_branch(offset, FIELD, other)),
    })
}

fn read_wrapped(reader: &mut Reader<'_>) -> Result<Vec<OrderingValue>> {
    let offset = reader.offset();
    match reader.avro_long("wrappedValues")? {
        1 => {}
        other => return Err(unknown_branch(offset, "wrappedValues", other)),
    }
    let (mut values, mut items) = (Vec::new(), Items::default());
    while items.is_next(reader, 1)? {
        if values.len() == MOST_FIELDS {
            return Err(
                Error::unsupported(format!("more than {MOST_FIELDS} ordering values in a delete")).at_offset(offset)
            );
        }
        values.push(read_ordering(reader, Place::InArray)?);
    }
    Ok(values)
}

fn read_bool(reader: &mut Reader<'_>) -> Result<bool> {
    let offset = reader.offset();
    match reader.u8(FIELD)? {
        0 => Ok(false),
        1 => Ok(true),
        other => Err(Error::corrupt(format!("{FIELD} has boolean {other}")).at_offset(offset)),
    }
}

fn read_decimal(reader: &mut Reader<'_>) -> Result<i128> {
    let offset = reader.offset();
    twos_complement(reader.avro_bytes(FIELD)?, offset)
}

/// Two's complement, big-endian, of any length. 30 digits fit into 13 bytes; longer ones may only repeat the sign.
pub(super) fn twos_complement(bytes: &[u8], offset: u64) -> Result<i128> {
    let fill = match bytes.first() {
        Some(first) if first & 0x80 != 0 => 0xff,
        Some(_) => 0,
        None => return Err(Error::corrupt("decimal ordering value without bytes").at_offset(offset)),
    };
    let (signs, digits) = bytes.split_at(bytes.len().saturating_sub(DECIMAL_BYTES));
    let mut padded = [fill; DECIMAL_BYTES];
    if let Some(end) = padded.get_mut(DECIMAL_BYTES - digits.len()..) {
        end.copy_from_slice(digits);
    }
    let value = i128::from_be_bytes(padded);
    if signs.iter().any(|byte| *byte != fill) || (value < 0) != (fill != 0) {
        return Err(Error::unsupported("decimal ordering value of more than 38 digits").at_offset(offset));
    }
    Ok(value)
}

pub(super) fn write_ordering(out: &mut Vec<u8>, value: &OrderingValue, place: Place) -> Result<()> {
    match value {
        OrderingValue::Null => put_avro_long(out, branch::NULL),
        OrderingValue::Bool(value) => {
            put_avro_long(out, branch::BOOL);
            out.push(u8::from(*value));
        }
        OrderingValue::Int(value) => put_number(out, branch::INT, i64::from(*value)),
        OrderingValue::Long(value) => put_number(out, branch::LONG, *value),
        OrderingValue::Float(value) => {
            put_avro_long(out, branch::FLOAT);
            out.extend_from_slice(&value.to_le_bytes());
        }
        OrderingValue::Double(value) => {
            put_avro_long(out, branch::DOUBLE);
            out.extend_from_slice(&value.to_le_bytes());
        }
        OrderingValue::Bytes(value) => put_blob(out, branch::BYTES, value),
        OrderingValue::String(value) => put_blob(out, branch::STRING, value.as_bytes()),
        OrderingValue::Date(days) => put_number(out, branch::DATE, i64::from(*days)),
        OrderingValue::Decimal(unscaled) => put_blob(out, branch::DECIMAL, shortest(&unscaled.to_be_bytes())),
        OrderingValue::TimeMicros(value) => put_number(out, branch::TIME_MICROS, *value),
        OrderingValue::TimestampMicros(value) => put_number(out, branch::TIMESTAMP_MICROS, *value),
        OrderingValue::LocalDate(days) if place == Place::InArray => {
            put_number(out, branch::LOCAL_DATE_IN_ARRAY, i64::from(*days));
        }
        OrderingValue::LocalDate(_) => {
            return Err(Error::unsupported("a local date as the only ordering value of a delete")
                .with_hint("Apache Hudi has no branch for it; it compares a date column with Int, the epoch days"));
        }
        OrderingValue::Array(values) if place == Place::Alone => {
            put_number(out, branch::ARRAY, 1);
            write_array(out, values, |out, value| write_ordering(out, value, Place::InArray))?;
        }
        OrderingValue::Array(_) => return Err(Error::unsupported("an array inside an array of ordering values")),
    }
    Ok(())
}

fn put_number(out: &mut Vec<u8>, branch: i64, value: i64) {
    put_avro_long(out, branch);
    put_avro_long(out, value);
}

fn put_blob(out: &mut Vec<u8>, branch: i64, value: &[u8]) {
    put_avro_long(out, branch);
    put_avro_bytes(out, value);
}

/// Java's `BigInteger.toByteArray`: no byte in front that only repeats the sign.
fn shortest(bytes: &[u8]) -> &[u8] {
    match bytes {
        [0, next, ..] if next & 0x80 == 0 => shortest(bytes.get(1..).unwrap_or_default()),
        [0xff, next, ..] if next & 0x80 != 0 => shortest(bytes.get(1..).unwrap_or_default()),
        _ => bytes,
    }
}

/// An Avro array whose items are read one by one: blocks of items up to an empty one. A negative count is followed by
/// the block's size in bytes.
#[derive(Debug, Clone, Default)]
pub(super) struct Items {
    /// Of the block.
    left: usize,
}

impl Items {
    /// Whether there is another item, which then has to be read. Each has at least `least` bytes.
    pub(super) fn is_next(&mut self, reader: &mut Reader<'_>, least: usize) -> Result<bool> {
        if self.left == 0 {
            let count = reader.avro_long("array count")?;
            if count < 0 {
                reader.avro_long("array block size")?;
            }
            self.left = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
            if self.left > reader.left() / least {
                return Err(reader.corrupt(format!(
                    "{} array items cannot be in {} bytes",
                    count.unsigned_abs(),
                    reader.left()
                )));
            }
        }
        match self.left.checked_sub(1) {
            Some(left) => self.left = left,
            None => return Ok(false),
        }
        Ok(true)
    }
}

pub(super) fn write_array<T>(
    out: &mut Vec<u8>,
    items: &[T],
    mut write: impl FnMut(&mut Vec<u8>, &T) -> Result<()>,
) -> Result<()> {
    if !items.is_empty() {
        put_avro_long(out, items.len() as i64);
        for item in items {
            write(out, item)?;
        }
    }
    put_avro_long(out, 0);
    Ok(())
}

pub(super) fn unknown_branch(offset: u64, field: &str, branch: i64) -> Error {
    Error::corrupt(format!("{field} has no union branch {branch}")).at_offset(offset)
}
