//! The text of a value, as Apache Hudi's Avro writer makes it: Java's `toString` of what Avro gives it.
//!
//! | type | text |
//! |---|---|
//! | boolean, integers, text | as they are |
//! | float, double | `1.0E10`, see [`super::float`] |
//! | decimal | with all places of its scale; `1E-8` where zeros would lead |
//! | date | `2020-02-29` |
//! | time, timestamp | the number as it is stored; a timestamp with a zone may be told to print `2020-01-02 03:04:05.678` |
//! | bytes | hexadecimal digits |
//! | fixed | `[1, -2, 3]` |

use std::fmt::Write as _;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowDictionaryKeyType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, Time32MillisecondType, Time64MicrosecondType, TimestampMicrosecondType, TimestampMillisecondType,
};
use arrow_array::{Array, DictionaryArray};
use arrow_schema::{DataType, TimeUnit};

use crate::instant::civil_from_days;
use crate::{Error, Result};

use super::float::{push_double, push_float};
use super::time::TimeValue;

const MILLIS_PER_SECOND: i64 = 1000;
const SECONDS_PER_DAY: i64 = 86_400;

/// Appends the text of a value that is not null. `dated`: timestamps as dates instead of numbers.
pub(super) fn push_value(column: &dyn Array, row: usize, dated: bool, out: &mut String) -> Result<()> {
    match column.data_type() {
        DataType::Utf8 => out.push_str(column.as_string::<i32>().value(row)),
        DataType::LargeUtf8 => out.push_str(column.as_string::<i64>().value(row)),
        DataType::Utf8View => out.push_str(column.as_string_view().value(row)),
        DataType::Boolean => put(out, column.as_boolean().value(row)),
        DataType::Float32 => push_float(column.as_primitive::<Float32Type>().value(row), out),
        DataType::Float64 => push_double(column.as_primitive::<Float64Type>().value(row), out),
        DataType::Date32 => push_date(i64::from(column.as_primitive::<Date32Type>().value(row)), out),
        DataType::Decimal128(_, scale) => {
            push_decimal(column.as_primitive::<Decimal128Type>().value(row), *scale, out);
        }
        DataType::Binary => push_hex(column.as_binary::<i32>().value(row), out),
        DataType::LargeBinary => push_hex(column.as_binary::<i64>().value(row), out),
        DataType::FixedSizeBinary(_) => push_fixed(column.as_fixed_size_binary().value(row), out),
        DataType::Dictionary(key, _) if **key == DataType::Int32 => {
            return push_entry::<Int32Type>(column.as_dictionary(), row, dated, out);
        }
        DataType::Timestamp(..) if dated && utc_millis(column, row).is_some() => {
            push_timestamp(utc_millis(column, row).unwrap_or_default(), out);
        }
        _ => match number(column, row) {
            Some(number) => put(out, number),
            None => return Err(unfit(column)),
        },
    }
    Ok(())
}

/// What a time partition makes of a value. `dated`: the unit of a timestamp column counts, not that of the partition.
pub(super) fn time_value(column: &dyn Array, row: usize, dated: bool) -> Result<TimeValue<'_>> {
    if column.is_null(row) {
        return Ok(TimeValue::Null);
    }
    if dated && let Some(millis) = utc_millis(column, row) {
        return Ok(TimeValue::Millis(millis));
    }
    Ok(match column.data_type() {
        DataType::Utf8 => TimeValue::Text(column.as_string::<i32>().value(row)),
        DataType::LargeUtf8 => TimeValue::Text(column.as_string::<i64>().value(row)),
        DataType::Utf8View => TimeValue::Text(column.as_string_view().value(row)),
        // Java cuts off fractions, and stops at the ends of 64 bits, as `as` does.
        DataType::Float32 => TimeValue::Number(column.as_primitive::<Float32Type>().value(row) as i64),
        DataType::Float64 => TimeValue::Number(column.as_primitive::<Float64Type>().value(row) as i64),
        DataType::Date32 => TimeValue::Number(column.as_primitive::<Date32Type>().value(row).into()),
        DataType::Decimal128(_, scale) => {
            let unscaled = column.as_primitive::<Decimal128Type>().value(row);
            let unit = 10_i128.checked_pow(u32::from(scale.unsigned_abs())).unwrap_or(i128::MAX);
            // Of a number beyond 64 bits Java keeps the low ones.
            TimeValue::Number(if *scale >= 0 { unscaled / unit } else { unscaled.wrapping_mul(unit) } as i64)
        }
        _ => TimeValue::Number(number(column, row).ok_or_else(|| unfit(column))?),
    })
}

/// The value of a column that Avro holds as an integer.
fn number(column: &dyn Array, row: usize) -> Option<i64> {
    Some(match column.data_type() {
        DataType::Int8 => column.as_primitive::<Int8Type>().value(row).into(),
        DataType::Int16 => column.as_primitive::<Int16Type>().value(row).into(),
        DataType::Int32 => column.as_primitive::<Int32Type>().value(row).into(),
        DataType::Int64 => column.as_primitive::<Int64Type>().value(row),
        DataType::Time32(TimeUnit::Millisecond) => column.as_primitive::<Time32MillisecondType>().value(row).into(),
        DataType::Time64(TimeUnit::Microsecond) => column.as_primitive::<Time64MicrosecondType>().value(row),
        DataType::Timestamp(TimeUnit::Millisecond, _) => column.as_primitive::<TimestampMillisecondType>().value(row),
        DataType::Timestamp(TimeUnit::Microsecond, _) => column.as_primitive::<TimestampMicrosecondType>().value(row),
        _ => return None,
    })
}

/// Of a column with a zone; those without one stay numbers whatever the table is told.
fn utc_millis(column: &dyn Array, row: usize) -> Option<i64> {
    match column.data_type() {
        DataType::Timestamp(TimeUnit::Millisecond, Some(_)) => number(column, row),
        // Towards zero, as Apache Hudi divides.
        DataType::Timestamp(TimeUnit::Microsecond, Some(_)) => number(column, row).map(|micros| micros / 1000),
        _ => None,
    }
}

fn push_entry<K: ArrowDictionaryKeyType>(
    column: &DictionaryArray<K>,
    row: usize,
    dated: bool,
    out: &mut String,
) -> Result<()> {
    match (column.key(row), column.values().data_type()) {
        (Some(entry), DataType::Utf8 | DataType::LargeUtf8) => push_value(column.values().as_ref(), entry, dated, out),
        _ => Err(unfit(column)),
    }
}

fn unfit(column: &dyn Array) -> Error {
    Error::unsupported(format!("a key or partition column of type {}", column.data_type()))
}

fn put(out: &mut String, value: impl std::fmt::Display) {
    // Writing to a String cannot fail.
    let _ = write!(out, "{value}");
}

pub(crate) fn push_date(days: i64, out: &mut String) {
    let (year, month, day) = civil_from_days(days);
    let sign = if year > 9999 {
        "+"
    } else if year < 0 {
        "-"
    } else {
        ""
    };
    put(out, format_args!("{sign}{:04}-{month:02}-{day:02}", year.unsigned_abs()));
}

/// `java.sql.Timestamp.toString` in UTC: at least one digit behind the second.
fn push_timestamp(utc_ms: i64, out: &mut String) {
    let (seconds, millis) = (utc_ms.div_euclid(MILLIS_PER_SECOND), utc_ms.rem_euclid(MILLIS_PER_SECOND));
    let (year, month, day) = civil_from_days(seconds.div_euclid(SECONDS_PER_DAY));
    let second = seconds.rem_euclid(SECONDS_PER_DAY);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    put(out, format_args!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}."));
    let fraction = format!("{millis:03}");
    let digits = fraction.trim_end_matches('0');
    out.push_str(if digits.is_empty() { "0" } else { digits });
}

fn push_hex(bytes: &[u8], out: &mut String) {
    bytes.iter().for_each(|byte| put(out, format_args!("{byte:02x}")));
}

fn push_fixed(bytes: &[u8], out: &mut String) {
    let signed: Vec<_> = bytes.iter().map(|byte| byte.cast_signed().to_string()).collect();
    put(out, format_args!("[{}]", signed.join(", ")));
}

/// `toString` of Java's BigDecimal: plain unless the first digit stands more than six places behind the point.
pub(crate) fn push_decimal(unscaled: i128, scale: i8, out: &mut String) {
    const FARTHEST: i32 = -6;
    let digits = unscaled.unsigned_abs().to_string();
    let scale = i32::from(scale);
    let exponent = digits.len() as i32 - 1 - scale;
    if unscaled < 0 {
        out.push('-');
    }
    if scale >= 0 && exponent >= FARTHEST {
        let places = scale.unsigned_abs() as usize;
        let padded = format!("{digits:0>width$}", width = places + 1);
        let (whole, fraction) = padded.split_at_checked(padded.len() - places).unwrap_or((&padded, ""));
        out.push_str(whole);
        if places > 0 {
            put(out, format_args!(".{fraction}"));
        }
        return;
    }
    let (first, rest) = digits.split_at_checked(1).unwrap_or((&digits, ""));
    let point = if rest.is_empty() { "" } else { "." };
    put(out, format_args!("{first}{point}{rest}E{exponent:+}"));
}
