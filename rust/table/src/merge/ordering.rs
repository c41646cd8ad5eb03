//! Ordering values: what decides, in event-time mode, which of two versions of a row wins.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::sync::Arc;

use arrow_array::builder::Int64Builder;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int32Type, Int64Type, TimestampMicrosecondType,
    TimestampMillisecondType,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, TimeUnit};
use hudini_format::key::field_values;
use hudini_format::log::{DECIMAL_SCALE, OrderingValue};

use super::rule::MergeRule;
use crate::{Error, Result};

/// One component of an ordering value, brought to a form in which values of one column compare.
#[derive(Debug, Clone, PartialEq)]
enum Part<'a> {
    /// Before every other value.
    Null,
    Bool(bool),
    /// Ints, longs, dates, timestamps.
    Integer(i64),
    /// Floats too: their order is the same.
    Double(f64),
    Text(Cow<'a, str>),
    Bytes(Cow<'a, [u8]>),
    /// Unscaled and scale.
    Decimal(i128, u32),
}

/// An ordering value that stands by itself.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OrderingKey(Vec<Part<'static>>);

/// An ordering value, wherever it is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Ordered<'a> {
    /// That of a row.
    Row(&'a OrderingColumns, usize),
    Key(&'a OrderingKey),
}

impl Ordered<'_> {
    /// Component by component, left to right. `None` where the two are of different kinds, which one table cannot hold.
    pub(crate) fn compare(&self, other: &Self) -> Option<Ordering> {
        for at in 0..self.parts().min(other.parts()) {
            match self.part(at).compare(&other.part(at))? {
                Ordering::Equal => {}
                decided => return Some(decided),
            }
        }
        Some(self.parts().cmp(&other.parts()))
    }

    /// Whether it wins over an older one.
    pub(crate) fn is_not_less(&self, old: &Self) -> Result<bool> {
        match self.compare(old) {
            Some(ordering) => Ok(ordering != Ordering::Less),
            None => Err(Error::schema("two ordering values of different types cannot be compared")),
        }
    }

    fn parts(&self) -> usize {
        match self {
            Self::Row(columns, _) => columns.0.len(),
            Self::Key(key) => key.0.len(),
        }
    }

    fn part(&self, at: usize) -> Part<'_> {
        let part = match self {
            Self::Row(columns, row) => columns.0.get(at).map(|column| part(column.as_ref(), *row)),
            Self::Key(key) => key.0.get(at).map(Part::borrowed),
        };
        part.unwrap_or(Part::Null)
    }
}

impl OrderingKey {
    /// The ordering value that a delete block carries; `None` if it has none and deletes whatever came before it.
    pub(crate) fn of_delete(value: &OrderingValue) -> Result<Option<Self>> {
        let parts = match value {
            OrderingValue::Null | OrderingValue::Int(0) => return Ok(None),
            OrderingValue::Array(parts) => parts.iter().map(Part::of_value).collect::<Result<_>>()?,
            single => vec![Part::of_value(single)?],
        };
        Ok(Some(Self(parts)))
    }
}

impl Part<'_> {
    fn borrowed(&self) -> Part<'_> {
        match self {
            Self::Text(v) => Part::Text(Cow::Borrowed(v)),
            Self::Bytes(v) => Part::Bytes(Cow::Borrowed(v)),
            Self::Null => Part::Null,
            Self::Bool(v) => Part::Bool(*v),
            Self::Integer(v) => Part::Integer(*v),
            Self::Double(v) => Part::Double(*v),
            Self::Decimal(v, scale) => Part::Decimal(*v, *scale),
        }
    }

    fn into_owned(self) -> Part<'static> {
        match self {
            Self::Text(v) => Part::Text(Cow::Owned(v.into_owned())),
            Self::Bytes(v) => Part::Bytes(Cow::Owned(v.into_owned())),
            Self::Null => Part::Null,
            Self::Bool(v) => Part::Bool(v),
            Self::Integer(v) => Part::Integer(v),
            Self::Double(v) => Part::Double(v),
            Self::Decimal(v, scale) => Part::Decimal(v, scale),
        }
    }

    fn compare(&self, other: &Part<'_>) -> Option<Ordering> {
        Some(match (self, other) {
            (Self::Null, Part::Null) => Ordering::Equal,
            (Self::Null, _) => Ordering::Less,
            (_, Part::Null) => Ordering::Greater,
            (Self::Bool(a), Part::Bool(b)) => a.cmp(b),
            (Self::Integer(a), Part::Integer(b)) => a.cmp(b),
            // As Java's Double.compare: -0.0 before 0.0, NaN after everything.
            (Self::Double(a), Part::Double(b)) => match (a.is_nan(), b.is_nan()) {
                (false, false) => a.total_cmp(b),
                (a, b) => a.cmp(&b),
            },
            // As Spark's UTF8String and Avro's Utf8, in which Apache Hudi holds them: by their bytes.
            (Self::Text(a), Part::Text(b)) => a.as_bytes().cmp(b.as_bytes()),
            (Self::Bytes(a), Part::Bytes(b)) => a.cmp(b),
            (Self::Decimal(a, a_scale), Part::Decimal(b, b_scale)) => compare_decimals(*a, *a_scale, *b, *b_scale)?,
            _ => return None,
        })
    }

    fn of_value(value: &OrderingValue) -> Result<Part<'static>> {
        Ok(match value {
            OrderingValue::Null => Part::Null,
            OrderingValue::Bool(v) => Part::Bool(*v),
            OrderingValue::Int(v) | OrderingValue::Date(v) | OrderingValue::LocalDate(v) => {
                Part::Integer(i64::from(*v))
            }
            OrderingValue::Long(v) | OrderingValue::TimeMicros(v) | OrderingValue::TimestampMicros(v) => {
                Part::Integer(*v)
            }
            OrderingValue::Float(v) => Part::Double(f64::from(*v)),
            OrderingValue::Double(v) => Part::Double(*v),
            OrderingValue::String(v) => Part::Text(Cow::Owned(v.clone())),
            OrderingValue::Bytes(v) => Part::Bytes(Cow::Owned(v.clone())),
            OrderingValue::Decimal(v) => Part::Decimal(*v, DECIMAL_SCALE),
            other => return Err(Error::unsupported(format!("the ordering value {other:?} of a delete"))),
        })
    }
}

/// At the greater of the two scales; where that overflows, the value that does is the greater in magnitude.
fn compare_decimals(a: i128, a_scale: u32, b: i128, b_scale: u32) -> Option<Ordering> {
    let scale = a_scale.max(b_scale);
    let grow = |value: i128, by: u32| 10_i128.checked_pow(by).and_then(|factor| value.checked_mul(factor));
    match (grow(a, scale - a_scale), grow(b, scale - b_scale)) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        (None, _) => Some(a.cmp(&0)),
        (_, None) => Some(0.cmp(&b)),
    }
}

/// The ordering values of one batch, a column for each field; fields may lie within structs.
#[derive(Debug)]
pub(crate) struct OrderingColumns(Vec<ArrayRef>);

impl OrderingColumns {
    pub(crate) fn of(batch: &RecordBatch, rule: &MergeRule) -> Result<Self> {
        let fields = &rule.ordering;
        let column = |name: &String| {
            field_values(batch, name)?.ok_or_else(|| Error::schema(format!("the ordering column '{name}' is missing")))
        };
        let columns: Vec<_> = fields.iter().map(column).collect::<Result<_>>()?;
        if rule.by_binlog {
            let places = fields.iter().zip(&columns).map(|(field, column)| binlog_places(field, column));
            return Ok(Self(places.collect::<Result<Vec<_>>>()?.concat()));
        }
        if let Some((field, column)) = fields.iter().zip(&columns).find(|(_, c)| !is_comparable(c.data_type())) {
            return Err(Error::unsupported(format!("the ordering column '{field}' of type {}", column.data_type())));
        }
        Ok(Self(columns))
    }

    pub(crate) fn key(&self, row: usize) -> OrderingKey {
        OrderingKey(self.0.iter().map(|column| part(column.as_ref(), row).into_owned()).collect())
    }

    /// Whether the value is the int 0, or the date that delete blocks store as one, or a null of whatever type, which stands
    /// for it: Apache Hudi takes a delete with it for one without any ordering value.
    pub(crate) fn is_default(&self, row: usize) -> bool {
        let [column] = self.0.as_slice() else { return self.0.is_empty() };
        let is_stored_as_int = matches!(column.data_type(), DataType::Int32 | DataType::Date32);
        column.is_null(row) || (is_stored_as_int && part(column.as_ref(), row) == Part::Integer(0))
    }

    /// The ordering value that a delete of this row carries in a delete block, in the one class that Apache Hudi can
    /// compare with the column.
    pub(crate) fn delete_value(&self, row: usize) -> Result<OrderingValue> {
        match self.0.as_slice() {
            [] => Ok(OrderingValue::NONE),
            [single] => wrapped(single.as_ref(), row, false),
            several => {
                let parts = several.iter().map(|column| wrapped(column.as_ref(), row, true));
                Ok(OrderingValue::Array(parts.collect::<Result<_>>()?))
            }
        }
    }
}

/// The two numbers of texts like `10.154`, a column for each.
fn binlog_places(field: &str, column: &ArrayRef) -> Result<Vec<ArrayRef>> {
    let Some(texts) = column.as_string_opt::<i32>() else {
        return Err(Error::schema(format!("the column '{field}' has no places in a log, but {}", column.data_type())));
    };
    let (mut files, mut positions) = (Int64Builder::new(), Int64Builder::new());
    for text in texts {
        let place = text.map(|text| {
            let place = text.split_once('.').and_then(|(file, at)| Some((file.parse().ok()?, at.parse().ok()?)));
            place.ok_or_else(|| Error::schema(format!("'{text}' in the column '{field}' is no place in a log")))
        });
        let (file, at): (Option<i64>, Option<i64>) = place.transpose()?.unzip();
        files.append_option(file);
        positions.append_option(at);
    }
    Ok(vec![Arc::new(files.finish()), Arc::new(positions.finish())])
}

fn is_comparable(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Boolean
            | DataType::Int32
            | DataType::Int64
            | DataType::Float32
            | DataType::Float64
            | DataType::Utf8
            | DataType::Binary
            | DataType::Date32
            | DataType::Timestamp(TimeUnit::Microsecond | TimeUnit::Millisecond, _)
            | DataType::Decimal128(..)
    )
}

fn part(column: &dyn Array, row: usize) -> Part<'_> {
    if column.is_null(row) {
        // Apache Hudi's default ordering value is the int 0, which compares with ints alone.
        return if *column.data_type() == DataType::Int32 { Part::Integer(0) } else { Part::Null };
    }
    match column.data_type() {
        DataType::Boolean => Part::Bool(column.as_boolean().value(row)),
        DataType::Int32 => Part::Integer(i64::from(column.as_primitive::<Int32Type>().value(row))),
        DataType::Date32 => Part::Integer(i64::from(column.as_primitive::<Date32Type>().value(row))),
        DataType::Int64 => Part::Integer(column.as_primitive::<Int64Type>().value(row)),
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            Part::Integer(column.as_primitive::<TimestampMicrosecondType>().value(row))
        }
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            Part::Integer(column.as_primitive::<TimestampMillisecondType>().value(row))
        }
        DataType::Float32 => Part::Double(f64::from(column.as_primitive::<Float32Type>().value(row))),
        DataType::Float64 => Part::Double(column.as_primitive::<Float64Type>().value(row)),
        DataType::Utf8 => Part::Text(Cow::Borrowed(column.as_string::<i32>().value(row))),
        DataType::Binary => Part::Bytes(Cow::Borrowed(column.as_binary::<i32>().value(row))),
        DataType::Decimal128(_, scale) => {
            let scale = u32::try_from(*scale).unwrap_or(0);
            Part::Decimal(column.as_primitive::<Decimal128Type>().value(row), scale)
        }
        // `OrderingColumns::of` lets no other type in.
        _ => Part::Null,
    }
}

fn wrapped(column: &dyn Array, row: usize, in_array: bool) -> Result<OrderingValue> {
    if column.is_null(row) {
        // Never null: Apache Hudi could not read the file group any more.
        return Ok(OrderingValue::Int(0));
    }
    Ok(match (column.data_type(), part(column, row)) {
        (DataType::Int32, Part::Integer(v)) => OrderingValue::Int(v as i32),
        (DataType::Date32, Part::Integer(v)) if in_array => OrderingValue::LocalDate(v as i32),
        (DataType::Date32, Part::Integer(v)) => OrderingValue::Int(v as i32),
        (_, Part::Integer(v)) => OrderingValue::Long(v),
        (DataType::Float32, Part::Double(v)) => OrderingValue::Float(v as f32),
        (_, Part::Double(v)) => OrderingValue::Double(v),
        (_, Part::Bool(v)) => OrderingValue::Bool(v),
        (_, Part::Text(v)) => OrderingValue::String(v.into_owned()),
        (_, Part::Bytes(v)) => OrderingValue::Bytes(v.into_owned()),
        (_, Part::Decimal(v, scale)) => {
            let factor = DECIMAL_SCALE.checked_sub(scale).and_then(|by| 10_i128.checked_pow(by));
            let scaled = factor.and_then(|factor| v.checked_mul(factor));
            OrderingValue::Decimal(
                scaled.ok_or_else(|| {
                    Error::unsupported("a delete ordered by a decimal beyond 15 digits after the point")
                })?,
            )
        }
        (_, Part::Null) => OrderingValue::Int(0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    use arrow_array::{Date32Array, Int32Array, Int64Array, StringArray};

    use crate::options::MergeMode;

    fn columns(arrays: Vec<ArrayRef>) -> OrderingColumns {
        OrderingColumns(arrays)
    }

    #[test]
    fn nulls_come_first_except_as_ints() {
        let longs = columns(vec![Arc::new(Int64Array::from(vec![None, Some(i64::MIN)]))]);
        assert_eq!(Ordered::Row(&longs, 0).compare(&Ordered::Row(&longs, 1)), Some(Ordering::Less));
        let ints = columns(vec![Arc::new(Int32Array::from(vec![None, Some(-5), Some(0)]))]);
        assert_eq!(Ordered::Row(&ints, 0).compare(&Ordered::Row(&ints, 1)), Some(Ordering::Greater));
        assert_eq!(Ordered::Row(&ints, 0).compare(&Ordered::Row(&ints, 2)), Some(Ordering::Equal));
    }

    #[test]
    fn several_fields_compare_left_to_right() {
        let both =
            columns(vec![Arc::new(Int64Array::from(vec![5, 5, 6])), Arc::new(StringArray::from(vec!["b", "c", "a"]))]);
        assert_eq!(Ordered::Row(&both, 0).compare(&Ordered::Row(&both, 1)), Some(Ordering::Less));
        assert_eq!(Ordered::Row(&both, 2).compare(&Ordered::Row(&both, 1)), Some(Ordering::Greater));
    }

    /// U+FF19 and U+1F6F6, which UTF-16 orders the other way.
    #[test]
    fn texts_compare_by_their_bytes() {
        let texts = columns(vec![Arc::new(StringArray::from(vec!["\u{ff19}", "\u{1f6f6}"]))]);
        assert_eq!(Ordered::Row(&texts, 0).compare(&Ordered::Row(&texts, 1)), Some(Ordering::Less));
    }

    #[test]
    fn places_in_a_binlog_are_two_numbers() {
        let by_binlog = MergeRule { by_binlog: true, ..MergeRule::new(MergeMode::EventTime, &["seq".to_owned()]) };
        let places = |texts: StringArray| {
            let rows = RecordBatch::try_from_iter([("seq", Arc::new(texts) as ArrayRef)]).unwrap();
            OrderingColumns::of(&rows, &by_binlog)
        };
        let found = places(StringArray::from(vec![Some("2.1000"), Some("10.5"), Some("10.50"), None])).unwrap();
        let at = |row: usize| Ordered::Row(&found, row);
        assert_eq!(at(0).compare(&at(1)), Some(Ordering::Less));
        assert_eq!(at(2).compare(&at(1)), Some(Ordering::Greater));
        assert_eq!(at(3).compare(&at(0)), Some(Ordering::Less));
        for text in ["mysql-bin.5", "5", "", "1.2.3"] {
            let error = places(StringArray::from(vec![text])).unwrap_err();
            assert!(error.message().contains("'seq'"), "{error}");
        }
    }

    #[test]
    fn a_delete_of_zero_or_null_has_no_ordering() {
        assert_eq!(OrderingKey::of_delete(&OrderingValue::Int(0)).unwrap(), None);
        assert_eq!(OrderingKey::of_delete(&OrderingValue::Null).unwrap(), None);
        assert!(OrderingKey::of_delete(&OrderingValue::Long(0)).unwrap().is_some());
    }

    /// What a row says of its delete is what the delete block will say.
    #[test]
    fn rows_and_delete_blocks_agree_on_what_has_no_ordering() {
        let of_types: [ArrayRef; 4] = [
            Arc::new(Int32Array::from(vec![Some(0), Some(1), None])),
            Arc::new(Date32Array::from(vec![Some(0), Some(1), None])),
            Arc::new(Int64Array::from(vec![Some(0), Some(1), None])),
            Arc::new(StringArray::from(vec![Some("0"), Some(""), None])),
        ];
        for column in of_types {
            let columns = columns(vec![column]);
            for row in 0..3 {
                let stored = OrderingKey::of_delete(&columns.delete_value(row).unwrap()).unwrap();
                assert_eq!(columns.is_default(row), stored.is_none(), "{columns:?} {row}");
            }
        }
    }

    #[test]
    fn deletes_compare_with_rows_of_their_column() {
        let longs = columns(vec![Arc::new(Int64Array::from(vec![4]))]);
        let delete = OrderingKey::of_delete(&longs.delete_value(0).unwrap()).unwrap().unwrap();
        assert_eq!(Ordered::Key(&delete).compare(&Ordered::Row(&longs, 0)), Some(Ordering::Equal));
        let texts = columns(vec![Arc::new(StringArray::from(vec!["4"]))]);
        assert_eq!(Ordered::Key(&delete).compare(&Ordered::Row(&texts, 0)), None);
    }

    #[test]
    fn decimals_of_different_scales() {
        assert_eq!(compare_decimals(1234, 2, 12_340, 3), Some(Ordering::Equal));
        assert_eq!(compare_decimals(i128::MAX, 0, 1, 15), Some(Ordering::Greater));
        assert_eq!(compare_decimals(1, 15, i128::MIN, 0), Some(Ordering::Greater));
    }
}
