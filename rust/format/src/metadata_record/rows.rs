//! Records as Arrow rows, in the columns that their schema has for them, as Apache Hudi shows them in Spark.
//!
//! A union is a struct with a member for each branch but null, `member0`, `member1` and so on, of which one is not null.
//! What a wrapper holds is shown as it is stored: a date as a number of days.

use std::sync::Arc;

use arrow_array::builder::{Decimal128Builder, StringBuilder};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Float32Array, Float64Array, Int32Array, Int64Array, ListArray,
    MapArray, RecordBatch, RecordBatchOptions, StringArray, StructArray, new_empty_array,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field as ArrowField, Fields, Schema};

use super::record::{FileEntry, MetadataRecord};
use super::schema::{Branch, Datum, Field, Kind, META_COLUMNS, RecordSchema, Shape};
use super::stats::{ARRAY_WRAPPER, StatValue, V1_SCALE, integer};
use crate::{Error, Result};

const KEY: &str = "key";
/// Of the decimals in statistics of releases up to 1.0.
const WRAPPED_PRECISION: u8 = 30;

impl RecordSchema {
    /// The columns of the rows, without the meta columns.
    pub fn to_arrow(&self) -> Result<Schema> {
        let empty = self.columns(&[])?;
        Ok(Schema::new(empty.into_iter().map(|(field, _)| field).collect::<Vec<_>>()))
    }

    /// A row for each record, with its key in the column `key`.
    pub fn rows(&self, records: &[MetadataRecord]) -> Result<RecordBatch> {
        let (fields, mut columns): (Vec<_>, Vec<_>) = self.columns(records)?.into_iter().unzip();
        let schema = Arc::new(Schema::new(fields));
        if let Some(keys) = schema.index_of(KEY).ok().and_then(|at| columns.get_mut(at)) {
            *keys = Arc::new(StringArray::from_iter_values(records.iter().map(|record| record.key.as_str())));
        }
        let options = RecordBatchOptions::new().with_row_count(Some(records.len()));
        Ok(RecordBatch::try_new_with_options(schema, columns, &options)?)
    }

    fn columns(&self, records: &[MetadataRecord]) -> Result<Vec<(ArrowField, ArrayRef)>> {
        let rows: Vec<Vec<Datum<'_>>> =
            records.iter().map(|record| record.fields(record.file_name.as_deref())).collect();
        let rows: Vec<Option<&[Datum<'_>]>> = rows.iter().map(|row| Some(row.as_slice())).collect();
        // The meta columns are known fields too, in front of all others.
        let shown = self.0.fields.iter().filter(|field| field.slot.is_some_and(|slot| slot >= META_COLUMNS));
        shown.map(|field| column(field, &rows)).collect()
    }
}

/// A field of rows, some of which may not be there at all.
fn column(field: &Field, rows: &[Option<&[Datum<'_>]>]) -> Result<(ArrowField, ArrayRef)> {
    let slot = field.slot.unwrap_or(usize::MAX);
    let values: Vec<&Datum<'_>> =
        rows.iter().map(|row| row.and_then(|row| row.get(slot)).unwrap_or(&Datum::Null)).collect();
    let array = array(&field.kind, &values)?;
    let nullable = field.null.is_some() || matches!(field.kind, Kind::Wrapped(_));
    Ok((ArrowField::new(&field.name, array.data_type().clone(), nullable), array))
}

fn array(kind: &Kind, values: &[&Datum<'_>]) -> Result<ArrayRef> {
    let values = values.iter().copied();
    Ok(match kind {
        Kind::Boolean => {
            let of = |value: &Datum<'_>| if let Datum::Boolean(value) = value { Some(*value) } else { None };
            Arc::new(values.map(of).collect::<BooleanArray>())
        }
        Kind::Int => {
            let of = |value: &Datum<'_>| if let Datum::Int(value) = value { Some(*value) } else { None };
            Arc::new(values.map(of).collect::<Int32Array>())
        }
        Kind::Long => {
            let of = |value: &Datum<'_>| if let Datum::Long(value) = value { Some(*value) } else { None };
            Arc::new(values.map(of).collect::<Int64Array>())
        }
        Kind::String => Arc::new(values.map(text).collect::<StringArray>()),
        Kind::Bytes => Arc::new(values.map(bytes).collect::<BinaryArray>()),
        Kind::Wrapped(branches) => wrapped(branches, &values.map(statistic).collect::<Vec<_>>())?,
        Kind::Record(shape) => record(shape, &values.map(members).collect::<Vec<_>>())?,
        Kind::Files(shape) => files(shape, values)?,
        Kind::Unknown => return Err(Error::internal("a column of an unknown type in metadata records")),
    })
}

fn text<'d>(value: &'d Datum<'_>) -> Option<&'d str> {
    if let Datum::String(text) = value { Some(text) } else { None }
}

fn bytes<'d>(value: &'d Datum<'_>) -> Option<&'d [u8]> {
    if let Datum::Bytes(bytes) = value { Some(bytes) } else { None }
}

fn statistic<'d>(value: &'d Datum<'_>) -> Option<&'d StatValue> {
    if let Datum::Wrapped(value) = value { Some(value) } else { None }
}

fn members<'d, 'a>(value: &'d Datum<'a>) -> Option<&'d [Datum<'a>]> {
    if let Datum::Record(members) = value { Some(members) } else { None }
}

fn record(shape: &Shape, rows: &[Option<&[Datum<'_>]>]) -> Result<ArrayRef> {
    let known = shape.fields.iter().filter(|field| field.slot.is_some());
    let (fields, columns): (Vec<_>, Vec<_>) =
        known.map(|field| column(field, rows)).collect::<Result<Vec<_>>>()?.into_iter().unzip();
    structs(fields, columns, rows.iter().map(Option::is_some).collect())
}

fn structs(fields: Vec<ArrowField>, columns: Vec<ArrayRef>, there: Vec<bool>) -> Result<ArrayRef> {
    Ok(Arc::new(StructArray::try_new(Fields::from(fields), columns, Some(NullBuffer::from(there)))?))
}

fn files<'d, 'a: 'd>(shape: &Shape, values: impl Iterator<Item = &'d Datum<'a>>) -> Result<ArrayRef> {
    let mut names = StringBuilder::new();
    let mut entries: Vec<Datum<'_>> = Vec::new();
    let (mut lengths, mut there) = (Vec::new(), Vec::new());
    for value in values {
        let files = if let Datum::Files(files) = value { Some(files) } else { None };
        there.push(files.is_some());
        lengths.push(files.map_or(0, |files| files.len()));
        for (name, FileEntry { size, is_deleted }) in files.iter().flat_map(|files| files.iter()) {
            names.append_value(name);
            entries.push(Datum::Record(vec![Datum::Long(*size), Datum::Boolean(*is_deleted)]));
        }
    }
    let values = record(shape, &entries.iter().map(members).collect::<Vec<_>>())?;
    let names: ArrayRef = Arc::new(names.finish());
    let fields = Fields::from(vec![
        ArrowField::new("key", DataType::Utf8, false),
        ArrowField::new("value", values.data_type().clone(), false),
    ]);
    let entries = StructArray::try_new(fields, vec![names, values], None)?;
    let field = Arc::new(ArrowField::new("entries", entries.data_type().clone(), false));
    let offsets = OffsetBuffer::from_lengths(lengths);
    Ok(Arc::new(MapArray::try_new(field, offsets, entries, Some(NullBuffer::from(there)), false)?))
}

/// A union of wrappers.
fn wrapped(branches: &[Branch], values: &[Option<&StatValue>]) -> Result<ArrayRef> {
    let wrappers = branches.iter().filter(|branch| branch.name != "null");
    let (mut fields, mut columns) = (Vec::new(), Vec::new());
    for (number, branch) in wrappers.enumerate() {
        let values = values.iter().map(|value| value.filter(|value| value.wrapper() == branch.name));
        let values: Vec<Option<&StatValue>> = values.collect();
        let there: Vec<bool> = values.iter().map(Option::is_some).collect();
        let (name, content) = match branch.name.as_str() {
            ARRAY_WRAPPER => ("wrappedValues", items(&branch.items, &values)?),
            wrapper => ("value", content(wrapper, &values)?),
        };
        let field = ArrowField::new(name, content.data_type().clone(), branch.name == ARRAY_WRAPPER);
        let member = structs(vec![field], vec![content], there)?;
        fields.push(ArrowField::new(format!("member{number}"), member.data_type().clone(), true));
        columns.push(member);
    }
    structs(fields, columns, values.iter().map(Option::is_some).collect())
}

/// What stands in wrappers of one name.
fn content(wrapper: &str, values: &[Option<&StatValue>]) -> Result<ArrayRef> {
    let values = values.iter().copied();
    let int = |value: Option<&StatValue>| match value {
        Some(StatValue::Int(value) | StatValue::Date(value) | StatValue::LocalDate(value)) => Some(*value),
        _ => None,
    };
    let long = |value: Option<&StatValue>| match value {
        Some(StatValue::Long(value) | StatValue::TimeMicros(value) | StatValue::TimestampMicros(value)) => Some(*value),
        _ => None,
    };
    Ok(match wrapper {
        "BooleanWrapper" => {
            let of = |value: Option<&StatValue>| {
                if let Some(StatValue::Boolean(value)) = value { Some(*value) } else { None }
            };
            Arc::new(values.map(of).collect::<BooleanArray>())
        }
        "IntWrapper" | "DateWrapper" | "LocalDateWrapper" => Arc::new(values.map(int).collect::<Int32Array>()),
        "LongWrapper" | "TimeMicrosWrapper" | "TimestampMicrosWrapper" => {
            Arc::new(values.map(long).collect::<Int64Array>())
        }
        "FloatWrapper" => {
            let of =
                |value: Option<&StatValue>| if let Some(StatValue::Float(value)) = value { Some(*value) } else { None };
            Arc::new(values.map(of).collect::<Float32Array>())
        }
        "DoubleWrapper" => {
            let of = |value: Option<&StatValue>| {
                if let Some(StatValue::Double(value)) = value { Some(*value) } else { None }
            };
            Arc::new(values.map(of).collect::<Float64Array>())
        }
        "BytesWrapper" => Arc::new(values.map(wrapped_bytes).collect::<BinaryArray>()),
        "StringWrapper" => Arc::new(values.map(wrapped_text).collect::<StringArray>()),
        "DecimalWrapper" => decimals(values)?,
        other => return Err(Error::unsupported(format!("statistics wrapped in {other}"))),
    })
}

fn wrapped_bytes(value: Option<&StatValue>) -> Option<&[u8]> {
    if let Some(StatValue::Bytes(bytes)) = value { Some(bytes) } else { None }
}

fn wrapped_text(value: Option<&StatValue>) -> Option<&str> {
    if let Some(StatValue::String(text)) = value { Some(text) } else { None }
}

fn decimals<'v>(values: impl Iterator<Item = Option<&'v StatValue>>) -> Result<ArrayRef> {
    let mut decimals = Decimal128Builder::new().with_precision_and_scale(WRAPPED_PRECISION, V1_SCALE as i8)?;
    for value in values {
        match value {
            Some(StatValue::Decimal(bytes)) => decimals.append_value(integer(bytes)?),
            _ => decimals.append_null(),
        }
    }
    Ok(Arc::new(decimals.finish()))
}

fn items(branches: &[Branch], values: &[Option<&StatValue>]) -> Result<ArrayRef> {
    let mut all = Vec::new();
    let mut lengths = Vec::new();
    for value in values {
        let before = all.len();
        if let Some(StatValue::Array(items)) = value {
            all.extend(items.iter().map(Option::as_ref));
        }
        lengths.push(all.len() - before);
    }
    let items = if branches.is_empty() { new_empty_array(&DataType::Null) } else { wrapped(branches, &all)? };
    let field = Arc::new(ArrowField::new("element", items.data_type().clone(), true));
    Ok(Arc::new(ListArray::try_new(field, OffsetBuffer::from_lengths(lengths), items, None)?))
}
