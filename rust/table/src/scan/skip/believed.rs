//! What statistics of the metadata table are worth. Where they may be wrong, nothing is known.
//!
//! Apache Hudi takes the statistics of a base file from its footer, chunk by chunk, and merges them:
//!
//! * A chunk without statistics (of texts that are too long, of timestamps of 96 bits) counts as one of nulls alone, and its
//!   values are not within the bounds. So bounds hold where no null is counted; those of fixed-width types in one file
//!   also where some value is not null, because such a file has statistics in all chunks or in none. And nothing tells that
//!   all values are null.
//! * Of floating-point numbers a chunk with a NaN has no bounds, and Parquet's Java library says 0 instead. So none are
//!   believed.
//! * Texts are compared as Java does, by UTF-16 units. A bound without any that is beyond the surrogates' first one is one
//!   in the order of bytes, too.
//! * Bytes are compared with their signs, and not here.
//! * Days of before the Gregorian calendar have two names, and releases differ in which one they take; files may hold times
//!   of before 1900 by clocks of their time.
//! * Of a column of numbers that became one of texts, the bounds of a partition are those of the numbers, as texts: of 0 to 14
//!   they are 0 and 14, and 8 is not between them. Bounds that no text of a number lies between are not of that kind.
//! * Decimals whose scale grew are compared right in a partition of files of both, and written down as if they were of the
//!   newer one.
//!
//! What it has of the results of a function, Spark took from the rows.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Int32Array, Int64Array, StringArray, TimestampMicrosecondArray,
    TimestampMillisecondArray,
};
use arrow_schema::{DataType, TimeUnit as ArrowUnit};
use hudini_format::metadata_record::{ColumnStats, Scalar};
use hudini_format::schema::TimeUnit;

use crate::base_file::calendar::{GREGORIAN, OLD_CLOCKS};
use crate::filter::{Stats, exact_decimal};

/// Whose statistics they are: those of a partition are of any number of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Of {
    File,
    Partition,
}

/// The first character that is not one UTF-16 unit below the surrogates.
const SURROGATES: char = '\u{e000}';

/// Whether anything of a column of that type can be believed.
pub(super) fn is_comparable(kind: &DataType) -> bool {
    is_fixed(kind) || matches!(kind, DataType::Utf8 | DataType::Float32 | DataType::Float64)
}

/// Types whose values have bounds in every footer that has any.
fn is_fixed(kind: &DataType) -> bool {
    use DataType::{Boolean, Date32, Decimal128, Int32, Int64, Timestamp};
    matches!(kind, Boolean | Int32 | Int64 | Date32 | Decimal128(..) | Timestamp(..))
}

/// What is certain about the values of a column of that type.
pub(super) fn stats(found: &ColumnStats, kind: &DataType, of: Of) -> Stats {
    let count = |count: Option<i64>| count.and_then(|count| u64::try_from(count).ok());
    let (rows, nulls) = (count(found.value_count).filter(|rows| *rows > 0), count(found.null_count));
    let Some((rows, nulls)) = rows.zip(nulls).filter(|_| !found.is_deleted) else { return Stats::default() };
    let whole = nulls == 0 || (of == Of::File && is_fixed(kind) && nulls < rows);
    let whole = whole && (of == Of::File || (has_scale_of_its_own(found, kind) && were_texts(found, kind)));
    let bound = |value: hudini_format::Result<Option<Scalar>>| array(value.ok().flatten().filter(|_| whole)?, kind);
    Stats {
        min: bound(found.min()),
        max: bound(found.max()),
        // More may be counted than there are.
        nulls: (nulls == 0).then_some(0),
        rows: Some(rows),
    }
}

/// Whether a bound says itself what its digits mean. From version 9 on the column's newest type says that of all files of a
/// partition, and they need not have that one.
fn has_scale_of_its_own(found: &ColumnStats, kind: &DataType) -> bool {
    !matches!(kind, DataType::Decimal128(..)) || found.value_type.is_none()
}

/// Whether bounds of texts cannot be those of numbers: texts of numbers begin with a minus or a digit.
fn were_texts(found: &ColumnStats, kind: &DataType) -> bool {
    let text = |value: hudini_format::Result<Option<Scalar>>| match value {
        Ok(Some(Scalar::String(text))) => Some(text),
        _ => None,
    };
    let are_beside = |(least, greatest): (String, String)| greatest.as_str() < "-" || least.as_str() > ":";
    *kind != DataType::Utf8 || text(found.min()).zip(text(found.max())).is_some_and(are_beside)
}

/// What is certain about the results of a function, which Spark worked out for every row of a file. Of a file that it could
/// not read it has none, and counts none.
pub(super) fn of_results(found: &ColumnStats, kind: &DataType) -> Stats {
    let counts = found.value_count.is_some_and(|count| count > 0) && !found.is_deleted;
    let bound = |value: hudini_format::Result<Option<Scalar>>| array(value.ok().flatten().filter(|_| counts)?, kind);
    Stats { min: bound(found.min()), max: bound(found.max()), nulls: None, rows: None }
}

/// Whether a file or a partition is left out by its least value, and by its greatest, in a column of that type.
pub(crate) fn believes_bounds(found: &ColumnStats, kind: &DataType, of: Of) -> [bool; 2] {
    let stats = stats(found, kind, of);
    [stats.min.is_some(), stats.max.is_some()]
}

/// The value in the column's type, which must be the one that it had in the file.
fn array(value: Scalar, kind: &DataType) -> Option<ArrayRef> {
    Some(match (value, kind) {
        (Scalar::Boolean(value), DataType::Boolean) => Arc::new(BooleanArray::from(vec![value])),
        (Scalar::Int(value), DataType::Int32) => Arc::new(Int32Array::from(vec![value])),
        (Scalar::Long(value), DataType::Int64) => Arc::new(Int64Array::from(vec![value])),
        (Scalar::Date(days), DataType::Date32) if days >= GREGORIAN => Arc::new(Date32Array::from(vec![days])),
        (Scalar::String(text), DataType::Utf8) if text.chars().all(|c| c < SURROGATES) => {
            Arc::new(StringArray::from(vec![text]))
        }
        (Scalar::Decimal { unscaled, scale }, DataType::Decimal128(..)) => {
            exact_decimal(unscaled, i8::try_from(scale).ok()?, kind)?
        }
        (Scalar::Timestamp { unit, utc, value }, DataType::Timestamp(wanted, zone)) if utc == zone.is_some() => {
            match (unit, wanted) {
                (TimeUnit::Micros, ArrowUnit::Microsecond) if value >= OLD_CLOCKS * 1_000_000 => {
                    Arc::new(TimestampMicrosecondArray::from(vec![value]).with_timezone_opt(zone.clone()))
                }
                (TimeUnit::Millis, ArrowUnit::Millisecond) if value >= OLD_CLOCKS * 1000 => {
                    Arc::new(TimestampMillisecondArray::from(vec![value]).with_timezone_opt(zone.clone()))
                }
                _ => return None,
            }
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::Array;
    use arrow_array::cast::AsArray;
    use arrow_array::types::Decimal128Type;
    use hudini_format::metadata_record::{StatValue, ValueType};
    use rstest::rstest;

    fn found(value: StatValue, kind: Option<(i32, Option<&str>)>) -> ColumnStats {
        let of_type = |(ordinal, more): (i32, Option<&str>)| ValueType { ordinal, additional: more.map(str::to_owned) };
        ColumnStats {
            min_value: Some(value.clone()),
            max_value: Some(value),
            value_count: Some(4),
            null_count: Some(0),
            value_type: kind.map(of_type),
            ..ColumnStats::default()
        }
    }

    fn utc() -> Option<Arc<str>> {
        Some(Arc::from("UTC"))
    }

    #[rstest]
    #[case(StatValue::Int(7), None, DataType::Int32, true)]
    #[case::int_that_became_a_long(StatValue::Int(7), None, DataType::Int64, false)]
    #[case(StatValue::Long(7), Some((4, None)), DataType::Int64, true)]
    #[case::long_of_moments(StatValue::Long(7), None, DataType::Timestamp(ArrowUnit::Microsecond, utc()), false)]
    #[case(StatValue::Long(7), Some((16, None)), DataType::Timestamp(ArrowUnit::Microsecond, utc()), true)]
    #[case::millis(StatValue::Long(7), Some((15, None)), DataType::Timestamp(ArrowUnit::Microsecond, utc()), false)]
    #[case::local(StatValue::Long(7), Some((19, None)), DataType::Timestamp(ArrowUnit::Microsecond, utc()), false)]
    #[case(StatValue::Long(7), Some((19, None)), DataType::Timestamp(ArrowUnit::Microsecond, None), true)]
    #[case(StatValue::Boolean(true), Some((2, None)), DataType::Boolean, true)]
    #[case(StatValue::Date(7), None, DataType::Date32, true)]
    #[case(StatValue::Int(7), Some((12, None)), DataType::Date32, true)]
    #[case::another_calendar(StatValue::Int(-141_428), Some((12, None)), DataType::Date32, false)]
    #[case(StatValue::String("é\u{d7ff}".into()), None, DataType::Utf8, true)]
    #[case::another_clock(StatValue::Long(-2_208_988_800_000_001), Some((16, None)), DataType::Timestamp(ArrowUnit::Microsecond, utc()), false)]
    #[case::order_of_utf_16(StatValue::String("a\u{ffff}".into()), None, DataType::Utf8, false)]
    #[case::surrogates(StatValue::String("😀".into()), None, DataType::Utf8, false)]
    #[case::nan_may_be_anywhere(StatValue::Double(7.0), Some((6, None)), DataType::Float64, false)]
    #[case::signed_bytes(StatValue::Bytes(vec![7]), Some((8, None)), DataType::Binary, false)]
    fn bounds_are_believed_in_their_own_type(
        #[case] value: StatValue,
        #[case] kind: Option<(i32, Option<&str>)>,
        #[case] wanted: DataType,
        #[case] believed: bool,
    ) {
        let stats = stats(&found(value, kind), &wanted, Of::File);
        assert_eq!((stats.min.is_some(), stats.max.is_some()), (believed, believed));
        assert_eq!((stats.nulls, stats.rows), (Some(0), Some(4)));
        assert!(stats.min.is_none_or(|min| *min.data_type() == wanted));
    }

    #[test]
    fn decimals_are_brought_to_the_scale_of_the_column() {
        let kind = DataType::Decimal128(10, 2);
        let value = |found: ColumnStats| {
            stats(&found, &kind, Of::File).min.map(|min| min.as_primitive::<Decimal128Type>().value(0))
        };
        let old = 1_500_000_000_000_000_i64; // 1.5, of 15 digits behind the point
        assert_eq!(value(found(StatValue::Decimal(old.to_be_bytes().to_vec()), None)), Some(150));
        assert_eq!(value(found(StatValue::Decimal(7_i64.to_be_bytes().to_vec()), None)), None, "more digits");
        assert_eq!(value(found(StatValue::Bytes(vec![0xff]), Some((10, Some("10,2"))))), Some(-1));
    }

    #[test]
    fn decimals_of_a_partition_may_be_of_another_scale() {
        let kind = DataType::Decimal128(14, 4);
        let believed = |found: ColumnStats, of| believes_bounds(&found, &kind, of);
        let labelled = found(StatValue::Bytes(vec![7]), Some((10, Some("14,4"))));
        assert_eq!([Of::File, Of::Partition].map(|of| believed(labelled.clone(), of)), [[true; 2], [false; 2]]);
        let told = 1_500_000_000_000_000_i64.to_be_bytes().to_vec();
        assert_eq!(believed(found(StatValue::Decimal(told), None), Of::Partition), [true; 2]);
    }

    #[rstest]
    #[case("a", "z", true)]
    #[case("+", ",", true)]
    #[case("0", "14", false)]
    #[case("-3", "x", false)]
    #[case("", "a", false)]
    #[case("9z", "a", false)]
    fn texts_of_a_partition_may_have_been_numbers(
        #[case] least: &str,
        #[case] greatest: &str,
        #[case] are_texts: bool,
    ) {
        let text = |text: &str| Some(StatValue::String(text.to_owned()));
        let found = ColumnStats {
            min_value: text(least),
            max_value: text(greatest),
            ..found(StatValue::String(String::new()), None)
        };
        let believed = |of| believes_bounds(&found, &DataType::Utf8, of);
        assert_eq!((believed(Of::File), believed(Of::Partition)), ([true; 2], [are_texts; 2]));
    }

    #[test]
    fn counted_nulls_may_be_values_without_statistics() {
        let of = |kind: &DataType, value: StatValue, nulls: Option<i64>, of: Of| {
            let found = ColumnStats { null_count: nulls, ..found(value, None) };
            let stats = stats(&found, kind, of);
            (stats.min.is_some(), stats.nulls)
        };
        let (text, int) = (StatValue::String("a".into()), StatValue::Int(1));
        assert_eq!(of(&DataType::Utf8, text.clone(), Some(0), Of::Partition), (true, Some(0)));
        assert_eq!(of(&DataType::Utf8, text, Some(1), Of::File), (false, None));
        assert_eq!(of(&DataType::Int32, int.clone(), Some(1), Of::File), (true, None));
        assert_eq!(of(&DataType::Int32, int.clone(), Some(1), Of::Partition), (false, None));
        assert_eq!(of(&DataType::Int32, int.clone(), Some(4), Of::File), (false, None));
        for unknown in [None, Some(-1)] {
            assert_eq!(of(&DataType::Int32, int.clone(), unknown, Of::File), (false, None));
        }
        let deleted = ColumnStats { is_deleted: true, ..found(int, None) };
        assert!(stats(&deleted, &DataType::Int32, Of::File).rows.is_none());
    }
}
