//! Types of values: what can be compared with what, and how a value becomes one of another type.
//!
//! The rules are Spark's, but for one thing: where Spark would turn a text that is no number or no date into null, the
//! filter is refused. The time zone, where one is needed, is UTC.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Float64Type, Int32Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float32Array, Float64Array, Int32Array,
    Int64Array, TimestampMicrosecondArray, new_null_array,
};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, TimeUnit};

use super::calendar;
use crate::{Error, ErrorKind, Result};

const UTC: &str = "UTC";
/// Digits of the greatest int and long.
const INT_DIGITS: u8 = 10;
const LONG_DIGITS: u8 = 19;
const DECIMAL_DIGITS: u8 = 38;
const LONG_DECIMAL_DIGITS: u8 = 76;

/// What instants are: microseconds in UTC.
pub(super) fn timestamp() -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, Some(Arc::from(UTC)))
}

/// The name of a type as SQL has it.
pub(super) fn name(kind: &DataType) -> String {
    match kind {
        DataType::Int32 => "int".to_owned(),
        DataType::Int64 => "bigint".to_owned(),
        DataType::Float32 => "float".to_owned(),
        DataType::Float64 => "double".to_owned(),
        DataType::Utf8 => "string".to_owned(),
        DataType::Binary => "binary".to_owned(),
        DataType::Date32 => "date".to_owned(),
        DataType::Decimal128(precision, scale) => format!("decimal({precision},{scale})"),
        DataType::Timestamp(_, Some(_)) => "timestamp".to_owned(),
        DataType::Timestamp(_, None) => "timestamp without time zone".to_owned(),
        DataType::Struct(_) => "struct".to_owned(),
        DataType::List(_) => "array".to_owned(),
        DataType::FixedSizeList(..) => "vector".to_owned(),
        DataType::Map(..) => "map".to_owned(),
        other => other.to_string().to_lowercase(),
    }
}

/// The type in which values of two types are compared; `None` if they are not.
pub(super) fn common(left: &DataType, right: &DataType) -> Option<DataType> {
    use DataType::{
        Binary, Boolean, Date32, Decimal128, FixedSizeBinary, Float32, Float64, Int32, Int64, Timestamp, Utf8,
    };
    Some(match (left, right) {
        (DataType::Null, DataType::Null) => Boolean,
        (DataType::Null, other) | (other, DataType::Null) => common(other, other)?,
        (Boolean | Utf8 | Binary | Date32 | Int32 | Int64 | Float32 | Float64 | Timestamp(..), _) if left == right => {
            left.clone()
        }
        (Int32 | Int64, Int32 | Int64) => Int64,
        (Int32 | Int64 | Decimal128(..), Int32 | Int64 | Decimal128(..)) => common_decimal(left, right)?,
        (Float32 | Float64 | Int32 | Int64 | Decimal128(..), Float32 | Float64)
        | (Float32 | Float64, Int32 | Int64 | Decimal128(..)) => Float64,
        (Date32, Timestamp(unit, zone)) | (Timestamp(unit, zone), Date32) => Timestamp(*unit, zone.clone()),
        (Timestamp(left, left_zone), Timestamp(right, right_zone)) => {
            let zone = left_zone.as_ref().or(right_zone.as_ref()).map(|_| Arc::from(UTC));
            Timestamp(finer(*left, *right), zone)
        }
        (Binary | FixedSizeBinary(_), Binary | FixedSizeBinary(_)) => Binary,
        _ => return None,
    })
}

fn finer(left: TimeUnit, right: TimeUnit) -> TimeUnit {
    let order = [TimeUnit::Nanosecond, TimeUnit::Microsecond, TimeUnit::Millisecond, TimeUnit::Second];
    order.into_iter().find(|unit| *unit == left || *unit == right).unwrap_or(left)
}

/// Wide enough for all digits of both, so that nothing is rounded.
fn common_decimal(left: &DataType, right: &DataType) -> Option<DataType> {
    let ((left_whole, left_scale), (right_whole, right_scale)) = (digits(left)?, digits(right)?);
    let scale = left_scale.max(right_scale);
    let precision = left_whole.max(right_whole) + scale;
    let signed_scale = i8::try_from(scale).ok()?;
    match precision {
        0..=DECIMAL_DIGITS => Some(DataType::Decimal128(precision, signed_scale)),
        _ => Some(DataType::Decimal256(precision.min(LONG_DECIMAL_DIGITS), signed_scale)),
    }
}

/// Digits before and behind the point.
fn digits(kind: &DataType) -> Option<(u8, u8)> {
    match kind {
        DataType::Int32 => Some((INT_DIGITS, 0)),
        DataType::Int64 => Some((LONG_DIGITS, 0)),
        DataType::Decimal128(precision, scale) => {
            let scale = u8::try_from(*scale).ok()?;
            Some((precision.saturating_sub(scale), scale))
        }
        _ => None,
    }
}

/// All values as values of another type, to which [`common`] leads.
pub(super) fn cast(values: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    match (values.data_type(), to) {
        (from, to) if from == to => Ok(Arc::clone(values)),
        (DataType::Decimal128(_, scale), DataType::Float64) => {
            let doubles =
                values.as_primitive::<Decimal128Type>().iter().map(|v| v.map(|v| decimal_to_double(v, *scale)));
            Ok(Arc::new(doubles.collect::<Float64Array>()))
        }
        (DataType::Date32 | DataType::Timestamp(..), DataType::Timestamp(unit, _)) => {
            let (from, there) = (units(values.data_type()), units(&DataType::Timestamp(*unit, None)));
            let numbers = arrow_cast::cast(values, &DataType::Int64)?;
            let moved = |number: i64| rational(number, there, from).ok_or_else(|| out_of_range(values, to));
            let moved: Int64Array = numbers.as_primitive::<Int64Type>().try_unary::<_, Int64Type, _>(moved)?;
            Ok(arrow_cast::cast(&moved, to)?)
        }
        _ => {
            let strict = CastOptions { safe: false, ..CastOptions::default() };
            cast_with_options(values, to, &strict).map_err(|e| out_of_range(values, to).caused_by(e))
        }
    }
}

fn out_of_range(values: &ArrayRef, to: &DataType) -> Error {
    let message = format!("a value of type {} is out of the range of {}", name(values.data_type()), name(to));
    Error::new(ErrorKind::InvalidFilter, message)
}

/// How many of its units a day has.
fn units(kind: &DataType) -> i64 {
    const SECONDS: i64 = 86_400;
    match kind {
        DataType::Timestamp(TimeUnit::Second, _) => SECONDS,
        DataType::Timestamp(TimeUnit::Millisecond, _) => SECONDS * 1000,
        DataType::Timestamp(TimeUnit::Microsecond, _) => SECONDS * 1_000_000,
        DataType::Timestamp(TimeUnit::Nanosecond, _) => SECONDS * 1_000_000_000,
        _ => 1,
    }
}

/// `number * to / from`, rounded down.
fn rational(number: i64, to: i64, from: i64) -> Option<i64> {
    if to >= from { number.checked_mul(to / from) } else { Some(number.div_euclid(from / to)) }
}

/// The nearest double, as Java's `BigDecimal.doubleValue` has it.
fn decimal_to_double(unscaled: i128, scale: i8) -> f64 {
    /// Whole numbers up to here, and powers of ten up to there, are doubles themselves.
    const EXACT: u128 = 1 << 53;
    const EXACT_POWER: u8 = 22;
    match u8::try_from(scale) {
        Ok(scale @ 0..=EXACT_POWER) if unscaled.unsigned_abs() <= EXACT => {
            unscaled as f64 / 10_f64.powi(i32::from(scale))
        }
        _ => format!("{unscaled}e{}", -i32::from(scale)).parse().unwrap_or(f64::NAN),
    }
}

/// One value exactly as a value of a column's type; `None` if the type has no such value. A text is read as what the column
/// holds, which can fail.
pub(super) fn fit(value: &ArrayRef, to: &DataType) -> Result<Option<ArrayRef>> {
    if value.data_type() == to {
        return Ok(Some(Arc::clone(value)));
    }
    if value.is_null(0) || *value.data_type() == DataType::Null {
        return Ok(Some(new_null_array(to, 1)));
    }
    if *value.data_type() == DataType::Utf8 {
        return from_text(value.as_string::<i32>().value(0), to);
    }
    if let Some((unscaled, scale)) = exact(value) {
        return Ok(fit_number(unscaled, scale, to));
    }
    Ok(match (value.data_type(), to) {
        (DataType::Float64, DataType::Float32) => {
            let double = value.as_primitive::<Float64Type>().value(0);
            let float = double as f32;
            let same = f64::from(float) == double || double.is_nan();
            same.then(|| Arc::new(Float32Array::from(vec![float])) as ArrayRef)
        }
        (DataType::Date32 | DataType::Timestamp(..), DataType::Timestamp(..)) => {
            let there = cast(value, to).ok();
            let back = there.as_ref().and_then(|there| cast(there, value.data_type()).ok());
            there.filter(|_| back.as_ref() == Some(value))
        }
        (DataType::Binary, DataType::FixedSizeBinary(_)) => cast(value, to).ok(),
        _ => None,
    })
}

/// The digits and how many of them stand behind the point.
fn exact(value: &ArrayRef) -> Option<(i128, i8)> {
    Some(match value.data_type() {
        DataType::Int32 => (value.as_primitive::<Int32Type>().value(0).into(), 0),
        DataType::Int64 => (value.as_primitive::<Int64Type>().value(0).into(), 0),
        DataType::Decimal128(_, scale) => (value.as_primitive::<Decimal128Type>().value(0), *scale),
        _ => return None,
    })
}

pub(super) fn fit_number(unscaled: i128, scale: i8, to: &DataType) -> Option<ArrayRef> {
    Some(match to {
        DataType::Int32 => Arc::new(Int32Array::from(vec![i32::try_from(rescale(unscaled, scale, 0)?).ok()?])),
        DataType::Int64 => Arc::new(Int64Array::from(vec![i64::try_from(rescale(unscaled, scale, 0)?).ok()?])),
        DataType::Float64 => Arc::new(Float64Array::from(vec![decimal_to_double(unscaled, scale)])),
        DataType::Float32 => {
            let double = decimal_to_double(unscaled, scale);
            let float = double as f32;
            if f64::from(float) != double {
                return None;
            }
            Arc::new(Float32Array::from(vec![float]))
        }
        DataType::Decimal128(precision, to_scale) => {
            let rescaled = rescale(unscaled, scale, *to_scale)?;
            let most = 10_i128.checked_pow(u32::from(*precision))?;
            if rescaled.unsigned_abs() >= most.unsigned_abs() {
                return None;
            }
            let array = Decimal128Array::from(vec![rescaled]).with_precision_and_scale(*precision, *to_scale);
            Arc::new(array.ok()?)
        }
        _ => return None,
    })
}

/// The same number with another number of digits behind the point.
fn rescale(unscaled: i128, from: i8, to: i8) -> Option<i128> {
    let shift = i32::from(to) - i32::from(from);
    let power = 10_i128.checked_pow(shift.unsigned_abs())?;
    if shift >= 0 {
        return unscaled.checked_mul(power);
    }
    (unscaled % power == 0).then(|| unscaled / power)
}

/// What a text stands for among values of that type, as a cast of Spark reads it.
fn from_text(text: &str, to: &DataType) -> Result<Option<ArrayRef>> {
    let bad = || {
        let message = format!("'{text}' is no {}", name(to));
        Error::new(ErrorKind::InvalidFilter, message)
    };
    let trimmed = text.trim();
    Ok(Some(match to {
        DataType::Int32 | DataType::Int64 => {
            let number = number(trimmed).filter(|n| exact(n).is_some_and(|(_, scale)| scale == 0)).ok_or_else(bad)?;
            return Ok(Some(fit(&number, to)?.unwrap_or(number)));
        }
        DataType::Decimal128(..) => {
            let number = number(trimmed).filter(|n| exact(n).is_some()).ok_or_else(bad)?;
            return Ok(Some(fit(&number, to)?.unwrap_or(number)));
        }
        // Spark casts the text to the column's type, so '0.1' is what the column holds for 0.1.
        DataType::Float32 => Arc::new(Float32Array::from(vec![double(trimmed).ok_or_else(bad)? as f32])),
        DataType::Float64 => {
            let double: ArrayRef = Arc::new(Float64Array::from(vec![double(trimmed).ok_or_else(bad)?]));
            return Ok(Some(fit(&double, to)?.unwrap_or(double)));
        }
        DataType::Boolean => {
            let is = |words: [&str; 5]| words.iter().any(|word| trimmed.eq_ignore_ascii_case(word));
            let yes = is(["true", "t", "yes", "y", "1"]);
            if !yes && !is(["false", "f", "no", "n", "0"]) {
                return Err(bad());
            }
            Arc::new(BooleanArray::from(vec![yes]))
        }
        DataType::Date32 => Arc::new(Date32Array::from(vec![calendar::date(trimmed).ok_or_else(bad)?])),
        DataType::Timestamp(..) => {
            let instant = instant(calendar::timestamp(trimmed).ok_or_else(bad)?);
            return Ok(Some(fit(&instant, to)?.unwrap_or(instant)));
        }
        DataType::Binary | DataType::FixedSizeBinary(_) => {
            let bytes: ArrayRef = Arc::new(BinaryArray::from(vec![text.as_bytes()]));
            return fit(&bytes, to);
        }
        _ => return Ok(None),
    }))
}

fn instant(micros: i64) -> ArrayRef {
    Arc::new(TimestampMicrosecondArray::from(vec![micros]).with_timezone(UTC))
}

/// A number of SQL: `12` and `12L` are whole, `1.50` is a decimal, `1e3` and `1.5D` are doubles.
pub(super) fn number(text: &str) -> Option<ArrayRef> {
    let upper = text.to_ascii_uppercase();
    if let Some(digits) = upper.strip_suffix("BD") {
        return decimal(digits);
    }
    if let Some(digits) = upper.strip_suffix('L') {
        return Some(Arc::new(Int64Array::from(vec![digits.parse::<i64>().ok()?])));
    }
    if upper.ends_with('D') || upper.contains('E') {
        let double: f64 = upper.strip_suffix('D').unwrap_or(&upper).parse().ok()?;
        return Some(Arc::new(Float64Array::from(vec![double])));
    }
    decimal(&upper)
}

/// `NaN` and `Infinity` are doubles too.
fn double(text: &str) -> Option<f64> {
    let (sign, bare) = match text.strip_prefix('-') {
        Some(bare) => (-1.0, bare),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    match bare.to_ascii_lowercase().as_str() {
        "inf" | "infinity" => Some(sign * f64::INFINITY),
        "nan" if bare.len() == text.len() => Some(f64::NAN),
        plain => {
            let digits = plain.strip_suffix(['d', 'f']).unwrap_or(plain);
            let is_number = digits.starts_with(|c: char| c.is_ascii_digit() || c == '.');
            digits.parse::<f64>().ok().filter(|_| is_number).map(|double| sign * double)
        }
    }
}

/// An int where there is no point, or a long, or a decimal of as many digits as are written.
fn decimal(text: &str) -> Option<ArrayRef> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let digits = format!("{whole}{fraction}");
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let magnitude: i128 = digits.parse().ok()?;
    let unscaled = if text.starts_with('-') { -magnitude } else { magnitude };
    if !unsigned.contains('.') {
        if let Ok(int) = i32::try_from(unscaled) {
            return Some(Arc::new(Int32Array::from(vec![int])));
        }
        if let Ok(long) = i64::try_from(unscaled) {
            return Some(Arc::new(Int64Array::from(vec![long])));
        }
    }
    let precision = digits.trim_start_matches('0').len().max(fraction.len()).max(1);
    let (precision, scale) = (u8::try_from(precision).ok()?, i8::try_from(fraction.len()).ok()?);
    let array = Decimal128Array::from(vec![unscaled]).with_precision_and_scale(precision, scale).ok()?;
    Some(Arc::new(array))
}

/// The type that `CAST` names.
pub(super) fn named(name: &str, numbers: &[String]) -> Option<DataType> {
    Some(match (name, numbers) {
        ("int" | "integer", []) => DataType::Int32,
        ("bigint" | "long", []) => DataType::Int64,
        ("float" | "real", []) => DataType::Float32,
        ("double", []) => DataType::Float64,
        ("string", []) => DataType::Utf8,
        ("boolean", []) => DataType::Boolean,
        ("binary", []) => DataType::Binary,
        ("date", []) => DataType::Date32,
        ("timestamp" | "timestamp_ltz", []) => timestamp(),
        ("timestamp_ntz", []) => DataType::Timestamp(TimeUnit::Microsecond, None),
        ("decimal" | "dec" | "numeric", [precision, rest @ ..]) if rest.len() <= 1 => {
            let precision = precision.parse().ok().filter(|p| (1..=DECIMAL_DIGITS).contains(p))?;
            let scale: i8 = rest.first().map_or(Some(0), |scale| scale.parse().ok())?;
            let fits = u8::try_from(scale).is_ok_and(|scale| scale <= precision);
            fits.then_some(DataType::Decimal128(precision, scale))?
        }
        ("decimal" | "dec" | "numeric", []) => DataType::Decimal128(INT_DIGITS, 0),
        _ => return None,
    })
}
