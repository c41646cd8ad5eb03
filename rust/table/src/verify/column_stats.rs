//! Column statistics of a file, or of all files of a partition, against rows.
//!
//! Bounds may be wider than the values: then a reader leaves out less. Narrower ones lose rows.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, FixedSizeBinaryArray, Int32Array,
    Int64Array, RecordBatch, Scalar as One, StringArray, TimestampMicrosecondArray, TimestampMillisecondArray,
};
use arrow_ord::cmp;
use arrow_schema::{DataType, Schema, TimeUnit};
use hudini_format::metadata_record::{ColumnStats, Scalar};
use hudini_format::schema::TimeUnit as StatUnit;

use super::findings::{At, Found, Level};
use crate::Result;
use crate::scan::{Of, believes_bounds};

/// The columns of one file that there are statistics of.
pub(super) struct Columns(Vec<Column>);

struct Column {
    name: String,
    at: usize,
    least: Option<Bound>,
    greatest: Option<Bound>,
    /// Whether something is left out by the least value, and by the greatest. Apache Hudi itself writes false ones beside
    /// NaN and long texts.
    believed: [bool; 2],
    stated: (Option<i64>, Option<i64>),
    rows: usize,
    nulls: usize,
    /// Below the least, and above the greatest.
    outside: [usize; 2],
}

impl Column {
    fn values_outside(&self) -> usize {
        self.outside.iter().sum()
    }

    /// Whether a reader would lose rows by it.
    fn misleads(&self) -> bool {
        self.outside.iter().zip(self.believed).any(|(outside, believed)| believed && *outside > 0)
    }
}

enum Bound {
    /// Compared by number: NaN is in no statistics, and zero has no sign there.
    Float(f64),
    Value(ArrayRef),
}

impl Columns {
    pub(super) fn of(schema: &Schema, stats: &[ColumnStats], of: Of) -> Self {
        let column = |stats: &ColumnStats| {
            let name = stats.column_name.clone()?;
            let at = schema.index_of(&name).ok()?;
            let kind = schema.field(at).data_type();
            // Files have them in the order of bytes, but what is merged for a partition goes by Java, where bytes have a sign.
            let is_ordered = of == Of::File || !(kind.is_binary() || matches!(kind, DataType::FixedSizeBinary(_)));
            let scalar = |value: Result<Option<Scalar>>| value.ok().flatten().filter(|_| is_ordered);
            let bound = |value| scalar(value).and_then(|value| bound(&value, kind));
            Some(Column {
                name,
                at,
                least: bound(stats.min()),
                greatest: bound(stats.max()),
                believed: believes_bounds(stats, kind, of),
                stated: (stats.value_count, stats.null_count),
                rows: 0,
                nulls: 0,
                outside: [0, 0],
            })
        };
        Self(stats.iter().filter(|stats| !stats.is_deleted).filter_map(column).collect())
    }

    pub(super) fn take(&mut self, rows: &RecordBatch) -> Result<()> {
        for column in &mut self.0 {
            let Some(values) = rows.columns().get(column.at) else { continue };
            column.rows += values.len();
            column.nulls += values.null_count();
            let [below, above] = &mut column.outside;
            *below += outside(values, column.least.as_ref(), true)?;
            *above += outside(values, column.greatest.as_ref(), false)?;
        }
        Ok(())
    }

    /// Whether some value lies outside.
    pub(super) fn is_exceeded(&self) -> bool {
        self.0.iter().any(|column| column.values_outside() > 0)
    }

    /// Of a partition: what one of its files holds is within the bounds, and counts are of all of them.
    pub(super) fn tell_bounds(&self, check: &'static str, at: At<'_>, worst: Level, found: &mut Found) {
        for column in &self.0 {
            found.count(check, 1);
            let outside = column.values_outside();
            if outside > 0 {
                let level = if column.misleads() { worst } else { Level::Warning };
                let message = format!("{outside} values of column '{}' lie outside of its statistics", column.name);
                found.add(level, check, at, message);
            }
        }
    }

    pub(super) fn tell(&self, at: At<'_>, found: &mut Found) {
        self.tell_bounds("column_stats", at, Level::Damage, found);
        for column in &self.0 {
            let (name, (rows, nulls)) = (&column.name, column.stated);
            for (stated, is, what) in [(rows, column.rows, "values"), (nulls, column.nulls, "nulls")] {
                if let Some(stated) = stated.filter(|stated| usize::try_from(*stated) != Ok(is)) {
                    // Texts that are too long for statistics count as nulls, so more nulls prove nothing to a reader.
                    let excess = what == "nulls" && usize::try_from(stated).is_ok_and(|stated| stated > is);
                    let level = if excess { Level::Warning } else { Level::Damage };
                    let message = format!("column '{name}' has {is} {what}, and its statistics say {stated}");
                    found.add(level, "column_stats", at, message);
                }
            }
        }
    }
}

/// How many values lie beyond a bound.
fn outside(values: &ArrayRef, bound: Option<&Bound>, is_least: bool) -> Result<usize> {
    let beyond = |value: f64, bound: f64| if is_least { value < bound } else { value > bound };
    match bound {
        None => Ok(0),
        Some(Bound::Float(bound)) => Ok(match values.data_type() {
            DataType::Float32 => {
                values.as_primitive::<Float32Type>().iter().flatten().filter(|v| beyond(f64::from(*v), *bound)).count()
            }
            _ => values.as_primitive::<Float64Type>().iter().flatten().filter(|v| beyond(*v, *bound)).count(),
        }),
        Some(Bound::Value(bound)) => {
            let bound = One::new(Arc::clone(bound));
            let beyond = if is_least { cmp::lt(values, &bound)? } else { cmp::gt(values, &bound)? };
            Ok(beyond.true_count())
        }
    }
}

/// The value in the column's type; `None` where the two cannot be compared.
fn bound(value: &Scalar, kind: &DataType) -> Option<Bound> {
    let array: ArrayRef = match (value, kind) {
        (Scalar::Float(value), DataType::Float32) => return finite(f64::from(*value)),
        (Scalar::Double(value), DataType::Float64) => return finite(*value),
        (Scalar::Boolean(value), DataType::Boolean) => Arc::new(BooleanArray::from(vec![*value])),
        (Scalar::Int(value), DataType::Int32) => Arc::new(Int32Array::from(vec![*value])),
        (Scalar::Int(value), DataType::Int64) => Arc::new(Int64Array::from(vec![i64::from(*value)])),
        (Scalar::Long(value), DataType::Int64) => Arc::new(Int64Array::from(vec![*value])),
        (Scalar::String(value), DataType::Utf8) => Arc::new(StringArray::from(vec![value.as_str()])),
        (Scalar::Bytes(value), DataType::Binary) => Arc::new(BinaryArray::from(vec![value.as_slice()])),
        (Scalar::Bytes(value), DataType::FixedSizeBinary(size)) if usize::try_from(*size) == Ok(value.len()) => {
            Arc::new(FixedSizeBinaryArray::try_from_iter(std::iter::once(value)).ok()?)
        }
        (Scalar::Date(days), DataType::Date32) => Arc::new(Date32Array::from(vec![*days])),
        (Scalar::Decimal { unscaled, scale }, DataType::Decimal128(digits, of_column)) => {
            let unscaled = rescaled(*unscaled, *scale, i32::from(*of_column))?;
            Arc::new(Decimal128Array::from(vec![unscaled]).with_precision_and_scale(*digits, *of_column).ok()?)
        }
        (Scalar::Long(value), DataType::Timestamp(TimeUnit::Microsecond, zone)) => {
            Arc::new(TimestampMicrosecondArray::from(vec![*value]).with_timezone_opt(zone.clone()))
        }
        (Scalar::Timestamp { unit: StatUnit::Micros, value, .. }, DataType::Timestamp(TimeUnit::Microsecond, zone)) => {
            Arc::new(TimestampMicrosecondArray::from(vec![*value]).with_timezone_opt(zone.clone()))
        }
        (Scalar::Timestamp { unit: StatUnit::Millis, value, .. }, DataType::Timestamp(TimeUnit::Millisecond, zone)) => {
            Arc::new(TimestampMillisecondArray::from(vec![*value]).with_timezone_opt(zone.clone()))
        }
        _ => return None,
    };
    Some(Bound::Value(array))
}

fn finite(value: f64) -> Option<Bound> {
    (!value.is_nan()).then_some(Bound::Float(value))
}

/// A decimal with another number of digits behind the point, if it has no others.
fn rescaled(unscaled: i128, from: i32, to: i32) -> Option<i128> {
    let power = 10_i128.checked_pow(from.abs_diff(to))?;
    if to >= from {
        return unscaled.checked_mul(power);
    }
    (unscaled % power == 0).then_some(unscaled / power)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outside_of(values: ArrayRef, least: &Scalar, greatest: &Scalar) -> usize {
        let kind = values.data_type().clone();
        let [least, greatest] = [least, greatest].map(|value| bound(value, &kind));
        outside(&values, least.as_ref(), true).unwrap() + outside(&values, greatest.as_ref(), false).unwrap()
    }

    #[test]
    fn values_outside_are_counted() {
        let ints: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None, Some(5), Some(9)]));
        assert_eq!(outside_of(Arc::clone(&ints), &Scalar::Int(1), &Scalar::Int(9)), 0);
        assert_eq!(outside_of(ints, &Scalar::Int(2), &Scalar::Int(8)), 2);
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["b", "c"]));
        assert_eq!(outside_of(texts, &Scalar::String("b".into()), &Scalar::String("bz".into())), 1);
    }

    #[test]
    fn neither_nan_nor_the_sign_of_zero_lies_outside() {
        let floats: ArrayRef = Arc::new(arrow_array::Float64Array::from(vec![f64::NAN, -0.0, 0.0, 2.0]));
        assert_eq!(outside_of(floats, &Scalar::Double(0.0), &Scalar::Double(1.5)), 1);
    }

    #[test]
    fn decimals_meet_in_the_scale_of_the_column() {
        assert_eq!(rescaled(1_500, 3, 2), Some(150));
        assert_eq!(rescaled(1_501, 3, 2), None);
        assert_eq!(rescaled(-15, 1, 3), Some(-1_500));
    }
}
