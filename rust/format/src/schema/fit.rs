//! Whether a value of an incoming type can be held by a column of the table, unchanged.
//!
//! Arrow casts more than a table should take: a text that looks like a number becomes one, digits and nanoseconds are
//! dropped. Here a value is taken as it is, or refused.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_buffer::NullBuffer;
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, Field, Fields};

use crate::{Error, Result};

/// What a cast does to values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    /// Keeps every value, or fails.
    Kept,
    /// Keeps some and changes others: the values have to be looked at.
    Looked,
    /// Makes no sense.
    Never,
}

/// The first name that comes a second time: of two columns of one name, values of one would be lost.
pub fn repeated<'n>(names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let mut seen = BTreeSet::new();
    names.into_iter().find(|name| !seen.insert(*name))
}

/// Refuses a type whose values are not of the column's kind.
pub fn check_type(from: &DataType, field: &Field) -> Result<()> {
    if fit(from, field.data_type()) == Fit::Never { Err(misfit(from, field)) } else { Ok(()) }
}

/// The same values in the column's type.
pub fn convert(column: &ArrayRef, field: &Field) -> Result<ArrayRef> {
    let (from, to) = (column.data_type(), field.data_type());
    let fit = fit(from, to);
    if fit == Fit::Never {
        return Err(misfit(from, field));
    }
    let options = CastOptions { safe: false, ..CastOptions::default() };
    let cast = |array: &ArrayRef, to: &DataType| {
        cast_with_options(array, to, &options).map_err(|e| misfit(from, field).caused_by(e))
    };
    let converted = cast(column, to)?;
    if fit == Fit::Looked && cast(&converted, from)?.as_ref() != column.as_ref() {
        return Err(misfit(from, field)
            .with_hint("some values would lose digits on the way; round them before writing, or change the column"));
    }
    Ok(converted)
}

/// Refuses nulls where the column has none, however deep they lie.
pub fn check_nulls(column: &ArrayRef, field: &Field) -> Result<()> {
    if !field.is_nullable() && column.null_count() > 0 {
        return Err(Error::schema(format!(
            "column '{}' must not be null, and {} rows are",
            field.name(),
            column.null_count()
        )));
    }
    match null_within(column, None) {
        Some(path) => Err(Error::schema(format!("'{}{path}' must not be null, and is in some rows", field.name()))),
        None => Ok(()),
    }
}

/// The path to a null beneath a value that is there, at a place that must hold one. Nulls beneath a null count for nothing.
fn null_within(column: &ArrayRef, beneath: Option<&NullBuffer>) -> Option<String> {
    let beneath = NullBuffer::union(beneath, column.nulls());
    let within = |field: &Field, values: &ArrayRef, beneath: Option<&NullBuffer>| {
        let is_hidden = |nulls: &NullBuffer| beneath.is_some_and(|beneath| beneath.contains(nulls));
        let shows = !field.is_nullable() && values.nulls().is_some_and(|n| n.null_count() > 0 && !is_hidden(n));
        let deeper = || null_within(values, beneath);
        (if shows { Some(String::new()) } else { deeper() }).map(|path| format!(".{}{path}", field.name()))
    };
    let of_list = |field: &Field, values: &ArrayRef, offsets: &[i32]| {
        within(field, &reached(values, offsets), beneath_slots(beneath.as_ref(), offsets).as_ref())
    };
    match column.data_type() {
        DataType::Struct(fields) => {
            let columns = column.as_struct().columns();
            fields.iter().zip(columns).find_map(|(field, values)| within(field, values, beneath.as_ref()))
        }
        DataType::List(field) => of_list(field, column.as_list::<i32>().values(), column.as_list::<i32>().offsets()),
        DataType::Map(field, _) => {
            let map = column.as_map();
            let entries: ArrayRef = Arc::new(map.entries().clone());
            of_list(field, &entries, map.offsets())
        }
        _ => None,
    }
}

/// The values that a list's slots reach.
fn reached(values: &ArrayRef, offsets: &[i32]) -> ArrayRef {
    let [first, last] =
        [offsets.first(), offsets.last()].map(|at| at.map_or(0, |at| usize::try_from(*at).unwrap_or(0)));
    values.slice(first, last - first)
}

/// Which of those lie beneath a null, if any do.
fn beneath_slots(slots: Option<&NullBuffer>, offsets: &[i32]) -> Option<NullBuffer> {
    let slots = slots.filter(|slots| slots.null_count() > 0)?;
    let lengths = offsets.windows(2).map(|ends| match ends {
        [first, last] => usize::try_from(last - first).unwrap_or(0),
        _ => 0,
    });
    Some(lengths.enumerate().flat_map(|(slot, length)| std::iter::repeat_n(slots.is_valid(slot), length)).collect())
}

fn misfit(from: &DataType, field: &Field) -> Error {
    let to = field.data_type();
    let error = Error::schema(format!("column '{}' is {from} in the rows and {to} in the table", field.name()));
    let names = |fields: &Fields| fields.iter().map(|f| f.name().clone()).collect::<Vec<_>>();
    match (from, to) {
        (DataType::Struct(given), DataType::Struct(wanted)) if names(given) != names(wanted) => error.with_hint(
            "a struct has the fields that the table's has, in their order: a write adds columns, not fields",
        ),
        _ => error,
    }
}

fn fit(from: &DataType, to: &DataType) -> Fit {
    use DataType::{
        Binary, BinaryView, Date32, Date64, Dictionary, FixedSizeBinary, FixedSizeList, LargeBinary, LargeList,
        LargeListView, LargeUtf8, List, ListView, Map, Null, RunEndEncoded, Struct, Timestamp, Utf8, Utf8View,
    };
    let finer = |from: Option<i8>, to: Option<i8>| if from <= to { Fit::Kept } else { Fit::Looked };
    match (from, to) {
        (from, to) if from == to => Fit::Kept,
        (Null, _) => Fit::Kept,
        (Dictionary(_, values), to) => fit(values, to),
        (RunEndEncoded(_, values), to) => fit(values.data_type(), to),
        (Utf8 | LargeUtf8 | Utf8View, Utf8) => Fit::Kept,
        (Binary | LargeBinary | BinaryView | FixedSizeBinary(_), Binary) => Fit::Kept,
        (Date64, Date32) => Fit::Looked,
        (Timestamp(a, from_zone), Timestamp(b, to_zone)) if from_zone.is_some() == to_zone.is_some() => {
            if a <= b {
                Fit::Kept
            } else {
                Fit::Looked
            }
        }
        (List(from) | LargeList(from) | ListView(from) | LargeListView(from) | FixedSizeList(from, _), List(to)) => {
            fit(from.data_type(), to.data_type())
        }
        (Map(from, _), Map(to, _)) => of_fields(children(from), children(to), false),
        (Struct(from), Struct(to)) => of_fields(from, to, true),
        (from, to) if from.is_integer() && (to.is_integer() || to.is_decimal()) => Fit::Kept,
        (from, to) if from.is_integer() && to.is_floating() => Fit::Looked,
        (from, to) if from.is_floating() && to.is_floating() => {
            finer(from.primitive_width().map(|w| w as i8), to.primitive_width().map(|w| w as i8))
        }
        (from, to) if from.is_decimal() && to.is_decimal() => finer(scale(from), scale(to)),
        _ => Fit::Never,
    }
}

fn children(entries: &Field) -> &[std::sync::Arc<Field>] {
    match entries.data_type() {
        DataType::Struct(fields) => fields,
        _ => &[],
    }
}

/// Casts go by position, so the names must stand in the same order.
fn of_fields(from: &[Arc<Field>], to: &[Arc<Field>], named: bool) -> Fit {
    if from.len() != to.len() {
        return Fit::Never;
    }
    let pairs = from.iter().zip(to);
    let fits =
        pairs.map(
            |(from, to)| {
                if named && from.name() != to.name() { Fit::Never } else { fit(from.data_type(), to.data_type()) }
            },
        );
    fits.max().unwrap_or(Fit::Kept)
}

fn scale(decimal: &DataType) -> Option<i8> {
    match decimal {
        DataType::Decimal32(_, scale)
        | DataType::Decimal64(_, scale)
        | DataType::Decimal128(_, scale)
        | DataType::Decimal256(_, scale) => Some(*scale),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::types::Int64Type;
    use arrow_array::{
        Date64Array, Decimal128Array, Float64Array, Int64Array, ListArray, StringArray, StructArray,
        TimestampMicrosecondArray, TimestampNanosecondArray,
    };
    use arrow_schema::TimeUnit;
    use rstest::rstest;

    use super::*;

    fn to(column: ArrayRef, data_type: DataType) -> Result<ArrayRef> {
        let field = Field::new("c", data_type, true);
        check_type(column.data_type(), &field)?;
        convert(&column, &field)
    }

    const MICROS: DataType = DataType::Timestamp(TimeUnit::Microsecond, None);

    fn decimal(unscaled: i128, scale: i8) -> ArrayRef {
        Arc::new(Decimal128Array::from(vec![unscaled]).with_precision_and_scale(10, scale).unwrap())
    }

    fn list_of(data_type: DataType) -> DataType {
        DataType::List(Arc::new(Field::new("element", data_type, true)))
    }

    fn longs() -> ArrayRef {
        Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>([Some([Some(1), None])]))
    }

    #[allow(unsafe_code, reason = "nulls where none may be come from other libraries, which do not look")]
    /// Columns `s: struct<a: long not null>` and `l: list<struct<a: long not null>>`, made without a look at their nulls.
    fn nested(inner: Int64Array, outer: Option<NullBuffer>) -> [(ArrayRef, Field); 2] {
        let a = Arc::new(Field::new("a", DataType::Int64, false));
        let rows = inner.len();
        // SAFETY: nulls aside, the parts fit together.
        let s: ArrayRef =
            Arc::new(unsafe { StructArray::new_unchecked(Fields::from(vec![a]), vec![Arc::new(inner)], outer) });
        let item = Arc::new(Field::new("element", s.data_type().clone(), true));
        let offsets = arrow_buffer::OffsetBuffer::from_lengths([rows]);
        let l: ArrayRef = Arc::new(ListArray::new(item, offsets, Arc::clone(&s), None));
        let field = |name: &str, column: &ArrayRef| Field::new(name, column.data_type().clone(), true);
        [(Arc::clone(&s), field("s", &s)), (Arc::clone(&l), field("l", &l))]
    }

    #[test]
    fn nulls_within() {
        let longs = || Int64Array::from(vec![Some(1), None]);
        let whole = nested(Int64Array::from(vec![1, 2]), None);
        let beneath_a_null = nested(longs(), Some(NullBuffer::from(vec![true, false])));
        for (column, field) in whole.iter().chain(&beneath_a_null) {
            check_nulls(column, field).unwrap();
        }
        let [(s, _), _] = nested(longs(), None);
        let item = Arc::new(Field::new("element", s.data_type().clone(), true));
        let offsets = arrow_buffer::OffsetBuffer::from_lengths([1, 1]);
        let slots = Some(NullBuffer::from(vec![true, false]));
        let l: ArrayRef = Arc::new(ListArray::new(item, offsets, s, slots));
        check_nulls(&l, &Field::new("l", l.data_type().clone(), true)).unwrap();
        for outer in [None, Some(NullBuffer::from(vec![false, true]))] {
            let [(s, s_field), (l, l_field)] = nested(longs(), outer);
            assert!(check_nulls(&s, &s_field).unwrap_err().message().contains("'s.a' must not be null"));
            assert!(check_nulls(&l, &l_field).unwrap_err().message().contains("'l.element.a' must not be null"));
        }
    }

    #[rstest]
    #[case(Arc::new(Int64Array::from(vec![Some(5), None])), DataType::Int32)]
    #[case(Arc::new(Int64Array::from(vec![5])), DataType::Decimal128(5, 2))]
    #[case(Arc::new(Int64Array::from(vec![1 << 52])), DataType::Float64)]
    #[case(Arc::new(Float64Array::from(vec![1.5, f64::NAN])), DataType::Float32)]
    #[case(decimal(1230, 3), DataType::Decimal128(10, 2))]
    #[case(Arc::new(Date64Array::from(vec![86_400_000])), DataType::Date32)]
    #[case(Arc::new(TimestampNanosecondArray::from(vec![5_000])), MICROS)]
    #[case(longs(), list_of(DataType::Int32))]
    fn values_that_stay_what_they_are(#[case] column: ArrayRef, #[case] data_type: DataType) {
        let converted = to(Arc::clone(&column), data_type.clone()).unwrap();
        assert_eq!(*converted.data_type(), data_type);
        assert_eq!(converted.null_count(), column.null_count());
    }

    #[rstest]
    #[case(Arc::new(Int64Array::from(vec![i64::MAX])), DataType::Int32)]
    #[case(Arc::new(Int64Array::from(vec![(1 << 53) + 1])), DataType::Float64)]
    #[case(Arc::new(Float64Array::from(vec![0.1])), DataType::Float32)]
    #[case(decimal(1234, 3), DataType::Decimal128(10, 2))]
    #[case(decimal(12_345_678, 2), DataType::Decimal128(5, 2))]
    #[case(Arc::new(Date64Array::from(vec![86_400_001])), DataType::Date32)]
    #[case(Arc::new(TimestampNanosecondArray::from(vec![5_001])), MICROS)]
    #[case(Arc::new(TimestampMicrosecondArray::from(vec![1]).with_timezone("UTC")), MICROS)]
    #[case(Arc::new(StringArray::from(vec!["7"])), DataType::Int64)]
    #[case(Arc::new(Int64Array::from(vec![7])), DataType::Utf8)]
    #[case(Arc::new(Int64Array::from(vec![1])), DataType::Boolean)]
    #[case(longs(), list_of(DataType::Utf8))]
    fn values_that_would_change_are_refused(#[case] column: ArrayRef, #[case] data_type: DataType) {
        assert_eq!(to(column, data_type).unwrap_err().kind(), crate::ErrorKind::SchemaMismatch);
    }

    #[test]
    fn structs_fit_field_by_field() {
        let fields = |names: &[(&str, DataType)]| -> Fields {
            names.iter().map(|(n, t)| Field::new(*n, t.clone(), true)).collect()
        };
        let child: ArrayRef = Arc::new(Int64Array::from(vec![1]));
        let column: ArrayRef = Arc::new(StructArray::new(fields(&[("x", DataType::Int64)]), vec![child], None));
        assert!(to(Arc::clone(&column), DataType::Struct(fields(&[("x", DataType::Int32)]))).is_ok());
        for other in [&[("y", DataType::Int64)][..], &[("x", DataType::Int64), ("y", DataType::Int64)]] {
            let error = to(Arc::clone(&column), DataType::Struct(fields(other))).unwrap_err();
            assert!(error.hint().unwrap().contains("fields"), "{error}");
        }
    }
}
