//! What a file holds in its columns: least and greatest value, nulls, bytes. Tasks tell it of what they wrote, and column
//! statistics are made of it.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int32Type, Int64Type,
    Time32MillisecondType, Time64MicrosecondType, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Schema, SchemaRef, TimeUnit};
use hudini_format::avro::RowDecoder;
use hudini_format::extremes::extremes as extremes_of_texts;
use hudini_format::log::{Block, BlockKind};
use hudini_format::metadata_record::{StatValue, ValueType};
use hudini_format::name::LogFileName;
use hudini_format::schema::evolve::Mapping;
use hudini_format::schema::{Record, meta};
use serde::{Deserialize, Serialize};

use crate::base_file::{self, WrittenFile};
use crate::log_file::{Choice, LogFile, Part, Visitor};
use crate::storage::Storage;
use crate::{Error, Result};

/// One column of one file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ColumnRange {
    pub column: String,
    /// `None` if all values are null.
    pub bounds: Option<(StatValue, StatValue)>,
    pub kind: ValueType,
    pub rows: i64,
    pub nulls: i64,
    /// In the file, and before they were compressed; 0 of rows in logs.
    pub bytes: i64,
    pub raw_bytes: i64,
}

/// The columns of which statistics are kept unless somebody says otherwise: meta columns, and so many of the others.
const MOST_COLUMNS: usize = 32;
const META_COLUMNS: [&str; 3] = [meta::COMMIT_TIME, meta::PARTITION_PATH, meta::RECORD_KEY];

/// As Apache Hudi chooses them from the columns of a table.
pub(crate) fn chosen_columns(schema: &Schema) -> Vec<String> {
    let own =
        schema.fields().iter().filter(|field| !meta::is_meta(field.name()) && type_of(field.data_type()).is_some());
    let own = own.map(|field| field.name().clone()).take(MOST_COLUMNS);
    META_COLUMNS.into_iter().map(str::to_owned).chain(own).collect()
}

/// Goes over the rows of a file.
#[derive(Debug)]
pub(crate) struct Ranges(Vec<Running>);

#[derive(Debug)]
struct Running {
    at: usize,
    range: ColumnRange,
    /// Of a column whose bounds the writer of the file tells: how their bytes are meant.
    told: Option<fn(Vec<u8>) -> Option<StatValue>>,
}

impl Ranges {
    /// Of those of the columns that the rows have. Apache Hudi takes a column without statistics in a file that has some
    /// for one of nulls alone, so none may be left out.
    pub(crate) fn new(schema: &Schema, columns: &[String]) -> Result<Self> {
        let mut running = Vec::with_capacity(columns.len());
        for column in columns {
            let (top, below) = column.split_once('.').map_or((column.as_str(), None), |(top, rest)| (top, Some(rest)));
            let Ok(at) = schema.index_of(top) else { continue };
            let kind = type_of(schema.field(at).data_type()).filter(|_| below.is_none());
            let kind = kind.ok_or_else(|| Error::unsupported(format!("column statistics of '{column}'")))?;
            running.push(Running { at, range: ColumnRange::empty(column, kind), told: None });
        }
        Ok(Self(running))
    }

    /// Of rows that go into a base file, whose writer compares texts anyway: [`Ranges::finish_with`] must be told of it.
    pub(crate) fn beside_file(schema: &Schema, columns: &[String]) -> Result<Self> {
        let mut ranges = Self::new(schema, columns)?;
        for Running { at, told, .. } in &mut ranges.0 {
            *told = match schema.field(*at).data_type() {
                DataType::Utf8 => Some(|bytes| String::from_utf8(bytes).ok().map(StatValue::String)),
                DataType::Binary => Some(|bytes| Some(StatValue::Bytes(bytes))),
                _ => None,
            };
        }
        Ok(ranges)
    }

    pub(crate) fn add(&mut self, rows: &RecordBatch) -> Result<()> {
        for Running { at, range, told } in &mut self.0 {
            let Some(values) = rows.columns().get(*at) else { continue };
            range.rows += values.len() as i64;
            range.nulls += values.null_count() as i64;
            if told.is_none() {
                range.widen(bounds(values));
            }
        }
        Ok(())
    }

    /// With what the file turned out to hold.
    pub(crate) fn finish_with(mut self, written: &WrittenFile) -> Result<Vec<ColumnRange>> {
        for Running { range, told, .. } in &mut self.0 {
            // A file without rows is told nothing.
            let Some(value) = told.filter(|_| written.rows > 0) else { continue };
            let missing = || Error::internal(format!("the bounds of column '{}' are not known", range.column));
            if let Some((least, greatest)) = written.text_bounds.get(&range.column).ok_or_else(missing)?.clone() {
                range.bounds = Some(value(least).zip(value(greatest)).ok_or_else(missing)?);
            }
        }
        Ok(with_bytes(self.finish(), &written.column_bytes))
    }

    pub(crate) fn finish(self) -> Vec<ColumnRange> {
        self.0.into_iter().map(|running| running.range).collect()
    }
}

impl ColumnRange {
    fn empty(column: &str, kind: ValueType) -> Self {
        Self { column: column.to_owned(), bounds: None, kind, rows: 0, nulls: 0, bytes: 0, raw_bytes: 0 }
    }

    /// Takes in other values of the column.
    pub(crate) fn widen(&mut self, others: Option<(StatValue, StatValue)>) {
        self.bounds = match (self.bounds.take(), others) {
            (Some((least, greatest)), Some((low, high))) => Some((
                if order(&self.kind, &low, &least) == Ordering::Less { low } else { least },
                if order(&self.kind, &high, &greatest) == Ordering::Greater { high } else { greatest },
            )),
            (one, other) => one.or(other),
        };
    }
}

/// Rows that are looked at together.
const BATCH_ROWS: usize = 8192;

/// What a file holds, read from the file; `columns` have the table's types.
pub(crate) fn of_file(storage: &Arc<dyn Storage>, path: &str, columns: &SchemaRef) -> Result<Vec<ColumnRange>> {
    let names: Vec<String> = columns.fields().iter().map(|field| field.name().clone()).collect();
    let mut ranges = Ranges::new(columns, &names)?;
    let name = path.rsplit('/').next().unwrap_or(path);
    if LogFileName::parse(name).is_some() {
        let size = storage.head(path)?.map_or(0, |meta| meta.size);
        let mut rows = LoggedRows { storage, path, columns, ranges, content: None };
        LogFile::new(storage.as_ref(), path.to_owned(), size).read_from(0, &mut rows).map_err(|e| e.at_path(path))?;
        return rows.finish();
    }
    for rows in base_file::read(storage, path, columns, &Mapping::default(), BATCH_ROWS)? {
        ranges.add(&rows?)?;
    }
    let sizes = base_file::column_bytes(storage, path)?;
    Ok(with_bytes(ranges.finish(), &sizes))
}

/// By column: bytes in the file, and before they were compressed.
pub(crate) type ColumnBytes = BTreeMap<String, (i64, i64)>;

pub(crate) fn with_bytes(mut ranges: Vec<ColumnRange>, sizes: &ColumnBytes) -> Vec<ColumnRange> {
    for range in &mut ranges {
        (range.bytes, range.raw_bytes) = sizes.get(&range.column).copied().unwrap_or_default();
    }
    ranges
}

/// The rows of a log, whatever becomes of them.
struct LoggedRows<'l> {
    storage: &'l Arc<dyn Storage>,
    path: &'l str,
    columns: &'l SchemaRef,
    ranges: Ranges,
    /// Of the Parquet block met last.
    content: Option<Range<u64>>,
}

impl LoggedRows<'_> {
    fn finish(mut self) -> Result<Vec<ColumnRange>> {
        self.read_parquet()?;
        Ok(self.ranges.finish())
    }

    fn read_parquet(&mut self) -> Result<()> {
        let Some(content) = self.content.take() else { return Ok(()) };
        for rows in
            base_file::read_part(self.storage, self.path, content, self.columns, &Mapping::default(), BATCH_ROWS)?
        {
            self.ranges.add(&rows?)?;
        }
        Ok(())
    }
}

impl Visitor for LoggedRows<'_> {
    fn meet(&mut self, block: &Block<'_>) -> Result<Choice> {
        self.read_parquet()?;
        match block.kind {
            BlockKind::AvroData => {
                let writer = Record::parse(block.schema()?)?;
                Ok(Choice::Rows(RowDecoder::new(&writer, Arc::clone(self.columns))?))
            }
            BlockKind::ParquetData => {
                self.content = Some(block.content_offset..block.content_offset.saturating_add(block.content_length));
                Ok(Choice::Nothing)
            }
            BlockKind::Delete | BlockKind::Command => Ok(Choice::Nothing),
            other => Err(Error::unsupported(format!("column statistics of {} log blocks", other.name()))),
        }
    }

    fn take(&mut self, part: Part<'_>) -> Result<()> {
        match part {
            Part::Rows(rows) => self.ranges.add(&rows),
            Part::Content(_) | Part::Corrupt(_) => Ok(()),
        }
    }
}

/// Of two values of one column. NaN is the greatest, as in Spark and in Java.
fn order(kind: &ValueType, a: &StatValue, b: &StatValue) -> Ordering {
    match (a, b) {
        (StatValue::Boolean(a), StatValue::Boolean(b)) => a.cmp(b),
        (StatValue::Int(a), StatValue::Int(b)) => a.cmp(b),
        (StatValue::Long(a), StatValue::Long(b)) => a.cmp(b),
        (StatValue::Float(a), StatValue::Float(b)) => a.total_cmp(b),
        (StatValue::Double(a), StatValue::Double(b)) => a.total_cmp(b),
        (StatValue::String(a), StatValue::String(b)) => a.cmp(b),
        (StatValue::Bytes(a), StatValue::Bytes(b)) if kind.ordinal == DECIMAL => unscaled(a).cmp(&unscaled(b)),
        (StatValue::Bytes(a), StatValue::Bytes(b)) => a.cmp(b),
        _ => Ordering::Equal,
    }
}

const DECIMAL: i32 = 10;

/// The types of which there are statistics, by their numbers.
fn type_of(kind: &DataType) -> Option<ValueType> {
    let ordinal = match kind {
        DataType::Boolean => 2,
        DataType::Int32 => 3,
        DataType::Int64 => 4,
        DataType::Float32 => 5,
        DataType::Float64 => 6,
        DataType::Utf8 => 7,
        DataType::Binary => 8,
        DataType::FixedSizeBinary(_) => 9,
        DataType::Decimal128(precision, scale) => {
            return Some(ValueType { ordinal: DECIMAL, additional: Some(format!("{precision},{scale}")) });
        }
        DataType::Date32 => 12,
        DataType::Time32(TimeUnit::Millisecond) => 13,
        DataType::Time64(TimeUnit::Microsecond) => 14,
        DataType::Timestamp(unit, zone) => match (unit, zone) {
            (TimeUnit::Millisecond, Some(_)) => 15,
            (TimeUnit::Microsecond, Some(_)) => 16,
            (TimeUnit::Nanosecond, Some(_)) => 17,
            (TimeUnit::Millisecond, None) => 18,
            (TimeUnit::Microsecond, None) => 19,
            (TimeUnit::Nanosecond, None) => 20,
            (TimeUnit::Second, _) => return None,
        },
        _ => return None,
    };
    Some(ValueType { ordinal, additional: None })
}

/// The least and the greatest value of an array that is not null.
pub(crate) fn bounds(values: &ArrayRef) -> Option<(StatValue, StatValue)> {
    match values.data_type() {
        DataType::Boolean => {
            let values = values.as_boolean();
            extremes(values.iter().flatten(), bool::cmp, StatValue::Boolean)
        }
        DataType::Int32 => numbers::<Int32Type>(values, i32::cmp, StatValue::Int),
        DataType::Int64 => numbers::<Int64Type>(values, i64::cmp, StatValue::Long),
        // A NaN stands as infinity: where a bound is NaN, Apache Hudi finds nothing.
        DataType::Float32 => numbers::<Float32Type>(values, by_value_f32, |v| {
            StatValue::Float(if v.is_nan() { f32::INFINITY } else { v })
        }),
        DataType::Float64 => numbers::<Float64Type>(values, by_value_f64, |v| {
            StatValue::Double(if v.is_nan() { f64::INFINITY } else { v })
        }),
        DataType::Utf8 => {
            let text = |text: &str| StatValue::String(text.to_owned());
            extremes_of_texts(values.as_string::<i32>()).map(|(least, greatest)| (text(least), text(greatest)))
        }
        DataType::Binary => {
            let bytes = |bytes: &[u8]| StatValue::Bytes(bytes.to_vec());
            extremes_of_texts(values.as_binary::<i32>()).map(|(least, greatest)| (bytes(least), bytes(greatest)))
        }
        DataType::FixedSizeBinary(_) => extremes(
            values.as_fixed_size_binary().iter().flatten(),
            |a, b| a.cmp(b),
            |bytes| StatValue::Bytes(bytes.to_vec()),
        ),
        DataType::Decimal128(..) => {
            numbers::<Decimal128Type>(values, i128::cmp, |value| StatValue::Bytes(shortest(value)))
        }
        DataType::Date32 => numbers::<Date32Type>(values, i32::cmp, StatValue::Int),
        DataType::Time32(_) => numbers::<Time32MillisecondType>(values, i32::cmp, StatValue::Int),
        DataType::Time64(_) => numbers::<Time64MicrosecondType>(values, i64::cmp, StatValue::Long),
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            numbers::<TimestampMillisecondType>(values, i64::cmp, StatValue::Long)
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            numbers::<TimestampMicrosecondType>(values, i64::cmp, StatValue::Long)
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            numbers::<TimestampNanosecondType>(values, i64::cmp, StatValue::Long)
        }
        _ => None,
    }
}

fn numbers<T: ArrowPrimitiveType>(
    values: &ArrayRef,
    order: impl Fn(&T::Native, &T::Native) -> Ordering,
    wrap: impl Fn(T::Native) -> StatValue,
) -> Option<(StatValue, StatValue)> {
    let values = values.as_primitive::<T>();
    // Without nulls the loop has no branch for them.
    if values.null_count() == 0 {
        extremes(values.values().iter().copied(), order, wrap)
    } else {
        extremes(values.iter().flatten(), order, wrap)
    }
}

fn extremes<V: Copy>(
    mut values: impl Iterator<Item = V>,
    order: impl Fn(&V, &V) -> Ordering,
    wrap: impl Fn(V) -> StatValue,
) -> Option<(StatValue, StatValue)> {
    let first = values.next()?;
    let (least, greatest) = values.fold((first, first), |(least, greatest), value| {
        let less = order(&value, &least) == Ordering::Less;
        let greater = order(&value, &greatest) == Ordering::Greater;
        (if less { value } else { least }, if greater { value } else { greatest })
    });
    Some((wrap(least), wrap(greatest)))
}

/// NaN is the greatest, whatever its sign; both zeros lie at -0 on the way down and at +0 on the way up.
fn by_value_f32(a: &f32, b: &f32) -> Ordering {
    by_value_f64(&f64::from(*a), &f64::from(*b))
}

fn by_value_f64(a: &f64, b: &f64) -> Ordering {
    match (a.is_nan(), b.is_nan()) {
        (false, false) => a.total_cmp(b),
        (a, b) => a.cmp(&b),
    }
}

/// The fewest bytes of a two's complement number, most significant byte first.
pub(super) fn shortest(value: i128) -> Vec<u8> {
    let bytes = value.to_be_bytes();
    let sign = if value < 0 { 0xff } else { 0 };
    let is_needed = |at: &usize| {
        let (this, next) = (bytes.get(*at), bytes.get(at + 1));
        this != Some(&sign) || next.is_none_or(|next| (next ^ sign) & 0x80 != 0)
    };
    let start = (0..bytes.len()).find(is_needed).unwrap_or(bytes.len() - 1);
    bytes.get(start..).unwrap_or_default().to_vec()
}

fn unscaled(bytes: &[u8]) -> i128 {
    let sign = if bytes.first().is_some_and(|first| first & 0x80 != 0) { -1 } else { 0 };
    bytes.iter().fold(sign, |value, byte| value << 8 | i128::from(*byte))
}

#[cfg(test)]
mod tests {
    use arrow_array::{Decimal128Array, Float64Array, StringArray};
    use proptest::prelude::*;

    use super::*;

    fn of(values: ArrayRef) -> Option<(StatValue, StatValue)> {
        bounds(&values)
    }

    #[test]
    fn nulls_bound_nothing() {
        assert_eq!(of(Arc::new(Float64Array::from(vec![None, None]))), None);
        let texts = of(Arc::new(StringArray::from(vec![None, Some("b"), Some("a")])));
        assert_eq!(texts, Some((StatValue::String("a".into()), StatValue::String("b".into()))));
    }

    #[test]
    fn nan_is_the_greatest_and_told_as_infinity() {
        let (least, greatest) = of(Arc::new(Float64Array::from(vec![1.0, -f64::NAN, f64::INFINITY]))).unwrap();
        assert_eq!(least, StatValue::Double(1.0));
        assert_eq!(greatest, StatValue::Double(f64::INFINITY));
        let told = |value: &StatValue| serde_json::from_str(&serde_json::to_string(value).unwrap()).unwrap();
        assert_eq!(greatest, told(&greatest));
        assert!(matches!(told(&StatValue::Double(f64::NAN)), StatValue::Double(value) if value.is_nan()));
    }

    #[test]
    fn decimals_widen_by_number() {
        let array = |value: i128| Arc::new(Decimal128Array::from(vec![value]).with_precision_and_scale(20, 2).unwrap());
        let kind = type_of(&DataType::Decimal128(20, 2)).unwrap();
        let mut range = ColumnRange::empty("d", kind);
        for value in [300, -7, 200] {
            range.widen(of(array(value)));
        }
        assert_eq!(range.bounds, Some((StatValue::Bytes(vec![0xf9]), StatValue::Bytes(vec![1, 44]))));
    }

    proptest! {
        #[test]
        fn shortest_forms_are_the_number(value: i128) {
            let bytes = shortest(value);
            prop_assert_eq!(unscaled(&bytes), value);
            let head = |sign: u8| bytes.len() > 1 && bytes[0] == sign && (bytes[1] ^ sign) & 0x80 == 0;
            prop_assert!(!head(0) && !head(0xff));
        }
    }
}
