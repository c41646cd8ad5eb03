//! Functions: those that Apache Hudi's expression indexes know and that can be had exactly as Spark has them.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float64Type, Int32Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Date32Array, Decimal128Array, Int32Array, Int64Array, StringArray,
    TimestampMicrosecondArray,
};
use arrow_schema::{DataType, TimeUnit};

use super::calendar::{self, Format, MICROS_PER_DAY, MICROS_PER_SECOND, Part};
use super::like::Pattern;
use super::types;
use crate::{Error, Result};

/// A function with what of its arguments must be constant. The others are values of the types that [`Function::kind`] and
/// the binding agree on.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Function {
    Lower,
    Upper,
    /// Whether spaces go away in front, and behind.
    Trim(bool, bool),
    Length,
    /// The first position, from 1 or, if negative, from the end; and how many characters.
    Substring(i64, i64),
    Concat,
    Matches(Pattern),
    Abs,
    Floor,
    Ceil,
    Part(Part),
    ToDate,
    ToTimestamp,
    /// A number of seconds as a timestamp.
    FromSeconds,
    Seconds,
    /// A date so many days later.
    AddDays(i64),
    DaysBetween,
    Format(Format),
}

impl Function {
    /// The type of what comes out, by that of the first argument.
    pub(super) fn kind(&self, first: &DataType) -> DataType {
        match self {
            Self::Lower | Self::Upper | Self::Trim(..) | Self::Substring(..) | Self::Concat | Self::Format(_) => {
                DataType::Utf8
            }
            Self::Length | Self::Part(_) | Self::DaysBetween => DataType::Int32,
            Self::Matches(_) => DataType::Boolean,
            Self::Abs => first.clone(),
            Self::Floor | Self::Ceil => match first {
                DataType::Decimal128(precision, scale) => {
                    let whole = i16::from(*precision) - i16::from(*scale) + 1;
                    DataType::Decimal128(u8::try_from(whole.clamp(1, 38)).unwrap_or(38), 0)
                }
                _ => DataType::Int64,
            },
            Self::ToDate | Self::AddDays(_) => DataType::Date32,
            Self::ToTimestamp | Self::FromSeconds => types::timestamp(),
            Self::Seconds => DataType::Int64,
        }
    }

    /// Whether greater values never give smaller results, so that the least and the greatest value bound the results.
    pub(super) fn is_monotone(&self, first: &DataType) -> bool {
        match self {
            Self::Substring(from, _) => matches!(from, 0 | 1),
            Self::ToDate | Self::ToTimestamp | Self::Part(Part::Year) => *first != DataType::Utf8,
            // NaN, the greatest, becomes 0.
            Self::Floor | Self::Ceil => *first != DataType::Float64,
            Self::FromSeconds | Self::Seconds | Self::AddDays(_) => true,
            Self::Format(format) => format.is_ordered(),
            _ => false,
        }
    }

    /// Whether it is monotone between such bounds: as texts, years before the first and behind 9999 are out of order.
    pub(super) fn keeps_order_between(&self, least: Option<&ArrayRef>, greatest: Option<&ArrayRef>) -> bool {
        let Self::Format(_) = self else { return true };
        let of_four_digits = |bound: Option<&ArrayRef>| {
            let day = moments(bound?).ok()?.next()??.0;
            Some((1..=9999).contains(&Part::Year.of(day, 0)))
        };
        of_four_digits(least) == Some(true) && of_four_digits(greatest) == Some(true)
    }

    /// Of arrays of one length.
    pub(super) fn call(&self, arguments: &[ArrayRef]) -> Result<ArrayRef> {
        let first = arguments.first().ok_or_else(|| Error::internal("a function without arguments"))?;
        Ok(match self {
            Self::Lower => texts(first, |text| text.to_lowercase()),
            Self::Upper => texts(first, |text| text.to_uppercase()),
            Self::Trim(front, behind) => texts(first, |text| trimmed(text, *front, *behind).to_owned()),
            Self::Length => length(first),
            Self::Substring(from, count) => texts(first, |text| substring(text, *from, *count).to_owned()),
            Self::Concat => concat(arguments),
            Self::Matches(pattern) => {
                let found = first.as_string::<i32>().iter().map(|text| text.map(|text| pattern.matches(text)));
                Arc::new(found.collect::<BooleanArray>())
            }
            Self::Abs => abs(first)?,
            Self::Floor => whole(first, f64::floor, i128::div_euclid)?,
            Self::Ceil => whole(first, f64::ceil, |value, unit| -(-value).div_euclid(unit))?,
            Self::Part(part) => {
                let number = |(days, micros)| i32::try_from(part.of(days, micros)).ok();
                Arc::new(moments(first)?.map(|moment| moment.and_then(number)).collect::<Int32Array>())
            }
            Self::ToDate => dates(first)?,
            Self::ToTimestamp => timestamps(first)?,
            Self::FromSeconds => {
                let seconds = types::cast(first, &DataType::Int64)?;
                let micros = seconds.as_primitive::<Int64Type>().iter();
                zoned(micros.map(|seconds| seconds?.checked_mul(MICROS_PER_SECOND)).collect())
            }
            Self::Seconds => {
                // What is before 1970 is cut towards it.
                let cut =
                    |seconds: i64, micros: i64| seconds + i64::from(seconds < 0 && micros % MICROS_PER_SECOND > 0);
                let seconds = |(days, micros): (i64, i64)| cut(days * 86_400 + micros / MICROS_PER_SECOND, micros);
                Arc::new(moments(first)?.map(|moment| moment.map(seconds)).collect::<Int64Array>())
            }
            Self::AddDays(count) => {
                let days = first.as_primitive::<Date32Type>().iter();
                let later = |days: i32| i32::try_from(i64::from(days).checked_add(*count)?).ok();
                Arc::new(days.map(|days| days.and_then(later)).collect::<Date32Array>())
            }
            Self::DaysBetween => {
                let [end, start] = arguments else { return Err(Error::internal("days between what?")) };
                let (end, start) = (end.as_primitive::<Date32Type>(), start.as_primitive::<Date32Type>());
                let days = end.iter().zip(start).map(|(end, start)| end?.checked_sub(start?));
                Arc::new(days.collect::<Int32Array>())
            }
            Self::Format(format) => {
                let mut out = String::new();
                let printed = moments(first)?.map(|moment| {
                    moment.map(|(days, micros)| {
                        out.clear();
                        format.push(days, micros, &mut out);
                        out.clone()
                    })
                });
                Arc::new(printed.collect::<StringArray>())
            }
        })
    }
}

fn texts(values: &ArrayRef, of: impl Fn(&str) -> String) -> ArrayRef {
    Arc::new(values.as_string::<i32>().iter().map(|text| text.map(&of)).collect::<StringArray>())
}

/// Only spaces, as in SQL.
fn trimmed(text: &str, front: bool, behind: bool) -> &str {
    let text = if front { text.trim_start_matches(' ') } else { text };
    if behind { text.trim_end_matches(' ') } else { text }
}

/// Characters of a text, bytes of a binary.
fn length(values: &ArrayRef) -> ArrayRef {
    let lengths: Int32Array = match values.as_binary_opt::<i32>() {
        Some(bytes) => bytes.iter().map(|bytes| i32::try_from(bytes?.len()).ok()).collect(),
        None => {
            let texts = values.as_string::<i32>();
            texts.iter().map(|text| i32::try_from(text?.chars().count()).ok()).collect()
        }
    };
    Arc::new(lengths)
}

fn substring(text: &str, from: i64, count: i64) -> &str {
    let length = || i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
    let start = match from {
        0 => 0,
        1.. => from - 1,
        _ => length().saturating_add(from),
    };
    let end = start.saturating_add(count.max(0)).max(0);
    let byte = |position: i64| {
        let position = usize::try_from(position.max(0)).unwrap_or(usize::MAX);
        text.char_indices().nth(position).map_or(text.len(), |(at, _)| at)
    };
    let (start, end) = (byte(start), byte(end));
    text.get(start..end).unwrap_or_default()
}

fn concat(arguments: &[ArrayRef]) -> ArrayRef {
    let texts: Vec<&StringArray> = arguments.iter().map(|argument| argument.as_string::<i32>()).collect();
    let rows = texts.first().map_or(0, |first| first.len());
    let joined = (0..rows).map(|row| {
        let parts = texts.iter().map(|text| text.is_valid(row).then(|| text.value(row)));
        parts.collect::<Option<Vec<&str>>>().map(|parts| parts.concat())
    });
    Arc::new(joined.collect::<StringArray>())
}

fn abs(values: &ArrayRef) -> Result<ArrayRef> {
    let too_great = || super::invalid_text("abs() of the least whole number is none");
    Ok(match values.data_type() {
        DataType::Int32 => {
            let all = values.as_primitive::<Int32Type>();
            Arc::new(all.try_unary::<_, Int32Type, _>(|v| v.checked_abs().ok_or_else(too_great))?)
        }
        DataType::Int64 => {
            let all = values.as_primitive::<Int64Type>();
            Arc::new(all.try_unary::<_, Int64Type, _>(|v| v.checked_abs().ok_or_else(too_great))?)
        }
        DataType::Float64 => Arc::new(values.as_primitive::<Float64Type>().unary::<_, Float64Type>(f64::abs)),
        DataType::Decimal128(precision, scale) => {
            let all: Decimal128Array = values.as_primitive::<Decimal128Type>().unary(i128::wrapping_abs);
            Arc::new(all.with_precision_and_scale(*precision, *scale)?)
        }
        other => return Err(Error::internal(format!("abs() of {other}"))),
    })
}

/// Whole numbers: of doubles as Java casts them to a long, of decimals by dividing.
fn whole(values: &ArrayRef, double: fn(f64) -> f64, divide: fn(i128, i128) -> i128) -> Result<ArrayRef> {
    Ok(match values.data_type() {
        DataType::Int32 | DataType::Int64 => types::cast(values, &DataType::Int64)?,
        DataType::Float64 => {
            let doubles = values.as_primitive::<Float64Type>().iter();
            Arc::new(doubles.map(|v| v.map(|v| double(v) as i64)).collect::<Int64Array>())
        }
        DataType::Decimal128(_, scale) => {
            let unit = 10_i128.checked_pow(u32::from(scale.unsigned_abs())).unwrap_or(1);
            let all: Decimal128Array = values.as_primitive::<Decimal128Type>().unary(|v| divide(v, unit));
            let DataType::Decimal128(precision, scale) = Function::Floor.kind(values.data_type()) else {
                return Err(Error::internal("floor of a decimal is a decimal"));
            };
            Arc::new(all.with_precision_and_scale(precision, scale)?)
        }
        other => return Err(Error::internal(format!("floor() of {other}"))),
    })
}

type Moment = Option<(i64, i64)>;

/// Day and microsecond of the day.
fn moments(values: &ArrayRef) -> Result<Box<dyn Iterator<Item = Moment> + '_>> {
    let split = |per_day: i64, micros: fn(i64) -> i64| {
        move |value: Option<i64>| value.map(|value| (value.div_euclid(per_day), micros(value.rem_euclid(per_day))))
    };
    Ok(match values.data_type() {
        DataType::Date32 => {
            Box::new(values.as_primitive::<Date32Type>().iter().map(|days| days.map(|days| (i64::from(days), 0))))
        }
        DataType::Timestamp(TimeUnit::Second, _) => {
            let of = split(86_400, |rest| rest * MICROS_PER_SECOND);
            Box::new(values.as_primitive::<TimestampSecondType>().iter().map(of))
        }
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            let of = split(MICROS_PER_DAY / 1000, |rest| rest * 1000);
            Box::new(values.as_primitive::<TimestampMillisecondType>().iter().map(of))
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            let of = split(MICROS_PER_DAY, |rest| rest);
            Box::new(values.as_primitive::<TimestampMicrosecondType>().iter().map(of))
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            let of = split(MICROS_PER_DAY * 1000, |rest| rest / 1000);
            Box::new(values.as_primitive::<TimestampNanosecondType>().iter().map(of))
        }
        other => return Err(Error::internal(format!("the day of a value of type {other}"))),
    })
}

/// Of a text that is no date, nothing.
fn dates(values: &ArrayRef) -> Result<ArrayRef> {
    let days: Date32Array = match values.as_string_opt::<i32>() {
        Some(texts) => texts.iter().map(|text| calendar::date(text?.trim())).collect(),
        None => moments(values)?.map(|moment| i32::try_from(moment?.0).ok()).collect(),
    };
    Ok(Arc::new(days))
}

fn timestamps(values: &ArrayRef) -> Result<ArrayRef> {
    Ok(match values.as_string_opt::<i32>() {
        Some(texts) => zoned(texts.iter().map(|text| calendar::timestamp(text?.trim())).collect()),
        None => {
            let micros = |(days, micros): (i64, i64)| days.checked_mul(MICROS_PER_DAY)?.checked_add(micros);
            zoned(moments(values)?.map(|moment| moment.and_then(micros)).collect())
        }
    })
}

fn zoned(micros: TimestampMicrosecondArray) -> ArrayRef {
    Arc::new(micros.with_data_type(types::timestamp()))
}
