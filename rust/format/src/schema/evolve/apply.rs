//! Promotions at work on arrays.

use std::fmt::Write as _;
use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int32Type, Int64Type,
    TimestampMicrosecondType,
};
use arrow_array::{Array, ArrayRef, ListArray, MapArray, PrimitiveArray, StructArray, make_array, new_null_array};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, Fields, TimeUnit};

use super::decimal;
use super::leaf::Leaf;
use super::promotion::{Promotion, Slot, entries};
use crate::instant::{civil_from_days, days_from_civil};
use crate::key::{push_date, push_decimal, push_double, push_float};
use crate::schema::vector;
use crate::{Error, Result};

impl Promotion {
    /// The column as one of type `to`, which is the type that this promotion was made for.
    pub fn apply(&self, column: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
        match (self, to) {
            (Self::Same, _) => Ok(Arc::clone(column)),
            (Self::Leaf(leaf), _) => leaf.apply(column, to),
            (Self::List(item), DataType::List(field)) => {
                let list = column.as_list_opt::<i32>().ok_or_else(|| stranger(column))?;
                let items = item.apply(list.values(), field.data_type())?;
                let (offsets, nulls) = (list.offsets().clone(), list.nulls().cloned());
                Ok(Arc::new(ListArray::try_new(field.clone(), offsets, items, nulls)?))
            }
            (Self::Map(key, value), DataType::Map(field, sorted)) => {
                let map = column.as_map_opt().ok_or_else(|| stranger(column))?;
                let (DataType::Struct(fields), Some((key_field, value_field))) = (field.data_type(), entries(field))
                else {
                    return Err(Error::schema("a map without key and value"));
                };
                let keys = key.apply(map.keys(), key_field.data_type())?;
                let values = value.apply(map.values(), value_field.data_type())?;
                let pairs = StructArray::try_new(fields.clone(), vec![keys, values], None)?;
                let (offsets, nulls) = (map.offsets().clone(), map.nulls().cloned());
                Ok(Arc::new(MapArray::try_new(field.clone(), offsets, pairs, nulls, *sorted)?))
            }
            (Self::Struct(slots), DataType::Struct(fields)) => {
                let record = column.as_struct_opt().ok_or_else(|| stranger(column))?;
                let children = fill(slots, record.columns(), fields, record.len())?;
                let nulls = record.nulls().cloned();
                Ok(Arc::new(StructArray::try_new_with_length(fields.clone(), children, nulls, record.len())?))
            }
            _ => Err(Error::internal(format!("a promotion to something else than {to}"))),
        }
    }
}

/// The columns for `fields`: what the slots say, or nulls.
pub(super) fn fill(slots: &[Slot], from: &[ArrayRef], fields: &Fields, rows: usize) -> Result<Vec<ArrayRef>> {
    slots
        .iter()
        .zip(fields)
        .map(|(slot, field)| match slot {
            Slot::From(at, promotion) => {
                let column = from.get(*at).ok_or_else(|| Error::internal("a column went missing"))?;
                promotion.apply(column, field.data_type())
            }
            Slot::Missing => Ok(new_null_array(field.data_type(), rows)),
        })
        .collect()
}

fn stranger(column: &ArrayRef) -> Error {
    Error::internal(format!("a promotion met a column of type {}", column.data_type()))
}

impl Leaf {
    fn apply(self, column: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
        match self {
            Self::Nulls => Ok(new_null_array(to, column.len())),
            Self::FloatByText => widen_floats(column),
            Self::NumberText | Self::DateText | Self::TimeText | Self::DecimalText => as_text(column),
            Self::Widen | Self::Bytes => cast(column, to),
            Self::Relabel => relabel(column, to),
            Self::Finer(factor) => {
                let exact = |value: i64| {
                    value.checked_mul(factor).ok_or_else(|| Error::schema(format!("a timestamp is beyond {to}")))
                };
                timestamps(column, to, exact)
            }
            Self::Coarser(divisor) => timestamps(column, to, |value: i64| Ok(value.div_euclid(divisor))),
            Self::Rescale(more) => rescale(column, to, more),
            Self::ToDecimal => to_decimal(column, to),
            Self::Vector => vector::of_bytes(column.as_fixed_size_binary_opt().ok_or_else(|| stranger(column))?, to),
            Self::TextToDate => {
                let texts = column.as_string_opt::<i32>().ok_or_else(|| stranger(column))?;
                let days = texts.iter().map(|text| text.map(|t| date(t).ok_or_else(|| no_such(t, to))).transpose());
                Ok(Arc::new(days.collect::<Result<PrimitiveArray<Date32Type>>>()?))
            }
        }
    }
}

/// Floats widen by the text that Java prints for them, as in Apache Hudi: 0.1f becomes 0.1.
fn widen_floats(column: &ArrayRef) -> Result<ArrayRef> {
    let floats = column.as_primitive_opt::<Float32Type>().ok_or_else(|| stranger(column))?;
    let mut text = String::new();
    let doubles = floats.iter().map(|float| {
        float.map(|float| {
            text.clear();
            push_float(float, &mut text);
            text.parse().unwrap_or(f64::from(float))
        })
    });
    Ok(Arc::new(doubles.collect::<PrimitiveArray<Float64Type>>()))
}

fn cast(column: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    let strict = CastOptions { safe: false, ..CastOptions::default() };
    cast_with_options(column, to, &strict)
        .map_err(|e| Error::schema(format!("a value of type {} cannot become {to}", column.data_type())).caused_by(e))
}

fn relabel(column: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    Ok(make_array(column.to_data().into_builder().data_type(to.clone()).build()?))
}

fn timestamps(column: &ArrayRef, to: &DataType, convert: impl Fn(i64) -> Result<i64>) -> Result<ArrayRef> {
    let numbers = relabel(column, &DataType::Int64)?;
    let numbers = numbers.as_primitive::<Int64Type>().try_unary::<_, Int64Type, _>(convert)?;
    relabel(&(Arc::new(numbers) as ArrayRef), to)
}

fn rescale(column: &ArrayRef, to: &DataType, more: u8) -> Result<ArrayRef> {
    let DataType::Decimal128(precision, _) = to else { return Err(stranger(column)) };
    let (factor, limit) = (power_of_ten(more)?, power_of_ten(*precision)?);
    let decimals = column.as_primitive_opt::<Decimal128Type>().ok_or_else(|| stranger(column))?;
    let scaled = decimals.try_unary::<_, Decimal128Type, _>(|value| {
        let scaled = value.checked_mul(factor).filter(|scaled| (-limit < *scaled) && (*scaled < limit));
        scaled.ok_or_else(|| Error::corrupt(format!("the decimal {value} (unscaled) exceeds {}", column.data_type())))
    })?;
    Ok(Arc::new(scaled.with_data_type(to.clone())))
}

fn power_of_ten(exponent: u8) -> Result<i128> {
    10_i128.checked_pow(u32::from(exponent)).ok_or_else(|| Error::unsupported("decimals of more than 38 digits"))
}

fn to_decimal(column: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    let DataType::Decimal128(precision, scale) = to else { return Err(stranger(column)) };
    let texts = match column.data_type() {
        DataType::Utf8 => Arc::clone(column),
        _ => as_text(column)?,
    };
    let texts = texts.as_string_opt::<i32>().ok_or_else(|| stranger(column))?;
    let parse = |text: &str| decimal::parse(text, *precision, *scale).ok_or_else(|| no_such(text, to));
    let values = texts.iter().map(|text| text.map(parse).transpose());
    Ok(Arc::new(values.collect::<Result<PrimitiveArray<Decimal128Type>>>()?.with_data_type(to.clone())))
}

fn no_such(text: &str, to: &DataType) -> Error {
    const MUCH: usize = 40;
    let shown: String = text.chars().take(MUCH).collect();
    Error::schema(format!("the value '{shown}' cannot become {to}"))
        .with_hint("the column changed its type under schema-on-read, and this older value does not fit the new one")
}

/// `yyyy-[m]m-[d]d`, as Java's `Date.valueOf` takes it, but no day that the month does not have.
fn date(text: &str) -> Option<i32> {
    let mut parts = text.split('-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    let digits = |part: &str, most: usize| {
        let fits = !part.is_empty() && part.len() <= most && part.bytes().all(|b| b.is_ascii_digit());
        fits.then(|| part.parse::<i64>().ok()).flatten()
    };
    if parts.next().is_some() || year.len() != 4 {
        return None;
    }
    let (year, month, day) = (digits(year, 4)?, digits(month, 2)?, digits(day, 2)?);
    let days = days_from_civil(year, month, day);
    ((1..=12).contains(&month) && civil_from_days(days) == (year, month, day)).then(|| i32::try_from(days).ok())?
}

fn as_text(column: &ArrayRef) -> Result<ArrayRef> {
    match column.data_type() {
        DataType::Int32 => texts::<Int32Type>(column, |value, out| put(out, value)),
        DataType::Int64 => texts::<Int64Type>(column, |value, out| put(out, value)),
        DataType::Float32 => texts::<Float32Type>(column, push_float),
        DataType::Float64 => texts::<Float64Type>(column, push_double),
        DataType::Date32 => texts::<Date32Type>(column, |days, out| push_date(i64::from(days), out)),
        DataType::Timestamp(TimeUnit::Microsecond, _) => texts::<TimestampMicrosecondType>(column, push_time),
        DataType::Decimal128(_, scale) => {
            let scale = *scale;
            texts::<Decimal128Type>(column, |value, out| push_decimal(value, scale, out))
        }
        _ => Err(stranger(column)),
    }
}

fn texts<T: ArrowPrimitiveType>(column: &ArrayRef, push: impl Fn(T::Native, &mut String)) -> Result<ArrayRef> {
    let values = column.as_primitive_opt::<T>().ok_or_else(|| stranger(column))?;
    let (mut texts, mut text) = (StringBuilder::new(), String::new());
    for value in values {
        match value {
            Some(value) => {
                text.clear();
                push(value, &mut text);
                texts.append_value(&text);
            }
            None => texts.append_null(),
        }
    }
    Ok(Arc::new(texts.finish()))
}

/// `yyyy-MM-dd HH:mm:ss`, with a fraction as long as there are digits other than 0.
fn push_time(micros: i64, out: &mut String) {
    const PER_SECOND: i64 = 1_000_000;
    const PER_DAY: i64 = 86_400;
    let (seconds, fraction) = (micros.div_euclid(PER_SECOND), micros.rem_euclid(PER_SECOND));
    let second = seconds.rem_euclid(PER_DAY);
    push_date(seconds.div_euclid(PER_DAY), out);
    put(out, format_args!(" {:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60));
    if fraction > 0 {
        put(out, format_args!(".{fraction:06}"));
        out.truncate(out.trim_end_matches('0').len());
    }
}

fn put(out: &mut String, value: impl std::fmt::Display) {
    // Writing to a String cannot fail.
    let _ = write!(out, "{value}");
}
