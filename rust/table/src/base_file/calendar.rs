//! Dates and times by another calendar.
//!
//! Spark can write what was before October 1582 by the Julian calendar, and times of before 1900 by clocks of their time, as
//! releases before 3.0 always did. The footer says so, and Spark and Apache Hudi bring such values back. hudini does not:
//! values of such files that may be meant otherwise than they stand are refused. Later ones are the same in both.

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, PrimitiveArray, RecordBatch};
use arrow_schema::{DataType, TimeUnit};
use parquet::file::metadata::ParquetMetaData;

use crate::{Error, Result};

const LEGACY: [&str; 2] = ["org.apache.spark.legacyDateTime", "org.apache.spark.legacyINT96"];
const WRITER: &str = "org.apache.spark.version";

/// The first day of the Gregorian calendar, 15 October 1582.
pub(crate) const GREGORIAN: i32 = -141_427;
/// 1 January 1900: since then no clock differs. Seconds.
pub(crate) const OLD_CLOCKS: i64 = -2_208_988_800;

/// Whether the writer of a file may have meant old dates and times by another calendar.
pub(super) fn is_legacy(metadata: &ParquetMetaData) -> bool {
    let pairs = metadata.file_metadata().key_value_metadata();
    pairs.into_iter().flatten().any(|pair| {
        let is_of_before_3 =
            || pair.value.as_deref().is_some_and(|version| matches!(version.get(..2), Some("1." | "2.")));
        LEGACY.contains(&pair.key.as_str()) || (pair.key == WRITER && is_of_before_3())
    })
}

/// Refuses rows of such a file with values that may be meant otherwise.
pub(super) fn check(rows: &RecordBatch) -> Result<()> {
    let old = rows.schema().fields().iter().zip(rows.columns()).find(|(_, column)| has_old(column)).map(|(field, _)| {
        Error::unsupported(format!("dates and times of before 1900 by another calendar, in the column '{}'", field.name()))
            .with_hint(
                "Spark wrote the file with datetimeRebaseModeInWrite=LEGACY; write it anew with CORRECTED, or read other columns",
            )
    });
    old.map_or(Ok(()), Err)
}

fn has_old(column: &ArrayRef) -> bool {
    fn below<T: ArrowPrimitiveType>(values: &PrimitiveArray<T>, limit: T::Native) -> bool {
        values.iter().flatten().any(|value| value < limit)
    }
    match column.data_type() {
        DataType::Date32 => below(column.as_primitive::<Date32Type>(), GREGORIAN),
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            below(column.as_primitive::<TimestampMillisecondType>(), OLD_CLOCKS * 1000)
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            below(column.as_primitive::<TimestampMicrosecondType>(), OLD_CLOCKS * 1_000_000)
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            below(column.as_primitive::<TimestampNanosecondType>(), OLD_CLOCKS * 1_000_000_000)
        }
        DataType::Struct(_) => column.as_struct().columns().iter().any(has_old),
        DataType::List(_) => has_old(column.as_list::<i32>().values()),
        DataType::LargeList(_) => has_old(column.as_list::<i64>().values()),
        DataType::Map(..) => column.as_map().entries().columns().iter().any(has_old),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Date32Array, TimestampMicrosecondArray};
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::gregorian(vec![Some(GREGORIAN), None], vec![Some(OLD_CLOCKS * 1_000_000)], true)]
    #[case::julian(vec![Some(GREGORIAN - 1)], vec![None], false)]
    #[case::old_clocks(vec![None], vec![Some(OLD_CLOCKS * 1_000_000 - 1)], false)]
    fn old_values_are_refused(#[case] days: Vec<Option<i32>>, #[case] times: Vec<Option<i64>>, #[case] is_read: bool) {
        let rows = days.len().min(times.len());
        let days: ArrayRef = Arc::new(Date32Array::from(days).slice(0, rows));
        let times: ArrayRef = Arc::new(TimestampMicrosecondArray::from(times).slice(0, rows));
        let whole = RecordBatch::try_from_iter([("day", days), ("time", times)]).unwrap();
        assert_eq!(check(&whole).is_ok(), is_read);
        let nested: ArrayRef = Arc::new(arrow_array::StructArray::from(whole));
        assert_eq!(check(&RecordBatch::try_from_iter([("both", nested)]).unwrap()).is_ok(), is_read);
    }
}
