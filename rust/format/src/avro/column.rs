//! One column being built from datums: values of the writer's type, promoted to the wanted one batch by batch.

use arrow_array::ArrayRef;
use arrow_array::builder::BooleanBufferBuilder;
use arrow_schema::{DataType, FieldRef};

use super::allowance::Allowance;
use super::cursor;
use super::plan::Plan;
use super::promote::Promotion;
use super::shape::{self, Bounds, Nullable};
use super::vectors::{Validity, Variable, offset};
use crate::schema::{Node, TimeUnit, arrow_type};
use crate::{Error, Result};

/// A column of the result: where nulls come from, and what the values are.
#[derive(Debug)]
pub(super) struct Column {
    nullable: Nullable,
    valid: Validity,
    pub(super) values: Values,
    /// Bytes that a null takes in memory.
    null_width: usize,
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
    Struct(Plan),
}

/// What arrays and maps hold.
#[derive(Debug)]
pub(super) struct Items<T> {
    /// The fewest bytes an item takes.
    fewest: usize,
    /// Bytes that an item of none takes in memory.
    width: usize,
    pub(super) columns: T,
}

impl Column {
    /// A column that reads the writer's `node` as `wanted`.
    pub(super) fn new(node: &Node, wanted: &DataType, bounds: &mut Bounds) -> Result<Self> {
        bounds.count(node)?;
        let (inner, nullable) = shape::nullable(node)?;
        let nested = bounds.within(|bounds| Values::nested(inner, wanted, bounds))?;
        let (values, data_type) = match nested {
            Some(values) => (values, wanted.clone()),
            None => (Values::leaf(inner, wanted)?, arrow_type(inner)?),
        };
        let promotion = Promotion::between(&data_type, wanted)?;
        let (null_width, wanted) = (values.width(), wanted.clone());
        Ok(Self { nullable, valid: Validity::default(), values, null_width, data_type, promotion, wanted })
    }

    /// Bytes that a null takes in memory.
    pub(super) fn null_width(&self) -> usize {
        self.null_width
    }

    /// Reads one value and hands back what follows.
    #[inline(always)]
    pub(super) fn read<'a>(&mut self, rest: &'a [u8], allowance: &mut Allowance) -> Result<&'a [u8]> {
        let rest = match self.nullable {
            Nullable::Never => rest,
            Nullable::Branch { null, value } => match cursor::branch(rest, null, value)? {
                (true, rest) => rest,
                (false, rest) => {
                    allowance.spend(self.null_width)?;
                    self.push_null()?;
                    return Ok(rest);
                }
            },
            Nullable::Alone => cursor::branch_zero(rest)?,
        };
        self.valid.push_valid();
        self.values.read(rest, allowance)
    }

    #[inline(never)]
    fn read_item<'a>(&mut self, rest: &'a [u8], allowance: &mut Allowance) -> Result<&'a [u8]> {
        self.read(rest, allowance)
    }

    /// The caller has asked the allowance.
    pub(super) fn push_null(&mut self) -> Result<()> {
        self.valid.push_null();
        self.values.push_filler()
    }

    /// Hands out what was read and starts again.
    pub(super) fn finish(&mut self) -> Result<ArrayRef> {
        let (nulls, length) = self.valid.finish();
        let column = self.values.finish(&self.data_type, length, nulls)?;
        self.promotion.apply(&column, &self.wanted)
    }
}

impl Values {
    /// For types with children, whose children are promoted one by one.
    fn nested(node: &Node, wanted: &DataType, bounds: &mut Bounds) -> Result<Option<Self>> {
        Ok(Some(match (node, wanted) {
            (Node::Array(item), DataType::List(field)) => {
                let column = Column::new(item, field.data_type(), bounds)?;
                let items = Items { fewest: shape::fewest_bytes(item), width: column.null_width, columns: column };
                Self::List(vec![0], Box::new(items))
            }
            (Node::Map(value), DataType::Map(entries, _)) => {
                let (key, field) = entry_fields(entries)?;
                let key = Column::new(&Node::String, key.data_type(), bounds)?;
                let value_column = Column::new(value, field.data_type(), bounds)?;
                let fewest = shape::fewest_bytes(value).saturating_add(1);
                let items = Items { fewest, width: value_column.null_width, columns: (key, value_column) };
                Self::Map(vec![0], Box::new(items))
            }
            (Node::Record(record), DataType::Struct(fields)) => Self::Struct(Plan::new(record, fields, bounds)?),
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
            Node::Decimal { size: Some(size), .. } => Self::FixedDecimal(*size, Vec::new()),
            Node::Decimal { size: None, .. } => Self::Decimal(Vec::new()),
            Node::Array(_) | Node::Map(_) | Node::Record(_) | Node::Union(_) => {
                return Err(Error::unsupported(format!("reading an Avro {} as {wanted}", node.kind())));
            }
        })
    }

    /// Bytes of one value in memory, of its slot if it lies elsewhere; one at least, for the time it takes.
    fn width(&self) -> usize {
        match self {
            Self::Null | Self::Boolean(_) => 1,
            Self::Int(_) | Self::Float(_) => 4,
            Self::Long(_) | Self::Double(_) => 8,
            Self::Bytes(_) | Self::Enum(..) | Self::List(..) | Self::Map(..) => 4,
            Self::Fixed(size, _) => (*size).max(1),
            Self::FixedDecimal(..) | Self::Decimal(_) => 16,
            Self::Struct(plan) => plan.null_width().max(1),
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
                let Items { fewest, width, columns: item } = items.as_mut();
                let rest =
                    read_items(rest, *fewest, *width, allowance, |rest, allowance| item.read_item(rest, allowance))?;
                offsets.push(offset(item.valid.len())?);
                Ok(rest)
            }
            Self::Map(offsets, items) => {
                let Items { fewest, width, columns: (key, value) } = items.as_mut();
                let rest = read_items(rest, *fewest, *width, allowance, |rest, allowance| {
                    value.read_item(key.read_item(rest, allowance)?, allowance)
                })?;
                offsets.push(offset(value.valid.len())?);
                Ok(rest)
            }
            Self::Struct(plan) => {
                allowance.spend(plan.missing_width())?;
                plan.read(rest, allowance)
            }
            _ => Err(Error::internal("a type without children")),
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
            Self::Struct(plan) => plan.push_nulls()?,
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
    match from.first_chunk() {
        Some(chunk) if (1..=16).contains(&length) => Ok(i128::from_be_bytes(*chunk) >> (128 - 8 * length)),
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

/// All blocks of an array or map.
fn read_items<'a>(
    mut rest: &'a [u8],
    fewest: usize,
    width: usize,
    allowance: &mut Allowance,
    mut item: impl FnMut(&'a [u8], &mut Allowance) -> Result<&'a [u8]>,
) -> Result<&'a [u8]> {
    loop {
        let (count, _, items) = cursor::block(rest)?;
        if count == 0 {
            return Ok(items);
        }
        let count = cursor::checked_count(count, fewest, items)?;
        if fewest == 0 {
            allowance.spend(count.saturating_mul(width))?;
        }
        rest = (0..count).try_fold(items, |rest, _| item(rest, allowance))?;
    }
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
