//! One column being built from datums: values of the writer's type, promoted to the wanted one batch by batch.

use arrow_array::ArrayRef;
use arrow_array::builder::BooleanBufferBuilder;
use arrow_schema::{DataType, FieldRef, TimeUnit as ArrowUnit};

use super::allowance::Allowance;
use super::cursor;
use super::items::Items;
use super::plan::{Plan, slot_width};
use super::shape::{self, Bounds, Nullable};
use super::vectors::{Validity, Variable, offset};
use crate::schema::evolve::Promotion;
use crate::schema::{Node, TimeUnit, arrow_type};
use crate::{Error, Result};

/// A column of the result: where nulls come from, and what the values are.
#[derive(Debug)]
pub(super) struct Column {
    nullable: Nullable,
    valid: Validity,
    pub(super) values: Values,
    /// Bytes in memory of the slot of a value.
    width: usize,
    /// The type of the values; of nested ones already the wanted type.
    data_type: DataType,
    promotion: Promotion,
    wanted: DataType,
}

/// Values so far.
#[derive(Debug)]
pub(super) enum Values {
    Null,
    Boolean(BooleanBufferBuilder),
    /// Numbers of 32 bits, also those that stand for days or times.
    Int(Vec<i32>),
    Long(Vec<i64>),
    Float(Vec<f32>),
    Double(Vec<f64>),
    /// Text and bytes.
    Bytes(Variable),
    Fixed(usize, Vec<u8>),
    Enum(Vec<String>, Variable),
    /// Unscaled values that are a fixed of that size.
    FixedDecimal(usize, Vec<i128>),
    /// Unscaled values of any length.
    Decimal(Vec<i128>),
    List(Vec<i32>, Box<Items<Column>>),
    Map(Vec<i32>, Box<Items<(Column, Column)>>),
    Struct(Box<Plan>),
}

impl Column {
    /// A column that reads the writer's `node` as `wanted`.
    pub(super) fn new(node: &Node, wanted: &DataType, bounds: &mut Bounds) -> Result<Self> {
        bounds.count(node)?;
        let (inner, nullable) = shape::nullable(node)?;
        let nested = bounds.within(|bounds| Values::nested(inner, wanted, bounds))?;
        let (values, data_type) = match nested {
            Some(values) => (values, wanted.clone()),
            None => (Values::leaf(inner, wanted)?, read_type(arrow_type(inner)?, wanted)),
        };
        let promotion = Promotion::between(&data_type, wanted)?;
        let promoted = if promotion == Promotion::Same { 0 } else { slot_width(wanted) };
        let width = values.width().saturating_add(promoted);
        Ok(Self { nullable, valid: Validity::default(), values, width, data_type, promotion, wanted: wanted.clone() })
    }

    /// Bytes in memory of the slot of a value.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// Whether every value takes the same memory but for what it has in bytes.
    pub(super) fn is_even(&self) -> bool {
        match &self.values {
            Values::Enum(..) | Values::List(..) | Values::Map(..) => false,
            Values::Struct(plan) => plan.is_even(),
            _ => true,
        }
    }

    /// Reads one value and hands back what follows.
    #[inline(always)]
    pub(super) fn read<'a>(&mut self, rest: &'a [u8], allowance: &mut Allowance) -> Result<&'a [u8]> {
        let rest = match self.nullable {
            Nullable::Never => rest,
            Nullable::Branch { null, value } => match cursor::branch(rest, null, value)? {
                (true, rest) => rest,
                (false, rest) => {
                    self.push_null()?;
                    return Ok(rest);
                }
            },
            Nullable::Alone => cursor::branch_zero(rest)?,
        };
        self.valid.push_valid();
        self.values.read(rest, allowance)
    }

    pub(super) fn reserve(&mut self, rows: usize) {
        self.values.reserve(rows);
    }

    pub(super) fn push_null(&mut self) -> Result<()> {
        self.valid.push_null();
        self.values.push_filler()
    }

    /// What lies under a null struct: a null only where the writer may have one, for what is never null has no nulls here
    /// either.
    pub(super) fn push_filler(&mut self) -> Result<()> {
        if matches!(self.nullable, Nullable::Branch { .. }) {
            return self.push_null();
        }
        self.valid.push_valid();
        self.values.push_filler()
    }

    /// Hands out what was read and starts again.
    pub(super) fn finish(&mut self) -> Result<ArrayRef> {
        let (nulls, length) = self.valid.finish();
        let column = self.values.finish(&self.data_type, length, nulls)?;
        self.promotion.apply(&column, &self.wanted)
    }
}

/// As text a time is its number here, and not what it is in a base file: so Apache Hudi rewrites the records of logs.
fn read_type(have: DataType, wanted: &DataType) -> DataType {
    match (&have, wanted) {
        (DataType::Timestamp(ArrowUnit::Microsecond, _), DataType::Utf8) => DataType::Int64,
        _ => have,
    }
}

impl Values {
    /// For types with children, whose children are promoted one by one.
    fn nested(node: &Node, wanted: &DataType, bounds: &mut Bounds) -> Result<Option<Self>> {
        Ok(Some(match (node, wanted) {
            (Node::Array(item), DataType::List(field)) => {
                let column = Column::new(item, field.data_type(), bounds)?;
                let items = Items::new(shape::fewest_bytes(item), column.width, column);
                Self::List(vec![0], Box::new(items))
            }
            (Node::Map(value), DataType::Map(entries, _)) => {
                let (key, field) = entry_fields(entries)?;
                let key = Column::new(&Node::String, key.data_type(), bounds)?;
                let value_column = Column::new(value, field.data_type(), bounds)?;
                let fewest = shape::fewest_bytes(value).saturating_add(1);
                let width = key.width.saturating_add(value_column.width);
                let items = Items::new(fewest, width, (key, value_column));
                Self::Map(vec![0], Box::new(items))
            }
            (Node::Record(record), DataType::Struct(fields)) => {
                Self::Struct(Box::new(Plan::new(record, fields, bounds)?))
            }
            _ => return Ok(None),
        }))
    }

    /// For types without children.
    fn leaf(node: &Node, wanted: &DataType) -> Result<Self> {
        Ok(match node {
            Node::Null => Self::Null,
            Node::Boolean => Self::Boolean(BooleanBufferBuilder::new(0)),
            Node::Int | Node::Date | Node::Time(TimeUnit::Millis) => Self::Int(Vec::new()),
            Node::Long | Node::Time(_) | Node::Timestamp { .. } => Self::Long(Vec::new()),
            Node::Float => Self::Float(Vec::new()),
            Node::Double => Self::Double(Vec::new()),
            Node::String | Node::Bytes => Self::Bytes(Variable::new()),
            Node::Enum(symbols) => Self::Enum(symbols.clone(), Variable::new()),
            Node::Fixed(size) => Self::Fixed(*size, Vec::new()),
            Node::Vector(vector) => Self::Fixed(vector.size(), Vec::new()),
            Node::Decimal { size: Some(size), .. } => Self::FixedDecimal(*size, Vec::new()),
            Node::Decimal { size: None, .. } => Self::Decimal(Vec::new()),
            Node::Array(_) | Node::Map(_) | Node::Record(_) | Node::Union(_) => {
                return Err(Error::unsupported(format!("reading an Avro {} as {wanted}", node.kind())));
            }
        })
    }

    /// Bytes in memory of the slot of a value; one at least, for the time it takes.
    fn width(&self) -> usize {
        match self {
            Self::Null | Self::Boolean(_) => 1,
            Self::Int(_) | Self::Float(_) => 4,
            Self::Long(_) | Self::Double(_) => 8,
            Self::Bytes(_) | Self::Enum(..) | Self::List(..) | Self::Map(..) => 4,
            Self::Fixed(size, _) => (*size).max(1),
            Self::FixedDecimal(..) | Self::Decimal(_) => 16,
            Self::Struct(plan) => plan.width().saturating_add(plan.missing_width()).max(1),
        }
    }

    #[inline(always)]
    fn read<'a>(&mut self, rest: &'a [u8], allowance: &mut Allowance) -> Result<&'a [u8]> {
        match self {
            Self::Int(values) => read_into(values, cursor::int(rest)?),
            Self::Long(values) => read_into(values, cursor::long(rest)?),
            Self::Double(values) => {
                let (bytes, rest) = cursor::array(rest)?;
                read_into(values, (f64::from_le_bytes(bytes), rest))
            }
            Self::Bytes(values) => {
                let (from, tail) = cursor::bytes(rest)?;
                values.push_before(from, tail)?;
                Ok(tail)
            }
            Self::Boolean(values) => {
                let (value, rest) = cursor::boolean(rest)?;
                values.append(value);
                Ok(rest)
            }
            Self::FixedDecimal(size, values) => {
                let (from, tail) = (rest, cursor::take(rest, *size)?.1);
                read_into(values, (unscaled(from, tail)?, tail))
            }
            Self::Null => Ok(rest),
            Self::Float(_) | Self::Fixed(..) | Self::Enum(..) | Self::Decimal(_) => self.read_rarer(rest, allowance),
            Self::List(..) | Self::Map(..) | Self::Struct(_) => self.read_nested(rest, allowance),
        }
    }

    #[inline(never)]
    fn read_rarer<'a>(&mut self, rest: &'a [u8], allowance: &mut Allowance) -> Result<&'a [u8]> {
        match self {
            Self::Float(values) => {
                let (bytes, rest) = cursor::array(rest)?;
                read_into(values, (f32::from_le_bytes(bytes), rest))
            }
            Self::Fixed(size, values) => {
                let (bytes, rest) = cursor::take(rest, *size)?;
                values.extend_from_slice(bytes);
                Ok(rest)
            }
            Self::Enum(symbols, values) => {
                let (at, rest) = cursor::long(rest)?;
                let symbol = usize::try_from(at).ok().and_then(|i| symbols.get(i));
                let symbol = symbol.ok_or_else(|| Error::corrupt(format!("enum symbol {at} of {}", symbols.len())))?;
                allowance.spend(symbol.len())?;
                values.push(symbol.as_bytes())?;
                Ok(rest)
            }
            Self::Decimal(values) => {
                let (from, tail) = cursor::bytes(rest)?;
                read_into(values, (unscaled(from, tail)?, tail))
            }
            _ => Err(Error::internal("a type that is not among the rarer ones")),
        }
    }

    #[inline(never)]
    fn read_nested<'a>(&mut self, rest: &'a [u8], allowance: &mut Allowance) -> Result<&'a [u8]> {
        match self {
            Self::List(offsets, items) => {
                let rest = items.read(rest, allowance)?;
                offsets.push(offset(items.columns.valid.len())?);
                Ok(rest)
            }
            Self::Map(offsets, items) => {
                let rest = items.read(rest, allowance)?;
                offsets.push(offset(items.columns.1.valid.len())?);
                Ok(rest)
            }
            Self::Struct(plan) => plan.read(rest, allowance),
            _ => Err(Error::internal("a type without children")),
        }
    }

    fn reserve(&mut self, rows: usize) {
        match self {
            Self::Null => {}
            Self::Boolean(values) => values.reserve(rows),
            Self::Int(values) => values.reserve(rows),
            Self::Long(values) => values.reserve(rows),
            Self::Float(values) => values.reserve(rows),
            Self::Double(values) => values.reserve(rows),
            Self::Bytes(values) | Self::Enum(_, values) => values.reserve(rows),
            Self::Fixed(size, values) => values.reserve(rows.saturating_mul(*size)),
            Self::FixedDecimal(_, values) | Self::Decimal(values) => values.reserve(rows),
            Self::List(offsets, _) | Self::Map(offsets, _) => offsets.reserve(rows),
            Self::Struct(plan) => plan.reserve(rows),
        }
    }

    /// What lies under a null.
    fn push_filler(&mut self) -> Result<()> {
        match self {
            Self::Null => {}
            Self::Boolean(values) => values.append(false),
            Self::Int(values) => values.push(0),
            Self::Long(values) => values.push(0),
            Self::Float(values) => values.push(0.0),
            Self::Double(values) => values.push(0.0),
            Self::Bytes(values) | Self::Enum(_, values) => values.push(&[])?,
            Self::Fixed(size, values) => values.resize(values.len() + *size, 0),
            Self::FixedDecimal(_, values) | Self::Decimal(values) => values.push(0),
            Self::List(offsets, items) => offsets.push(offset(items.columns.valid.len())?),
            Self::Map(offsets, items) => offsets.push(offset(items.columns.1.valid.len())?),
            Self::Struct(plan) => plan.push_fillers()?,
        }
        Ok(())
    }
}

#[inline(always)]
fn read_into<'a, T>(values: &mut Vec<T>, (value, rest): (T, &'a [u8])) -> Result<&'a [u8]> {
    values.push(value);
    Ok(rest)
}

/// Two's complement, big endian: what `from` holds in front of `tail`, its end.
#[inline(always)]
fn unscaled(from: &[u8], tail: &[u8]) -> Result<i128> {
    let length = from.len() - tail.len();
    match (from.first_chunk(), from.first_chunk()) {
        (Some(chunk), _) if (1..=16).contains(&length) => Ok(i128::from_be_bytes(*chunk) >> (128 - 8 * length)),
        (_, Some(chunk)) if (1..=8).contains(&length) => {
            Ok(i128::from(i64::from_be_bytes(*chunk) >> (64 - 8 * length)))
        }
        _ => unscaled_exactly(from.get(..length).unwrap_or(from)),
    }
}

#[inline(never)]
fn unscaled_exactly(bytes: &[u8]) -> Result<i128> {
    const WIDTH: usize = 16;
    let sign = match bytes.first() {
        Some(first) if first & 0x80 != 0 => 0xff,
        Some(_) => 0,
        None => return Err(Error::corrupt("an Avro decimal of no bytes")),
    };
    let (surplus, digits) = bytes.split_at(bytes.len().saturating_sub(WIDTH));
    let mut wide = [sign; WIDTH];
    let (_, low) = wide.split_at_mut(WIDTH - digits.len());
    low.copy_from_slice(digits);
    let value = i128::from_be_bytes(wide);
    // More bytes than 16 may only repeat the sign.
    if surplus.iter().any(|byte| *byte != sign) || (value < 0) != (sign != 0) {
        return Err(Error::unsupported(format!("a decimal of {} bytes", bytes.len())));
    }
    Ok(value)
}

/// Key and value of a map's entries.
pub(super) fn entry_fields(entries: &FieldRef) -> Result<(&FieldRef, &FieldRef)> {
    match entries.data_type() {
        DataType::Struct(fields) => match fields.as_ref() {
            [key, value] => Ok((key, value)),
            _ => Err(Error::schema("a map without key and value")),
        },
        _ => Err(Error::schema("a map without key and value")),
    }
}
